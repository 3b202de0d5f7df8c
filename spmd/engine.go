package spmd

import (
	"context"

	"distaff/io/tcs"
)

// engine computes the statement on the loaded tensors.
type engine interface {
	// run computes once. The result is the caller's. What += adds to is an
	// operand that stays as it is.
	run(ctx context.Context) (*tcs.Tensor, error)
	// compiler names what compiled the leaf, for Stats.
	compiler() string
	close()
}
