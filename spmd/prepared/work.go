package prepared

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen"
	"distaff/codegen/workload"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/tune"
)

// Work is a lower bound of the work that this rank's leaves do in one run: their operations and the
// bytes that they read and write.
type Work struct {
	Model     tune.Work
	Estimated bool // whether operations are estimates, because patterns of operands intersect
}

// Work returns a lower bound of the work of this rank's leaves, counted in the first run. Each
// array of an operand counts as read once; values that are not used do not count. Each block of the
// result that this rank has after the run counts as written once.
func (k *Statement) Work() Work { return k.work.sum }

// work counts the work of the first run.
type work struct {
	sum  Work
	done bool
	read map[*tcs.Tensor]float64 // operands of calls so far, and the number of values read of each
}

// begin resets the counts, unless the first run is complete.
func (w *work) begin() {
	if !w.done {
		w.sum, w.read = Work{}, map[*tcs.Tensor]float64{}
	}
}

// end adds to the counts the result blocks that the run has made. If the result shares an operand's
// level arrays, or existed before, only its values count as written.
func (w *work) end(k *Statement, blocks ...*tcs.Tensor) {
	if w.done {
		return
	}
	for t, values := range w.read {
		w.sum.Model.Read += bytesRead(t, values)
	}
	r := k.leaves[0].unit.Result
	for _, t := range blocks {
		w.sum.Model.Written += t.Vals.Len * int64(t.Vals.Width)
		if r.Shares < 0 && !r.FixedPattern {
			w.sum.Model.Written += levelBytes(t)
		}
	}
	w.sum.Model.Single = slices.Contains(
		[]tensor.Type{tensor.Int32, tensor.Float32, tensor.Complex64}, k.Reader.ComputeType)
	w.done, w.read = true, nil
}

// points returns the product of the lengths of the ranges in bounds. An empty range counts as 1.
func points(bounds [][2]int64) float64 {
	n := 1.0
	for _, b := range bounds {
		n *= float64(max(b[1]-b[0], 1))
	}
	return n
}

// operations returns how many operations a leaf call on args does over the given bounds. at holds,
// for each argument of the unit, its tensor in args, or nil if there is none.
func (s *leaf) operations(args []*tcs.Tensor, bounds [][2]int64) (done workload.Operations,
	at []*tcs.Tensor) {
	x := workload.Extents{NoMoves: true, Counts: make([][]int64, len(s.unit.Args)),
		Size: func(v string) int64 {
			for n, u := range s.unit.Vars {
				if u == v {
					return max(bounds[n][1]-bounds[n][0], 0)
				}
			}
			return s.k.Reader.Sizes.Vars[v]
		}}
	at = make([]*tcs.Tensor, len(s.unit.Args))
	next := 0
	for n, a := range s.unit.Args[1:] {
		if a.Map {
			continue
		}
		t := args[next]
		next++
		at[n+1] = t
		for l := range t.Levels {
			x.Counts[n+1] = append(x.Counts[n+1], t.Positions(l))
		}
	}
	return s.unit.Workload.Operations(x), at
}

// count adds a leaf call to the counts, in the first run only.
func (w *work) count(c *call) {
	if w.done {
		return
	}
	s := c.leaf
	done, at := s.operations(c.args, c.bounds)
	multiplication, addition := 1.0, 1.0
	if s.k.Reader.ComputeType.IsComplex() { // in operations on real numbers
		multiplication, addition = 6, 2
	}
	w.sum.Model.Flops += multiplication*done.Multiplications + addition*done.Additions
	w.sum.Estimated = w.sum.Estimated || !done.Exact
	for n, t := range at {
		if t != nil {
			w.read[t] += done.Reads[n]
		}
	}
}

// maxHastyWork is the largest work for which a leaf is compiled with less optimization. The work is
// the number of operations and of values that are read or written, in all runs together.
//
// A leaf does 0.2 to 1 unit of this work in a nanosecond on each thread. Full optimization takes 50
// to 100 ms longer on one processor, and saves up to two thirds of the leaf's time.
const maxHastyWork = 20e6

// setHasty requests fast compilation with less optimization if the leaf has little work in all
// runs. All ranks decide the same.
func (s *leaf) setHasty() {
	k := s.k
	if k.o.Runs == 0 || k.Reader.Env.Code() != codegen.CPU {
		return
	}
	all := s.steps() * float64(k.o.Runs)
	if s.unit.Hasty = all <= maxHastyWork; s.unit.Hasty {
		k.Reader.Env.Detail(fmt.Sprintf(
			"the leaf of %s is compiled with less optimization, because it does only %.3g "+
				"operations in all", s.stmt,
			all))
	}
}

// steps estimates the work of the leaf in one run, over all calls and ranks: operations on values,
// and values read and written.
func (s *leaf) steps() float64 {
	k, u := s.k, s.unit
	x := workload.Extents{NoMoves: true, Counts: make([][]int64, len(u.Args)),
		Size: func(v string) int64 { return k.Reader.Sizes.Vars[v] }}
	for n, a := range u.Args[1:] {
		t, ok := s.operands[a.Tensor]
		switch {
		case a.Map:
		case ok && !a.Convert && len(t.Counts) == len(t.Format.Levels):
			x.Counts[n+1] = t.Counts
		default:
			x.Counts[n+1] = slices.Repeat([]int64{max(t.NNZ, 0)}, len(a.Format.Levels))
		}
	}
	done := u.Workload.Operations(x)
	all := done.Multiplications + done.Additions
	for _, n := range done.Reads {
		all += n
	}
	if u.Result.Format.AllDense() {
		n := 1.0
		for _, d := range s.dims {
			n *= float64(d)
		}
		all += n
	}
	return all
}

// bytesRead returns how many bytes a leaf reads from t if it reads all level arrays and the given
// number of values. The number is limited to the number of values that t has.
func bytesRead(t *tcs.Tensor, values float64) int64 {
	n := min(int64(math.Round(values)), t.Vals.Len)
	return levelBytes(t) + n*int64(t.Vals.Width)
}

// levelBytes returns the bytes of a tensor's level arrays.
func levelBytes(t *tcs.Tensor) (n int64) {
	for _, l := range t.Levels {
		n += l.Pos.Len*int64(l.Pos.Width) + l.Crd.Len*int64(l.Crd.Width)
	}
	return n
}
