package provenance

import "maps"

// Counting is a component whose loops do not come in natural order: they count. N is the
// number of values of each of its variables, and Value those of the variables that are
// bound, counted from 0; but where positions are counted, the coordinates are those that
// they hold.
type Counting struct {
	G        *Graph
	N, Value map[string]Form
}

// Bind is the counting inside a loop over v, at a value.
func (c *Counting) Bind(v string, at Form) *Counting {
	out := &Counting{G: c.G, N: c.N, Value: maps.Clone(c.Value)}
	if out.Value == nil {
		out.Value = map[string]Form{}
	}
	out.Value[v] = at
	return out
}

// Count finds the numbers of values of what r makes of variables whose numbers are known;
// not of a pos, which counts positions.
func (c *Counting) Count(r *Relation, name Namer) {
	n := c.N[r.From[0]]
	switch r.Kind {
	case Bound:
		n = r.Bounded(Range{Lo: Const(0), Hi: n, Size: -1}).Hi
	case Fuse:
		n = name(r.To[0]+"_n", Bin(Mul, n, c.N[r.From[1]]))
	case Split, Divide:
		// There are no more parts, and none is longer, than there are things to part.
		few, many := r.To[0], r.To[1]
		if r.Kind == Divide {
			few, many = many, few
		}
		c.N[few] = name(few+"_n", roundedUp(n, r.N))
		c.N[many] = name(many+"_n", Pieces(n, r.N))
		return
	}
	c.N[r.To[0]] = n
}

// Reach is where the loop over v, the last of the component's, ends instead of at to, so
// that variables which grow with v stay in their ranges, and which these are: no
// iteration has to ask.
func (c *Counting) Reach(v string, to Form, name Namer) (end Form, sure map[string]bool) {
	sure = map[string]bool{}
	a, b := Form(Const(1)), Form(Const(0)) // x is a*v + b
	for x := v; ; {
		r := c.G.MadeBy(x)
		if r == nil || r.Kind == Pos || r.Kind == Fuse {
			return name(v+"_end", to), sure
		}
		if len(r.To) == 2 {
			tile := c.N[r.To[1]]
			other := r.To[0]
			if x == other {
				other = r.To[1]
			}
			at := c.valueOf(other)
			if at == nil {
				return name(v+"_end", to), sure
			}
			if x == r.To[0] {
				a, b = times(a, tile), plus(times(b, tile), at)
			} else {
				b = plus(times(at, tile), b)
			}
			sure[r.From[0]] = true
			if n := c.N[r.From[0]]; !even(n, r.N) {
				left := Bin(Max, Bin(Sub, n, b), Const(0))
				to = Bin(Min, to, Bin(Div, Bin(Sub, Bin(Add, left, a), Const(1)), a))
			}
		}
		x = r.From[0]
	}
}

func times(x, y Form) Form { return Bin(Mul, x, y) }
func plus(x, y Form) Form  { return Bin(Add, x, y) }

// even tells whether a number of coordinates is known, and a multiple of n, so that
// neither tiles of n nor n tiles of them reach past the end.
func even(x Form, n int64) bool {
	c, ok := x.(Const)
	return ok && int64(c)%n == 0
}

// valueOf is the value of a variable where the loops around determine it; nil where they
// do not, or by a coordinate that is looked up.
func (c *Counting) valueOf(x string) Form {
	r := c.G.ReplacedBy(x)
	if r == nil {
		return c.Value[x]
	}
	v := c.valueOf(r.To[0])
	if v == nil {
		return nil
	}
	switch r.Kind {
	case Split, Divide:
		inner := c.valueOf(r.To[1])
		if inner == nil {
			return nil
		}
		return plus(times(v, c.N[r.To[1]]), inner)
	case Fuse:
		n := Bin(Max, c.N[r.From[1]], Const(1))
		if x == r.From[0] {
			return Bin(Div, v, n)
		}
		return Bin(Rem, v, n)
	case Pos:
		return nil
	}
	return v
}

// Recover computes the values of what r replaced from those of what it made; not of a pos.
// guarded tells that the value may be past the range, which an iteration has to ask;
// sure are the variables of which Reach says that they are not.
func (c *Counting) Recover(r *Relation, sure map[string]bool, name Namer) (guarded bool) {
	x := c.Value[r.To[0]]
	switch r.Kind {
	case Split, Divide:
		c.Value[r.From[0]] = name(r.From[0], plus(times(x, c.N[r.To[1]]), c.Value[r.To[1]]))
		return !sure[r.From[0]] && !even(c.N[r.From[0]], r.N)
	case Fuse:
		n := Bin(Max, c.N[r.From[1]], Const(1))
		c.Value[r.From[0]] = name(r.From[0], Bin(Div, x, n))
		c.Value[r.From[1]] = name(r.From[1], Bin(Rem, x, n))
	default:
		c.Value[r.From[0]] = x
	}
	return false
}
