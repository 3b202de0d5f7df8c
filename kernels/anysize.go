package kernels

import (
	"maps"

	"distaff/codegen"
)

// UnknownSize replaces sizes and numbers of entries if a statement is compiled without its data.
// The compiler needs such numbers for its choices.
const UnknownSize = 1 << 20

// AnySize compiles the request of u again with unknown sizes and returns the new unit. `compile
// --cache` may store the leaf of the new unit, which then serves all data of the same formats,
// types and widths. AnySize returns nil if the request cannot be compiled, or if the new leaf
// cannot replace u's leaf because it would write narrower arrays or another format.
func AnySize(u *codegen.Unit) *codegen.Unit {
	r := u.Request
	unknown := func(t codegen.Tensor) codegen.Tensor {
		dims := make([]int64, len(t.Dims))
		for m := range dims {
			dims[m] = UnknownSize
		}
		t.Dims, t.Counts = dims, nil
		return t
	}
	r.Tensors.All, r.Tensors.Sizes = maps.Clone(r.Tensors.All), maps.Clone(r.Tensors.Sizes)
	r.Tensors.Exact = nil
	r.Ask.Trace, r.Ask.Cuts, r.Ask.AsStored = nil, nil, true
	for v := range r.Tensors.Sizes {
		r.Tensors.Sizes[v] = UnknownSize
	}
	for n, t := range r.Tensors.All {
		t = unknown(t)
		if n != r.Statement.Stmt.LHS.Name {
			t.NNZ = UnknownSize
		}
		r.Tensors.All[n] = t
	}
	if r.Tensors.Old != nil {
		old := unknown(*r.Tensors.Old)
		old.NNZ = UnknownSize
		r.Tensors.Old = &old
	}
	v, err := codegen.Compile(r)
	if err != nil || !v.Result.Format.Equal(u.Result.Format) {
		return nil
	}
	for l := range u.Result.PosWidth {
		if v.Result.PosWidth[l] < u.Result.PosWidth[l] ||
			v.Result.CrdWidth[l] < u.Result.CrdWidth[l] {
			return nil
		}
	}
	return v
}
