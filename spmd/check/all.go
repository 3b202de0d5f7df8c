package check

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"distaff/codegen/reference"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// all compares every coordinate. Several threads compare ranges of the first mode.
func (c *checker) all(result *tcs.Tensor) error {
	t, err := c.inOrder(result)
	if err != nil {
		return err
	}
	if t != result {
		defer t.Close()
	}
	var mu sync.Mutex
	var ranges []*rangeCheck
	defer func() {
		for _, r := range ranges {
			r.entries.close()
		}
	}()
	err = c.team.Each(c.problem.Env.Ctx, func(lo, hi int64) (reference.Visitor, error) {
		entries, err := entriesOf(t, lo, hi)
		if err != nil {
			return nil, err
		}
		r := &rangeCheck{c: c, lo: lo, entries: entries}
		mu.Lock()
		defer mu.Unlock()
		ranges = append(ranges, r)
		return r, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(ranges, func(a, b *rangeCheck) int { return cmp.Compare(a.lo, b.lo) })
	for _, r := range ranges {
		c.found.n += r.found.n
		if c.found.first == nil {
			c.found.first = r.found.first
		}
	}
	return nil
}

// rangeCheck compares the coordinates of a range of the first mode. It merges the evaluator's
// points with the result's entries; both are sorted by their coordinates. If one side lacks a
// coordinate, its value there is zero.
type rangeCheck struct {
	c       *checker
	lo      int64
	entries *entryCursor
	found   found
}

func (r *rangeCheck) Point(coord []int64, p reference.Point) error {
	for {
		at, v, ok, err := r.entries.peek()
		if err != nil {
			return err
		}
		order := 1
		if ok {
			order = slices.Compare(at, coord)
		}
		if order < 0 { // the reference is absent here
			r.c.compareAbsent(&r.found, at, v)
			r.entries.advance()
			continue
		}
		if order > 0 {
			v = tensor.Value{Type: r.entries.t.Header.Type}
		} else {
			r.entries.advance()
		}
		r.c.compare(&r.found, coord, p, v)
		return nil
	}
}

// Close compares the entries of the result that come after the evaluator's last point with zero,
// because the reference has no entries there.
func (r *rangeCheck) Close() error {
	for {
		at, v, ok, err := r.entries.peek()
		if err != nil {
			return err
		}
		if !ok {
			r.entries.close()
			return nil
		}
		r.c.compareAbsent(&r.found, at, v)
		r.entries.advance()
	}
}

// inOrder returns the result, or a copy of it whose entries are in the order of the modes.
func (c *checker) inOrder(result *tcs.Tensor) (*tcs.Tensor, error) {
	f := result.Format()
	if slices.IsSorted(f.Order) && !f.Repeats() {
		return result, nil
	}
	sparse := tensor.FormatOf(strings.Repeat("s", len(f.Levels)), nil)
	return coo.Repack(result, sparse, coo.KeepAll, c.problem.Env.Config())
}

// entryCursor iterates over a tensor's entries.
type entryCursor struct {
	t      *tcs.Tensor // a view; nil when closed
	stream coo.Stream
	b      coo.Batch
	k      int
	end    bool
	coord  []int64
}

// cursorBatch is the number of entries that a cursor reads at a time. It is small because there are
// many cursors.
const cursorBatch = 512

// entriesOf returns a cursor over the entries whose first coordinate is in [lo, hi), or over the
// entry of a scalar.
func entriesOf(t *tcs.Tensor, lo, hi int64) (*entryCursor, error) {
	box := make([][2]int64, t.Order())
	for m, d := range t.Header.Dims {
		box[m] = [2]int64{0, d}
	}
	if len(box) > 0 {
		box[0] = [2]int64{lo, hi}
	}
	v, err := t.View(tcs.Block{Box: box})
	if err != nil {
		return nil, err
	}
	return &entryCursor{t: v, stream: coo.FromTensorBy(v, coo.KeepAll, cursorBatch),
		coord: make([]int64, t.Order())}, nil
}

// peek returns the current entry; ok is false after the last one. coord is valid until the next
// call.
func (s *entryCursor) peek() (coord []int64, v tensor.Value, ok bool, err error) {
	for !s.end && s.k == s.b.N {
		s.k = 0
		if err := s.stream.Next(&s.b); err == io.EOF {
			s.end = true
		} else if err != nil {
			return nil, v, false, err
		}
	}
	if s.end {
		return nil, v, false, nil
	}
	for m := range s.coord {
		s.coord[m] = s.b.Coords[m][s.k]
	}
	return s.coord, s.t.Header.Type.Load(unsafe.Pointer(&s.b.Vals[s.k*int(s.t.Header.Type.Size())])),
		true,
		nil
}

func (s *entryCursor) advance() { s.k++ }

func (s *entryCursor) close() {
	if s.t != nil {
		s.stream.Close()
		s.t.Close()
		s.t, s.stream, s.b = nil, nil, coo.Batch{}
	}
}
