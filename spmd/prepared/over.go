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

// oldOperand is the operand that is the result's old value, where a leaf may write over it; "" for
// none: the caller asks for that, it is read by one access, and each block of the result is
// made by one step, at the rank where the block of the old value lies.
func (k *Statement) oldOperand() string {
	if !k.o.Over || k.narrows() || k.into != nil || len(k.Problem.Blocking.Groups) != 1 {
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
	if n < 0 || !k.Problem.Whole && !k.oneStep(n) {
		return ""
	}
	return k.Problem.Operands[n].Name
}

// isOld tells whether an operand's tensor is the result's old value.
func (k *Statement) isOld(tensor string) bool { return tensor == k.p.Old || tensor == k.p.Result }

// oneStep tells whether each block of a dense result is made by one step, from the same block of an
// operand, both at one rank.
func (k *Statement) oneStep(operand int) bool {
	old, result := k.Problem.Operands[operand], k.Problem.Result
	alike := slices.Equal(old.Cut, k.Problem.ResultCut) &&
		slices.EqualFunc(old.Partition.Axes, result.Axes,
			func(a, b partition.Axis) bool { return slices.Equal(a.Modes, b.Modes) })
	if !k.Reader.Formats[k.p.Result].AllDense() || !alike ||
		old.Before() != old.Partition { // what lies in parts of a block stays there
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

// allInPlace tells whether every rank's leaf works in place: a built-in one in its stead does not.
// Collective.
func (k *Statement) allInPlace() (bool, error) {
	n := k.leaves[0].unit.Result.InPlace
	if k.Problem.Whole || k.oldOperand() == "" {
		return n > 0, nil
	}
	all := []int64{int64(n)}
	err := k.Reader.Env.Comm.Uncounted().Allreduce(comm.Of(all), comm.Min)
	return all[0] > 0, err
}

// Overwrites tells whether the leaves can write over the result's old value.
func (k *Statement) Overwrites() bool { return k.overwrites }

// Lends tells whether the statement hands blocks of an operand to other ranks, which may read them
// after its run: ranks of one process share their memory then. The same at every rank.
func (k *Statement) Lends(operand string, b *store.Blocks) bool {
	for i, o := range k.Problem.Operands {
		if o.Tensor != operand {
			continue
		}
		if k.near == nil || !k.same(i, b) && !(k.replicated[i] && InRows(b, k.Reader.Env.Comm.Size())) {
			return true
		}
	}
	return false
}

// resultOver puts the result before the leaf runs into all, in front of args. Of a leaf that works
// in place it is the operand itself, where over says that it may be written, else a copy of its
// values, which the leaf then reads in the operand's stead: the two may lie differently.
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

// apart tells whether no argument shares memory with a result that is to be written over, but
// the one that a leaf reads in place.
func (s *leaf) apart(t *tcs.Tensor, args []*tcs.Tensor) bool {
	for n, a := range args {
		if n+1 != s.unit.Result.InPlace && overlap(t.Vals, a.Vals) {
			return false
		}
	}
	return true
}

// hasLevels tells whether a former result has the level arrays that a new one would have: none, or,
// at the same place in memory, those of the operand whose outer levels it shares.
func (s *leaf) hasLevels(t *tcs.Tensor, args []*tcs.Tensor) bool {
	u := s.unit.Result
	if u.Format.AllDense() || u.InPlace > 0 && t.Vals.Ptr == args[u.InPlace-1].Vals.Ptr {
		return true
	}
	// where results have arrays of their own
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
