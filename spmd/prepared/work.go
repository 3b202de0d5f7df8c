package prepared

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/tune"
	"distaff/spmd/plan"
)

// Work is what this rank's leaves have to do in a run at least.
type Work struct {
	Model     tune.Work
	Estimated bool // of operands whose patterns meet, the operations were estimated
}

// Work is what the first run's leaves had to do: each array of an operand is read once, but for
// values beyond those that are used, and each block of the result that lives here is written once.
func (k *Statement) Work() Work { return k.work.sum }

// work is that of the first run, as it is counted.
type work struct {
	sum  Work
	done bool
	read map[*tcs.Tensor]float64 // operands of calls so far, and how many of their values were read
}

// begin counts from nothing, in the first run.
func (w *work) begin() {
	if !w.done {
		w.sum, w.read = Work{}, map[*tcs.Tensor]float64{}
	}
}

// end counts what the run has made. The pattern of a result that has an operand's level arrays, or
// that is given, is not written.
func (w *work) end(k *Statement, blocks map[plan.Block]*tcs.Tensor) {
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
	w.sum.Model.Single = slices.Contains([]tensor.Type{tensor.Int32, tensor.Float32, tensor.Complex64},
		k.Reader.ComputeType)
	w.done, w.read = true, nil
}

// points returns the number of coordinates of loops over these bounds. An empty range counts as 1.
func points(bounds [][2]int64) float64 {
	n := 1.0
	for _, b := range bounds {
		n *= float64(max(b[1]-b[0], 1))
	}
	return n
}

// operations are what a call of a leaf does, on its operands and over bounds of its variables. at
// are the operands by argument, nil for those that are no tensors of the call.
func (s *leaf) operations(args []*tcs.Tensor, bounds [][2]int64) (done codegen.Operations,
	at []*tcs.Tensor) {
	x := codegen.Extents{NoMoves: true, Counts: make([][]int64, len(s.unit.Args)),
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
	return s.unit.Operations(x), at
}

// called counts a call of a leaf on its operands, over ranges of its variables, and refuses an
// endless one.
func (w *work) called(s *leaf, args []*tcs.Tensor, ranges map[string][2]int64) error {
	bounds := s.bounds(ranges)
	if err := s.endless(args, bounds); err != nil || w.done || w.read == nil {
		return err
	}
	done, at := s.operations(args, bounds)
	multiplication, addition := 1.0, 1.0
	if s.k.Reader.ComputeType.IsComplex() { // of real numbers
		multiplication, addition = 6, 2
	}
	w.sum.Model.Flops += multiplication*done.Multiplications + addition*done.Additions
	w.sum.Estimated = w.sum.Estimated || !done.Exact
	for n, t := range at {
		if t != nil {
			w.read[t] += done.Reads[n]
		}
	}
	return nil
}

// mostHasty is the number of operations, and of values read and written, of all runs of a leaf up
// to which the leaf is compiled in haste. Leaves do 0.2 to 1 of them in a nanosecond and thread,
// and it takes 50 to 100 ms of a processor longer to compile one for speed, after which it takes a
// third to all of the time.
const mostHasty = 20e6

// hasten has a leaf that does little be compiled in haste. Every rank finds the same.
func (s *leaf) hasten() {
	k := s.k
	if k.o.Runs == 0 || k.Reader.Env.Code() != codegen.CPU {
		return
	}
	all := s.steps() * float64(k.o.Runs)
	if s.unit.Hasty = all <= mostHasty; s.unit.Hasty {
		k.Reader.Env.Detail(fmt.Sprintf(
			"the leaf of %s is compiled with less optimization: it does %.3g operations in all", s.stmt,
			all))
	}
}

// steps estimates how many operations on values all calls of the leaf in one run do, at all ranks
// together, with the values that they read and write.
func (s *leaf) steps() float64 {
	k, u := s.k, s.unit
	x := codegen.Extents{NoMoves: true, Counts: make([][]int64, len(u.Args)),
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
	done := u.Operations(x)
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

// bytesRead is what reading a tensor's level arrays takes, and so many of its values, each once at
// most.
func bytesRead(t *tcs.Tensor, values float64) int64 {
	n := min(int64(math.Round(values)), t.Vals.Len)
	return levelBytes(t) + n*int64(t.Vals.Width)
}

// levelBytes is what a tensor's level arrays take.
func levelBytes(t *tcs.Tensor) (n int64) {
	for _, l := range t.Levels {
		n += l.Pos.Len*int64(l.Pos.Width) + l.Crd.Len*int64(l.Crd.Width)
	}
	return n
}
