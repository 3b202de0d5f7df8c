package prepared

import (
	"distaff/codegen"
	"distaff/io/tcs"
)

// CanRebind reports whether the operands and the result can get other arrays by Rebind: one rank
// has everything, and the statement is one call of a leaf on a CPU.
func (k *Statement) CanRebind() bool {
	n := k.Planned.OneStep
	return n != nil && n.whole && k.Planned.Target.Kind == codegen.CPU
}

// Rebind makes the accesses of an operand read the arrays of t, which has the operand's sizes,
// type, format and widths. The caller keeps the arrays while the statement runs. If t has other
// patterns, the caller then asks Fits whether the leaves can read it. CanRebind must be true.
func (k *Statement) Rebind(name string, t *tcs.Tensor) {
	for _, i := range k.Planned.accesses(name) {
		SetArrays(k.rank.Own[i][0], t)
	}
	k.ValuesChanged()
}

// SetArrays gives t the arrays of another tensor, which has the same layout.
func SetArrays(t, from *tcs.Tensor) {
	t.Vals = from.Vals
	for l := range t.Levels {
		t.Levels[l].Pos, t.Levels[l].Crd = from.Levels[l].Pos, from.Levels[l].Crd
	}
}
