package coo

import (
	"errors"
	"slices"

	"distaff/io/tcs"
)

// PartCount holds the counts of the first pass over one part of a tensor's entries. The entries of
// all parts, one part after another, must be in storage order (see Join). Two neighbouring parts
// can share positions, so the first and last coordinates of each part are needed to combine the
// counts. (SuperTaco, section 4.4.2, calls this the partial header of a block.)
type PartCount struct {
	N int64
	// Hist[k] is the number of entries whose outermost difference from the entry before them is at
	// level k. The first entry counts at level 0. The last element counts entries that are equal to
	// the entry before.
	Hist        []int64
	First, Last []int64 // first and last coordinates by level, if N > 0; may be nil for one part
	Sorted      bool
}

// PartCounter makes the first pass over one part of a tensor's entries. It counts the entries of
// the part, as PartCount describes.
type PartCounter struct {
	c counter
	p PartCount
}

// NewPartCounter returns a counter for a part of a tensor that has the given number of levels.
func NewPartCounter(levels int) *PartCounter {
	return &PartCounter{c: *newCounter(levels), p: PartCount{Sorted: true}}
}

// Add counts n entries, given as columns by level. After an entry that is out of order, it counts
// no more, and PartCount.Sorted is false.
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

// addAll counts all entries of a reader.
func (p *PartCounter) addAll(r reader) error {
	var b Batch
	for {
		n, err := r.next(&b)
		if n == 0 || err != nil {
			return err
		}
		p.Add(b.Coords, n)
	}
}

// Part returns the counts.
func (p *PartCounter) Part() PartCount {
	p.p.Hist, p.p.Last = p.c.hist, p.c.prev
	return p.p
}

// Joined is a tensor that several parts fill in parallel. Each part writes its own range of every
// array. The ranges are prefix sums of the parts' counts (SuperTaco, section 4.4.3, calls these
// scanned counters). Joined stores no entries: besides the tensor's arrays it needs only a few
// small buffers for each part.
type Joined struct {
	spec   Spec
	hist   []int64
	parts  []PartCount
	before [][]int64 // by part, the number of coordinates in each level before it
	shape  *tcs.Shape
	t      *tcs.Tensor
	fill   []*filler  // by part; nil before its first entry
	again  []*counter // by part, counts of the entries that were added
}

// ErrUnordered reports that the entries of all parts, one part after another, are not in storage
// order, or that coordinates repeat in a tensor that must not keep repeats. A Sorter can handle
// such entries, but Join cannot.
var ErrUnordered = errors.New("the parts of a tensor must be in storage order")

// Join plans the assembly of the parts into the tensor of spec. The sizes, modes and type of spec
// must be set.
func Join(spec Spec, parts []PartCount) (*Joined, error) {
	j, err := newJoined(spec, parts)
	if err != nil {
		return nil, err
	}
	if j.hist[len(spec.Format.Levels)] > 0 && !spec.keepsRepeats() {
		return nil, ErrUnordered
	}
	return j, nil
}

// newJoined does the work of Join, except the check for repeated coordinates.
func newJoined(spec Spec, parts []PartCount) (*Joined, error) {
	levels := len(spec.Format.Levels)
	j := &Joined{spec: spec, parts: parts, hist: make([]int64, levels+1)}
	var last []int64
	for i := range parts {
		p := &parts[i]
		j.before = append(j.before, counts(spec.Format, j.hist))
		if !p.Sorted {
			return nil, ErrUnordered
		}
		if p.N == 0 {
			continue
		}
		for k, n := range p.Hist {
			j.hist[k] += n
		}
		if last != nil { // the first entry of this part has an entry before it
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
	return j, nil
}

// mergeParts merges all parts into one.
func (j *Joined) mergeParts() {
	all := PartCount{Hist: j.hist, Sorted: true}
	for _, p := range j.parts {
		all.N += p.N
	}
	j.parts, j.before = []PartCount{all}, j.before[:1]
}

// Shape returns the shape of the joined tensor.
func (j *Joined) Shape() *tcs.Shape {
	head := tcs.Header{Dims: j.spec.Dims, Box: slices.Clone(j.spec.Box), Splits: j.spec.Splits,
		Type: j.spec.Type}
	entries := int64(0)
	for _, n := range j.hist {
		entries += n
	}
	return &tcs.Shape{Header: head, Format: j.spec.Format,
		Counts: counts(j.spec.Format, j.hist), Wide: j.spec.Wide, Entries: entries}
}

// Allocate allocates the arrays of the tensor and counts them against the limit. wide selects
// 64-bit positions and coordinates.
func (j *Joined) Allocate(limit *tcs.Limit, wide bool) error {
	j.spec.Wide = wide
	return j.allocate(limit, j.spec.Name)
}

// allocate does the work of Allocate. name is the tensor's name for messages.
func (j *Joined) allocate(limit *tcs.Limit, name string) (err error) {
	j.shape = j.Shape()
	j.t, err = tcs.New(j.shape, limit, name)
	j.fill, j.again = make([]*filler, len(j.parts)), make([]*counter, len(j.parts))
	return err
}

// filler returns the filler of the given part. The filler appends its first entry after the last
// entry of the earlier parts.
func (j *Joined) filler(part int) *filler {
	if j.fill[part] == nil {
		j.fill[part] = j.resumeBefore(part, newFiller(&j.spec, j.shape, sinksOf(j.t)))
	}
	return j.fill[part]
}

// resumeBefore prepares filler f for the given part, and returns f. f gets the state that it would
// have if it had filled all earlier parts.
func (j *Joined) resumeBefore(part int, f *filler) *filler {
	for i := part - 1; i >= 0; i-- {
		if p := &j.parts[i]; p.N > 0 {
			f.resume(p.Last, j.before[part])
			break
		}
	}
	return f
}

// sinksOf returns a function that makes a sink for each array of a tensor in memory.
func sinksOf(t *tcs.Tensor) func(level int, part tcs.ArrayKind) *sink {
	return func(level int, part tcs.ArrayKind) *sink {
		switch part {
		case tcs.PosArray:
			return memorySink(t.Levels[level].Pos, 0)
		case tcs.CrdArray:
			return memorySink(t.Levels[level].Crd, 0)
		}
		return memorySink(t.Vals, 0)
	}
}

// Add appends n entries to a part, given as columns by level. Calls for different parts may
// alternate. Entries out of order are an error, and so are more entries than the first pass counted
// at some level.
func (j *Joined) Add(part int, cols [][]int64, vals []byte, n int) error {
	if n == 0 {
		return nil
	}
	f := j.filler(part)
	if j.again[part] == nil {
		j.again[part] = newCounter(len(j.spec.Format.Levels))
	}
	c, want := j.again[part], j.parts[part].Hist
	if !c.add(cols, n) {
		return j.spec.errChanged()
	}
	for k, h := range c.hist {
		if h > want[k] {
			return j.spec.errChanged()
		}
	}
	return f.add(cols, vals, n)
}

// Finish returns the tensor after all entries of all parts were added. The caller closes it.
func (j *Joined) Finish() (*tcs.Tensor, error) {
	end := 0 // the last part that has an entry
	for i, p := range j.parts {
		if p.N > 0 {
			if end = i; j.again[i] == nil || !slices.Equal(j.again[i].hist, p.Hist) {
				return nil, j.spec.errChanged()
			}
		}
	}
	return j.finished(end)
}

// fillAll fills each part with the entries of its reader, in parallel, and returns the tensor.
func (j *Joined) fillAll(readers []reader) (*tcs.Tensor, error) {
	errs := make([]error, len(readers))
	parallel(len(readers), func(i int) {
		errs[i] = j.filler(i).addAll(readers[i], nil)
		readers[i].close()
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return j.finished(len(readers) - 1)
}

// finished is called after all parts are filled. It appends the elements after the last entry to
// each array, and returns the tensor. Parts with a number above lastPart have no entries.
func (j *Joined) finished(lastPart int) (*tcs.Tensor, error) {
	if err := j.filler(lastPart).finish(); err != nil {
		return nil, err
	}
	t := j.t
	t.Trust()
	j.t = nil
	return t, nil
}

// Close releases the memory of a tensor that was not finished.
func (j *Joined) Close() {
	if j.t != nil {
		j.t.Close()
		j.t = nil
	}
}
