package builtin

import (
	"context"
	"errors"
	"reflect"

	"distaff/codegen"
	"distaff/kernels"
)

// Substitute finds a replacement for u's leaf if b cannot build that leaf because there is no
// compiler. It returns the replacement and the unit that describes the replacement's arguments. The
// caller owns the replacement. noCompiler is the kernels.ErrNoCompiler that b returned. Substitute
// returns it if no replacement was found, or if the statement has a schedule.
//
// Substitute first asks b for the leaf of kernels.AnySize, which was compiled without the sizes of
// the tensors and which `compile --cache` may have stored. Then it looks for a built-in leaf. The
// function note receives a line if a built-in leaf is used.
//
// If alike is true, the caller combines the blocks of several leaves. Substitute then uses the leaf
// of AnySize only if its result has the same format and widths as the result of u's leaf. It uses a
// built-in leaf without this check.
func Substitute(ctx context.Context, b kernels.Backend, u *codegen.Unit, alike bool,
	note func(string), noCompiler error) (kernels.Leaf, *codegen.Unit, error) {
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
