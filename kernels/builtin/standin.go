package builtin

import (
	"context"
	"errors"
	"reflect"

	"distaff/codegen"
	"distaff/kernels"
)

// StandIn returns a leaf to use instead of u's leaf, which b cannot build without a compiler, and
// the unit that describes the leaf's arguments. It first asks b for the leaf for unknown sizes,
// which `compile --cache` may have stored. Then it looks for a built-in leaf. If there is neither,
// it returns the error noCompiler, which is the kernels.ErrNoCompiler that b gave. It also returns
// this error if the statement has a schedule, because its leaf must follow the schedule.
//
// If alike is true, the leaf must make its result in the same form as u's leaf, because the blocks
// of several leaves are combined. The function note receives a line if a built-in leaf is used. The
// caller owns the leaf.
func StandIn(ctx context.Context, b kernels.Backend, u *codegen.Unit, alike bool, note func(string),
	noCompiler error) (kernels.Leaf, *codegen.Unit, error) {
	if u.Request.Ask.Schedule != nil {
		return nil, nil, noCompiler
	}
	if any := kernels.AnySize(u); any != nil &&
		(!alike || reflect.DeepEqual(any.Result, u.Result)) {
		leaf, err := b.Build(ctx, any)
		if err == nil {
			return leaf, any, nil
		}
		if !errors.Is(err, kernels.ErrNoCompiler) {
			return nil, nil, err
		}
	}
	r := u.Request
	// Built-in leaves work for any size and for operands as they are stored, write to memory of
	// their own, and have the default forms.
	r.Tensors.Exact, r.Tensors.InPlace, r.Ask.AsStored, r.Target.Forms = nil, "", true, nil
	ways := []string{r.Ask.Network}
	// "auto" may contract in steps, and a built-in leaf may have the product in one loop nest
	if r.Ask.Network == "" || r.Ask.Network == "auto" {
		ways = append(ways, "direct")
	}
	for _, r.Ask.Network = range ways {
		own, err := codegen.Compile(r)
		if err != nil {
			return nil, nil, err
		}
		if leaf := Find(own); leaf != nil {
			note(
				"no C compiler was found: the statement runs on one thread, in a leaf built " +
					"into distaff")
			return leaf, own, nil
		}
	}
	return nil, nil, noCompiler
}
