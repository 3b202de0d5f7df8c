package coo

import (
	"errors"
	"slices"

	"distaff/io/tcs"
)

// PartCount is what the first pass finds in one part of a tensor's entries, which
// are in storage order; parts follow one another (SuperTaco section 4.4.2: the
// partial header of a block, with the edges that the whole header needs).
type PartCount struct {
	N int64
	// how many entries first differ at level k from the one before; the first entry: at 0; [levels]:
	// nowhere
	Hist        []int64
	First, Last []int64 // coordinates by level, where N > 0
	Sorted      bool
}

// PartCounter makes the first pass over a part.
type PartCounter struct {
	c counter
	p PartCount
}

// NewPartCounter counts a part of a tensor of those level kinds.
func NewPartCounter(kinds string) *PartCounter {
	return &PartCounter{c: *newCounter(kinds), p: PartCount{Sorted: true}}
}

// Add counts n entries: columns by level.
func (p *PartCounter) Add(cols [][]int64, n int) {
	if n == 0 || !p.p.Sorted {
		return
	}
	if p.p.N == 0 {
		for _, col := range cols {
			p.p.First = append(p.p.First, col[0])
		}
	}
	p.p.N += int64(n)
	p.p.Sorted = p.c.add(cols, n)
}

// Part is what was counted.
func (p *PartCounter) Part() PartCount {
	p.p.Hist, p.p.Last = p.c.hist, p.c.prev
	return p.p
}

// Joined is a tensor that is filled from several parts of its entries side by
// side, each at its place in every array (section 4.4.3: scanned counters). It
// takes no memory but the tensor's.
type Joined struct {
	spec   Spec
	hist   []int64
	parts  []PartCount
	before [][]int64 // a part, the coordinates that each level has before it
	shape  *tcs.Shape
	t      *tcs.Tensor
	fill   []*filler  // a part; nil before its first entry
	again  []*counter // a part, what was added to it
}

// ErrUnordered says that parts are not in order, one after another, or that
// coordinates repeat which the tensor does not keep: Join can't, Builder can.
var ErrUnordered = errors.New("parts are not in storage order")

// Join puts parts together to the tensor of spec, whose sizes, modes and type are set.
func Join(spec Spec, parts []PartCount) (*Joined, error) {
	levels := len(spec.Kinds)
	j := &Joined{spec: spec, parts: parts, hist: make([]int64, levels+1)}
	var last []int64
	for i := range parts {
		p := &parts[i]
		j.before = append(j.before, counts(spec.Kinds, j.hist))
		if !p.Sorted {
			return nil, ErrUnordered
		}
		if p.N == 0 {
			continue
		}
		for k, n := range p.Hist {
			j.hist[k] += n
		}
		if last != nil { // the first entry has one before it after all
			k := 0
			for k < levels && p.First[k] == last[k] {
				k++
			}
			if k < levels && p.First[k] < last[k] {
				return nil, ErrUnordered
			}
			j.hist[0]--
			j.hist[k]++
		}
		last = p.Last
	}
	if j.hist[levels] > 0 && (spec.Duplicates == Refuse || !tcs.KeepsRepeats(spec.Kinds)) {
		return nil, ErrUnordered
	}
	return j, nil
}

// Allocate makes the tensor's arrays, counted against the limit.
func (j *Joined) Allocate(limit *tcs.Limit, wide bool) error {
	j.shape = &tcs.Shape{Header: tcs.Header{Dims: j.spec.Dims, Box: slices.Clone(j.spec.Box),
		Splits: j.spec.Splits, Type: j.spec.Type},
		Kinds: j.spec.Kinds, Modes: j.spec.Modes, Counts: counts(j.spec.Kinds, j.hist), Wide: wide}
	t, err := tcs.New(j.shape, limit, j.spec.Name)
	if err != nil {
		return err
	}
	j.t = t
	j.fill, j.again = make([]*filler, len(j.parts)), make([]*counter, len(j.parts))
	return nil
}

// filler is where a part is filled in: after the last entry of those before it.
func (j *Joined) filler(part int) *filler {
	if f := j.fill[part]; f != nil {
		return f
	}
	f := newFiller(&j.spec, j.shape, sinksOf(j.t))
	for i := part - 1; i >= 0; i-- {
		if p := &j.parts[i]; p.N > 0 {
			f.resume(p.Last, j.before[part])
			break
		}
	}
	j.fill[part], j.again[part] = f, newCounter(j.spec.Kinds)
	return f
}

// Add appends n entries to a part: columns by level. Entries of different parts
// may come in any turn. What the first pass did not count is an error.
func (j *Joined) Add(part int, cols [][]int64, vals []byte, n int) error {
	if n == 0 {
		return nil
	}
	f := j.filler(part)
	c, want := j.again[part], j.parts[part].Hist
	if !c.add(cols, n) {
		return j.errChanged()
	}
	for k, h := range c.hist {
		if h > want[k] {
			return j.errChanged()
		}
	}
	return f.add(cols, vals, n)
}

func (j *Joined) errChanged() error {
	return j.spec.dataErr("the input changed between two readings")
}

// Finish is the tensor, which the caller closes, once all parts are whole.
func (j *Joined) Finish() (*tcs.Tensor, error) {
	end := 0 // the last part that has an entry
	for i, p := range j.parts {
		if p.N > 0 {
			if end = i; j.again[i] == nil || !slices.Equal(j.again[i].hist, p.Hist) {
				return nil, j.errChanged()
			}
		}
	}
	if err := j.filler(end).finish(); err != nil {
		return nil, err
	}
	t := j.t
	t.Trust()
	j.t = nil
	return t, nil
}

// Close gives the memory of a tensor up that was not finished.
func (j *Joined) Close() {
	if j.t != nil {
		j.t.Close()
		j.t = nil
	}
}
