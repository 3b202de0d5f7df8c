package notation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// Known is the information from one source about the size of one mode of a tensor. If Exact is
// false, Size is a lower bound, such as the largest coordinate in a .tns file. From names the
// source, such as "b.tns" or "-g=B:dense".
type Known struct {
	Size  int64
	Exact bool
	From  string
}

// Unread is the Size of a Known that is not exact and not known yet: a file that was not read will
// give a lower bound.
const Unread = -1

// Sizes contains the sizes of a statement's variables and of the modes of its tensors.
type Sizes struct {
	Vars map[string]int64   // by variable of the normal form
	Dims map[string][]int64 // by tensor, one size for each mode
	// From names, for each mode of each tensor, the source of the exact size. It is "" if there are
	// only lower bounds.
	From map[string][]string
	// Overruns lists the lower bounds that exceed the size, which means that the file has a
	// coordinate out of range. The reader of the file reports the error, because it knows the line.
	Overruns []Overrun
}

// Overrun is a mode whose largest coordinate, Lower, exceeds its Size.
type Overrun struct {
	Tensor    string
	Mode      int
	Lower     int64
	LowerFrom string
	Size      int64
	SizeFrom  string
}

// InferSizes computes the size of every variable and tensor mode. All modes that a variable indexes
// have the variable's size, except for modes with indices that Expand replaced: the variables of
// such an index get sizes for which it is in range (window). Exact sizes must agree. Lower bounds
// are used only for a variable without an exact size.
//
// tensors has the sizes that files and generators give: one Known for each mode of a tensor, and no
// entry for a tensor about which nothing is known.
//
// user has the values of -d. The key is the name of a variable (with one size) or of a tensor (with
// one size for each mode, -1 for a mode that is not given).
//
// from(name, mode) returns the text that messages use as the source of a size in user. For a
// variable, mode is 0. If from is nil or returns "", the source is -d.
//
// Errors are *diag.Error. The error for two sizes that differ names both sources, and the error for
// a size that nothing gives asks for -d. If a variable of a sum() was renamed, -d gives its size
// under the name that the user wrote.
func InferSizes(n *Normal, tensors map[string][]Known, user map[string][]int64,
	from func(name string, mode int) string) (*Sizes, error) {
	g := newSizeGraph(n)
	if err := g.addUser(user, from); err != nil {
		return nil, err
	}
	for _, name := range g.tensors {
		known := tensors[name]
		if len(known) != 0 && len(known) != g.orders[name] {
			at := g.at[name]
			return nil, diag.At(diag.OrderMismatch, n.Src, at.Pos, at.End,
				"got %s with %s in %s, want %d as in the statement",
				name, tensor.Count(len(known), "mode"), tensor.Printable(known[0].From), g.orders[name])
		}
		for m, k := range known {
			k.From = fmt.Sprintf("mode %d of %s (%s)", m, name, tensor.Printable(k.From))
			g.facts = append(g.facts, sizeFact{k, name, m, modeNode(name, m)})
		}
	}
	return g.solve()
}

// UserSizes returns the sizes of the modes of each tensor, as far as they follow from the sizes in
// user. The size of any other mode is -1. If two modes must have the same size, a size that is
// given for one mode also holds for the other. The parameters user and from are the same as for
// InferSizes. Errors are *diag.Error.
func UserSizes(n *Normal, user map[string][]int64,
	from func(name string, mode int) string) (map[string][]int64, error) {
	g := newSizeGraph(n)
	if err := g.addUser(user, from); err != nil {
		return nil, err
	}
	given := map[string]sizeFact{}
	for _, f := range g.facts {
		c := g.find(f.node)
		if have, ok := given[c]; ok && have.known.Size != f.known.Size {
			return nil, g.clash(c, have, f)
		} else if !ok {
			given[c] = f
		}
	}
	out := map[string][]int64{}
	for _, name := range g.tensors {
		dims := make([]int64, g.orders[name])
		for m := range dims {
			dims[m] = -1
			if f, ok := given[g.find(modeNode(name, m))]; ok {
				dims[m] = f.known.Size
			}
		}
		out[name] = dims
	}
	return out, nil
}

// SameSize maps each variable to a representative. Two variables have the same representative if
// they must have the same size: they index the same mode of some tensor, or each of them must have
// the size of a third variable.
func (n *Normal) SameSize() map[string]string {
	g := newSizeGraph(n)
	out := map[string]string{}
	first := map[string]string{}
	for _, v := range n.Vars {
		c := g.find(v)
		if _, ok := first[c]; !ok {
			first[c] = v
		}
		out[v] = first[c]
	}
	return out
}

// sizeGraph joins variables and tensor modes that must have the same size into classes.
type sizeGraph struct {
	n       *Normal
	parent  map[string]string // a union-find forest; a node is a variable ("i") or a mode ("B/0")
	tensors []string          // in order of appearance
	orders  map[string]int
	at      map[string]Span
	facts   []sizeFact
}

// sizeFact describes the size of a node according to one source. If the source gives the size of a
// tensor's mode, tensor is the tensor's name, and mode is the number of the mode. If the source
// gives the size of a variable, tensor is "".
type sizeFact struct {
	known  Known
	tensor string
	mode   int
	node   string
}

func newSizeGraph(n *Normal) *sizeGraph {
	g := &sizeGraph{n: n, parent: map[string]string{}, orders: map[string]int{}, at: map[string]Span{}}
	for _, a := range append([]*Access{n.LHS}, n.Accesses()...) {
		g.access(a)
	}
	return g
}

func modeNode(tensor string, mode int) string { return tensor + "/" + strconv.Itoa(mode) }

func (g *sizeGraph) find(x string) string {
	p, ok := g.parent[x]
	if !ok || p == x {
		g.parent[x] = x
		return x
	}
	root := g.find(p)
	g.parent[x] = root
	return root
}

func (g *sizeGraph) access(a *Access) {
	if _, ok := g.orders[a.Name]; !ok {
		g.orders[a.Name] = len(a.Vars)
		g.at[a.Name] = a.At
		g.tensors = append(g.tensors, a.Name)
	}
	for m, v := range a.Vars {
		if _, ok := g.at[v]; !ok {
			g.at[v] = a.At
			if m < len(a.VarAt) {
				g.at[v] = a.VarAt[m]
			}
		}
		g.parent[g.find(modeNode(a.Name, m))] = g.find(v)
	}
}

// addUser adds the sizes in user to the facts. It adds them in order of name, so that error
// messages do not vary from run to run. The parameters user and from are the same as for
// InferSizes.
func (g *sizeGraph) addUser(user map[string][]int64,
	from func(name string, mode int) string) error {
	names := make([]string, 0, len(user))
	for name := range user {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sizes := user[name]
		text := make([]string, len(sizes))
		for k, s := range sizes {
			text[k] = strconv.FormatInt(s, 10)
		}
		flag := "-d=" + name + ":" + strings.Join(text, ",")
		by := func(mode int) string {
			if from == nil {
				return flag
			}
			return cmp.Or(from(name, mode), flag)
		}
		if order, ok := g.orders[name]; ok {
			if len(sizes) != order {
				return diag.Errorf(diag.OrderMismatch,
					"got %s with %s, want %d: one for each mode of %s", flag,
					tensor.Count(len(sizes), "size"), order, name)
			}
			for m, s := range sizes {
				if s == -1 {
					continue
				}
				g.facts = append(g.facts, sizeFact{Known{s, true, by(m)}, name, m, modeNode(name, m)})
			}
			continue
		}
		found := false
		for _, v := range g.n.Vars {
			if v == name || g.n.Source[v] == name {
				found = true
				if len(sizes) != 1 {
					return diag.Errorf(diag.OrderMismatch,
						"got %s with %s, want only one: %s is an index variable",
						flag, tensor.Count(len(sizes), "size"), name)
				}
				g.facts = append(g.facts, sizeFact{known: Known{sizes[0], true, by(0)}, node: v})
			}
		}
		if !found {
			return diag.Errorf(diag.NoTensor,
				"got %s, want an index variable or a tensor of the statement", flag)
		}
	}
	return nil
}

// solve computes the size of each class of nodes from the facts about its members.
func (g *sizeGraph) solve() (*Sizes, error) {
	exact := map[string]sizeFact{}
	lower := map[string]sizeFact{}
	for _, f := range g.facts {
		c := g.find(f.node)
		if !f.known.Exact {
			if have, ok := lower[c]; !ok || f.known.Size > have.known.Size {
				lower[c] = f
			}
			continue
		}
		if have, ok := exact[c]; ok && have.known.Size != f.known.Size {
			return nil, g.clash(c, have, f)
		} else if !ok {
			exact[c] = f
		}
	}
	out := &Sizes{Vars: map[string]int64{}, Dims: map[string][]int64{}, From: map[string][]string{}}
	sizes := map[string]int64{}
	for _, v := range g.n.Vars {
		c := g.find(v)
		if f, ok := exact[c]; ok {
			sizes[c] = f.known.Size
		} else if f, ok := lower[c]; ok && f.known.Size > 0 {
			sizes[c] = f.known.Size
		}
	}
	g.window(sizes)
	for _, v := range g.n.Vars {
		n, ok := sizes[g.find(v)]
		if !ok {
			return nil, g.unknown(v, lower[g.find(v)])
		}
		out.Vars[v] = n
	}
	if err := g.inRange(func(v string) int64 { return out.Vars[v] }); err != nil {
		return nil, err
	}
	for _, f := range g.facts {
		if e, ok := exact[g.find(f.node)]; ok && !f.known.Exact && f.known.Size > e.known.Size {
			out.Overruns = append(out.Overruns,
				Overrun{f.tensor, f.mode, f.known.Size, f.known.From, e.known.Size, e.known.From})
		}
	}
	for _, a := range append([]*Access{g.n.LHS}, g.n.Accesses()...) {
		if _, ok := out.Dims[a.Name]; ok {
			continue
		}
		dims := make([]int64, len(a.Vars))
		from := make([]string, len(a.Vars))
		for m, v := range a.Vars {
			dims[m], from[m] = out.Vars[v], exact[g.find(v)].known.From
		}
		out.Dims[a.Name], out.From[a.Name] = dims, from
	}
	return out, nil
}

// variable returns a variable of the class, under the name that the user wrote.
func (g *sizeGraph) variable(class string) (name string, at Span) {
	for _, v := range g.n.Vars {
		if g.find(v) == class {
			return g.userName(v), g.at[v]
		}
	}
	panic("BUG: a size that belongs to no variable")
}

func (g *sizeGraph) userName(v string) string {
	if s, ok := g.n.Source[v]; ok {
		return s
	}
	return v
}

func (g *sizeGraph) clash(class string, a, b sizeFact) error {
	v, at := g.variable(class)
	return diag.At(diag.SizeClash, g.n.Src, at.Pos, at.End,
		"got size %d for %s from %s, but %d from %s; want the same size",
		a.known.Size, v, a.known.From,
		b.known.Size, b.known.From)
}

func (g *sizeGraph) unknown(v string, empty sizeFact) error {
	why := "the size of " + g.userName(v) + " is not known"
	if empty.known.From != "" && empty.known.Size != Unread {
		why = "the size of " + g.userName(v) + " is not known: " + empty.known.From + " is empty"
	}
	at := g.at[v]
	return diag.At(diag.SizeUnknown, g.n.Src, at.Pos, at.End, "%s: want -d=%s:SIZE", why,
		g.userName(v))
}
