package tcs

import "fmt"

// Source is the file that the arrays of a tensor are read from. Package tcsfile implements it.
type Source interface {
	// Name returns the path of the file, for messages.
	Name() string
	// Compressed reports whether the arrays have no memory until Load.
	Compressed() bool
	// Load gives the arrays of t memory, counted by limit, if they have none. t must be the whole
	// tensor.
	Load(t *Tensor, limit *Limit) error
	// Guard runs f, which reads the arrays, and returns its error. If the file changed while f ran,
	// it returns the error of Changed instead.
	Guard(f func() error) error
	// Changed returns an error if the file changed since it was opened.
	Changed() error
}

// Demand reads the elements of a tensor's arrays when they are needed. Several goroutines may
// call its methods at the same time.
type Demand interface {
	// Need reads elements [lo, hi) of an array, if they were not read before. lo and hi are
	// positions in the whole tensor, and may exceed the array. level is ignored for the values.
	Need(level int, array ArrayKind, lo, hi int64) error
	// Err returns the first error of Need.
	Err() error
}

// SetSource sets the file of a new tensor. d, if not nil, reads the elements of the arrays.
func (t *Tensor) SetSource(s Source, d Demand) { t.source, t.demand = s, d }

// Source returns the file that the tensor was opened from and the reader of its elements. Either
// may be nil. A view has no reader, because View reads its elements.
func (t *Tensor) Source() (Source, Demand) { return t.source, t.demand }

// File returns the path that the tensor was opened from, or "" if there is none.
func (t *Tensor) File() string {
	if t.source == nil {
		return ""
	}
	return t.source.Name()
}

// Compressed reports whether the tensor is from a compressed file. If it is, Load allocates
// memory for the arrays.
func (t *Tensor) Compressed() bool { return t.source != nil && t.source.Compressed() }

// Load allocates memory for the arrays of a compressed file, counted by limit, decompresses them,
// and checks their checksums. If the tensor is read on demand, Load reads the elements that were
// not read yet, and limit has no effect. For tensors of other files it does nothing. It must not be
// called concurrently.
func (t *Tensor) Load(limit *Limit) error {
	if t.source == nil {
		return nil
	}
	return t.source.Load(t, limit)
}

// Changed returns an error (exit code 3) if the file of a mapped tensor was truncated or
// written since it was opened. A caller checks it after it has read the arrays, in Go or in C,
// and before it uses the results: reads of pages that no longer exist may return zeros.
func (t *Tensor) Changed() error {
	if t.source == nil {
		return nil
	}
	return t.source.Changed()
}

// Guarded runs f, which reads the tensor's arrays in the calling goroutine, and returns its error.
// If the file changed while f ran, it returns the error of Changed instead.
func (t *Tensor) Guarded(f func() error) error {
	if t.source == nil {
		return f()
	}
	return t.source.Guard(f)
}

// need reads elements [lo, hi) of an array, if the tensor is read on demand.
func (t *Tensor) need(level int, array ArrayKind, lo, hi int64) error {
	if t.demand == nil {
		return nil
	}
	return t.demand.Need(level, array, lo, hi)
}

// needShown decompresses all elements of t's arrays, if the tensor is read on demand. If t is a
// view, its arrays have only the view's elements.
func (t *Tensor) needShown() error {
	if t.demand == nil {
		return nil
	}
	for _, x := range t.arrays() {
		if err := t.demand.Need(x.level, x.kind, x.First, x.First+x.Len); err != nil {
			return err
		}
	}
	return nil
}

// demandErr returns the first error of reading elements on demand.
func (t *Tensor) demandErr() error {
	if t.demand == nil {
		return nil
	}
	return t.demand.Err()
}

// search returns the index, in [lo, hi), of the first element of a sorted array that is not less
// than key; it returns hi if all elements are less. level and kind select the array. If the arrays
// are decompressed on demand, search decompresses only the elements that it compares.
func (t *Tensor) search(level int, kind ArrayKind, lo, hi, key int64) int64 {
	a := t.Array(level, kind)
	if t.demand == nil {
		return a.search(lo, hi, key)
	}
	for lo < hi {
		mid := int64(uint64(lo+hi) >> 1)
		if t.need(level, kind, a.First+mid, a.First+mid+1) != nil {
			return lo // View returns the error
		}
		if a.Int(mid) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// PosAt returns element i of level l's pos array, counted from the array's first. If the tensor
// is read on demand and the element can't be read, PosAt returns 0; the next View returns the
// error.
func (t *Tensor) PosAt(l int, i int64) int64 {
	a := &t.Levels[l].Pos
	if t.need(l, PosArray, a.First+i, a.First+i+1) != nil {
		return 0
	}
	return a.Int(i)
}

// crdAt returns the coordinate of position p of level l, or -1 if the file can't be read.
func (t *Tensor) crdAt(l int, p int64) int64 {
	if t.need(l, CrdArray, p, p+1) != nil {
		return -1
	}
	return t.Levels[l].Crd.At(p)
}

func (t *Tensor) dataErr(format string, args ...any) error {
	return &Error{Exit: exitData, File: t.File(), Msg: fmt.Sprintf(format, args...)}
}
