package reference

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// row accumulates the points of one row: the coordinates of the result that share their first
// coordinate. A point is identified by its row-major number within the row. If these numbers may
// exceed an int64, it is identified by the bytes of its coordinates. Both sort like the
// coordinates.
type row struct {
	e     *Evaluator
	plans []*plan        // for each term, with the first variable of the left-hand side known
	adds  []func() error // for each term, adds it at the current point
	rest  []int          // the variables of the left-hand side except the first
	dims  []int64
	dense []int32 // for each number, 1 + the index in accs; nil for large rows
	byNum map[int64]int32
	byKey map[string]int32
	accs  []accumulator
	nums  []int64
	keys  []string
	key   []byte
	coord []int64
}

// denseRow is the largest number of coordinates in a row that is kept in the array row.dense.
const denseRow = 1 << 22

func newRow(e *Evaluator) *row {
	r := &row{e: e, coord: make([]int64, len(e.left))}
	others := e.left[min(1, len(e.left)):]
	for k, t := range e.terms {
		r.plans = append(r.plans, newPlan(t, slices.Concat(others, e.sums[k]), e.p.slotSizes, e.pulse))
		r.adds = append(r.adds, func() error { return r.addHere(t) })
	}
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

// row returns the evaluator's row.
func (e *Evaluator) row() *row {
	if e.inRow == nil {
		e.inRow = newRow(e)
	}
	return e.inRow
}

// rowSpace returns the number of coordinates in a row, at most math.MaxInt64.
func (e *Evaluator) rowSpace() int64 {
	space := uint64(1)
	for _, s := range e.left[min(1, len(e.left)):] {
		hi, lo := bits.Mul64(space, uint64(e.p.slotSizes[s]))
		if hi != 0 || lo > math.MaxInt64 {
			return math.MaxInt64
		}
		space = lo
	}
	return int64(space)
}

// enter empties the row and sets its coordinate in the first mode to rowCoord. If the result is a
// scalar, it ignores rowCoord.
func (r *row) enter(rowCoord int64) {
	r.clear() // an earlier call may have ended with an error
	if len(r.e.left) > 0 {
		r.e.env[r.e.left[0]] = rowCoord
	}
}

// run evaluates one row and calls f for each point of the row. rowCoord is the row's coordinate in
// mode 0 of the result.
func (r *row) run(rowCoord int64, f func([]int64, Point) error) error {
	if err := r.e.pulse.ctx.Err(); err != nil {
		return err
	}
	r.enter(rowCoord)
	for k := range r.e.terms {
		if err := r.add(k, piece{}); err != nil {
			return err
		}
	}
	return r.flush(rowCoord, f)
}

// add adds term number k to the row. It visits the points of piece c, and skips points where the
// term is absent.
func (r *row) add(k int, c piece) error { return r.plans[k].step(0, r.e.env, c, r.adds[k]) }

// addHere adds term t at the current point, if t is present there.
func (r *row) addHere(t *term) error {
	ok, err := t.eval(r.e.env, &t.x)
	if !ok || err != nil {
		return err
	}
	r.at().add(r.e.p.Compute, &t.x)
	return nil
}

// at returns the accumulator of the current point.
func (r *row) at() *accumulator {
	if r.byKey != nil {
		key := r.key[:0]
		for _, s := range r.rest {
			key = binary.BigEndian.AppendUint64(key, uint64(r.e.env[s]))
		}
		r.key = key
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
	return r.numbered(n)
}

// numbered returns the accumulator of point n.
func (r *row) numbered(n int64) *accumulator {
	k := int32(-1)
	if r.dense != nil {
		k = r.dense[n] - 1
	} else if at, ok := r.byNum[n]; ok {
		k = at
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

// flush calls f for each point of the row, in the order of the coordinates, and then empties the
// row. rowCoord is the row's coordinate in mode 0 of the result.
func (r *row) flush(rowCoord int64, f func([]int64, Point) error) error {
	if len(r.coord) > 0 {
		r.coord[0] = rowCoord
	}
	slices.Sort(r.nums)
	slices.Sort(r.keys)
	for _, n := range r.nums {
		var k int32
		if r.dense != nil {
			k = r.dense[n] - 1
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
	r.clear()
	return nil
}

// clear empties the row.
func (r *row) clear() {
	if r.dense != nil {
		for _, n := range r.nums {
			r.dense[n] = 0
		}
	}
	r.accs, r.nums, r.keys = r.accs[:0], r.nums[:0], r.keys[:0]
	clear(r.byNum)
	clear(r.byKey)
}
