package provenance

// Namer gives a form a name, by which it is read from then on: code is computed where it
// is named. The name says what it is, such as i_n for the number of i's values.
type Namer func(name string, f Form) Form

// Range is the values of a variable that the loops so far leave, from Lo up to Hi.
type Range struct {
	Lo, Hi Form
	// Size is Hi-Lo where that is known beforehand; else -1.
	Size int64
}

// Extent is the number of values.
func (x Range) Extent() Form {
	if x.Size >= 0 {
		return Const(x.Size)
	}
	return Bin(Sub, x.Hi, x.Lo)
}

// Points is the number of points of several variables' space.
func Points(spans []Range) Form {
	n := Form(Const(1))
	for _, s := range spans {
		n = Bin(Mul, n, Bin(Sub, s.Hi, s.Lo))
	}
	return n
}

// Times is the points of a range of rows, counted from 0, of n points each.
func (x Range) Times(n Form, v string, name Namer) Range {
	return Range{Lo: name(v+"_lo", Bin(Mul, x.Lo, n)), Hi: name(v+"_hi", Bin(Mul, x.Hi, n)), Size: -1}
}

// Digits are the coordinates of point number x of the space of several variables, in
// lexicographic order; of its end, the first coordinate is one too large and the others are
// their first ones.
func Digits(roots []string, spans []Range, x Form, name Namer) []Form {
	out := make([]Form, len(roots))
	for d := len(roots) - 1; d > 0; d-- {
		n := Bin(Max, Bin(Sub, spans[d].Hi, spans[d].Lo), Const(1))
		out[d] = name(roots[d]+"_edge", Bin(Add, spans[d].Lo, Bin(Rem, x, n)))
		x = name(roots[0]+"_rows", Bin(Div, x, n))
	}
	out[0] = Bin(Add, spans[0].Lo, x)
	return out
}

// Bounded is the range of the variable that a bound makes.
func (r *Relation) Bounded(of Range) Range {
	if r.Bound == MaxExact {
		of.Size = r.N
		of.Hi = Bin(Add, of.Lo, Const(r.N))
	}
	return of
}

// Tiling is a range that a split or divide parts.
type Tiling struct {
	Rel    *Relation
	Of     Range
	Length Form  // of a tile
	Known  int64 // the length where it is known; else -1
}

// TileOptions are what tiles depend on beside the range.
type TileOptions struct {
	// Positions: the range is one of positions, of which Size is no more than a promise:
	// their number is computed in any case.
	Positions bool
	// Some: there is one tile at least, where a split makes none of an empty range.
	Some bool
}

// Tile parts a range, and gives the range of the tiles' numbers.
func (r *Relation) Tile(of Range, o TileOptions, name Namer) (t Tiling, numbers Range) {
	t = Tiling{Rel: r, Of: of, Length: Const(r.N), Known: r.N}
	extent := of.Extent()
	n := roundedUp(extent, r.N)
	count := int64(-1)
	if of.Size >= 0 {
		count = (of.Size + r.N - 1) / r.N
	}
	if r.Kind == Divide {
		t.Length = name(r.To[1]+"_size", Bin(Max, n, Const(1)))
		if t.Known = max(count, 1); count < 0 {
			t.Known = -1
		}
		n, count = Pieces(extent, r.N), -1
		if c, ok := n.(Const); ok {
			count = int64(c)
		}
	} else if o.Some {
		n = Bin(Max, n, Const(1))
	}
	switch {
	case r.Kind == Split && count >= 0 && !o.Positions:
		n = Const(count)
	case r.Kind == Split:
		count = -1
	}
	return t, Range{Lo: Const(0), Hi: name(r.To[0]+"_n", n), Size: count}
}

// roundedUp is the number of tiles of n of so many things.
func roundedUp(extent Form,
	n int64) Form {
	return Bin(Div, Bin(Add, extent, Const(n-1)), Const(n))
}

// manyPieces is from how many pieces on a divide that finds less to part makes
// fewer of them: the others would be empty.
const manyPieces = 256

// Pieces is the number of pieces that a divide of so many things by n makes; one at
// least, since it may have a place of the result to set.
func Pieces(extent Form, n int64) Form {
	if n < manyPieces {
		return Const(n)
	}
	return Bin(Min, Const(n), Bin(Max, extent, Const(1)))
}

// even tells whether tiles are all of one length, which is known, and part all.
func (t Tiling) even() bool {
	return t.Of.Size >= 0 && t.Known >= 0 && t.Of.Size%t.Known == 0 &&
		(t.Rel.Kind == Split || t.Of.Size/t.Known == t.Rel.N)
}

// At is the range of tile number v.
func (t Tiling) At(v Form, name Namer) Range {
	x, even := t.Rel.To[1], t.even()
	lo := Bin(Add, t.Of.Lo, Bin(Mul, v, t.Length))
	if t.Rel.Kind == Divide && !even {
		lo = Bin(Min, lo, t.Of.Hi)
	}
	in := Range{Lo: name(x+"_lo", lo), Size: -1}
	in.Hi = Bin(Add, in.Lo, t.Length)
	if even {
		in.Size = t.Known
	} else {
		in.Hi = Bin(Min, in.Hi, t.Of.Hi)
	}
	in.Hi = name(x+"_hi", in.Hi)
	return in
}

// Edge is where tile number n begins, or the range ends before that.
func (t Tiling) Edge(n Form) Form {
	return Bin(Min, Bin(Add, t.Of.Lo, Bin(Mul, n, t.Length)), t.Of.Hi)
}

// Narrowed is how far the loops over a component have come whose loops come in natural
// order, where none of them is over positions: what is left of its space.
type Narrowed struct {
	// Leaf is the variable of the next loop, and Range what it runs over: tile numbers;
	// or, where Tiles is empty, the coordinates of the only root, or the numbers of the
	// points of Roots.
	Leaf  string
	Range Range
	Tiles []Tiling
	Roots []string

	g    *Graph
	span func(root string) Range
	name Namer
}

// Narrow is the whole space of a component, where span is the range of each root; nil
// where a loop is over positions.
func (g *Graph) Narrow(c *Component, span func(root string) Range, name Namer) *Narrowed {
	n := &Narrowed{Roots: g.Underived(c.Top), g: g, span: span, name: name}
	all := span(n.Roots[0])
	if len(n.Roots) > 1 {
		all = Range{Lo: Const(0), Hi: name(c.Top+"_n", Points(n.spans(n.Roots))), Size: -1}
	}
	return n.descend(c.Top, all)
}

func (n *Narrowed) spans(roots []string) []Range {
	out := make([]Range, len(roots))
	for k, r := range roots {
		out[k] = n.span(r)
	}
	return out
}

// descend goes from x, of which of is left, down to the next variable that has a loop.
func (n *Narrowed) descend(x string, of Range) *Narrowed {
	out := *n
	for r := n.g.ReplacedBy(x); r != nil; r = n.g.ReplacedBy(x) {
		switch r.Kind {
		case Bound:
			of = r.Bounded(of)
		case Split, Divide:
			t, numbers := r.Tile(of, TileOptions{}, n.name)
			out.Tiles = append(out.Tiles[:len(out.Tiles):len(out.Tiles)], t)
			of = numbers
		case Fuse:
			if len(out.Roots) == 1 {
				first := n.span(out.Roots[0]).Lo
				of.Lo, of.Hi = Bin(Sub, of.Lo, first), Bin(Sub, of.Hi, first)
			}
			more := n.g.Underived(r.From[1])
			of = of.Times(Points(n.spans(more)), r.To[0], n.name)
			out.Roots = append(out.Roots[:len(out.Roots):len(out.Roots)], more...)
		default:
			return nil
		}
		x = r.To[0]
	}
	out.Leaf, out.Range = x, of
	return &out
}

// Enter is what is left inside tile number v; nil where a loop there is over positions.
func (n *Narrowed) Enter(v Form) *Narrowed {
	last := len(n.Tiles) - 1
	t := n.Tiles[last]
	out := *n
	out.Tiles = n.Tiles[:last:last]
	return out.descend(t.Rel.To[1], t.At(v, n.name))
}

// At are the coordinates of the roots at value x of the last loop.
func (n *Narrowed) At(x Form) []Form {
	if len(n.Roots) == 1 {
		return []Form{x}
	}
	return Digits(n.Roots, n.spans(n.Roots), x, n.name)
}

// Most is the largest number of values that v can have, as far as the factors and bounds of the
// schedule tell; 0 where they do not. A tile of positions may have more where a level repeats
// coordinates, since it ends behind the repeats.
func (g *Graph) Most(v string) int64 {
	r := g.MadeBy(v)
	if r == nil {
		return 0
	}
	of := g.Most(r.From[0])
	least := func(n int64) int64 {
		if of == 0 {
			return n
		}
		return min(n, of)
	}
	outer := v == r.To[0]
	switch {
	case r.Kind == Split && !outer, r.Kind == Divide && outer:
		return least(r.N)
	case r.Kind == Split, r.Kind == Divide:
		return (of + r.N - 1) / r.N
	case r.Kind == Fuse:
		if n := g.Most(r.From[1]); of < 1<<31 && n < 1<<31 {
			return of * n
		}
		return 0
	case r.Kind == Bound && (r.Bound == MaxExact || r.Bound == MaxConstraint) && r.N > 0:
		return least(r.N)
	case r.Kind == Coord:
		return 0 // coordinates between two entries are any number
	}
	return of
}
