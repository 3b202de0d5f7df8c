package c

import (
	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// Settled is settled.
var Settled = settled

// Functions returns the text of a leaf's functions without the prelude.
func Functions(fn *ir.Func) string {
	f := newFile(clike.NewNamer(nil))
	f.names.Take(Symbol(fn.Name))
	f.leaf(fn)
	return f.body.String()
}
