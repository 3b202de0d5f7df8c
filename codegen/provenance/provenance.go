// Package provenance records how the index variables of a scheduled statement are derived from the
// index variables of the original statement.
//
// A relation replaces variables by new ones. Split and divide replace a variable by an outer and an
// inner one, fuse replaces two by one, and pos, coord and bound replace one by another that runs
// over the same range. A variable is replaced at most once, so that the relations form a forest. A
// variable that no relation made is underived; a variable that no relation replaces is fully
// derived (the framework of Ahrens, Kjolstad and Amarasinghe, as in Senanayake (2020), section
// 4.2). Accesses name underived variables, and loops run over fully derived variables.
//
// A component is the set of variables that relations connect with each other. Only a fuse
// connects several underived variables. A component has underived variables, outermost first,
// and fully derived variables in natural order: loops in this order visit the original iteration
// space in lexicographic order.
//
// Bounds and coordinates are symbolic integers called forms (form.go). Lowering turns forms into
// code. Eval turns them into numbers, which tests compare with the values that loops visit. Forms
// describe the range of each tile of a variable (bounds.go: Relation.Tile, Narrowed), and the
// coordinates in loops that are not in natural order (counting.go).
//
// # Files
//
//	provenance.go  relations, and the components of the graph that they make
//	form.go        symbolic integers
//	bounds.go      ranges of variables: tiles, bounds, fused spaces
//	counting.go    loops in any order, which count values
package provenance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a relation.
type Kind uint8

const (
	Split Kind = iota
	Divide
	Fuse
	Pos
	Coord
	Bound
	// Precompute says that To, a variable in the producer of a workspace, runs over the same range
	// as From. It replaces no variable. If a relation made From, accesses still name underived
	// variables. To is then another name for From, until From or To is itself replaced: from then
	// on To is a separate variable that runs over the values of From.
	Precompute
)

var kindNames = [...]string{Split: "split", Divide: "divide", Fuse: "fuse", Pos: "pos",
	Coord: "coord", Bound: "bound", Precompute: "precompute"}

func (k Kind) String() string { return kindNames[k] }

// BoundKind says what a Bound states about the range of its variable.
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

// BoundByName returns the kind whose String is s. The second result is false if there is none.
func BoundByName(s string) (BoundKind, bool) {
	k := slices.Index(boundNames[:], s)
	return BoundKind(max(k, 0)), k >= 0
}

// Relation says how the variables To are derived from the variables From.
type Relation struct {
	Kind     Kind
	From, To []string
	N        int64 // Split: the tile size; Divide: the number of pieces; Bound: the bound
	Bound    BoundKind
	// Access is the text of the access whose positions the new variable of a Pos runs over.
	Access string
}

// String returns the relation as the text form writes it. Except for a Precompute, it is also the
// scheduling command that makes the relation.
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

// Graph is a list of relations, oldest first. It is immutable. A nil Graph has no relations.
type Graph struct{ relations []Relation }

// Relations returns the relations. The caller must not change them.
func (g *Graph) Relations() []Relation {
	if g == nil {
		return nil
	}
	return g.relations
}

// With returns a graph that has all relations of g and also relation r. It returns an error if r
// replaces a variable that was already replaced, or makes a variable whose name a relation has.
func (g *Graph) With(r Relation) (*Graph, error) {
	for _, v := range r.From {
		if r.Kind == Precompute {
			continue
		}
		if by := g.ReplacedBy(v); by != nil {
			return nil, fmt.Errorf("%s no longer exists: it was replaced by %s", v, by)
		}
	}
	for k, v := range r.To {
		if g.MadeBy(v) != nil || g.Original(v) != v || slices.Contains(r.From, v) ||
			slices.Contains(r.To[:k], v) {
			return nil, fmt.Errorf("the name %s is in use; want a new one", v)
		}
		for _, q := range g.Relations() {
			if slices.Contains(q.From, v) {
				return nil, fmt.Errorf("the name %s is in use; want a new one", v)
			}
		}
	}
	return &Graph{relations: append(slices.Clone(g.Relations()), r)}, nil
}

// ReplacedBy returns the relation that replaces v, or nil if v is fully derived.
func (g *Graph) ReplacedBy(v string) *Relation {
	for k := range g.Relations() {
		if g.relations[k].Kind != Precompute && slices.Contains(g.relations[k].From, v) {
			return &g.relations[k]
		}
	}
	return nil
}

// MadeBy returns the relation that made v, or nil if v is underived.
func (g *Graph) MadeBy(v string) *Relation {
	for k := range g.Relations() {
		if g.relations[k].Kind != Precompute && slices.Contains(g.relations[k].To, v) {
			return &g.relations[k]
		}
	}
	return nil
}

// Derived reports whether a relation made or replaced v.
func (g *Graph) Derived(v string) bool { return g.MadeBy(v) != nil || g.ReplacedBy(v) != nil }

// IsReplaced reports whether v is an underived variable that a relation replaced with derived
// variables. A loop over v can still exist: in a term whose loops were not changed.
func (g *Graph) IsReplaced(v string) bool { return g.MadeBy(v) == nil && g.ReplacedBy(v) != nil }

// OfLoop returns the component that a loop over v belongs to, or nil if there is none. If v is a
// producer's name for a variable of a consumer, OfLoop returns the component of the consumer's
// variable. OfLoop also returns nil if IsReplaced(v): a loop that still runs over v was not
// changed.
func (g *Graph) OfLoop(v string) *Component {
	if g.IsReplaced(v) {
		return nil
	}
	return g.Component(g.ConsumerVar(v))
}

// RootsOf returns the underived variables that a loop over v is derived from.
func (g *Graph) RootsOf(v string) []string {
	if c := g.OfLoop(v); c != nil {
		return c.Roots
	}
	return []string{v}
}

// Original returns v, unless a precompute made v as a new name for another variable. In this case
// Original returns the original of the other variable.
func (g *Graph) Original(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v {
			return g.Original(r.From[0])
		}
	}
	return v
}

// ConsumerVar returns the consumer's variable that v is another name for, if v is a variable of a
// workspace's producer (see Precompute). A loop over v is then a loop over the returned variable.
// In all other cases ConsumerVar returns v.
func (g *Graph) ConsumerVar(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v && g.MadeBy(r.From[0]) != nil && !g.cutApart(&r) {
			return g.ConsumerVar(r.From[0])
		}
	}
	return v
}

// cutApart reports whether a relation replaced one of the two variables of r, a Precompute. If so,
// the producer and the consumer have different loops.
func (g *Graph) cutApart(r *Relation) bool {
	return g.ReplacedBy(r.From[0]) != nil || g.ReplacedBy(r.To[0]) != nil
}

// TileOf returns the variable of a consumer for which a precompute made v, a variable of the
// producer. The values of the returned variable are a tile, which the producer visits with loops of
// its own. TileOf returns "" if no precompute made v, if the consumer's variable is underived, or
// if the producer and the consumer have the same loops.
func (g *Graph) TileOf(v string) string {
	for _, r := range g.Relations() {
		if r.Kind == Precompute && r.To[0] == v && g.MadeBy(r.From[0]) != nil && g.cutApart(&r) {
			return r.From[0]
		}
	}
	return ""
}

// Filled returns the consumer's variables whose whole tile the producer visits (see TileOf). loops
// lists the variables of the producer's loops. A consumer's variable is in the result if loops has
// all loop variables that are derived from the producer's variable for it.
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

// Underived returns the underived variables that v is derived from, outermost first.
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

// FullyDerived returns the loop variables that are derived from v, in natural order.
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

// PositionsOf returns the access whose positions v runs over, or "" if v runs over something else.
// v runs over positions if a pos command made v, or the variable that v is derived from. Between
// the two variables there must be no coord and no fuse. The outer variable of a split or divide
// runs over numbers of tiles, and so does each variable that is derived from it.
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

// Component is a set of variables that relations connect with each other.
type Component struct {
	// Roots are the underived variables, outermost first.
	Roots []string
	// Leaves are the fully derived variables, in natural order.
	Leaves []string
	// Top is the variable whose range the loops narrow step by step. It is the only root, or the
	// variable made by fusing the roots themselves. If this variable is tiled, or replaced by a
	// bound, pos or coord, and what remains of it is fused with whole variables, Top stays this
	// variable. Top is "" if anything else was fused, such as tile numbers or a part of the inner
	// variable.
	Top string
}

// Component returns the component of variable v, or nil if no relation made or replaced v.
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
	// Roots are in the order of the relations; any root may be the outermost.
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

// narrows reports whether v is the outermost root of component c, and the loops of c, in natural
// order, visit the points of all roots in lexicographic order. If so, narrows sets the fields of c.
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

// pure reports whether v runs over all points of its roots. This is so if v is a root or only
// fusions made it.
func (g *Graph) pure(v string) bool {
	r := g.MadeBy(v)
	return r == nil || r.Kind == Fuse && g.pure(r.From[0]) && g.pure(r.From[1])
}

// fusedBelow reports whether a fuse replaces v or a variable derived from v.
func (g *Graph) fusedBelow(v string) bool {
	r := g.ReplacedBy(v)
	if r == nil {
		return false
	}
	return r.Kind == Fuse || slices.ContainsFunc(r.To, g.fusedBelow)
}

// Picture returns the graph in the DOT language: an ellipse for each variable, blue if it runs over
// positions, and a box for each relation. vars are drawn even if no relation mentions them.
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
