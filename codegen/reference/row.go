package reference

import (
	"context"
	"encoding/binary"
	"math/bits"
	"slices"
)

// row accumulates the points of one coordinate of the first mode. The others'
// are numbered in row-major order where an int64 holds them (they order as
// their numbers do), and named by their bytes otherwise.
type row struct {
	e     *Evaluator
	rest  []int // the left side's variables but the first
	dims  []int64
	dense []int32 // by number, 1 + the index in accs; nil for large rows
	byNum map[int64]int32
	byKey map[string]int32
	accs  []accumulator
	nums  []int64
	keys  []string
	coord []int64
}

// denseRow is the largest row whose accumulators are found by an array.
const denseRow = 1 << 22

func newRow(e *Evaluator) *row {
	r := &row{e: e, coord: make([]int64, len(e.left))}
	space, fits := uint64(1), true
	for m, s := range e.left {
		if m == 0 {
			continue
		}
		r.rest = append(r.rest, s)
		size := e.p.slotSizes[s]
		r.dims = append(r.dims, size)
		hi, lo := bits.Mul64(space, uint64(size))
		space = lo
		fits = fits && hi == 0 && lo < 1<<62
	}
	switch {
	case !fits:
		r.byKey = map[string]int32{}
	case space <= denseRow:
		r.dense = make([]int32, space)
	default:
		r.byNum = map[int64]int32{}
	}
	return r
}

// run evaluates the row at first (nil for a scalar) and calls f for each point.
func (r *row) run(ctx context.Context, first []int64, f func([]int64, Point) error) error {
	e := r.e
	plans := e.rows
	if len(first) > 0 {
		e.env[e.left[0]] = first[0]
	} else {
		for k, t := range e.terms {
			plans[k] = newPlan(t.needs, e.sums[k], e.p.slotSizes)
		}
	}
	visited := 0
	for k, t := range e.terms {
		err := plans[k].each(e.env, func() error {
			if visited++; visited&0xffff == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			return r.add(t)
		})
		if err != nil {
			return err
		}
	}
	return r.flush(first, f)
}

// add adds the term at the current point, if it is present there.
func (r *row) add(t *term) error {
	x, ok, err := t.eval(r.e.env)
	if !ok || err != nil {
		return err
	}
	r.at().add(r.e.p.Compute, x)
	return nil
}

// at is the accumulator of the current point.
func (r *row) at() *accumulator {
	if r.byKey != nil {
		var key []byte
		for _, s := range r.rest {
			key = binary.BigEndian.AppendUint64(key, uint64(r.e.env[s]))
		}
		k, ok := r.byKey[string(key)]
		if !ok {
			k = int32(len(r.accs))
			r.byKey[string(key)] = k
			r.accs = append(r.accs, accumulator{})
			r.keys = append(r.keys, string(key))
		}
		return &r.accs[k]
	}
	n := int64(0)
	for m, s := range r.rest {
		n = n*r.dims[m] + r.e.env[s]
	}
	var k int32
	if r.dense != nil {
		k = r.dense[n] - 1
	} else if at, ok := r.byNum[n]; ok {
		k = at
	} else {
		k = -1
	}
	if k < 0 {
		k = int32(len(r.accs))
		r.accs = append(r.accs, accumulator{})
		r.nums = append(r.nums, n)
		if r.dense != nil {
			r.dense[n] = k + 1
		} else {
			r.byNum[n] = k
		}
	}
	return &r.accs[k]
}

// flush calls f for the row's points in order, and empties the row.
func (r *row) flush(first []int64, f func([]int64, Point) error) error {
	copy(r.coord, first)
	slices.Sort(r.nums)
	slices.Sort(r.keys)
	for _, n := range r.nums {
		var k int32
		if r.dense != nil {
			k = r.dense[n] - 1
			r.dense[n] = 0
		} else {
			k = r.byNum[n]
		}
		for m := len(r.dims) - 1; m >= 0; m-- {
			r.coord[m+1] = n % r.dims[m]
			n /= r.dims[m]
		}
		if err := f(r.coord, r.e.point(&r.accs[k])); err != nil {
			return err
		}
	}
	for _, key := range r.keys {
		for m := range r.dims {
			r.coord[m+1] = int64(binary.BigEndian.Uint64([]byte(key[8*m:])))
		}
		if err := f(r.coord, r.e.point(&r.accs[r.byKey[key]])); err != nil {
			return err
		}
	}
	r.accs, r.nums, r.keys = r.accs[:0], r.nums[:0], r.keys[:0]
	clear(r.byNum)
	clear(r.byKey)
	return nil
}
