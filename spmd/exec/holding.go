package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Needs is, by operand, the block with most entries that a step of a rank reads; -1 for none.
func (c *Cost) Needs(rank int) []plan.Block { return c.ranks[rank].needs }

// LargestMade is the largest block of the result that steps of a rank make; false where it runs
// none.
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

// Several tells whether several steps of some rank add to one block.
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

// Making is how leaves make blocks of the result, and how steps add to them.
type Making struct {
	Dense  bool
	Shared bool // blocks have the level arrays of an operand, and values of a known number
	// that operand is a copy, which a leaf reads in place of one stored otherwise, and which stays as
	// long as a block does
	Copied bool
	// CopiedBytes is what the largest such copy takes at the rank at hand. Widened says that it has
	// other level arrays, which wider ones were made of.
	CopiedBytes int64
	Widened     bool
	// steps add to a dense block, or over the union of patterns, which comes from an operand's arrays
	InPlace bool
	Value   int64
	// Begun is what the arrays of a block that grows take before its first entry is there, at the rank
	// at hand. They keep it.
	Begun int64
	// Adding is what the leaf that adds two blocks takes for pieces of their sum, and to join them, at
	// the rank at hand.
	Adding int64
	// Made is the sizes of blocks as leaves make them, where these are brought into another format;
	// nil where they are not.
	Made plan.Sizes
	// PosWidth and CrdWidth are those of the blocks' levels.
	PosWidth, CrdWidth []uint8
	Ahead              int64 // Sparse.Ahead
}

// position is the bytes of a position in a map that Sparse adds by.
const position = 8

// made is what a block takes as leaves make it, or in the format that it is brought into, whichever
// is more.
func (m *Making) made(p *partialCost) int64 {
	if m.Made == nil {
		return p.size.Memory()
	}
	return max(p.size.Memory(), m.Made(p.partial.Result).Memory())
}

// bytes is what one block of partial results takes while its steps add to it, and what making the
// union of their patterns takes beside that. Arrays of unknown length grow to twice what they need.
func (m *Making) bytes(p *partialCost) (held, building int64) {
	all := m.made(p)
	grown := 2*all + m.Begun
	if m.Shared {
		grown = all
	}
	if m.Copied { // as far as they lie in the pages of its levels
		if grown += min(m.CopiedBytes, tcs.Uncut); m.Widened {
			grown += all - p.size.Most()*m.Value
		}
	}
	switch {
	case m.Dense:
		return all, 0
	case p.steps == 1 && !m.InPlace: // else its block is made of a union too
		if !m.Shared {
			building = all // pieces are joined, or an array copied as it grows
		}
		return grown, building
	}
	building = reduce.Building(all-p.size.Most()*m.Value, m.PosWidth, m.CrdWidth)
	if m.InPlace {
		return all + position*p.sources + p.steps*(position*m.Ahead+tcs.Align), building
	}
	// The blocks of all steps, where memory allows, beside their union and a map for each.
	return p.steps*(grown+position*p.size.Most()+tcs.Align) + all, building
}

// added is the most that the sum of two sparse blocks takes beside them: its arrays have capacity
// for the entries of both at first, and threads make pieces of it.
func (m *Making) added(k *rankCost) (bytes int64) {
	const beyond = 64 // entries
	for i := range k.partials {
		bytes = max(bytes, 2*m.made(&k.partials[i]))
	}
	bytes += beyond * m.Value
	for l := range m.CrdWidth {
		bytes += beyond * int64(m.CrdWidth[l]+m.PosWidth[l])
	}
	return max(bytes, 2*k.moved) + m.Adding
}

// Memory is what a rank holds beside its own blocks of operands: most is the most while it
// computes, kept what its blocks of the result take afterwards. While it computes it has two blocks
// of each operand at most, its partial results with what adding to them takes, one union of
// patterns on its way, and the largest block that comes to be added; copies are those of operands
// that leaves read in another order, and making is what the making of one takes more.
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
		most += m.added(k)
	}
	made, largest, shared, building := int64(0), int64(0), int64(0), int64(0)
	for i := range k.partials {
		p := &k.partials[i]
		n, more := m.bytes(p)
		made, largest, building = made+n, max(largest, n), max(building, more)
		// the levels are there already
		if n := p.size.Memory() - p.size.Most()*m.Value; m.Copied && (i == 0 || n < shared) {
			shared = n
		}
	}
	if kept = k.stays; !c.assembled { // else pieces are made of them
		kept += made
	}
	return most + copies + max(making+made-largest, made+building-shared), kept
}
