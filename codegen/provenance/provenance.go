// Package provenance is how the index variables of a scheduled statement come
// from those of the original one.
//
// A relation replaces its variables by new ones: split and divide one by an
// outer and an inner one, fuse two by one, pos, coord and bound one by another
// that runs over the same range. A variable is replaced at most once, so that
// the relations make a forest: a variable that no relation made is underived,
// one that none replaces is fully derived (Ahrens, Kjolstad and Amarasinghe's
// framework as in source 004, section 4.2). Accesses name underived variables,
// loops run over fully derived ones.
//
// Everything that fusions connect is a component: its underived variables,
// outermost first, and its fully derived ones in natural order, which is the
// order of loops that visits the original space in its own order.
//
// Bounds and coordinates are forms (form.go), which lowering turns into code, and Eval into
// numbers, by which tests hold the forms to what loops visit: the ranges that tiles leave of a
// variable (bounds.go: Relation.Tile, Narrowed), and the coordinates of loops that count
// (counting.go).
//
// # Files
//
//	provenance.go  relations, and the components of the graph that they make
//	form.go        symbolic integers
//	bounds.go      ranges of variables: tiles, bounds, fused spaces
//	counting.go    loops that count, in any order
package provenance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a relation does.
type Kind uint8

const (
	Split Kind = iota
	Divide
	Fuse
	Pos
	Coord
	Bound
	// Precompute says that To runs over the same range as From, in the producer
	// of a workspace. It replaces nothing. Where a relation made From, accesses keep
	// the underived variables: To stands for From, or, once one of both is replaced,
	// is a variable of its own that runs over what From does.
	Precompute
)

var kindNames = [...]string{Split: "split", Divide: "divide", Fuse: "fuse", Pos: "pos",
	Coord: "coord", Bound: "bound", Precompute: "precompute"}

func (k Kind) String() string { return kindNames[k] }

// BoundKind is what a Bound says of the variable's range.
type BoundKind uint8

const (
	MinExact      BoundKind = iota // the range starts at N
	MinConstraint                  // the range starts at N or later
	MaxExact                       // the range ends at N: coordinates are below N
	MaxConstraint                  // the range ends at N or earlier
)

var boundNames = [...]string{MinExact: "MinExact", MinConstraint: "MinConstraint",
	MaxExact: "MaxExact", MaxConstraint: "MaxConstraint"}

func (k BoundKind) String() string { return boundNames[k] }

// BoundByName is the inverse of String.
func BoundByName(s string) (BoundKind, bool) {
	k := slices.Index(boundNames[:], s)
	return BoundKind(max(k, 0)), k >= 0
}

// Relation replaces the variables From by To.
type Relation struct {
	Kind     Kind
	From, To []string
	N        int64 // the factor of Split, the pieces of Divide, the number of Bound
	Bound    BoundKind
	// Access is the access whose positions a Pos is about, as text.
	Access string
}

// String is the relation as the text form writes it, which is the command
// that makes it.
func (r Relation) String() string {
	args := slices.Concat(r.From, r.To)
	switch r.Kind {
	case Split, Divide:
		args = append(args, strconv.FormatInt(r.N, 10))
	case Pos:
		args = append(args, r.Access)
	case Bound:
		args = append(args, strconv.FormatInt(r.N, 10), r.Bound.String())
	}
	return r.Kind.String() + "(" + strings.Join(args, ", ") + ")"
}

// Graph is the relations, in the order in which they were made. It is not
// changed once made.
type Graph struct{ relations []Relation }

// Relations lists the relations. The caller does not change them.
func (g *Graph) Relations() []Relation {
	if g == nil {
		return nil
	}
	return g.relations
}

// With is g and one more relation, or the rule that this breaks.
func (g *Graph) With(r Relation) (*Graph, error) {
	for _, v := range r.From {
		if r.Kind == Precompute {
			continue
		}
		if by := g.ReplacedBy(v); by != nil {
			return nil, fmt.Errorf("%s was replaced by %s", v, by)
		}
	}
	for k, v := range r.To {
		if g.MadeBy(v) != nil || g.Original(v) != v || slices.Contains(r.From, v) ||
			slices.Contains(r.To[:k], v) {
			return nil, fmt.Errorf("the name %s is in use", v)
		}
		for _, q := range g.Relations() {
			if slices.Contains(q.From, v) {
				return nil, fmt.Errorf("the name %s is in use", v)
			}
		}
	}
	return &Graph{relations: append(slices.Clone(g.Relations()), r)}, nil
}

// ReplacedBy is the relation that replaces v; nil if v is fully derived.
func (g *Graph) ReplacedBy(v string) *Relation {
	for k := range g.Relations() {
		if g.relations[k].Kind != Precompute && slices.Contains(g.relations[k].From, v) {
			return &g.relations[k]
		}
	}
	return nil
}

// MadeBy is the relation that made v; nil if v is underived.
func (g *Graph) MadeBy(v string) *Relation {
	for k := range g.Relations() {
		if g.relations[k].Kind != Precompute && slices.Contains(g.relations[k].To, v) {
			return &g.relations[k]
		}
	}
	return nil
}

// Derived tells whether a relation made or replaced v.
func (g *Graph) Derived(v string) bool { return g.MadeBy(v) != nil || g.ReplacedBy(v) != nil }

// Original is the variable of the statement whose range an underived variable
// runs over: itself, or the one that a workspace's stands for.
func (g *Graph) Original(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v {
			return g.Original(r.From[0])
		}
	}
	return v
}

// ConsumerVar is the variable of the consumer that v stands for in the producer of a
// workspace, where a precompute says so; else v. A loop over v is then one over
// that variable, under a name of its own.
func (g *Graph) ConsumerVar(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v && g.MadeBy(r.From[0]) != nil && !g.cutApart(&r) {
			return g.ConsumerVar(r.From[0])
		}
	}
	return v
}

// cutApart tells whether loops of producer and consumer come from the variables of a Precompute,
// in ways of their own.
func (g *Graph) cutApart(r *Relation) bool {
	return g.ReplacedBy(r.From[0]) != nil || g.ReplacedBy(r.To[0]) != nil
}

// TileOf is the variable of the consumer of a workspace whose tile the producer's variable v
// runs over, where v is a variable of its own; else "".
func (g *Graph) TileOf(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v && g.MadeBy(r.From[0]) != nil && g.cutApart(&r) {
			return r.From[0]
		}
	}
	return ""
}

// Filled are the variables of consumers whose tiles some loops of a producer visit: all
// loops over a variable of its own are among them.
func (g *Graph) Filled(loops []string) (tiles []string) {
	for _, r := range g.Relations() {
		if r.Kind != Precompute || g.TileOf(r.To[0]) == "" {
			continue
		}
		all := true
		for _, x := range g.FullyDerived(r.To[0]) {
			all = all && slices.Contains(loops, x)
		}
		if all {
			tiles = append(tiles, r.From[0])
		}
	}
	return tiles
}

// Underived are the original variables that v comes from, outermost first.
func (g *Graph) Underived(v string) []string {
	r := g.MadeBy(v)
	if r == nil {
		return []string{v}
	}
	var out []string
	for _, u := range r.From {
		out = append(out, g.Underived(u)...)
	}
	return out
}

// FullyDerived are the loop variables that come from v, in natural order.
func (g *Graph) FullyDerived(v string) []string {
	r := g.ReplacedBy(v)
	if r == nil {
		return []string{v}
	}
	var out []string
	for _, u := range r.To {
		out = append(out, g.FullyDerived(u)...)
	}
	return out
}

// PositionsOf is the access whose positions v runs over, or "": on its way back the nearest
// of pos and coord is a pos, and it is not the outer part of a split since.
func (g *Graph) PositionsOf(v string) string {
	for r := g.MadeBy(v); r != nil; r = g.MadeBy(r.From[0]) {
		switch {
		case r.Kind == Pos:
			return r.Access
		case r.Kind == Coord || r.Kind == Fuse:
			return ""
		case (r.Kind == Split || r.Kind == Divide) && v == r.To[0]:
			return "" // numbers of tiles
		}
		v = r.From[0]
	}
	return ""
}

// Component is what fusions connect.
type Component struct {
	// Roots are the underived variables, outermost first.
	Roots []string
	// Leaves are the fully derived ones, in natural order.
	Leaves []string
	// Top is the variable that the loops narrow from: the only root, what fusing
	// the roots themselves made, or, where what is left of one inside its tiles is
	// fused with whole variables, the one that was tiled. It is "" where anything
	// else was fused: tile numbers, or a part of the inner variable.
	Top string
}

// Component is the one of variable v; nil where no relation touches it.
func (g *Graph) Component(v string) *Component {
	if !g.Derived(v) {
		return nil
	}
	c := &Component{}
	in := map[string]bool{v: true}
	for changed := true; changed; {
		changed = false
		for _, r := range g.relations {
			all := slices.Concat(r.From, r.To)
			if r.Kind == Precompute || !slices.ContainsFunc(all, func(u string) bool { return in[u] }) {
				continue
			}
			for _, u := range all {
				if !in[u] {
					in[u], changed = true, true
				}
			}
		}
	}
	for _, r := range g.relations {
		for _, u := range r.From {
			if r.Kind != Precompute && in[u] && g.MadeBy(u) == nil {
				c.Roots = append(c.Roots, u)
			}
		}
	}
	// Roots stand in the order of the relations; the outermost may be any of them.
	for _, r := range c.Roots {
		if g.narrows(r, c) {
			return c
		}
	}
	for _, u := range c.Roots {
		for _, x := range g.FullyDerived(u) {
			if !slices.Contains(c.Leaves, x) {
				c.Leaves = append(c.Leaves, x)
			}
		}
	}
	return c
}

// narrows fills in a component whose outermost root is v, where its loops, each
// tile outside of what it holds, visit the points of all roots in lexicographic
// order; false where they do not.
func (g *Graph) narrows(v string, c *Component) bool {
	roots, leaves, top := []string{v}, []string(nil), v
	whole := true // nothing was cut yet
	for {
		r := g.ReplacedBy(v)
		if r == nil {
			leaves = append(leaves, v)
			break
		}
		switch r.Kind {
		case Split, Divide:
			if g.fusedBelow(r.To[0]) {
				return false
			}
			leaves = append(leaves, g.FullyDerived(r.To[0])...)
			v, whole = r.To[1], false
			continue
		case Fuse:
			if v != r.From[0] || !g.pure(r.From[1]) {
				return false
			}
			roots = append(roots, g.Underived(r.From[1])...)
			if whole {
				top = r.To[0]
			}
		default:
			whole = false
		}
		v = r.To[0]
	}
	if len(roots) != len(c.Roots) {
		return false
	}
	c.Roots, c.Leaves, c.Top = roots, leaves, top
	return true
}

// pure tells whether v has every point of its roots: fusions alone made it.
func (g *Graph) pure(v string) bool {
	r := g.MadeBy(v)
	return r == nil || r.Kind == Fuse && g.pure(r.From[0]) && g.pure(r.From[1])
}

// fusedBelow tells whether what comes from v is fused again.
func (g *Graph) fusedBelow(v string) bool {
	r := g.ReplacedBy(v)
	if r == nil {
		return false
	}
	return r.Kind == Fuse || slices.ContainsFunc(r.To, g.fusedBelow)
}

// Picture is the graph in the DOT language: an ellipse for each variable, blue
// where it runs over positions, and a box for each relation.
func (g *Graph) Picture(vars []string) string {
	var b strings.Builder
	b.WriteString("digraph provenance {\n")
	seen := map[string]bool{}
	node := func(v string) {
		if seen[v] {
			return
		}
		seen[v] = true
		color := ""
		if g.PositionsOf(v) != "" {
			color = ", color=blue, fontcolor=blue"
		}
		fmt.Fprintf(&b, "  %q [shape=ellipse%s];\n", v, color)
	}
	for _, v := range vars {
		node(v)
	}
	for k, r := range g.Relations() {
		label := r.Kind.String()
		switch r.Kind {
		case Split, Divide:
			label += " " + strconv.FormatInt(r.N, 10)
		case Pos:
			label += " " + r.Access
		case Bound:
			label += " " + r.Bound.String() + " " + strconv.FormatInt(r.N, 10)
		}
		fmt.Fprintf(&b, "  r%d [shape=box, label=%q];\n", k, label)
		for _, v := range r.From {
			node(v)
			fmt.Fprintf(&b, "  %q -> r%d;\n", v, k)
		}
		for _, v := range r.To {
			node(v)
			fmt.Fprintf(&b, "  r%d -> %q;\n", k, v)
		}
	}
	b.WriteString("}\n")
	return b.String()
}
