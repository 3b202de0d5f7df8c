// Package builtin has leaves that are part of the program, for the common kernels that package spec
// lists. go generate runs the compiler to make their C, and cgo compiles it for any CPU of the
// architecture. So a node without a C compiler can still run these statements.
//
// A built-in leaf replaces the leaf of a statement only if both are the same: the compiler's C for
// the statement, under canonical names, must equal byte for byte the C of the built-in leaf. So no
// leaf is chosen by resemblance, and a leaf from an older compiler is not found. make check ensures
// that the generated leaves are current.
//
// The built-in leaves run on one thread. They are compiled without OpenMP, because a node without a
// compiler may also lack OpenMP's library.
package builtin

/*
#cgo CFLAGS: -std=gnu99 -O3 -fopenmp-simd
#include "table.h"
*/
import "C"

import (
	"reflect"
	"slices"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/kernels"
	"distaff/kernels/builtin/spec"
)

//go:generate go run ./gen

// entry is the name of a leaf and the key of its source.
type entry struct{ name, key string }

func init() {
	for i, e := range table {
		kernels.Register(e.key, C.dst_builtin(C.int(i)))
	}
}

// Find returns the built-in leaf of a compiled statement, or nil if there is none. The leaf is
// called with the same arguments as u's own leaf.
func Find(u *codegen.Unit) kernels.Leaf {
	r := u.Request
	if r.Statement.Normal != nil {
		return nil // u computes a part of a statement
	}
	canonical, names := spec.Canonical(r)
	v, err := codegen.Compile(canonical)
	if err != nil {
		return nil
	}
	leaf := kernels.BuiltIn(c.File(v.Func))
	if leaf == nil || !sameCall(u, v, names) {
		return nil
	}
	return leaf
}

// sameCall reports whether the leaves of u and v have the same arguments, apart from names.
func sameCall(u, v *codegen.Unit, names spec.Names) bool {
	args := slices.EqualFunc(u.Args, v.Args, func(a, b codegen.Arg) bool {
		return names.Tensors[a.Tensor] == b.Tensor && a.Format.Equal(b.Format) &&
			a.Convert == b.Convert && a.Old == b.Old
	})
	vars := slices.EqualFunc(u.Vars, v.Vars, func(a, b string) bool { return names.Vars[a] == b })
	return args && vars && u.Compute == v.Compute && reflect.DeepEqual(u.Result, v.Result)
}
