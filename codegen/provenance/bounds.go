package provenance

// Namer returns a form with the value of f. It may introduce a name for this value. If lowering
// introduces a name, it emits code that computes f where Namer is called. The name describes the
// value, such as i_n for the number of values of i.
type Namer func(name string, f Form) Form

// Range is a range of values [Lo, Hi) of a variable, as far as the surrounding loops determine it.
type Range struct {
	Lo, Hi Form
	// Size is Hi-Lo if it is a known constant, otherwise -1.
	Size int64
}

// Extent returns the number of values.
func (x Range) Extent() Form {
	if x.Size >= 0 {
		return Const(x.Size)
	}
	return Bin(Sub, x.Hi, x.Lo)
}

// Points returns the number of points in the space of several variables with the given ranges.
func Points(spans []Range) Form {
	n := Form(Const(1))
	for _, s := range spans {
		n = Bin(Mul, n, Bin(Sub, s.Hi, s.Lo))
	}
	return n
}

// Times converts x, a range of rows, to a range of points. Each row has n points, and points are
// numbered row by row from 0. v is the variable whose values are the points' numbers. The limits of
// the new range get names that begin with v, such as v_lo.
func (x Range) Times(n Form, v string, name Namer) Range {
	return Range{Lo: name(v+"_lo", Bin(Mul, x.Lo, n)), Hi: name(v+"_hi", Bin(Mul, x.Hi, n)), Size: -1}
}

// Digits converts x, the number of a point, to the point's coordinates. The argument roots has the
// variables of the coordinates, and spans has their ranges. The points are numbered in
// lexicographic order. x may also be the number of all points. If no range is empty, the first
// coordinate is then the end of its range, and each other coordinate is the start of its range.
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

// Bounded returns the range of the new variable that relation r makes. r is a Bound. whole is the
// range of the variable that r replaces.
func (r *Relation) Bounded(whole Range) Range {
	if r.Bound == MaxExact {
		whole.Size = r.N
		whole.Hi = Bin(Add, whole.Lo, Const(r.N))
	}
	return whole
}

// Tiling is a range that a split or divide cuts into tiles.
type Tiling struct {
	Rel    *Relation
	Of     Range
	Length Form  // the length of a tile
	Known  int64 // the length if it is a known constant, otherwise -1
}

// TileOptions are properties of the tiled range.
type TileOptions struct {
	// Positions is true if the range consists of positions. Its Size is then only a promise, and a
	// split gives the range of its tile numbers no Size.
	Positions bool
	// Some: there must be at least one tile, even if the range is empty.
	Some bool
}

// Tile divides a range into tiles. Relation r is a Split or a Divide, which gives the tiles' length
// or number. span is the range, and o has properties of the range. Tile returns the tiling and the
// range of the tile numbers. name gives names to computed values.
func (r *Relation) Tile(span Range, o TileOptions, name Namer) (t Tiling, numbers Range) {
	t = Tiling{Rel: r, Of: span, Length: Const(r.N), Known: r.N}
	extent := span.Extent()
	n := roundedUp(extent, r.N)
	count := int64(-1)
	if span.Size >= 0 {
		count = (span.Size + r.N - 1) / r.N
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

// roundedUp returns extent/n rounded up.
func roundedUp(extent Form,
	n int64) Form {
	return Bin(Div, Bin(Add, extent, Const(n-1)), Const(n))
}

// A divide into n pieces makes exactly n pieces if n is less than manyPieces. Otherwise it makes at
// most as many pieces as there are values, but at least one.
const manyPieces = 256

// Pieces returns the number of pieces into which Divide with factor n cuts a range. extent is the
// number of values in the range. The result is at least one, because the loop over the pieces may
// have to set an element of the result.
func Pieces(extent Form, n int64) Form {
	if n < manyPieces {
		return Const(n)
	}
	return Bin(Min, Const(n), Bin(Max, extent, Const(1)))
}

// even reports whether all tiles have the same known length and cover the range exactly.
func (t Tiling) even() bool {
	return t.Of.Size >= 0 && t.Known >= 0 && t.Of.Size%t.Known == 0 &&
		(t.Rel.Kind == Split || t.Of.Size/t.Known == t.Rel.N)
}

// At returns the range of tile number v.
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

// Edge returns where tile number n begins, or the end of the range if it begins later.
func (t Tiling) Edge(n Form) Form {
	return Bin(Min, Bin(Add, t.Of.Lo, Bin(Mul, n, t.Length)), t.Of.Hi)
}

// Narrowed is the part of a component's space that remains inside some of its loops. The loops are
// in natural order and none of them runs over positions.
type Narrowed struct {
	// Leaf is the variable of the next loop and Range its values. The values are tile numbers of
	// the last of Tiles. If Tiles is empty, they are coordinates of the only root, or numbers of
	// points in the space of Roots.
	Leaf  string
	Range Range
	Tiles []Tiling
	Roots []string

	g    *Graph
	span func(root string) Range
	name Namer
}

// Narrow returns the whole space of component c. Enter then narrows the space, loop by loop. span
// returns the range of a root. name gives names to computed values. Narrow returns nil if descend
// returns nil.
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

// descend finds the next loop that determines x. It follows the relations that replaced x to a
// variable that has a loop. It returns a copy of n with this loop as the next one. The parameter
// left is the part of x's range that remains inside the outer loops. The result is nil if a
// relation replaces coordinates with positions.
func (n *Narrowed) descend(x string, left Range) *Narrowed {
	out := *n
	for r := n.g.ReplacedBy(x); r != nil; r = n.g.ReplacedBy(x) {
		switch r.Kind {
		case Bound:
			left = r.Bounded(left)
		case Split, Divide:
			t, numbers := r.Tile(left, TileOptions{}, n.name)
			out.Tiles = append(out.Tiles[:len(out.Tiles):len(out.Tiles)], t)
			left = numbers
		case Fuse:
			if len(out.Roots) == 1 {
				first := n.span(out.Roots[0]).Lo
				left.Lo, left.Hi = Bin(Sub, left.Lo, first), Bin(Sub, left.Hi, first)
			}
			more := n.g.Underived(r.From[1])
			left = left.Times(Points(n.spans(more)), r.To[0], n.name)
			out.Roots = append(out.Roots[:len(out.Roots):len(out.Roots)], more...)
		default:
			return nil
		}
		x = r.To[0]
	}
	out.Leaf, out.Range = x, left
	return &out
}

// Enter returns the part of the component's space that remains inside one iteration of n's next
// loop, which is a loop over tiles. v is the number of the tile. The result is nil if descend
// returns nil.
func (n *Narrowed) Enter(v Form) *Narrowed {
	last := len(n.Tiles) - 1
	t := n.Tiles[last]
	out := *n
	out.Tiles = n.Tiles[:last:last]
	return out.descend(t.Rel.To[1], t.At(v, n.name))
}

// At returns the coordinates of the component's roots, its underived variables, in one iteration of
// the innermost loop. x is the value of that loop's variable.
func (n *Narrowed) At(x Form) []Form {
	if len(n.Roots) == 1 {
		return []Form{x}
	}
	return Digits(n.Roots, n.spans(n.Roots), x, n.name)
}

// MaxValues returns the largest number of values that the splits, divides and bounds of the
// schedule allow for v, or 0 if no limit is known. A tile of positions may have more values if a
// level repeats coordinates, because the tile is then extended to the end of the repeats.
func (g *Graph) MaxValues(v string) int64 {
	r := g.MadeBy(v)
	if r == nil {
		return 0
	}
	of := g.MaxValues(r.From[0])
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
		if n := g.MaxValues(r.From[1]); of < 1<<31 && n < 1<<31 {
			return of * n
		}
		return 0
	case r.Kind == Bound && (r.Bound == MaxExact || r.Bound == MaxConstraint) && r.N > 0:
		return least(r.N)
	case r.Kind == Coord:
		return 0 // the number of coordinates between two entries is not limited
	}
	return of
}
