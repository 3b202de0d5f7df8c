// Package plan turns a block schedule into what every rank does: which blocks
// it runs in which order, which operand blocks it fetches and from whom, which
// partial results it makes, and how a tree sums those. It is pure data, the
// same on every rank; executing it is package exec's work, and printing it is
// `distaff plan`.
//
// A Problem is a statement's block loops (codegen/place) with the accesses of
// its operands. Everything is a function of block indices: the rank that runs a
// block, the rank where a tensor's block lives, and so the whole traffic.
//
// # Files
//
//	plan.go     Plan, and what it says of a rank
//	new.go      a plan from a block schedule
//	idle.go     ranks that run nothing
//	combine.go  sums of partial blocks
//	size.go     what blocks take
package plan

import (
	"iter"
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
)

// Problem is one statement over blocks, on Ranks ranks.
type Problem struct {
	*place.Blocking
	Ranks int
	// Whole says that nothing is cut and one rank has everything: the leaf gets the
	// tensors themselves, and its block is the result.
	Whole    bool
	Norm     *notation.Normal // what is computed: its accesses are operands' names
	Operands []Operand
	// Result lists, for each mode of the result, the split variable that cuts
	// it (an index in Blocking.Vars), or -1.
	Result []int
}

// Whole is the problem of one rank that holds everything in one block.
func Whole() *Problem {
	return &Problem{Blocking: &place.Blocking{}, Ranks: 1}
}

// Operand is what has blocks of its own: an access of the right side, so that a tensor that
// is read through two accesses with different variables is two operands; or, where
// nothing is cut, a tensor.
type Operand struct {
	Name   string // in Norm
	Tensor string
	Vars   []string // by mode
	// Modes lists, for each mode, the split variable that cuts it, or -1.
	Modes []int
	// Groups lists the groups (Blocking.Groups) that read it.
	Groups []int
}

// Block is an index of one range for each variable of a list; see Space.
type Block int64

// Space numbers the blocks over a list of split variables, row-major.
type Space struct {
	Vars []int // indexes of Blocking.Vars, each once
	N    []int64
}

// SpaceOf is the block space of modes, in the order in which they first name a variable.
func (p *Problem) SpaceOf(modes []int) Space {
	var s Space
	for _, v := range modes {
		if v >= 0 && !slices.Contains(s.Vars, v) {
			s.Vars = append(s.Vars, v)
			s.N = append(s.N, p.Vars[v].Ranges())
		}
	}
	return s
}

// Size is the number of blocks.
func (s Space) Size() int64 {
	n := int64(1)
	for _, k := range s.N {
		n *= k
	}
	return n
}

// Of is the block at a tuple of range indices, one for each of Blocking.Vars.
func (s Space) Of(tuple []int64) Block {
	var b int64
	for k, v := range s.Vars {
		b = b*s.N[k] + tuple[v]
	}
	return Block(b)
}

// Tuple sets the space's variables in tuple to those of b.
func (s Space) Tuple(b Block, tuple []int64) {
	for k := len(s.Vars) - 1; k >= 0; k-- {
		tuple[s.Vars[k]] = int64(b) % s.N[k]
		b /= Block(s.N[k])
	}
}

// Box is the half-open range of each mode that block b of a tensor covers.
// sizes are the tensor's mode sizes, for modes that nothing cuts.
func (p *Problem) Box(modes []int, b Block, sizes []int64) [][2]int64 {
	tuple := make([]int64, len(p.Vars))
	p.SpaceOf(modes).Tuple(b, tuple)
	box := make([][2]int64, len(modes))
	for m, v := range modes {
		box[m] = [2]int64{0, sizes[m]}
		if v >= 0 {
			cuts := p.Vars[v].Cuts
			box[m] = [2]int64{cuts[tuple[v]], cuts[tuple[v]+1]}
		}
	}
	return box
}

// Rank is the rank of the block at tuple: its mapping variables as one number,
// point p on rank p mod Ranks.
func (p *Problem) Rank(tuple []int64) int {
	var key int64
	for _, v := range p.Map {
		key = (key*p.Vars[v].Ranges() + tuple[v])
	}
	return int(key % int64(p.Ranks))
}

// Owner is the rank where block b of a tensor with these modes lives: that of
// the mapping key with the variables that the tensor lacks at 0.
func (p *Problem) Owner(modes []int, b Block) int {
	tuple := make([]int64, len(p.Vars))
	p.SpaceOf(modes).Tuple(b, tuple)
	return p.Rank(tuple)
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

// tuples yields every block in loop order. The slice is reused.
func (p *Problem) tuples() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		tuple := make([]int64, len(p.Vars))
		for _, v := range p.Vars {
			if v.Ranges() == 0 {
				return
			}
		}
		for {
			if !yield(tuple) {
				return
			}
			k := len(tuple) - 1
			for ; k >= 0; k-- {
				if tuple[k]++; tuple[k] < p.Vars[k].Ranges() {
					break
				}
				tuple[k] = 0
			}
			if k < 0 {
				return
			}
		}
	}
}

// runs tells whether group g runs at tuple: every split reduction variable
// that it does not hold is at its first range.
func (p *Problem) runs(g int, tuple []int64) bool {
	for k, v := range p.Vars {
		if v.Reduction && tuple[k] != 0 && !slices.Contains(p.Groups[g].Held, k) {
			return false
		}
	}
	return true
}

// extended lists the extended variables.
func (p *Problem) extended() []int {
	var list []int
	for k, v := range p.Vars {
		if v.Extended {
			list = append(list, k)
		}
	}
	return list
}

// Steps yields what a rank runs, in order.
func (p *Problem) Steps(rank int) iter.Seq[Step] {
	return func(yield func(Step) bool) {
		for r, s := range p.steps(rank) {
			if r == rank && !yield(s) {
				return
			}
		}
	}
}

// AllSteps yields every rank's steps with the rank, in the order of the block
// loops, in which each rank's are in its own order too. It visits each block once.
func (p *Problem) AllSteps() iter.Seq2[int, Step] { return p.steps(-1) }

// steps yields one rank's steps, or every rank's where only is -1.
func (p *Problem) steps(only int) iter.Seq2[int, Step] {
	return func(yield func(int, Step) bool) {
		result, extend := p.SpaceOf(p.Result), p.SpaceOf(p.extended())
		spaces := make([]Space, len(p.Operands))
		for k, o := range p.Operands {
			spaces[k] = p.SpaceOf(o.Modes)
		}
		made := map[Partial]bool{}
		for tuple := range p.tuples() {
			rank := p.Rank(tuple)
			if only >= 0 && rank != only {
				continue
			}
			for g := range p.Groups {
				if !p.runs(g, tuple) {
					continue
				}
				part := Partial{result.Of(tuple), extend.Of(tuple), rank}
				s := Step{Group: g, Tuple: slices.Clone(tuple), Partial: part, First: !made[part]}
				made[part] = true
				for k, o := range p.Operands {
					if slices.Contains(o.Groups, g) {
						s.Need = append(s.Need, Need{k, spaces[k].Of(tuple)})
					}
				}
				if !yield(rank, s) {
					return
				}
			}
		}
	}
}

// Reads yields the blocks of an operand that a rank's steps read, each once.
func (p *Problem) Reads(rank, operand int) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		seen := map[Block]bool{}
		for s := range p.Steps(rank) {
			for _, need := range s.Need {
				if need.Operand != operand || seen[need.Block] {
					continue
				}
				seen[need.Block] = true
				if !yield(need.Block) {
					return
				}
			}
		}
	}
}

// Fetch is a block that a rank comes to hold. A rank holds one block of an
// operand at a time, so that it fetches one again if another took its place.
type Fetch struct {
	Need
	Step  int // the rank's step, counted from 0, that needs it first
	Owner int
}

// Holder follows what one rank holds of each operand as its steps go by.
type Holder struct {
	p    *Problem
	held []Block
	next int // number of the next step
}

// NewHolder is a rank before its first step, which holds nothing.
func (p *Problem) NewHolder() *Holder {
	h := &Holder{p: p, held: make([]Block, len(p.Operands))}
	for k := range h.held {
		h.held[k] = -1
	}
	return h
}

// Fetches takes the rank's next step and yields what it comes to hold for it.
func (h *Holder) Fetches(s Step) iter.Seq[Fetch] {
	n := h.next
	h.next++
	return func(yield func(Fetch) bool) {
		for _, need := range s.Need {
			if h.held[need.Operand] == need.Block {
				continue
			}
			h.held[need.Operand] = need.Block
			if !yield(Fetch{Need: need, Step: n, Owner: h.p.Owner(h.p.Operands[need.Operand].Modes, need.Block)}) {
				return
			}
		}
	}
}

// Fetches yields a rank's fetches in order, those of its own blocks included
// (Owner is then the rank itself, and nothing travels).
func (p *Problem) Fetches(rank int) iter.Seq[Fetch] {
	return func(yield func(Fetch) bool) {
		h := p.NewHolder()
		for s := range p.Steps(rank) {
			for f := range h.Fetches(s) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// Send is a block that its owner sends.
type Send struct {
	Need
	To int
	// Seq is the fetch's number at the receiver, counted from 0: with the two
	// ranks it names the message.
	Seq int
}

// Sends lists what a rank sends: every other rank's fetches of its blocks, by
// receiver, in the receiver's order. It goes over all ranks' steps once.
func (p *Problem) Sends(rank int) []Send {
	var list []Send
	holders, seq := make([]*Holder, p.Ranks), make([]int, p.Ranks)
	for to, s := range p.AllSteps() {
		if to == rank {
			continue
		}
		if holders[to] == nil {
			holders[to] = p.NewHolder()
		}
		for f := range holders[to].Fetches(s) {
			if f.Owner == rank {
				list = append(list, Send{f.Need, to, seq[to]})
			}
			seq[to]++
		}
	}
	slices.SortStableFunc(list, func(a, b Send) int { return a.To - b.To })
	return list
}

// Broadcasts tells for each operand whether one broadcast brings it to every
// rank: it has a single block, and every rank reads it.
func (p *Problem) Broadcasts() []bool {
	list := make([]bool, len(p.Operands))
	if p.Ranks == 1 {
		return list
	}
	readers := make([][]bool, len(p.Groups)) // by group and rank
	for g := range readers {
		readers[g] = make([]bool, p.Ranks)
	}
	for tuple := range p.tuples() {
		r := p.Rank(tuple)
		for g := range p.Groups {
			if !readers[g][r] && p.runs(g, tuple) {
				readers[g][r] = true
			}
		}
	}
	for k, o := range p.Operands {
		list[k] = p.SpaceOf(o.Modes).Size() == 1
		for r := range p.Ranks {
			list[k] = list[k] && slices.ContainsFunc(o.Groups, func(g int) bool { return readers[g][r] })
		}
	}
	return list
}
