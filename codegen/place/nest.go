package place

import "slices"

// Nest holds the loops around the leaf. Some loops are distributed over ranks. The others run in
// order on each rank.
type Nest struct {
	Machine *Machine
	Loops   []Loop // outermost first
	Chunks  []Chunks
	// Leaf is the schedule of the leaf, over the statement's own variables. Scheduled is true if
	// the user gave it; otherwise the leaf gets the default schedule.
	Leaf      []string
	Scheduled bool
	// Written lists, for each command of Leaf, the command of the user that it was made from.
	Written []Written
}

// Written says where the user wrote a command: at Text[Pos:End]. Args lists the places of the
// command's arguments in the same form as schedule.Places. Args is nil if the leaf gets a changed
// command, whose arguments are not the user's.
type Written struct {
	Text     string
	Pos, End int
	Args     [][2]int
}

// Loop is a loop of a nest over the values 0 to N-1.
type Loop struct {
	Var string
	N   int64
	// Dim is the dimension of the machine over which the loop is distributed. If it is -1, the loop
	// runs in order at each rank.
	Dim int
	// Communicate lists the tensors whose pieces are fetched at the start of each iteration and
	// kept until its end.
	Communicate []string
}

// Digit is one digit of a chunk's number. Its value is the current value of a loop with N values.
// Other loops may rotate this loop (the command rotate). The value of the digit is then the sum of
// the values of all these loops, mod N.
type Digit struct {
	Loop int   // an index of Nest.Loops
	Plus []int // the loops that rotate it
	N    int64
}

// Chunks are the pieces into which the loops of a nest cut an index variable, or the entries of a
// tensor. Digits are the digits of a chunk's number in mixed radix, the most significant first.
// Chunk k of a variable is [Cuts[k], Cuts[k+1]), which may be empty.
type Chunks struct {
	Var       string     // an index variable; "" if Positions is set
	Positions *Positions // chunks of the entries of a tensor; Cuts is then nil
	Digits    []Digit
	Cuts      []int64
}

// Positions are the entries of one access of the statement. They are cut into chunks along the
// storage order of the tensor.
type Positions struct {
	Tensor string
	Vars   []string // the variables of the access's outermost levels, in storage order
	Cuts   []OrderedCut
}

// Ranges returns the number of chunks into which the entries are cut.
func (p *Positions) Ranges() int64 { return (&Ordered{Cuts: p.Cuts}).Ranges() }

// N returns the number of chunks.
func (c *Chunks) N() int64 {
	n := int64(1)
	for _, d := range c.Digits {
		n *= d.N
	}
	return n
}

// Value returns the value of the digit at a point. point has the value of each loop.
func (d Digit) Value(point []int64) int64 {
	v := point[d.Loop]
	for _, k := range d.Plus {
		v += point[k]
	}
	return v % d.N
}

// Of returns the number of the chunk at a point. point has the value of each loop.
func (c *Chunks) Of(point []int64) int64 {
	n := int64(0)
	for _, d := range c.Digits {
		n = n*d.N + d.Value(point)
	}
	return n
}

// Uses reports whether the number of a chunk depends on a loop.
func (c *Chunks) Uses(loop int) bool {
	return slices.ContainsFunc(c.Digits,
		func(d Digit) bool { return d.Loop == loop || slices.Contains(d.Plus, loop) })
}

// Rotating returns the loops that rotate the given loop, as indices of Loops.
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

// Spread reports whether different ranks have different chunks of Chunks[chunks]. This is so if the
// loop of one of the digits is distributed. Loops that only rotate a digit do not count.
func (n *Nest) Spread(chunks int) bool {
	return slices.ContainsFunc(n.Chunks[chunks].Digits,
		func(d Digit) bool { return n.Loops[d.Loop].Dim >= 0 })
}
