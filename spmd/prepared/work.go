package prepared

import (
	"math"
	"slices"

	"distaff/codegen/workload"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/tune"
)

// Work is a lower bound of the work that this rank's leaves do in one run: their operations and the
// bytes that they read and write. If Estimated is set, the operations are an estimate instead. Work
// is counted in the first run. Each array of an operand counts as read once; values that are not
// used do not count. Each block of the result that this rank has after the run counts as written
// once.
type Work struct {
	Model     tune.Work
	Estimated bool // whether operations are estimates, because patterns of operands intersect

	done bool                    // whether the first run is complete
	read map[*tcs.Tensor]float64 // operands of calls so far, and the number of values read of each
}

// begin resets the counts, unless the first run is complete.
func (w *Work) begin() {
	if !w.done {
		*w = Work{read: map[*tcs.Tensor]float64{}}
	}
}

// count adds a leaf call to the counts, in the first run only.
func (w *Work) count(c *call) {
	if w.done {
		return
	}
	s := c.leaf
	tensors, counts := s.byArgument(c.args)
	done := s.unit.Workload.Operations(workload.Extents{NoMoves: true, Counts: counts,
		Size: func(v string) int64 {
			if n := slices.Index(s.unit.Vars, v); n >= 0 {
				return max(c.bounds[n][1]-c.bounds[n][0], 0)
			}
			return s.p.Reader.Sizes.Vars[v]
		}})
	multiplication, addition := 1.0, 1.0
	if s.p.Reader.ComputeType.IsComplex() { // in operations on real numbers
		multiplication, addition = 6, 2
	}
	w.Model.Flops += multiplication*done.Multiplications + addition*done.Additions
	w.Estimated = w.Estimated || !done.Exact
	for n, t := range tensors {
		if t != nil {
			w.read[t] += done.Reads[n]
		}
	}
}

// end completes the counts, in the first run only: it adds the bytes that the calls have read, and
// the result blocks of leaf s. If the result shares an operand's level arrays, or existed before,
// only its values count as written.
func (w *Work) end(s *leaf, blocks ...*tcs.Tensor) {
	if w.done {
		return
	}
	for t, values := range w.read {
		n := min(int64(math.Round(values)), t.Vals.Len)
		w.Model.Read += levelBytes(t) + n*int64(t.Vals.Width)
	}
	r := s.unit.Result
	for _, t := range blocks {
		w.Model.Written += t.Vals.Len * int64(t.Vals.Width)
		if r.Shares < 0 && !r.FixedPattern {
			w.Model.Written += levelBytes(t)
		}
	}
	w.Model.Single = slices.Contains(
		[]tensor.Type{tensor.Int32, tensor.Float32, tensor.Complex64}, s.p.Reader.ComputeType)
	w.done, w.read = true, nil
}

// levelBytes returns the bytes of a tensor's level arrays.
func levelBytes(t *tcs.Tensor) int64 { return t.Bytes() - t.Vals.Len*int64(t.Vals.Width) }
