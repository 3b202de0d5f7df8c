package ir

import (
	"distaff/io/tensor"
	"fmt"
	"maps"
	"slices"
)

// ReadInPlace tries to let f read the values of argument old from the memory of the result's
// values, so that the caller needs no second array. The result is argument 0. Its memory must
// contain old's values when f starts, and old must have the same levels as the result. ReadInPlace
// changes f and returns true if it proves that the result stays the same. Otherwise it returns
// false and does not change f.
//
// It must prove that each element of old is read before the same element of the result is written.
// The proof has three conditions:
//
//   - The result's values are only written by plain stores. They are not read, filled, copied to or
//     added to.
//   - The index of a store depends on a variable of every loop around it. No loop then stores to
//     one element repeatedly, because the caller guarantees that different values of these
//     variables give different elements.
//   - After each read of old, the same iteration of all loops around it stores to the same element,
//     and no store to this element comes before. If a condition lets the read run without the
//     store, the proof fails. Two consecutive loops with the same bounds visit the same elements.
//
// Other iterations, on whichever thread or lane, then store only to elements that this iteration
// does not read.
func ReadInPlace(f *Func, old int) bool {
	c := &inPlace{stands: map[*Var]polynomial{}, depends: map[*Var][]*Var{}}
	if !c.parameters(f, old) {
		return false
	}
	s := &simplifier{f: f}
	s.survey()
	c.fixed = s.fixed
	c.dependencies(f.Body)
	use := c.block(f.Body)
	if c.otherwise || len(use.reads) > 0 || len(use.stores) == 0 {
		return false
	}
	c.rewrite(f)
	return true
}

// inPlace is the state of one call of ReadInPlace.
type inPlace struct {
	result, old *Array
	fixed       map[*Var]bool       // variables that are assigned only once
	stands      map[*Var]polynomial // the values of variables that are polynomials
	depends     map[*Var][]*Var     // variables that determine a variable's value or loop bounds
	// around has an entry for each loop around the current statement: the variables that change in
	// the loop.
	around    [][]*Var
	otherwise bool // the proof has failed: values are used in another way
}

// places is a set of array elements. The key is the text of an element's index, and the value is
// the index as a polynomial.
type places map[string]polynomial

// uses describes the elements of old and of the result that a statement reads and writes. reads has
// the elements of old that the statement reads and does not store to afterwards. stores has the
// elements of the result that it may store to. sure has the elements that it stores to whenever it
// runs.
type uses struct{ reads, stores, sure places }

// parameters finds two parameters of f: the values of the result, and the values of argument old.
// It returns false if one is missing, or if the types of their elements differ. It also records
// that the numbers in old's parameters, such as sizes, equal the result's numbers.
func (c *inPlace) parameters(f *Func, old int) bool {
	heads := map[Slot]*Var{}
	for _, p := range f.Params {
		switch {
		case p.Slot.Field == Vals && p.Slot.Arg == 0:
			c.result = p.A
		case p.Slot.Field == Vals && p.Slot.Arg == old:
			c.old = p.A
		case p.V != nil && p.Slot.Arg == 0:
			heads[p.Slot] = p.V
		}
	}
	for _, p := range f.Params {
		slot := p.Slot
		slot.Arg = 0
		if v := heads[slot]; v != nil && p.V != nil && p.Slot.Arg == old {
			c.stands[p.V] = variable(v)
		}
	}
	return c.result != nil && c.old != nil && c.result.Elem == c.old.Elem
}

// dependencies records for each variable the variables that its value is computed from.
func (c *inPlace) dependencies(b *Block) {
	Walk(b, func(t Stmt) {
		switch t := t.(type) {
		case *Declare:
			c.depends[t.V] = append(c.depends[t.V], variables(t.Init)...)
		case *Assign:
			c.depends[t.V] = append(c.depends[t.V], variables(t.X)...)
		case *For:
			c.depends[t.V] = append(c.depends[t.V], variables(t.Lo, t.Hi)...)
		}
	})
}

func variables(list ...Expr) (vars []*Var) {
	for _, x := range list {
		WalkExpr(x, func(x Expr) {
			if v, ok := x.(*Var); ok {
				vars = append(vars, v)
			}
		})
	}
	return vars
}

// block returns the combined uses of b's statements, which run one after another.
func (c *inPlace) block(b *Block) uses {
	all := uses{places{}, places{}, places{}}
	if b == nil {
		return all
	}
	for _, t := range b.List {
		u := c.stmt(t)
		for at := range u.reads {
			c.otherwise = c.otherwise || all.stores[at] != nil
		}
		maps.Copy(all.reads, u.reads)
		maps.DeleteFunc(all.reads, func(at string, _ polynomial) bool { return u.sure[at] != nil })
		maps.Copy(all.stores, u.stores)
		maps.Copy(all.sure, u.sure)
	}
	return all
}

// stmt returns the uses of the statement t.
func (c *inPlace) stmt(t Stmt) uses {
	u := uses{places{}, places{}, places{}}
	for _, x := range Exprs(t) {
		c.reads(x, u.reads)
	}
	switch t := t.(type) {
	case *Block:
		return c.block(t)
	case *Ordered:
		return c.block(t.Body)
	case *Declare:
		if p, ok := c.polynomial(t.Init); ok && c.fixed[t.V] && t.V.Typ == tensor.Int64 {
			c.stands[t.V] = p
		}
	case *Store:
		c.store(t, u)
	case *For:
		body := c.inLoop([]*Var{t.V}, t.Body)
		bounds, ok := c.bounds(t)
		for _, l := range []struct{ from, to places }{{body.reads, u.reads}, {body.stores, u.stores},
			{body.sure, u.sure}} {
			for _, p := range l.from {
				if ok {
					p = p.outsideLoop(t.V, bounds)
				}
				l.to[p.String()] = p
			}
		}
	case *While:
		body := c.inLoop(changing(t.Body), t.Body)
		c.otherwise = c.otherwise || len(u.reads) > 0 || len(body.reads) > 0
		u.stores = body.stores
	case *If:
		then, other := c.block(t.Then), c.block(t.Else)
		maps.Copy(u.reads, then.reads)
		maps.Copy(u.reads, other.reads)
		maps.Copy(u.stores, then.stores)
		maps.Copy(u.stores, other.stores)
		for at, p := range then.sure {
			if other.sure[at] != nil {
				u.sure[at] = p
			}
		}
	default:
		c.otherwise = c.otherwise || c.handles(t)
	}
	return u
}

// handles reports whether the operation t, for example a Fill, uses the values of the result or of
// old. A hint about old does not count, because a hint does not read values. A Launch always
// counts, because its body is not examined.
func (c *inPlace) handles(t Stmt) bool {
	if _, ok := t.(*Launch); ok {
		return true // what its threads do is not looked into
	}
	for a, role := range RowOf(t).Arrays() {
		if a == c.result || a == c.old && role != Hints {
			return true
		}
	}
	return false
}

// changing returns the variables that b declares or assigns.
func changing(b *Block) (vars []*Var) {
	Walk(b, func(t Stmt) {
		switch t := t.(type) {
		case *Declare:
			vars = append(vars, t.V)
		case *Assign:
			vars = append(vars, t.V)
		case *For:
			vars = append(vars, t.V)
		}
	})
	return vars
}

// inLoop returns the uses of a loop's body. vars are the variables that tell the loop's iterations
// apart: the counter of a For, or all variables that a While changes.
func (c *inPlace) inLoop(vars []*Var, body *Block) uses {
	c.around = append(c.around, vars)
	u := c.block(body)
	c.around = c.around[:len(c.around)-1]
	return u
}

// bounds returns the bounds and step of a loop as text. Loops with equal text run through the same
// numbers. ok is false if the bounds are not polynomials.
func (c *inPlace) bounds(t *For) (text string, ok bool) {
	lo, okLo := c.polynomial(t.Lo)
	hi, okHi := c.polynomial(t.Hi)
	return fmt.Sprint(lo, ":", hi, ":", t.Step), okLo && okHi
}

// reads finds the elements of old that the expression x reads, and adds them to the set found. If x
// reads values in a way that the proof does not cover, reads sets c.otherwise.
func (c *inPlace) reads(x Expr, found places) {
	WalkExpr(x, func(x Expr) {
		switch x := x.(type) {
		case *Load:
			if x.A == c.old {
				p, ok := c.polynomial(x.Index)
				c.otherwise = c.otherwise || !ok
				found[p.String()] = p
			}
			c.otherwise = c.otherwise || x.A == c.result
		case *Search:
			c.otherwise = c.otherwise || x.A == c.result || x.A == c.old
		}
	})
}

// store adds the element that t stores to u, if t stores to the result. It sets c.otherwise if the
// proof does not cover the store. stmt has already added the loads in the stored value to u.
func (c *inPlace) store(t *Store, u uses) {
	if t.A != c.result {
		c.otherwise = c.otherwise || t.A == c.old
		return
	}
	p, ok := c.polynomial(t.Index)
	c.otherwise = c.otherwise || !ok || t.Accumulate || t.Atomic
	on := map[*Var]bool{}
	c.follow(variables(t.Index), on)
	for _, loop := range c.around {
		c.otherwise = c.otherwise || !slices.ContainsFunc(loop, func(v *Var) bool { return on[v] })
	}
	at := p.String()
	u.stores[at], u.sure[at] = p, p
}

// follow adds vars to the set found. It also adds all variables from which the values of vars are
// computed.
func (c *inPlace) follow(vars []*Var, found map[*Var]bool) {
	for _, v := range vars {
		if !found[v] {
			found[v] = true
			c.follow(c.depends[v], found)
		}
	}
}

// rewrite replaces old by the result in all reads, and removes old's parameter.
func (c *inPlace) rewrite(f *Func) {
	WalkRows(f.Body, func(_ Stmt, r *Row) { r.replace(c.old, c.result) })
	WalkExprs(f.Body, func(x Expr) {
		if x, ok := x.(*Load); ok && x.A == c.old {
			x.A = c.result
		}
	})
	f.Params = slices.DeleteFunc(f.Params, func(p Param) bool { return p.A != nil && p.A == c.old })
}
