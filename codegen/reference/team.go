package reference

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Team evaluates one Problem on several threads. The results do not depend on the number of
// threads.
type Team struct {
	members []*Evaluator
	// For Progress: runs is the number of calls of run that the current call makes, runsDone how
	// many of these are done, and total and done count the pieces of work of the current run.
	runs, runsDone, total, done atomic.Int64
	failed                      atomic.Int64 // the first piece of work that returned an error
}

// Visitor receives the points of a range of the result's first mode.
type Visitor interface {
	// Point is called for every present coordinate in ascending order. It must not keep coord.
	Point(coord []int64, p Point) error
	// Close is called after all points of the range, unless there was an error.
	Close() error
}

// NewTeam prepares the evaluation like New, for the given number of threads; at least 1.
func NewTeam(p Problem, threads int) *Team {
	t := &Team{}
	for range max(threads, 1) {
		t.members = append(t.members, New(p))
	}
	return t
}

const (
	// teamParts is the largest number of ranges that Each divides a result into.
	teamParts = 1024
	// If a result has fewer than fewRows rows of at most smallRow coordinates, all members compute
	// each row together. smallRow is small because every piece of a row keeps its own sums.
	fewRows  = 64
	smallRow = 1 << 12
	// rowPieces is the largest number of pieces of one term in such a row.
	rowPieces = 64
	// pointsHeld limits the points of all rows in progress, if several members compute rows.
	pointsHeld = 1 << 24
)

// Progress returns how much of the current call is done, and the total in the same unit. It may be
// called while the call runs.
func (t *Team) Progress() (done, total int64) {
	n := t.total.Load()
	return t.runsDone.Load()*n + t.done.Load(), t.runs.Load() * n
}

// Each divides the range of the result's first mode into ranges [lo,hi). For a scalar it uses one
// range, [0,1). It opens a Visitor for each range, and passes it the points in this range. Visitors
// of different ranges run in parallel. Each returns an error if an integer is divided by zero, if a
// Visitor returns an error, or if ctx is done. If there are several errors, it returns one at the
// lowest coordinate of the first mode.
func (t *Team) Each(ctx context.Context, open func(lo, hi int64) (Visitor, error)) error {
	e := t.members[0]
	t.begin(1)
	if len(e.left) == 0 {
		return t.together(ctx, []int64{0}, 1, open)
	}
	size := e.p.slotSizes[e.left[0]]
	rows, some := e.candidates()
	n := size
	if some {
		n = int64(len(rows))
	}
	if n < fewRows && e.rowSpace() <= smallRow {
		if !some {
			for c := range size {
				rows = append(rows, c)
			}
		}
		return t.together(ctx, rows, size, open)
	}
	members := int(max(1, min(int64(len(t.members)), pointsHeld/max(e.rowSpace(), 1))))
	parts := min(n, teamParts)
	return t.run(ctx, members, int(parts), func(e *Evaluator, k int) error {
		own := piece{k, int(parts)}
		lo, hi := own.of(0, n)
		from, to := lo, hi
		if some {
			from, to = 0, size
			if k > 0 {
				from = rows[lo]
			}
			if hi < n {
				to = rows[hi]
			}
		}
		v, err := open(from, to)
		if err != nil {
			return err
		}
		for c := lo; c < hi; c++ {
			first := c
			if some {
				first = rows[c]
			}
			if err := e.row().run(first, v.Point); err != nil {
				return err
			}
		}
		return v.Close()
	})
}

// together computes one row after another. All members compute pieces of the same row.
func (t *Team) together(ctx context.Context, rows []int64, size int64,
	open func(lo, hi int64) (Visitor, error)) error {
	t.begin(len(rows))
	v, err := open(0, size)
	if err != nil {
		return err
	}
	e := t.members[0]
	if e.row().dense == nil {
		panic("BUG: reference: pieces of a large row")
	}
	for _, first := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		type part struct {
			term int
			c    piece
			nums []int64
			accs []accumulator
		}
		var parts []part
		e.row().enter(first)
		for k := range e.terms {
			n := e.row().plans[k].pieces(e.env, rowPieces)
			for c := range n {
				parts = append(parts, part{term: k, c: piece{c, n}})
			}
		}
		err := t.run(ctx, len(t.members), len(parts), func(e *Evaluator, k int) error {
			p := &parts[k]
			r := e.row()
			r.enter(first)
			err := r.add(p.term, p.c)
			p.nums, p.accs = slices.Clone(r.nums), slices.Clone(r.accs)
			r.clear()
			return err
		})
		if err != nil {
			return err
		}
		r := e.row()
		for _, p := range parts {
			for k, n := range p.nums {
				r.numbered(n).merge(e.p.Compute, &p.accs[k])
			}
		}
		if err := r.flush(first, v.Point); err != nil {
			return err
		}
	}
	return v.Close()
}

// At evaluates the statement at n coordinates of the left-hand side. coord returns the k-th
// coordinate, and f receives its point; f is called in parallel for different k. If there are
// several errors, At returns the one with the lowest k.
func (t *Team) At(ctx context.Context, n int, coord func(k int) []int64,
	f func(k int, p Point)) error {
	t.begin(1)
	return t.run(ctx, len(t.members), n, func(e *Evaluator, k int) error {
		p, err := e.At(coord(k))
		if err == nil {
			f(k, p)
		}
		return err
	})
}

// begin resets the progress at the start of a call. runs is the number of times that the call will
// call run.
func (t *Team) begin(runs int) {
	t.runs.Store(int64(runs))
	t.runsDone.Store(0)
	t.total.Store(0)
	t.done.Store(0)
}

// run does the pieces of work with the numbers 0 to n-1 in parallel, each on one of the members.
// After an error in a piece, pieces with higher numbers are not started, and running ones are
// stopped. Pieces with lower numbers are completed, unless ctx is done. So run returns the error of
// the piece with the lowest number.
func (t *Team) run(ctx context.Context, members, n int,
	work func(e *Evaluator, k int) error) error {
	t.done.Store(0)
	t.total.Store(int64(n))
	t.failed.Store(math.MaxInt64)
	var (
		next  atomic.Int64
		mu    sync.Mutex
		first error
		wait  sync.WaitGroup
	)
	member := func(e *Evaluator) {
		defer e.pulse.rest()
		for {
			k := next.Add(1) - 1
			if k >= int64(n) || k > t.failed.Load() {
				return
			}
			err := ctx.Err()
			if err == nil {
				*e.pulse = pulse{ctx: ctx, failed: &t.failed, k: k}
				err = work(e, int(k))
			}
			if err == nil {
				t.done.Add(1)
				continue
			}
			mu.Lock()
			if k < t.failed.Load() && !errors.Is(err, errLater) {
				t.failed.Store(k)
				first = err
			}
			mu.Unlock()
		}
	}
	for _, e := range t.members[1:min(members, max(n, 1))] {
		wait.Add(1)
		go func() {
			defer wait.Done()
			member(e)
		}()
	}
	member(t.members[0])
	wait.Wait()
	t.runsDone.Add(1)
	t.done.Store(0)
	return first
}

// errLater is the error of a piece of work that stopped because an earlier piece returned an error.
var errLater = errors.New("reference: work after an error")

// pulse makes the loops of an evaluator check from time to time whether they must stop.
type pulse struct {
	n      uint32
	ctx    context.Context // nil if they never stop
	failed *atomic.Int64
	k      int64 // the piece of work
}

func (p *pulse) beat() error {
	if p.n++; p.n&0xffff != 0 || p.ctx == nil {
		return nil
	}
	if p.failed.Load() < p.k {
		return errLater
	}
	return p.ctx.Err()
}

func (p *pulse) rest() { *p = pulse{} }
