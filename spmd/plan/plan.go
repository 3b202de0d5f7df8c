// Package plan turns a block schedule or a distributed schedule into the work of every rank: the
// blocks that the rank runs, their order, the operand blocks that it fetches, their senders, the
// partial results that it makes, and the tree that sums them up. A plan is pure data and the same
// on every rank. Package exec executes it, and `distaff plan` prints it.
//
// A Problem combines the block loops of a statement (codegen/place) with the accesses of its
// operands. The rank that runs a block and the owner of a tensor's block are functions of block
// indices. All traffic follows from these functions.
//
// # Terms
//
// A split variable is an index variable whose range is cut. A tuple selects one range of every
// split variable. A block is the part of a tensor in the selected ranges. Its owner is the rank
// that stores it; other ranks may have copies. A step runs one leaf on the blocks of a tuple: the
// terms of one group. An extended variable is a split variable whose ranges have partial results of
// their own. A partial block is the contribution of one rank, and of one combination of ranges of
// the extended variables, to a block of the result.
//
// The scope of an operand is the number of outermost loops whose iterations fetch its blocks. One
// iteration of these loops is called a scope too; a rank numbers its scopes from 0. Entries of a
// tensor can be cut into chunks by their positions in storage order instead of their coordinates.
// Blocks of the result then overlap, and are assembled into pieces after the last step.
//
// # Files
//
//	plan.go         Problem, its operands and their partitions
//	new.go          a plan from a block schedule
//	distributed.go  a plan from a schedule with distribution commands, and its leaf schedule
//	product.go      the machine and the schedule of COSMA
//	home.go         owners of the blocks of placed tensors
//	parts.go        parts of blocks that are stored at several ranks
//	stored.go       chunks of a tensor's entries, and results of such chunks
//	steps.go        the steps that a rank runs
//	arrivals.go     the blocks that a rank receives and sends
//	combine.go      sums of partial blocks
//	facts.go        properties of a plan that follow from all steps and sums
//	idle.go         ranks without work
//	size.go         sizes of blocks
package plan

import (
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/spmd/partition"
	"distaff/spmd/plan/flow"
)

// Problem is one statement over blocks, on Ranks ranks.
type Problem struct {
	Blocking *place.Blocking
	// Nest holds the loops over blocks: some are distributed over ranks, and each rank runs the
	// others in order. It comes from a block schedule, or from a distributed schedule if
	// Distributed is true.
	Nest        *place.Nest
	Distributed bool
	Ranks       int
	// Whole says that nothing is cut and one rank has everything. The leaf then reads the tensors
	// themselves, and its block is the result.
	Whole    bool
	Norm     *notation.Normal // the statement; its accesses name operands
	Operands []Operand
	Result   *partition.Partition
	// ResultCut lists, for each axis of Result, the split variable that cuts it, as an index of
	// Blocking.Vars.
	ResultCut  []int
	ResultHome Home
	// Assembled is the final partition of a result whose blocks, the pieces of Result, overlap. The
	// final pieces are assembled from the complete blocks. It is nil if the blocks are final.
	Assembled *partition.Partition
	// Added is the old value that is added to a result while overlapping blocks are assembled. It
	// is nil if there is none.
	Added *Addend

	schedule []string // the user's schedule
	sizes    []int64  // sizes of the variables whose levels are cut into chunks of entries

	walk  *flow.Walk
	facts facts
}

// Operand is an access of the right side, or the old value that += reads. If two accesses read a
// tensor with different variables, there are two operands. If nothing is cut (Problem.Whole), there
// is one operand for each tensor that is read.
type Operand struct {
	Name      string // name in Norm
	Tensor    string
	Vars      []string // by mode
	Partition *partition.Partition
	// Cut lists, for each axis of Partition, the split variable that cuts it.
	Cut []int
	// Home is the job's placement of the operand.
	Home Home
	// Gathered is the initial partition of an operand with dense levels whose rows are gathered.
	// Every rank needs all rows, or some of them, and fetches them from their owners before the
	// first step. It is nil if rows are not gathered.
	Gathered *partition.Partition
	// Parts is the initial partition of an operand with dense levels whose blocks overlap several
	// pieces of its placement. Its pieces are the intersections of blocks and pieces. A rank
	// fetches the parts of a block from their owners and assembles the block. It is nil if blocks
	// have no parts.
	Parts *partition.Partition
	parts *parts
	// Groups lists the groups (Blocking.Groups) that read the operand.
	Groups []int
	// Scope is the number of outermost loops of the nest whose iterations fetch blocks.
	Scope int
}

// Addend is the old value of the result of a += statement whose steps run over chunks of a tensor's
// entries. Several chunks may contribute to one row, so no step reads the old value. Instead the
// old value is treated as the result of an extra step, and is added before the results of all other
// steps.
type Addend struct {
	Operand int
	Term    *notation.Term // the operand as a term
}

// Home says where the blocks of a tensor are stored according to its placement.
type Home struct {
	Placement place.Placement // nil if the tensor has no placement
	// MatchesBlocks says that each block is inside one piece of the placement and has the owner of
	// the piece. It is also true if Operand.Gathered or Operand.Parts is set, and if the placement
	// determines Problem.Assembled or the partition of Problem.Added.
	MatchesBlocks bool
	// Pieces holds the pieces of the placement if some block overlaps several pieces. Pieces of an
	// operand are moved to its blocks before the first step, and blocks of a result are moved to
	// the pieces after the last step. Pieces is nil if MatchesBlocks is true. It is also nil if the
	// placement is ignored: if the placement of an operand has copies, or if blocks or placement
	// are cut by entries.
	Pieces *partition.Partition
}

// Block is the number of a block of an operand or of the result.
type Block = partition.Piece

// Partition returns the partition of a tensor. Mode m of the tensor is cut by split variable
// vars[m], or is not cut if vars[m] is -1. Split variables are indices of Blocking.Vars. cut holds
// the split variable of each axis of the partition. The owner of a block is the rank that runs the
// step with the block's ranges and with range 0 of all other split variables.
func (p *Problem) Partition(vars []int) (part *partition.Partition, cut []int) {
	part = &partition.Partition{Order: len(vars)}
	for m, v := range vars {
		if v < 0 {
			continue
		}
		k := slices.Index(cut, v)
		if k < 0 {
			k, cut = len(cut), append(cut, v)
			part.Axes = append(part.Axes, partition.Axis{Cuts: p.Blocking.Vars[v].Cuts})
		}
		part.Axes[k].Modes = append(part.Axes[k].Modes, m)
	}
	part.Owner = func(at []int64) int {
		var key int64
		for _, v := range p.Blocking.Map {
			key *= p.Blocking.Vars[v].Ranges()
			if k := slices.Index(cut, v); k >= 0 {
				key += at[k]
			}
		}
		return int(key % int64(p.Ranks))
	}
	return part, cut
}

// block returns the number of the block that has the given ranges. tuple holds the range of every
// split variable. vars lists the variables that cut the blocks. Only the ranges of vars determine
// the number. Blocks are numbered in row-major order.
func (p *Problem) block(vars []int, tuple []int64) Block {
	var b int64
	for _, v := range vars {
		b = b*p.Blocking.Vars[v].Ranges() + tuple[v]
	}
	return Block(b)
}

// Step is one run of a leaf: a group of terms on one block.
type Step struct {
	Group int
	// Tuple holds the index of the range of each split variable. It belongs to the caller, unless
	// the step comes from EachStep or AllSteps.
	Tuple []int64
	// Need lists the operand blocks that the leaf reads.
	Need []Need
	// Partial is the block of partial results that the step adds to. First says that the step is
	// the first one and allocates the block.
	Partial Partial
	First   bool
	// Instances holds, by operand, the number of the scope that contains the step (see Arrival.T).
	Instances []int64
}

// Need is a block of an operand.
type Need struct {
	Operand int
	Block   Block
}

// Partial identifies a partial block of the result: by the block of the result, the ranges of the
// extended variables, and the rank that computes it.
type Partial struct {
	Result Block
	Extend Block
	Rank   int
}
