package prepared

import (
	"slices"

	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// keep has this rank's blocks of an operand stay where its leaves run. They hold still: what
// statements write are results, each in memory of its own, or, on one rank, a leaf's over the old
// value.
func (k *Statement) keep(operand int) {
	if k.Reader.Loose(k.Problem.Operands[operand].Tensor) {
		return
	}
	k.kept[operand] = true
	m := k.Memory(k.Problem.Operands[operand].Tensor)
	k.each(operand, func(t *tcs.Tensor) { k.Reader.Env.KeepIn(t, m) })
}

// Memory is the memory that a tensor is placed in at a rank.
func (k *Statement) Memory(tensor string) place.Memory { return k.p.Memory(tensor) }

// unkeep ends what keep began.
func (k *Statement) unkeep(operand int) {
	if k.kept[operand] {
		k.kept[operand] = false
		k.each(operand, k.Reader.Env.Forget)
	}
}

// each calls do with this rank's blocks of an operand, and with its replica.
func (k *Statement) each(operand int, do func(t *tcs.Tensor)) {
	for _, t := range k.exec.Own[operand] {
		do(t)
	}
	if t := k.exec.Replicas[operand]; t != nil {
		do(t)
	}
}

// Loosen says that others may change the values of an operand from here on.
func (k *Statement) Loosen(name string) {
	for i, o := range k.Problem.Operands {
		if o.Tensor == name {
			k.unkeep(i)
		}
	}
}

// still tells whether nothing but the leaf writes to what its call makes: no positions become
// narrower, no levels others, and ranks sum nothing into it.
func (k *Statement) still() bool {
	u := k.leaves[0].unit.Result
	if u.Repack || k.near != nil && k.near.sum {
		return false
	}
	if u.Shares < 0 {
		for _, w := range u.PosWidth {
			if w > 4 {
				return false
			}
		}
	}
	return true
}

// leave has the values of what a leaf makes stay where it runs, where the caller will fetch them.
// Those of a scalar, which conditions read, come along.
func (k *Statement) leave(t *tcs.Tensor) {
	if k.o.Leaves && t.Order() > 0 {
		k.Reader.Env.Leave(t)
	}
}

// rests tells whether each block of the result that this rank makes or owns is what one step makes,
// and stays here: nothing of a run reads it.
func (k *Statement) rests() bool {
	if k.resting == nil {
		p, me := k.Problem, k.Reader.Env.Comm.Rank()
		yes := k.o.Leaves && k.Reader.Env.Code() == codegen.CUDA && k.into == nil && !k.narrows() &&
			k.still() && k.exec.Sparse == nil && k.exec.Into == nil &&
			p.Assembled == nil && k.Lies(p.ResultHome) == nil &&
			!slices.ContainsFunc(p.SumsOf(me),
				func(s plan.Sum) bool { return moves(s) || len(s.Copies) > 0 })
		if yes {
			for s := range p.EachStep(me) {
				yes = yes && s.First
			}
		}
		k.resting = &yes
	}
	return *k.resting
}

// fetch brings values of operands that leaves have made to the host, for what goes by steps: they
// are sent and gathered.
func (k *Statement) fetch() error {
	for i := range k.exec.Own {
		for _, t := range k.exec.Own[i] {
			if err := k.Reader.Env.Fetch(t); err != nil {
				return err
			}
		}
		if err := k.Reader.Env.Fetch(k.exec.Replicas[i]); err != nil {
			return err
		}
	}
	return nil
}
