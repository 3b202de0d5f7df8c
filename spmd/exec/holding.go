package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Needs returns one block of each operand: the block with the most entries among the blocks that
// the rank's steps read. If no step of the rank reads a block of the operand, the element is -1. If
// the operand is gathered or broadcast, the element is 0.
func (c *Cost) Needs(rank int) []plan.Block { return c.ranks[rank].needs }

// LargestMade returns the result block that needs the most memory among the blocks that a rank's
// steps make. made is false if the rank has no steps.
func (c *Cost) LargestMade(rank int) (largest plan.Block, made bool) {
	most := int64(0)
	for _, p := range c.ranks[rank].partials {
		n := p.size.Memory()
		if !made || n > most || n == most && p.partial.Result < largest {
			largest, most, made = p.partial.Result, n, true
		}
	}
	return largest, made
}

// Several reports whether several steps of some rank add to one block.
func (c *Cost) Several() bool {
	for _, k := range c.ranks {
		for _, p := range k.partials {
			if p.steps > 1 {
				return true
			}
		}
	}
	return false
}

// Making describes how leaves make blocks of the result, and how steps add to them.
type Making struct {
	Dense bool
	// blocks share the level arrays of an operand, so that the number of their values is known
	Shared bool
	// the operand with the shared arrays is a converted copy, which exists until all blocks are
	// closed
	Copied bool
	// CopiedBytes is the size of the largest converted copy at the current rank. Widened says that
	// blocks have wider level arrays than the copy, so that the level arrays of both take memory.
	CopiedBytes int64
	Widened     bool
	// steps add in place: to a dense block, or to a block whose pattern is built from an operand's
	// level arrays before the steps run
	InPlace bool
	// Value is the number of bytes of a value
	Value int64
	// Begun is the number of bytes that the arrays of a growing block occupy before its first
	// entry, at the current rank. The block keeps them.
	Begun int64
	// Adding is the number of bytes, at the current rank, that the leaf that adds two blocks needs
	// in addition: it makes pieces of the sum and joins them.
	Adding int64
	// Made returns the sizes of blocks as leaves make them, if they are then converted to another
	// format. Otherwise it is nil.
	Made plan.Sizes
	// PosWidth and CrdWidth are the widths of the arrays of the blocks' levels, in bytes.
	PosWidth, CrdWidth []uint8
	Ahead              int64 // Sparse.Ahead
}

// position is the size, in bytes, of one element of a map like Destination.At. For each entry of a
// step's result, the map holds a position in the block to which the result is added.
const position = 8

// blockBytes returns the size of a block in bytes. If the block is converted after leaves have made
// it, blockBytes returns the larger of its sizes before and after the conversion.
func (m *Making) blockBytes(p *partialCost) int64 {
	if m.Made == nil {
		return p.size.Memory()
	}
	return max(p.size.Memory(), m.Made(p.partial.Result).Memory())
}

// bytes returns the memory of one partial block. held is the memory that the block takes while
// steps add to it. building is temporary memory: for making the block if one step makes it, and for
// building the union of the steps' patterns if there is a union. An array of unknown length counts
// with twice its final size, because it may grow to that size.
func (m *Making) bytes(p *partialCost) (held, building int64) {
	all := m.blockBytes(p)
	grown := 2*all + m.Begun
	if m.Shared {
		grown = all
	}
	if m.Copied { // the rest of the copy that is in the pages of its levels
		if grown += min(m.CopiedBytes, tcs.Uncut); m.Widened {
			grown += all - p.size.Most()*m.Value
		}
	}
	switch {
	case m.Dense:
		return all, 0
	case p.steps == 1 && !m.InPlace: // in place, the block is made from a union too
		if !m.Shared {
			building = all // pieces are joined, or an array is copied when it grows
		}
		return grown, building
	}
	building = reduce.Building(all-p.size.Most()*m.Value, m.PosWidth, m.CrdWidth)
	if m.InPlace {
		return all + position*p.sources + p.steps*(position*m.Ahead+tcs.Align), building
	}
	// The blocks of all steps, if memory allows, in addition to their union and a map for each
	// step.
	return p.steps*(grown+position*p.size.Most()+tcs.Align) + all, building
}

// sumBytes returns an upper bound of the memory for adding two sparse blocks, in addition to the
// two blocks. It covers the arrays of the sum, which are allocated for the entries of both blocks.
// It also covers the pieces that several threads make of the sum.
func (m *Making) sumBytes(k *rankCost) (bytes int64) {
	const beyond = 64 // entries
	for i := range k.partials {
		bytes = max(bytes, 2*m.blockBytes(&k.partials[i]))
	}
	bytes += beyond * m.Value
	for l := range m.CrdWidth {
		bytes += beyond * int64(m.CrdWidth[l]+m.PosWidth[l])
	}
	return max(bytes, 2*k.moved) + m.Adding
}

// Memory returns the memory of a rank in addition to its own operand blocks. most is the maximum
// during the computation, and kept is the size of its result blocks afterwards.
//
// During the computation, a rank holds:
//
//   - the blocks of at most two scopes of each operand,
//   - its partial results, and the temporary memory for adding to them,
//   - one union of patterns that is being built,
//   - the largest block that arrives to be added.
//
// m describes how the blocks of the result are made. A leaf may need a copy of an operand in
// another format than the stored one. copies is the memory of all such copies. making is the
// additional memory that is needed while one copy is made.
func (c *Cost) Memory(rank int, m Making, copies, making int64) (most, kept int64) {
	k := &c.ranks[rank]
	most = k.added + k.packed + k.joined
	if m.Dense && m.InPlace {
		most += k.moved
	} else {
		most += max(k.moved, k.stepped)
	}
	for _, in := range k.incoming {
		most += in.most * min(in.count, heldScopes)
	}
	if (k.adds || k.moved > 0) && !m.Dense {
		most += m.sumBytes(k)
	}
	made, largest, shared, building := int64(0), int64(0), int64(0), int64(0)
	for i := range k.partials {
		p := &k.partials[i]
		n, more := m.bytes(p)
		made, largest, building = made+n, max(largest, n), max(building, more)
		// the levels exist already
		if n := p.size.Memory() - p.size.Most()*m.Value; m.Copied && (i == 0 || n < shared) {
			shared = n
		}
	}
	if kept = k.stays; !c.assembled { // otherwise the blocks become pieces
		kept += made
	}
	return most + copies + max(making+made-largest, made+building-shared), kept
}
