// Package plan turns a block schedule, or a distributed one, into what every rank does: which
// blocks it runs in which order, which operand blocks it fetches and from whom, which partial
// results it makes, and how a tree sums those. It is pure data, the same on every rank; executing
// it is package exec's work, and printing it is `distaff plan`.
//
// A Problem is a statement's block loops (codegen/place) with the accesses of
// its operands. Everything is a function of block indices: the rank that runs a
// block, the rank where a tensor's block lives, and so the whole traffic.
//
// # Files
//
//	plan.go         Problem, its operands and their partitions
//	new.go          a plan from a block schedule
//	distributed.go  a plan from a schedule with distribution commands, and the schedule of its leaves
//	product.go      the machine and the schedule of COSMA
//	home.go         where tensors that are placed have their blocks
//	parts.go        parts of blocks, which lie at several ranks
//	stored.go       chunks of a tensor's entries, and results that are made of them
//	steps.go        what a rank runs
//	arrivals.go     which blocks come to a rank, and which it sends
//	combine.go      sums of partial blocks
//	idle.go         ranks that run nothing
//	size.go         what blocks take
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
	// Nest is the loops that the blocks run in, over ranks and in order at each: those of the
	// block schedule, or of a distributed one, where Distributed says so.
	Nest        *place.Nest
	Distributed bool
	Ranks       int
	// Whole says that nothing is cut and one rank has everything: the leaf gets the
	// tensors themselves, and its block is the result.
	Whole    bool
	Norm     *notation.Normal // what is computed: its accesses are operands' names
	Operands []Operand
	Result   *partition.Partition
	// ResultCut lists, for each axis of Result, the split variable that cuts it (an index of
	// Blocking.Vars).
	ResultCut  []int
	ResultHome Home
	// Assembled is how the result lies whose blocks, those of Result, overlap: it is put together of
	// them when they are complete. Nil where the result lies in its blocks.
	Assembled *partition.Partition
	// Added is what is added to the blocks of chunks of entries as they are put together; nil for
	// nothing.
	Added *Addend

	schedule []string // the user's
	sizes    []int64  // of the variables of the levels whose entries have chunks

	walk *flow.Walk
}

// Operand is what has blocks of its own: an access of the right side, so that a tensor that
// is read through two accesses with different variables is two operands; or, where
// nothing is cut, a tensor.
type Operand struct {
	Name      string // in Norm
	Tensor    string
	Vars      []string // by mode
	Partition *partition.Partition
	// Cut lists, for each axis of Partition, the split variable that cuts it.
	Cut []int
	// Home says what the job says of where it lies.
	Home Home
	// Gathered is how rows of an operand with dense levels lie, which every rank reads whole, or those
	// of its rows that it needs: those come from where they lie before the first step. Nil for any
	// other operand.
	Gathered *partition.Partition
	// Parts is how an operand with dense levels lies whose blocks span several pieces of its
	// placement: in what its blocks and these pieces have in common. A rank gets the parts of a block
	// from where they lie, and puts them together. Nil for any other operand.
	Parts *partition.Partition
	parts *parts
	// Groups lists the groups (Blocking.Groups) that read it.
	Groups []int
	// Scope is the number of loops of the nest, the outermost ones, whose iterations bring its blocks.
	Scope int
}

// Addend is the old value of the result of a += whose chunks are those of a tensor's entries: no
// chunk has all of it, and so no step reads it. Its pieces are added as if they were made by a step
// before all others.
type Addend struct {
	Operand int
	Term    *notation.Term // which is the operand
}

// Home is what a placement says of where the blocks of a tensor live.
type Home struct {
	Placement place.Placement // nil for none
	// Holds says that each block lies in one piece of the placement, and so lives where that does.
	Holds bool
	// Lies is the pieces of the placement, where some block lies in several: those of an operand are
	// to be moved to its blocks before the first step, and the blocks of a result to them after the
	// last. Nil where Holds says that nothing moves, and of an operand's placement with copies, which
	// is then not gone by.
	Lies *partition.Partition
}

// Block is the number of a block of an operand or of the result.
type Block = partition.Piece

// Partition is how a tensor is cut of which each mode is cut by this split variable (an index
// of Blocking.Vars), or by none where that is -1, and the variable of each of its axes. A block
// lives at the rank of the blocks with its ranges, and the variables that the tensor lacks at 0.
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

// block is the number of the ranges that some split variables have at tuple, row-major.
func (p *Problem) block(vars []int, tuple []int64) Block {
	var b int64
	for _, v := range vars {
		b = b*p.Blocking.Vars[v].Ranges() + tuple[v]
	}
	return Block(b)
}

// Step is one run of a leaf: a group of terms at one block.
type Step struct {
	Group int
	// Tuple has the range index of each split variable. It is the caller's.
	Tuple []int64
	// Need lists the operand blocks that the leaf reads.
	Need []Need
	// Partial is the block of partial results that the step adds to; First says
	// that it makes it.
	Partial Partial
	First   bool
	// Instances are the numbers of the operands' scopes (see Arrivals) that the step is in.
	Instances []int64
}

// Need is a block of an operand.
type Need struct {
	Operand int
	Block   Block
}

// Partial names one partial block of the result: the result's block, the
// ranges of the extended variables, and the rank that makes it.
type Partial struct {
	Result Block
	Extend Block
	Rank   int
}

// runs tells whether group g runs at tuple: every split reduction variable
// that it does not hold is at its first range.
func (p *Problem) runs(g int, tuple []int64) bool {
	for k, v := range p.Blocking.Vars {
		if v.Reduction && tuple[k] != 0 && !slices.Contains(p.Blocking.Groups[g].Held, k) {
			return false
		}
	}
	return true
}

// extended lists the extended variables.
func (p *Problem) extended() []int {
	var list []int
	for k, v := range p.Blocking.Vars {
		if v.Extended {
			list = append(list, k)
		}
	}
	return list
}
