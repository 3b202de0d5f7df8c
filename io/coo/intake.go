package coo

import (
	"fmt"
	"io"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Intake reads the entries of a stream by level, converts values to the type of the spec, and
// checks coordinates.
type Intake struct {
	in   Stream
	spec Spec
	b    Batch
	cols [][]int64 // coordinates of the batch, by level
	conv []byte    // converted values of the batch, if the stream has another type
	// by level, the half-open range of valid coordinates; the end is -1 if it is unknown
	limits   [][2]int64
	min, max []int64 // by level, over all entries so far; max is -1 without entries
}

// NewIntake returns an Intake for a tensor whose blocks are assembled separately, for example by
// several ranks. spec.Dims must be set. spec.Box is ignored.
func NewIntake(in Stream, spec Spec) (*Intake, error) {
	spec, err := spec.normal(in)
	if err != nil {
		return nil, err
	}
	if spec.Dims == nil {
		panic("BUG: coo: intake of a tensor without sizes")
	}
	spec.Box = nil
	return newIntake(in, spec, spec.Dims), nil
}

// newIntake returns an Intake. spec must be normal (Spec.normal). dims is nil if the sizes are
// unknown or not checked.
func newIntake(in Stream, spec Spec, dims []int64) *Intake {
	levels := len(spec.Format.Order)
	i := &Intake{in: in, spec: spec, cols: make([][]int64, levels), limits: make([][2]int64, levels),
		min: make([]int64, levels), max: make([]int64, levels)}
	for l, m := range spec.Format.Order {
		switch i.max[l] = -1; {
		case spec.Box != nil:
			i.limits[l] = spec.Box[m]
		case dims != nil:
			i.limits[l] = [2]int64{0, dims[m]}
		default:
			i.limits[l] = [2]int64{0, -1}
		}
	}
	return i
}

// Next returns the next n entries, at least one: a column of coordinates for each level, and the
// values. They are valid until the next call. After the last entry it returns io.EOF.
func (i *Intake) Next() (cols [][]int64, vals []byte, n int, err error) {
	if vals, err = i.read(); err == nil {
		err = i.updateSpan()
	}
	return i.cols, vals, i.b.N, err
}

// read does the work of Next, except the check of coordinates. The columns are in i.cols, and i.b.N
// is the number of entries.
func (i *Intake) read() (vals []byte, err error) {
	for {
		if err := i.in.Next(&i.b); err != nil {
			return nil, err
		}
		if i.b.N > 0 {
			break
		}
	}
	for l, m := range i.spec.Format.Order {
		i.cols[l] = i.b.Coords[m][:i.b.N]
	}
	from, to := i.in.Type(), i.spec.Type
	if from == to {
		return i.b.Vals, nil
	}
	need := i.b.N * int(to.Size())
	if cap(i.conv) < need {
		i.conv = make([]byte, need)
	}
	bad, err := tcs.ConvertValues(i.conv[:need], to, i.b.Vals, from, i.b.N)
	if err != nil && bad >= 0 {
		at := make([]int64, len(i.b.Coords))
		for m := range at {
			at[m] = i.b.Coords[m][bad]
		}
		return nil, &Error{Exit: 2, Name: i.spec.Name,
			Msg: fmt.Sprintf("%v, at %s", err, formatCoords(at))}
	}
	return i.conv[:need], err
}

// Rewind returns to the first entry.
func (i *Intake) Rewind() error { return i.in.Rewind() }

// CheckRest reads and checks the remaining entries, without using them, and returns the first
// error.
func (i *Intake) CheckRest() error {
	for {
		if _, _, _, err := i.Next(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// updateSpan checks the coordinates of the batch and updates i.min and i.max.
func (i *Intake) updateSpan() error {
	for l, col := range i.cols {
		lo, hi := col[0], col[0]
		for _, x := range col {
			lo, hi = min(lo, x), max(hi, x)
		}
		r := i.limits[l]
		if lo < r[0] || hi < 0 || r[1] >= 0 && hi >= r[1] || hi > maxCoord {
			return i.outsideErr(l)
		}
		if i.max[l] < 0 {
			i.min[l] = lo
		}
		i.min[l], i.max[l] = min(i.min[l], lo), max(i.max[l], hi)
	}
	return nil
}

// maxCoord is the largest coordinate of any tensor.
const maxCoord = tensor.MaxSize - 1

// outsideErr returns an error that names the invalid coordinate of level l.
func (i *Intake) outsideErr(l int) error {
	r, m := i.limits[l], i.spec.Format.Order[l]
	for _, x := range i.cols[l] {
		if x < 0 {
			return i.spec.dataErr("got coordinate %d in mode %d, want at least 0", x, m)
		}
		if x > maxCoord {
			return i.spec.dataErr(
				"got coordinate %d in mode %d, want at most %d: sizes are at most 2^61",
				x+1, m, int64(tensor.MaxSize))
		}
		if x < r[0] || r[1] >= 0 && x >= r[1] {
			if r[0] > 0 || i.spec.Box != nil {
				return i.spec.dataErr(
					"got coordinate %d in mode %d, want %d to %d: the range of its block",
					x+1, m, r[0]+1, r[1])
			}
			return i.spec.dataErr(
				"got coordinate %d in mode %d, want at most %d, its size", x+1, m, r[1])
		}
	}
	panic("BUG: coo: a coordinate outside its range is not to be found")
}

// InOrder reports whether the stream is known to yield its entries in the storage order of a tensor
// whose levels store these modes.
func InOrder(in Stream, modes []int) bool {
	n, known := sortLevels(in, modes)
	return known && n == 0
}

// sortLevels returns the number n of levels by which the entries of a stream must be sorted,
// counted from the outermost level. After a stable sort by these levels the entries are in the
// storage order of a tensor whose levels store the given modes. known is false, and n is 0, if the
// stream does not know the order of its entries.
func sortLevels(s Stream, modes []int) (n int, known bool) {
	o, ok := s.(orderedStream)
	if !ok {
		return 0, false
	}
	return o.sortLevels(modes), true
}

// orderedStream is a stream that knows the order of its entries.
type orderedStream interface {
	// sortLevels returns by how many levels the entries must be sorted, counted from the outermost.
	// A stable sort by these levels brings the entries into the storage order of a tensor whose
	// levels store modes.
	sortLevels(modes []int) int
}
