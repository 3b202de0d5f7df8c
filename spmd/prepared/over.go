package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// oldOperand returns the name of the operand that is the result's old value, if a leaf may write
// over it. Otherwise it returns "". The caller must have asked for it (Options.Over), only one
// access may read the operand, and each block of the result must be made by one step at the rank
// that owns the old block.
func (k *Statement) oldOperand() string {
	if !k.o.Over || k.needsNarrowing() || k.into != nil || len(k.Problem.Blocking.Groups) != 1 {
		return ""
	}
	n := -1
	for i, o := range k.Problem.Operands {
		if !k.isOld(o.Tensor) {
			continue
		}
		if n >= 0 {
			return ""
		}
		n = i
	}
	if n < 0 || !k.Problem.Whole && !k.hasOneStepPerBlock(n) {
		return ""
	}
	return k.Problem.Operands[n].Name
}

// isOld reports whether a tensor is the result's old value.
func (k *Statement) isOld(tensor string) bool { return tensor == k.p.Old || tensor == k.p.Result }

// hasOneStepPerBlock reports whether one step makes each block of a dense result, from the same
// block of an operand, and one rank owns both.
func (k *Statement) hasOneStepPerBlock(operand int) bool {
	old, result := k.Problem.Operands[operand], k.Problem.Result
	alike := slices.Equal(old.Cut, k.Problem.ResultCut) &&
		slices.EqualFunc(old.Partition.Axes, result.Axes,
			func(a, b partition.Axis) bool { return slices.Equal(a.Modes, b.Modes) })
	if !k.Reader.Formats[k.p.Result].AllDense() || !alike ||
		old.Before() != old.Partition { // a block that is stored in parts cannot be written over
		return false
	}
	seen := map[plan.Block]bool{}
	for rank, s := range k.Problem.AllSteps() {
		b := s.Partial.Result
		if seen[b] || result.OwnerOf(b) != rank || old.Partition.OwnerOf(b) != rank {
			return false
		}
		seen[b] = true
	}
	return true
}

// allInPlace reports whether the leaf of every rank writes over the old value. A built-in leaf that
// replaces a compiled one does not. Every rank must call it.
func (k *Statement) allInPlace() (bool, error) {
	n := k.leaves[0].unit.Result.InPlace
	if k.Problem.Whole || k.oldOperand() == "" {
		return n > 0, nil
	}
	all := []int64{int64(n)}
	err := k.Reader.Env.Comm.Uncounted().Allreduce(comm.Of(all), comm.Min)
	return all[0] > 0, err
}

// Overwrites reports whether the leaves can write over the result's old value.
func (k *Statement) Overwrites() bool { return k.overwrites }

// Lends reports whether the statement gives blocks of an operand to other ranks. Ranks of one
// process then share the blocks' memory, and may read it after the run. All ranks return the same.
func (k *Statement) Lends(operand string, b *store.Blocks) bool {
	for i, o := range k.Problem.Operands {
		if o.Tensor != operand {
			continue
		}
		if k.near == nil || !k.hasPlannedBlocks(i, b) && !(k.replicated[i] &&
			InRows(b, k.Reader.Env.Comm.Size())) {
			return true
		}
	}
	return false
}

// resultOver sets all to the arguments of the leaf's call: the result before the call, and then
// args. A leaf that works in place gets the operand itself as its result if over is true. Otherwise
// it gets a copy of the operand's values, and reads the copy too, because the operand's memory may
// be laid out differently.
func (s *leaf) resultOver(all, args []*tcs.Tensor, box [][2]int64, over bool) error {
	n := s.unit.Result.InPlace
	copy(all[1:], args)
	if n > 0 && over {
		all[0] = args[n-1].Alias()
		return nil
	}
	t, err := s.newResult(args, box)
	if err != nil || n == 0 {
		all[0] = t
		return err
	}
	if s.unit.Result.Format.AllDense() {
		load.CopyCommon(t, args[n-1])
	} else {
		copy(t.Vals.Bytes(), args[n-1].Vals.Bytes())
	}
	all[0], all[n] = t, t
	return nil
}

// sharesNoMemory reports whether a result t that will be written over shares no memory with the
// arguments, except with the argument that the leaf reads in place.
func (s *leaf) sharesNoMemory(t *tcs.Tensor, args []*tcs.Tensor) bool {
	for n, a := range args {
		if n+1 != s.unit.Result.InPlace && overlap(t.Vals, a.Vals) {
			return false
		}
	}
	return true
}

// hasLevels reports whether former result t has the level arrays that a new result would have. A
// dense result has none. Any other must have the arrays of the operand whose levels the result
// shares, at the same addresses.
func (s *leaf) hasLevels(t *tcs.Tensor, args []*tcs.Tensor) bool {
	u := s.unit.Result
	if u.Format.AllDense() || u.InPlace > 0 && t.Vals.Ptr == args[u.InPlace-1].Vals.Ptr {
		return true
	}
	// otherwise the result has level arrays of its own
	if u.Shares < 1 || u.Repack || s.k.Reader.Env.Code() == codegen.CUDA {
		return false
	}
	from := args[u.Shares-1]
	for l := range len(u.Format.Levels) - u.Format.TrailingDense() {
		a, b := &t.Levels[l], &from.Levels[l]
		if a.Kind != b.Kind || a.Size != b.Size || a.Offset != b.Offset || a.Pos != b.Pos ||
			a.Crd != b.Crd {
			return false
		}
	}
	return true
}
