package place

import "slices"

// Nest is the loops that are peeled off a schedule: those that run over ranks, and those that run
// in order around others, or bring pieces of tensors. What is under them is the leaf.
type Nest struct {
	Machine *Machine
	Loops   []Loop // outermost first
	Chunks  []Chunks
	// Leaf is the schedule of the leaf, over the statement's own variables. Scheduled tells whether
	// the user gave it, else the leaf gets the default one.
	Leaf      []string
	Scheduled bool
	// Written has where the user wrote what each command of Leaf is made of.
	Written []Written
}

// Written is a command of the user's in the text that has it, and its arguments as schedule.Places
// has them; none where the leaf's command has others.
type Written struct {
	Text     string
	Pos, End int
	Args     [][2]int
}

// Loop is a loop of a nest, over the values 0 to N-1.
type Loop struct {
	Var string
	N   int64
	// Dim is the dimension of the machine over which it is distributed; -1: it runs in
	// order at each rank.
	Dim int
	// Communicate lists the tensors whose pieces are brought once an iteration, and kept for it.
	Communicate []string
}

// Digit is a part of the number of a chunk: the value of a loop, which has N of them, or of a loop
// that others rotate, which is the sum of theirs and its own, mod N.
type Digit struct {
	Loop int   // an index of Nest.Loops
	Plus []int // the loops that rotate it
	N    int64
}

// Chunks are those that the loops of a nest cut, of an index variable or of the entries of a
// tensor. Their numbers are in mixed radix by the digits, the most significant first. Chunk k of a
// variable is [Cuts[k], Cuts[k+1]), which may be empty.
type Chunks struct {
	Var       string     // an index variable; "" where Positions is set
	Positions *Positions // chunks of the entries of a tensor; Cuts is then nil
	Digits    []Digit
	Cuts      []int64
}

// Positions are the entries of one access of the statement, cut along the storage order of its
// tensor.
type Positions struct {
	Tensor string
	Vars   []string // of the access's outermost levels, in storage order
	Cuts   []OrderedCut
}

// Ranges is how many chunks there are of the entries.
func (p *Positions) Ranges() int64 { return (&Ordered{Cuts: p.Cuts}).Ranges() }

// N is how many chunks there are.
func (c *Chunks) N() int64 {
	n := int64(1)
	for _, d := range c.Digits {
		n *= d.N
	}
	return n
}

// Value is the digit at a point, which has the value of each loop.
func (d Digit) Value(point []int64) int64 {
	v := point[d.Loop]
	for _, k := range d.Plus {
		v += point[k]
	}
	return v % d.N
}

// Of is the number of the variable's chunk at a point.
func (c *Chunks) Of(point []int64) int64 {
	n := int64(0)
	for _, d := range c.Digits {
		n = n*d.N + d.Value(point)
	}
	return n
}

// Uses tells whether a chunk's number depends on a loop.
func (c *Chunks) Uses(loop int) bool {
	return slices.ContainsFunc(c.Digits,
		func(d Digit) bool { return d.Loop == loop || slices.Contains(d.Plus, loop) })
}

// Rotating lists the loops that rotate a loop, as indices of Loops.
func (n *Nest) Rotating(loop int) []int {
	for _, c := range n.Chunks {
		for _, d := range c.Digits {
			if d.Loop == loop {
				return d.Plus
			}
		}
	}
	return nil
}

// Spread tells whether a variable, an index of Chunks, is cut by a loop that is distributed, so
// that ranks have chunks of their own of it.
func (n *Nest) Spread(chunks int) bool {
	return slices.ContainsFunc(n.Chunks[chunks].Digits,
		func(d Digit) bool { return n.Loops[d.Loop].Dim >= 0 })
}
