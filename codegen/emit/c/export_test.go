package c

import (
	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// Functions is the text of a leaf's functions alone.
func Functions(fn *ir.Func) string {
	f := newFile(clike.NewNamer(nil))
	f.names.Take(Symbol(fn.Name))
	f.leaf(fn)
	return f.body.String()
}
