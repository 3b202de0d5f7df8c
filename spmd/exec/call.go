package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// Call is one call of a leaf.
type Call struct {
	Leaf   Leaf
	Step   plan.Step     // the step of a StepLeaf
	Block  plan.Block    // the block of an OldLeaf
	Blocks []*tcs.Tensor // the tensors that the leaf reads; see Leaf
	To     Destination
}

// Leaf is a leaf of a statement.
type Leaf uint8

const (
	// StepLeaf is the leaf of a step. It reads the operands' blocks, which are indexed as in
	// Plan.Operands; a block that the step does not read is nil.
	StepLeaf Leaf = iota
	// SumLeaf adds two blocks with equal boxes and formats. It may change and return the first one,
	// or return a new block. The caller keeps the blocks that it does not return.
	SumLeaf
	// OldLeaf converts a block of the operand Plan.Added to the format of the blocks that steps
	// make.
	OldLeaf
)

// Destination says where a call stores its result.
type Destination struct {
	Kind DestinationKind
	// Block is the tensor that the call writes or adds to. If it is nil, Over writes over the
	// result's old value, and Add adds to a new dense block of zeros.
	Block *tcs.Tensor
	// At maps the positions of the leaf's result to positions of Block, for Add to a sparse block.
	At *tcs.Tensor
}

// DestinationKind is a kind of Destination.
type DestinationKind uint8

const (
	Fresh   DestinationKind = iota // a new block
	Over                           // Block is written over; its old contents are lost
	Add                            // the result is added to Block
	Pattern                        // only the values of Block are computed
)
