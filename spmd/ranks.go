package spmd

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// ranked is a job's computation over several ranks: the block schedule, the
// plan, and this rank's blocks.
type ranked struct {
	r *run
	c comm.Comm

	norm       *notation.Normal // each operand of the plan under a name of its own
	operands   []operand
	problem    *plan.Problem
	statements []*statement // one a group
	sum        *statement   // result = P + Q
	wholes     bool         // rank 0 has loaded the operands whole
	exec       *exec.Rank

	before, after comm.Counters // around the last repeat
}

// operand is one access of the right side, with blocks of its own.
type operand struct {
	name   string // in norm
	tensor string
	vars   []string
	groups []int
}

// leftOld is the operand that += reads.
const leftOld = "_old"

// distinct gives every access that differs in tensor or variables a name of
// its own, and makes the old value that += reads an operand.
func (k *ranked) distinct(n *notation.Normal, orders map[string]int) {
	taken := map[string]bool{}
	for name := range orders {
		taken[name] = true
	}
	for _, v := range n.Vars {
		taken[v] = true
	}
	fresh := func(name string) string {
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		return name
	}
	byKey := map[string]string{}
	used := map[string]bool{}
	rename := func(a *notation.Access) *notation.Access {
		key := fmt.Sprint(a.Name, a.Vars)
		name, ok := byKey[key]
		if !ok {
			name = a.Name
			if a.Name == n.LHS.Name {
				name = fresh(a.Name + leftOld)
			} else if used[a.Name] {
				name = fresh(a.Name)
			}
			used[a.Name], byKey[key] = true, name
			k.operands = append(k.operands, operand{name: name, tensor: a.Name, vars: a.Vars})
		}
		c := *a
		c.Name = name
		return &c
	}
	out := *n
	out.Terms = nil
	terms := n.Terms
	if n.Accumulate {
		if _, ok := k.r.sources[n.LHS.Name]; ok {
			terms = append([]*notation.Term{{Factors: []notation.Factor{n.LHS}}}, terms...)
		}
		out.Accumulate = false
	}
	for _, t := range terms {
		out.Terms = append(out.Terms, notation.MapAccesses(t, rename))
	}
	k.norm = &out
}

// newRanked plans the job for a number of ranks. Every rank plans the same.
func (r *run) newRanked(ranks int) (*ranked, error) {
	k := &ranked{r: r}
	k.distinct(r.p.norm, r.p.orders)
	spec, err := r.job.blockSpec()
	if err != nil {
		return nil, err
	}
	if spec.Empty() {
		spec = k.defaultSpec(ranks)
	}
	b, err := place.Resolve(spec, k.norm, r.sizes.Vars)
	if err != nil {
		return nil, err
	}
	cut := func(vars []string) []int {
		out := make([]int, len(vars))
		for m, v := range vars {
			out[m] = slices.IndexFunc(b.Vars, func(x place.BlockVar) bool { return x.Name == v })
		}
		return out
	}
	p := &plan.Problem{Blocking: b, Ranks: ranks, Result: cut(k.norm.LHS.Vars)}
	for i := range k.operands {
		o := &k.operands[i]
		for g, group := range b.Groups {
			if slices.ContainsFunc(group.Terms, func(t int) bool { return reads(k.norm.Terms[t], o.name) }) {
				o.groups = append(o.groups, g)
			}
		}
		p.Operands = append(p.Operands, plan.Operand{Tensor: o.name, Modes: cut(o.vars), Groups: o.groups})
	}
	k.problem = p
	return k, nil
}

func reads(t *notation.Term, name string) bool {
	found := false
	notation.WalkTerm(t, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok && a.Name == name {
			found = true
		}
		return true
	})
	return found
}

// blockSpec is the job's own block schedule.
func (o *Options) blockSpec() (*place.BlockSpec, error) {
	s := &place.BlockSpec{}
	for _, text := range o.Splits {
		split, err := place.ParseSplit(text)
		if err != nil {
			return nil, err
		}
		s.Splits = append(s.Splits, split)
	}
	var err error
	if o.BlockOrder != "" {
		if s.Order, err = place.ParseVars("order", o.BlockOrder); err != nil {
			return nil, err
		}
	}
	for _, text := range o.Extend {
		vars, err := place.ParseVars("extend", text)
		if err != nil {
			return nil, err
		}
		s.Extend = append(s.Extend, vars...)
	}
	if o.Map != "" {
		if s.Map, err = place.ParseVars("map", o.Map); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// defaultSpec cuts the outermost stored mode of the largest operand over all
// ranks; where its variable cannot be cut, the next stored mode or operand.
func (k *ranked) defaultSpec(ranks int) *place.BlockSpec {
	ops := slices.Clone(k.operands)
	slices.SortStableFunc(ops, func(a, b operand) int {
		x, y := k.r.estimate(a.tensor), k.r.estimate(b.tensor)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, o := range ops {
		for _, m := range k.r.formats[o.tensor].Order {
			if place.Splittable(k.norm, o.vars[m]) == "" {
				return place.Default(k.norm, o.vars[m], ranks)
			}
		}
	}
	for _, v := range k.norm.LHS.Vars {
		return place.Default(k.norm, v, ranks)
	}
	return &place.BlockSpec{}
}

// estimate is about how many entries a tensor has, from what is known before
// it is loaded.
func (r *run) estimate(name string) float64 {
	s := r.sources[name]
	space := 1.0
	for _, d := range r.sizes.Dims[name] {
		space *= float64(d)
	}
	switch {
	case s == nil || s.scalar != nil:
		return 1
	case s.tensor != nil:
		return float64(s.entries)
	case s.gen != nil && s.gen.NNZ() > 0:
		return min(space, float64(s.gen.NNZ()))
	case s.bytes > 0:
		return min(space, float64(s.bytes)/8)
	}
	return space
}

// load makes this rank's blocks.
func (k *ranked) load() error {
	k.exec = &exec.Rank{Comm: k.c, Plan: k.problem, Limit: k.r.limit, Alloc: k.r.arena.Alloc, Leaf: k.leaf, Add: k.add}
	for i, o := range k.operands {
		own, err := k.loadOperand(o, k.problem.Operands[i].Modes)
		if err != nil {
			return err
		}
		for _, t := range own {
			k.r.closers = append(k.r.closers, t.Close)
		}
		f := k.r.formats[o.tensor]
		k.exec.Own = append(k.exec.Own, own)
		k.exec.Like = append(k.exec.Like, transfer.Like{Name: o.tensor, Dims: k.r.sizes.Dims[o.tensor],
			Type: tcsType(k.r.types[o.tensor]), Kinds: f.Letters(), Modes: f.Order})
	}
	return nil
}

// compile compiles a leaf for each group of terms, and the sum of two blocks.
func (k *ranked) compile() error {
	r := k.r
	like, err := k.like()
	if err != nil {
		return err
	}
	multi, err := k.accumulates()
	if err != nil {
		return err
	}
	reqs, err := k.compileGroups(like, multi)
	if err != nil {
		return err
	}
	in := multi && k.inPlace()
	if multi && !in {
		if reqs, err = k.compileGroups(like, false); err != nil {
			return err
		}
	}
	for g, s := range k.statements {
		if err := s.load(reqs[g]); err != nil {
			return err
		}
		r.closers = append(r.closers, func() error { s.close(); return nil })
		if k.c.Rank() == 0 {
			for _, n := range s.unit.Notes {
				r.job.note(k.userNote(n))
			}
		}
	}
	result := k.statements[0].unit.Result
	k.exec.Result = transfer.Like{Name: r.p.result, Dims: r.sizes.Dims[r.p.result], Type: tcsType(r.types[r.p.result]),
		Kinds: result.Format.Letters(), Modes: result.Format.Order}
	if !result.Format.AllDense() {
		k.accumulate(in)
	}
	return k.compileSum()
}

// compileGroups makes the units of all groups; into asks for leaves that add
// to a result.
func (k *ranked) compileGroups(like map[string]codegen.Tensor, into bool) ([]codegen.Request, error) {
	k.statements = nil
	var reqs []codegen.Request
	for _, g := range k.problem.Groups {
		norm := *k.norm
		norm.Terms = nil
		for _, t := range g.Terms {
			norm.Terms = append(norm.Terms, k.norm.Terms[t])
		}
		s := k.r.statement(like)
		s.into = into
		if !k.whole(g.Terms) {
			s.norm = &norm
		}
		k.scheduled(s)
		if len(k.statements) > 0 { // blocks of all groups are summed
			s.widths = &k.statements[0].unit.Result
		}
		req, err := s.compile()
		if err != nil {
			return nil, err
		}
		k.statements, reqs = append(k.statements, s), append(reqs, req)
	}
	return reqs, nil
}

// whole tells whether these terms, under the names that operands have here, are
// the job's statement as it is.
func (k *ranked) whole(terms []int) bool {
	return len(terms) == len(k.norm.Terms) && !k.r.p.norm.Accumulate &&
		!slices.ContainsFunc(k.operands, func(o operand) bool { return o.name != o.tensor })
}

// scheduled gives the leaf of a group the job's schedule, which orders the loops
// over a block; where there is none, the sizes of what no split cuts.
func (k *ranked) scheduled(s *statement) {
	if len(k.r.job.Schedule) == 0 {
		s.exact = k.uncut()
		return
	}
	s.schedule, s.names = k.r.job.Schedule, map[string]string{}
	for _, b := range k.problem.Vars {
		s.parts = append(s.parts, b.Name)
	}
	for _, o := range k.operands {
		s.names[o.name] = o.tensor
	}
}

// uncut lists the variables that no split cuts.
func (k *ranked) uncut() []string {
	var list []string
	for _, v := range k.norm.Vars {
		if !slices.ContainsFunc(k.problem.Vars, func(b place.BlockVar) bool { return b.Name == v }) {
			list = append(list, v)
		}
	}
	return list
}

// userNote puts the user's names of tensors into a line of the compiler's.
func (k *ranked) userNote(note string) string {
	words := strings.Split(note, " ")
	for i, w := range words {
		for _, o := range k.operands {
			if w == o.name {
				words[i] = o.tensor
			}
		}
	}
	return strings.Join(words, " ")
}

// leaf runs a step's group on its operand blocks.
func (k *ranked) leaf(s plan.Step, operands []*tcs.Tensor) (out *tcs.Tensor, err error) {
	err = k.onBlocks(s, operands, func(st *statement, args []*tcs.Tensor, ranges map[string][2]int64) error {
		box := k.problem.Box(k.problem.Result, s.Partial.Result, k.r.sizes.Dims[k.r.p.result])
		out, err = st.call(k.r.ctx, args, ranges, box)
		return err
	})
	return out, err
}

// onBlocks calls f with a step's statement, the arguments of its leaf and the
// ranges of its loops.
func (k *ranked) onBlocks(s plan.Step, operands []*tcs.Tensor, f func(st *statement, args []*tcs.Tensor, ranges map[string][2]int64) error) error {
	st := k.statements[s.Group]
	given := map[string]*tcs.Tensor{}
	for i, t := range operands {
		if t != nil {
			given[k.operands[i].name] = t
		}
	}
	args, made, err := st.arguments(given, nil)
	if err != nil {
		return err
	}
	defer func() {
		for _, t := range made {
			t.Close()
		}
	}()
	ranges := map[string][2]int64{}
	for v, b := range k.problem.Vars {
		at := s.Tuple[v]
		ranges[b.Name] = [2]int64{b.Cuts[at], b.Cuts[at+1]}
	}
	return f(st, args, ranges)
}

// compileSum compiles the addition of two blocks of the result, where the tree
// sums have any.
func (k *ranked) compileSum() error {
	r := k.r
	result := k.statements[0].unit.Result
	adds := slices.ContainsFunc(k.problem.Sums(), func(s plan.Sum) bool { return len(s.Adds) > 0 })
	if !adds || result.Format.AllDense() { // dense blocks are added in place
		return nil
	}
	vars := r.p.stmt.LHS.Vars
	stmt := &notation.Stmt{
		LHS: &notation.Access{Name: "S", Vars: vars},
		RHS: &notation.Binary{Op: '+', X: &notation.Access{Name: "P", Vars: vars}, Y: &notation.Access{Name: "Q", Vars: vars}},
	}
	stmt.Src = stmt.String()
	like := codegen.Tensor{Format: result.Format, Type: irTypes[r.types[r.p.result]], Dims: r.sizes.Dims[r.p.result],
		PosWidth: result.PosWidth, CrdWidth: result.CrdWidth, NNZ: -1}
	k.sum = r.statement(map[string]codegen.Tensor{"P": like, "Q": like})
	k.sum.stmt, k.sum.format, k.sum.widths = stmt, result.Format, &result
	r.closers = append(r.closers, func() error { k.sum.close(); return nil })
	return k.sum.build()
}

// add sums two partial blocks: b's values are added to a's where both are
// dense, and so hold the same coordinates.
func (k *ranked) add(a, b *tcs.Tensor) (*tcs.Tensor, error) {
	if k.sum == nil {
		reduce.AddDense(a, b, k.r.threads)
		return a, nil
	}
	args, _, err := k.sum.arguments(map[string]*tcs.Tensor{"P": a, "Q": b}, nil)
	if err != nil {
		return nil, err
	}
	ranges := map[string][2]int64{}
	for m, v := range k.sum.stmt.LHS.Vars {
		ranges[v] = a.Range(m)
	}
	return k.sum.call(k.r.ctx, args, ranges, a.Box)
}
