package prepared

import (
	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/store"
)

// oldOperand returns the name of the operand that is the result's old value, or "" if no leaf may
// write over this operand. A leaf may write over it only if the caller has asked for it
// (Options.Over), only one access reads the old value, all terms are one group, and the result is
// not narrowed and has no fixed pattern. Unless one rank has everything, the result must also be
// dense, and a single step must make each block, at the rank that owns the old block.
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
	if n < 0 || !k.Problem.Whole && !(k.Reader.Formats[k.p.Result].AllDense() &&
		k.Problem.HasOneStepPerBlock(n)) {
		return ""
	}
	return k.Problem.Operands[n].Name
}

// isOld reports whether a tensor is the result's old value.
func (k *Statement) isOld(tensor string) bool { return tensor == k.p.Old || tensor == k.p.Result }

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

// Overwrites reports whether the leaves can write the result over its old value.
func (k *Statement) Overwrites() bool { return k.overwrites }

// Lends reports whether a run lets other ranks read blocks b of an operand. Ranks of one process
// share the blocks' memory, and may still read it after this rank's run. All ranks return the same.
func (k *Statement) Lends(operand string, b *store.Blocks) bool {
	for i, o := range k.Problem.Operands {
		if o.Tensor != operand {
			continue
		}
		if k.oneStep == nil || !k.hasPlannedBlocks(i, b) && !(k.replicated[i] &&
			InRows(b, k.Reader.Env.Comm.Size())) {
			return true
		}
	}
	return false
}

// sharesNoMemory reports whether t, a result that will be written over, shares no memory with the
// arguments. The operand that the leaf writes over in place does not count.
func (s *leaf) sharesNoMemory(t *tcs.Tensor, args []*tcs.Tensor) bool {
	for n, a := range args {
		if n+1 != s.unit.Result.InPlace && overlap(t.Vals, a.Vals) {
			return false
		}
	}
	return true
}

// hasLevels reports whether a former result t has the level arrays that a new result would have. It
// returns true for a dense result, which has no level arrays. If a new result would share the level
// arrays of an operand, t must share the same arrays, at the same addresses. It returns false if a
// new result would have level arrays of its own.
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
