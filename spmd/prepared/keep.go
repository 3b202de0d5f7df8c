package prepared

import (
	"distaff/codegen"
	"distaff/codegen/place"
	"distaff/io/tcs"
)

// keep keeps this rank's blocks of an operand in the memory of the unit that runs leaves (a
// device). Until unkeep, the blocks do not change. It does nothing for an operand whose values the
// program may change by itself (Reader.Loose).
func (k *Statement) keep(operand int) {
	if k.Reader.Loose(k.Problem.Operands[operand].Tensor) {
		return
	}
	k.kept[operand] = true
	m := k.Memory(k.Problem.Operands[operand].Tensor)
	k.each(operand, func(t *tcs.Tensor) { k.Reader.Env.KeepIn(t, m) })
}

// Memory returns the kind of memory that the placement of a tensor names.
func (k *Statement) Memory(tensor string) place.Memory { return k.p.Memory(tensor) }

// unkeep ends what keep began.
func (k *Statement) unkeep(operand int) {
	if k.kept[operand] {
		k.kept[operand] = false
		k.each(operand, k.Reader.Env.Forget)
	}
}

// each calls do with each of this rank's blocks of an operand, and with its replica.
func (k *Statement) each(operand int, do func(t *tcs.Tensor)) {
	for _, t := range k.exec.Own[operand] {
		do(t)
	}
	if t := k.exec.Replicas[operand]; t != nil {
		do(t)
	}
}

// Loosen tells the statement that others may change the values of an operand from now on. The
// operand is then no longer kept on a device.
func (k *Statement) Loosen(name string) {
	for i, o := range k.Problem.Operands {
		if o.Tensor == name {
			k.unkeep(i)
		}
	}
}

// isOnlyWriter reports whether the leaf's result is final: nothing else writes or reads it during
// the run. It is not final if it goes to a tensor of the caller, if its values or positions are
// narrowed or its levels repacked, if it moves to a placement, or if other ranks' parts are added.
func (k *Statement) isOnlyWriter() bool {
	u := k.leaves[0].unit.Result
	if u.Repack || k.into != nil || k.needsNarrowing() || k.NearSum() ||
		k.PlacementPieces(k.Problem.ResultHome) != nil {
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

// leaveValues leaves the values of a leaf's result on the device, if the caller promised to fetch
// them (Options.Leaves). The value of a scalar is fetched at once, because conditions read it.
func (k *Statement) leaveValues(t *tcs.Tensor) {
	if k.o.Leaves && t.Order() > 0 {
		k.Reader.Env.Leave(t)
	}
}

// canStay reports whether the result blocks that this rank's steps make can stay on the device.
func (k *Statement) canStay() bool {
	return k.o.Leaves && k.Reader.Env.Code() == codegen.CUDA && k.isOnlyWriter() &&
		k.exec.Sparse == nil && !k.exec.Adds && k.Problem.StaysAt(k.Reader.Env.Comm.Rank())
}

// fetch copies values of operands from the device to the host, because steps send and gather them.
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
