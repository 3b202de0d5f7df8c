package provenance

import "maps"

// Counting computes the coordinates of a component whose loops are not in natural order. Each
// variable of the component counts from 0. N holds the number of values of each variable, and Value
// holds the current value of each bound variable. If a variable counts positions, the value of the
// original variable is the coordinate that is stored at the position.
type Counting struct {
	G        *Graph
	N, Value map[string]Form
}

// Bind returns a copy of c with the given value of variable v. The copy is used inside the loop
// over v.
func (c *Counting) Bind(v string, value Form) *Counting {
	out := &Counting{G: c.G, N: c.N, Value: maps.Clone(c.Value)}
	if out.Value == nil {
		out.Value = map[string]Form{}
	}
	out.Value[v] = value
	return out
}

// Count sets the number of values (N) of each variable that relation r makes. It computes these
// numbers from the numbers of values of the variables that r replaces. It is not called for a Pos
// relation, whose new variable counts positions. name gives names to the computed numbers.
func (c *Counting) Count(r *Relation, name Namer) {
	n := c.N[r.From[0]]
	switch r.Kind {
	case Bound:
		n = r.Bounded(Range{Lo: Const(0), Hi: n, Size: -1}).Hi
	case Fuse:
		n = name(r.To[0]+"_n", Bin(Mul, n, c.N[r.From[1]]))
	case Split, Divide:
		// Neither the number of parts nor their length exceeds the number of values.
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

// Reach shortens the loop over v, the last loop of the component. The loop then ends at end instead
// of limit. In the shortened loop, the variables in sure stay in their ranges, so no iteration
// needs to check them. They are computed from v.
func (c *Counting) Reach(v string, limit Form, name Namer) (end Form, sure map[string]bool) {
	sure = map[string]bool{}
	a, b := Form(Const(1)), Form(Const(0)) // x is a*v + b
	for x := v; ; {
		r := c.G.MadeBy(x)
		if r == nil || r.Kind == Pos || r.Kind == Fuse {
			return name(v+"_end", limit), sure
		}
		if len(r.To) == 2 {
			tile := c.N[r.To[1]]
			other := r.To[0]
			if x == other {
				other = r.To[1]
			}
			at := c.valueOf(other)
			if at == nil {
				return name(v+"_end", limit), sure
			}
			if x == r.To[0] {
				a, b = times(a, tile), plus(times(b, tile), at)
			} else {
				b = plus(times(at, tile), b)
			}
			sure[r.From[0]] = true
			if n := c.N[r.From[0]]; !even(n, r.N) {
				left := Bin(Max, Bin(Sub, n, b), Const(0))
				limit = Bin(Min, limit, Bin(Div, Bin(Sub, Bin(Add, left, a), Const(1)), a))
			}
		}
		x = r.From[0]
	}
}

func times(x, y Form) Form { return Bin(Mul, x, y) }
func plus(x, y Form) Form  { return Bin(Add, x, y) }

// even reports whether x is a constant and a multiple of n. A range of x values can then be cut
// into tiles of length n, or into n equal tiles, and no tile reaches past the end.
func even(x Form, n int64) bool {
	c, ok := x.(Const)
	return ok && int64(c)%n == 0
}

// valueOf returns the value of variable x. It returns nil in two cases: the surrounding loops do
// not determine the value, or the value must be read from the coordinates that an operand stores.
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

// Recover computes the values of the variables that relation r replaced, and stores them in Value.
// It computes them from the values of the variables that r made. It is not called for a Pos
// relation. sure has the variables whose values Reach keeps in their ranges. guarded is true if a
// computed value may be outside its range, so that each iteration must check it. name gives names
// to the computed values.
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
