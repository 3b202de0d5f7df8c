package kernels

import (
	"maps"

	"distaff/codegen"
)

// UnknownSize is the assumed size of a variable, or number of entries, when a statement is compiled
// without its data. Sizes influence the choice between dense and hashed workspaces, the order of
// loops, and widths.
const UnknownSize = 1 << 20

// AnySize compiles the request of u for unknown sizes. The result is the leaf that `compile
// --cache` stores for any later data of the same formats, types and widths. AnySize returns nil if
// that leaf does not fit u's request, because the result's arrays are narrower or have another
// format.
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
	r.Exact, r.Tensors, r.Sizes = nil, maps.Clone(r.Tensors), maps.Clone(r.Sizes)
	r.Trace, r.Cuts, r.AsStored = nil, nil, true
	for v := range r.Sizes {
		r.Sizes[v] = UnknownSize
	}
	for n, t := range r.Tensors {
		t = unknown(t)
		if n != r.Stmt.LHS.Name {
			t.NNZ = UnknownSize
		}
		r.Tensors[n] = t
	}
	if r.Old != nil {
		old := unknown(*r.Old)
		old.NNZ = UnknownSize
		r.Old = &old
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
