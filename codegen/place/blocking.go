package place

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Blocking is a block schedule resolved for one statement: the split variables in the order of
// their loops, and the mapping of blocks to ranks.
type Blocking struct {
	Vars []BlockVar
	// Map indexes Vars: the mapping variables, the most significant first.
	Map []int
	// Groups partitions the statement's terms by the split reduction variables that they contain. A
	// group runs only at blocks where all other split reduction variables are at their first range,
	// so that each term is added once.
	Groups []Group
}

// BlockVar is one split variable. Range number k of the variable is [Cuts[k], Cuts[k+1]). If
// Positions is set, the BlockVar has no variable. It then splits the entries of a tensor in storage
// order, and range k is chunk k of Positions.
type BlockVar struct {
	Name      string // "" if Positions is set
	Positions *Positions
	Cuts      []int64
	Reduction bool // different ranges add to the same block of the result
	Extended  bool
}

// Ranges returns the number of split ranges.
func (v *BlockVar) Ranges() int64 {
	if v.Positions != nil {
		return v.Positions.Ranges()
	}
	return int64(len(v.Cuts) - 1)
}

// Group is a set of terms of the normal form that contain the same split reduction variables. Held
// lists these variables, as indices of Blocking.Vars. A reduction variable is a variable that is
// summed.
type Group struct {
	Terms []int
	Held  []int
}

// Runs reports whether group g runs at a tuple. The tuple holds the number of a range for each
// split variable. Group g runs if the tuple has range 0 for every split reduction variable that is
// not in the group's Held.
func (b *Blocking) Runs(g int, tuple []int64) bool {
	for k, v := range b.Vars {
		if v.Reduction && tuple[k] != 0 && !slices.Contains(b.Groups[g].Held, k) {
			return false
		}
	}
	return true
}

// Running returns the groups that run at a tuple. It reuses the memory of list.
func (b *Blocking) Running(tuple []int64, list []int) []int {
	list = list[:0]
	for g := range b.Groups {
		if b.Runs(g, tuple) {
			list = append(list, g)
		}
	}
	return list
}

// IsUniform reports whether every group has all split reduction variables in Held. Every group then
// runs at every tuple (see Runs).
func (b *Blocking) IsUniform() bool {
	for k, v := range b.Vars {
		if v.Reduction && slices.ContainsFunc(b.Groups,
			func(g Group) bool { return !slices.Contains(g.Held, k) }) {
			return false
		}
	}
	return true
}

// Blocks returns the number of pairs of a block and a group that runs on the block.
func (b *Blocking) Blocks() int64 {
	total := int64(0)
	for _, g := range b.Groups {
		n := int64(1)
		for k, v := range b.Vars {
			if !v.Reduction || slices.Contains(g.Held, k) {
				n *= v.Ranges()
			}
		}
		total += n
	}
	return total
}

// Extended returns the indices in Vars of the extended variables. These are split reduction
// variables whose ranges have partial results of their own.
func (b *Blocking) Extended() []int {
	var list []int
	for k, v := range b.Vars {
		if v.Extended {
			list = append(list, k)
		}
	}
	return list
}

// Splits lists the variables that are cut, including the variables of the levels whose entries are
// cut into chunks.
func (b *Blocking) Splits() (list []string) {
	for _, v := range b.Vars {
		if v.Positions != nil {
			list = append(list, v.Positions.Vars...)
		} else {
			list = append(list, v.Name)
		}
	}
	return list
}

// EvenCuts returns the cuts of [0, size) into n ranges whose sizes differ by at most one.
func EvenCuts(size, n int64) []int64 {
	cuts := make([]int64, n+1)
	for k := range cuts {
		cuts[k] = EvenCut(size, n, int64(k))
	}
	return cuts
}

// EvenCut returns where range k of EvenCuts begins. For k = n it is the end of the last range.
func EvenCut(size, n, k int64) int64 { return mulDiv(k, size, n) }

// mulDiv returns k*size/n without overflow, for 0 <= k <= n < 2^31.
func mulDiv(k, size, n int64) int64 {
	return k*(size/n) + k*(size%n)/n
}

// Splittable returns the reason why the range of variable v of the normal form cannot be cut into
// blocks, or "" if it can.
func Splittable(n *notation.Normal, v string) string {
	if slices.Contains(n.LHS.Vars, v) {
		return ""
	}
	for _, t := range n.Terms {
		if slices.Contains(t.Sum, v) {
			return ""
		}
	}
	return fmt.Sprintf(
		"the sum over %s is inside a product or quotient, so its blocks cannot be summed "+
			"separately", source(n, v))
}

func source(n *notation.Normal, v string) string {
	if s, ok := n.Source[v]; ok {
		return s
	}
	return v
}

// mostBlocks is the largest number of blocks that Resolve accepts. Each block runs a leaf for at
// least some microseconds, so a statement with more blocks would take far too long.
const mostBlocks = 1 << 24

// Resolve returns the meaning of a block schedule for a statement. sizes has the size of every
// variable of n, by its name in n.
func Resolve(spec *BlockSpec, n *notation.Normal, sizes map[string]int64) (*Blocking, error) {
	b := &Blocking{}
	seen := map[string]bool{}
	blocks := int64(1)
	for _, s := range spec.Splits {
		if seen[s.Var] {
			return nil, diag.Errorf("split",
				"--split names %s twice; want each variable only once", s.Var)
		}
		seen[s.Var] = true
		vars := spec.renamed(n, s.Var)
		if len(vars) == 0 {
			return nil, unknown(n, "split", s.Var)
		}
		cut := slices.DeleteFunc(slices.Clone(vars),
			func(v string) bool { return Splittable(n, v) != "" })
		if len(cut) == 0 {
			return nil, diag.Errorf("split", "--split=%s: %s", s.Var, Splittable(n, vars[0]))
		}
		// One name may mean several variables, of different sizes.
		most := int64(0)
		for _, v := range cut {
			most = max(most, sizes[v])
		}
		for _, v := range cut {
			ranges := s.ranges()
			if blocks > mostBlocks/ranges {
				return nil, diag.Errorf("split",
					"--split=%s makes more than %d blocks in all; want fewer than %d ranges",
					s.Var,
					mostBlocks, ranges)
			}
			blocks *= ranges
			cuts, err := s.cuts(sizes[v], most)
			if err != nil {
				return nil, err
			}
			b.Vars = append(b.Vars, BlockVar{Name: v, Cuts: cuts,
				Reduction: !slices.Contains(n.LHS.Vars, v)})
		}
	}
	if err := b.order(spec, n); err != nil {
		return nil, err
	}
	if err := b.extend(spec, n); err != nil {
		return nil, err
	}
	if err := b.mapping(spec, n); err != nil {
		return nil, err
	}
	b.group(n)
	return b, nil
}

// ranges returns the number of ranges that the split makes, at least 1.
func (s SplitSpec) ranges() int64 {
	if s.Count > 0 {
		return s.Count
	}
	return int64(len(s.Points)) + 1
}

func (s SplitSpec) cuts(size, most int64) ([]int64, error) {
	if s.Count > 0 {
		return EvenCuts(size, s.Count), nil
	}
	cuts := []int64{0}
	for _, p := range s.Points {
		if p > most {
			return nil, diag.Errorf("split",
				"--split=%s: got point %d, want at most the size of %s, %d", s.Var, p,
				s.Var, most)
		}
		cuts = append(cuts, min(p, size))
	}
	return append(cuts, size), nil
}

// renamed returns the variables of n that the spec calls user. If the spec is Exact, it uses the
// names of n's variables. Otherwise it uses the names in the user's statement. One such name can
// belong to several variables, because the normal form gives the variable of each sum() a name of
// its own.
func (spec *BlockSpec) renamed(n *notation.Normal, user string) []string {
	var list []string
	for _, v := range n.Vars {
		if spec.Exact && v == user || !spec.Exact && source(n, v) == user {
			list = append(list, v)
		}
	}
	return list
}

func unknown(n *notation.Normal, flag, name string) error {
	var have []string
	for _, v := range n.Vars {
		if s := source(n, v); !slices.Contains(have, s) {
			have = append(have, s)
		}
	}
	return diag.Errorf("block-vars",
		"--%s: got %s, want an index variable of the statement: %s",
		flag, name, strings.Join(have, ", "))
}

// order sorts the split variables into the order that the spec names. Variables that it does not
// name come after the named ones, in the order of the normal form.
func (b *Blocking) order(spec *BlockSpec, n *notation.Normal) error {
	names := spec.Order
	rank := map[string]int{}
	for k, name := range names {
		vars := spec.renamed(n, name)
		if len(vars) == 0 {
			return unknown(n, "order", name)
		}
		for _, v := range vars {
			rank[v] = k
		}
	}
	key := func(v BlockVar) int {
		if k, ok := rank[v.Name]; ok {
			return k
		}
		return len(names) + slices.Index(n.Vars, v.Name)
	}
	slices.SortStableFunc(b.Vars, func(x, y BlockVar) int { return key(x) - key(y) })
	return nil
}

func (b *Blocking) extend(spec *BlockSpec, n *notation.Normal) error {
	for _, name := range spec.Extend {
		vars := spec.renamed(n, name)
		if len(vars) == 0 {
			return unknown(n, "extend", name)
		}
		vars = slices.DeleteFunc(vars, func(v string) bool { return slices.Contains(n.LHS.Vars, v) })
		if len(vars) == 0 {
			return diag.Errorf("block-vars",
				"--extend=%s: got %s, a variable of the result; want a variable that is summed",
				name, name)
		}
		for _, v := range vars {
			if k := b.index(v); k >= 0 {
				b.Vars[k].Extended = true
			}
		}
	}
	return nil
}

// mapping finds the variables whose ranges decide which rank runs a block. They are the split
// variables that --map names. Without --map, they are the split variables of the output, in the
// output's order.
func (b *Blocking) mapping(spec *BlockSpec, n *notation.Normal) error {
	if spec.Map == nil {
		for _, v := range n.LHS.Vars {
			if k := b.index(v); k >= 0 {
				b.Map = append(b.Map, k)
			}
		}
		return nil
	}
	for _, name := range spec.Map {
		vars := spec.renamed(n, name)
		if len(vars) == 0 {
			return unknown(n, "map", name)
		}
		for _, v := range vars {
			if k := b.index(v); k >= 0 {
				b.Map = append(b.Map, k)
			}
		}
	}
	return nil
}

func (b *Blocking) index(v string) int {
	return slices.IndexFunc(b.Vars, func(x BlockVar) bool { return x.Name == v })
}

func (b *Blocking) group(n *notation.Normal) {
	byHeld := map[string]int{}
	for t, term := range n.Terms {
		var held []int
		for k, v := range b.Vars {
			if v.Reduction && (slices.Contains(term.Sum, v.Name) ||
				v.Positions != nil && mentions(term, v.Positions.Vars)) {
				held = append(held, k)
			}
		}
		key := fmt.Sprint(held)
		g, ok := byHeld[key]
		if !ok {
			g = len(b.Groups)
			byHeld[key] = g
			b.Groups = append(b.Groups, Group{Held: held})
		}
		b.Groups[g].Terms = append(b.Groups[g].Terms, t)
	}
}

// mentions reports whether an access in the term has one of vars.
func mentions(term *notation.Term, vars []string) bool {
	found := false
	notation.WalkTerm(term, func(e notation.Expr) bool {
		a, ok := e.(*notation.Access)
		found = found || ok && slices.ContainsFunc(a.Vars,
			func(v string) bool { return slices.Contains(vars, v) })
		return !found
	})
	return found
}

// Default returns the block schedule for several ranks if the user gives none. It cuts the range of
// v evenly over all ranks. If v is a reduction variable, a tree reduction sums the partial results.
func Default(n *notation.Normal, v string, ranks int) *BlockSpec {
	spec := &BlockSpec{Splits: []SplitSpec{{Var: v, Count: int64(ranks)}}, Map: []string{v},
		Exact: true}
	if !slices.Contains(n.LHS.Vars, v) {
		spec.Extend = []string{v}
	}
	return spec
}
