package builtin

import (
	"context"
	"errors"
	"reflect"

	"distaff/codegen"
	"distaff/kernels"
)

// StandIn makes a leaf for u where b has no compiler for it: why is that error
// (kernels.ErrNoCompiler), which it returns where there is nothing. It tries the leaf for
// any sizes, which `compile --cache` may have left, then the built-in one; a schedule asks
// for a leaf of its own. The leaf is the caller's, and is called as the unit returned tells.
// alike says that the result has to be made as u's, since blocks of several leaves
// are put together. note is told of a built-in leaf.
func StandIn(ctx context.Context, b kernels.Backend, u *codegen.Unit, alike bool, note func(string),
	why error) (kernels.Leaf, *codegen.Unit, error) {
	if u.Request.Schedule != nil {
		return nil, nil, why
	}
	if any := kernels.AnySize(u); any != nil && (!alike || reflect.DeepEqual(any.Result, u.Result)) {
		leaf, err := b.Build(ctx, any)
		if err == nil {
			return leaf, any, nil
		}
		if !errors.Is(err, kernels.ErrNoCompiler) {
			return nil, nil, err
		}
	}
	r := u.Request
	// Built-in leaves take any size and operands as they are stored, write to memory of their own, and
	// have the default forms.
	r.Exact, r.InPlace, r.AsStored, r.Forms = nil, "", true, nil
	ways := []string{r.Network}
	// which may be to contract a product that a built-in leaf has in one nest
	if r.Network == "" || r.Network == "auto" {
		ways = append(ways, "direct")
	}
	for _, r.Network = range ways {
		own, err := codegen.Compile(r)
		if err != nil {
			return nil, nil, err
		}
		if leaf := Find(own); leaf != nil {
			note("no C compiler: a built-in leaf runs the statement, on one thread")
			return leaf, own, nil
		}
	}
	return nil, nil, why
}
