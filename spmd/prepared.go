package spmd

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/format"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// prepared is a statement that was planned, compiled and loaded, at one rank: running
// it (exec.Rank.Compute) opens and compiles nothing.
type prepared struct {
	r *run

	// whole says that nothing is cut and one rank has everything: the leaf gets the
	// tensors themselves, and its block is the result.
	whole      bool
	norm       *notation.Normal // what is computed: the accesses are operands' names
	operands   []operand
	problem    *plan.Problem
	statements []*statement  // one a group
	sum        *statement    // result = P + Q
	bound      []*tcs.Tensor // the leaf's arguments, where they are the same at every run
	into       *into         // of Job.FixedPattern; nil for a result of its own
	exec       *exec.Rank
}

// operand is what has blocks of its own: an access of the right side, or of a statement
// on whole tensors a tensor.
type operand struct {
	name   string // in norm
	tensor string
	vars   []string // by mode
	groups []int    // that read it
}

// leftOld is the operand that += reads.
const leftOld = "_old"

// distinct gives every access that differs in tensor or variables a name of
// its own, and makes the old value that += reads an operand.
func (k *prepared) distinct(n *notation.Normal, orders map[string]int) {
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

// tensors makes every tensor that is read an operand.
func (k *prepared) tensors() {
	k.norm = k.r.p.norm
	for _, name := range k.r.p.names {
		if k.r.sources[name] != nil {
			k.operands = append(k.operands, operand{name: name, tensor: name, vars: k.accessVars(name)})
		}
	}
}

// accessVars are the variables of a tensor's first access.
func (k *prepared) accessVars(name string) (vars []string) {
	for _, t := range append([]*notation.Term{{Factors: []notation.Factor{k.norm.LHS}}}, k.norm.Terms...) {
		notation.MapAccesses(t, func(a *notation.Access) *notation.Access {
			if a.Name == name && vars == nil {
				vars = a.Vars
			}
			return a
		})
	}
	return vars
}

// plan plans the job for the ranks there are.
func (r *run) plan() error {
	spec, err := r.blockSpec()
	if err != nil {
		return err
	}
	return r.planFor(r.comm.Size(), spec)
}

// planWhole plans the job for one rank, whatever its block schedule.
func (r *run) planWhole() error { return r.planFor(1, &place.BlockSpec{}) }

// planFor settles which rank holds which blocks of each tensor and runs which steps.
// Every rank plans the same.
func (r *run) planFor(ranks int, spec *place.BlockSpec) error {
	k := &prepared{r: r, whole: ranks == 1 && spec.Empty()}
	r.prepared = k
	if k.whole {
		k.tensors()
	} else {
		k.distinct(r.p.norm, r.p.orders)
	}
	if ranks > 1 && spec.Empty() {
		spec = k.defaultSpec(ranks)
	}
	b, err := place.Resolve(spec, k.norm, r.sizes.Vars)
	if err != nil {
		return err
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
			if k.whole || slices.ContainsFunc(group.Terms, func(t int) bool { return reads(k.norm.Terms[t], o.name) }) {
				o.groups = append(o.groups, g)
			}
		}
		p.Operands = append(p.Operands, plan.Operand{Tensor: o.name, Modes: cut(o.vars), Groups: o.groups})
	}
	k.problem = p
	k.exec = &exec.Rank{Comm: r.comm, Plan: p, Limit: r.limit, Alloc: r.arena.Alloc, Leaf: k.leaf, Add: k.add}
	for _, o := range k.operands {
		k.exec.Like = append(k.exec.Like, r.likeOf(o.tensor, r.formats[o.tensor]))
	}
	return nil
}

// likeOf describes the blocks of a tensor in a format.
func (r *run) likeOf(name string, f format.Format) transfer.Like {
	return transfer.Like{Name: name, Dims: r.sizes.Dims[name], Type: tcsType(r.types[name]), Kinds: f.Letters(), Modes: f.Order}
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
func (k *prepared) defaultSpec(ranks int) *place.BlockSpec {
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

// compile makes a leaf for each group of terms, and the sum of two blocks. Collective.
func (r *run) compile() error {
	k := r.prepared
	if r.job.FixedPattern != nil {
		if err := k.readyInto(); err != nil {
			return err
		}
	}
	inPlace, err := k.compileGroups()
	if err != nil {
		return err
	}
	for _, s := range k.statements {
		if err := s.load(); err != nil {
			return err
		}
		r.closers = append(r.closers, func() error { s.close(); return nil })
		if r.root() {
			for _, n := range s.unit.Notes {
				r.note(k.userNote(n))
			}
		}
	}
	result := k.statements[0].unit.Result
	k.exec.Result = r.likeOf(r.p.result, result.Format)
	if !result.Format.AllDense() {
		k.accumulate(inPlace)
	}
	if k.whole {
		return k.bind()
	}
	return k.compileSum()
}

// compileGroups makes the units of all groups: of leaves that add to a result, where that
// is worth while (see accumulates) and every one can. Collective.
func (k *prepared) compileGroups() (inPlace bool, err error) {
	like, err := k.like()
	if err != nil {
		return false, err
	}
	several, err := k.accumulates()
	if err != nil {
		return false, err
	}
	if err := k.compileUnits(like, several); err != nil || !several || k.inPlace() {
		return several, err
	}
	return false, k.compileUnits(like, false)
}

// bind brings the operands of a statement on whole tensors into the form in which its
// leaf reads them, once for all runs.
func (k *prepared) bind() error {
	if k.bound != nil {
		return nil
	}
	var blocks []*tcs.Tensor
	for _, own := range k.exec.Own {
		blocks = append(blocks, own[0])
	}
	args, made, err := k.statements[0].arguments(k.given(blocks))
	if err != nil {
		return err
	}
	for _, t := range made {
		k.r.closing(t)
	}
	k.bound = args
	return nil
}

// compileUnits makes the units of all groups; into asks for leaves that add
// to a result.
func (k *prepared) compileUnits(like map[string]codegen.Tensor, into bool) error {
	k.statements = nil
	for _, g := range k.problem.Groups {
		norm := *k.norm
		norm.Terms = nil
		for _, t := range g.Terms {
			norm.Terms = append(norm.Terms, k.norm.Terms[t])
		}
		s := k.r.statement(like)
		s.accumulate = into
		if !k.asWritten(g.Terms) {
			s.norm = &norm
		}
		k.scheduled(s)
		if k.into != nil {
			s.fixedPattern, s.widths = k.into.values, k.into.widths
		} else if len(k.statements) > 0 { // blocks of all groups are summed
			s.widths = &k.statements[0].unit.Result
		}
		if err := s.compile(); err != nil {
			return err
		}
		k.statements = append(k.statements, s)
	}
	return nil
}

// asWritten tells whether these terms, under the names that operands have here, are
// the job's statement as it is.
func (k *prepared) asWritten(terms []int) bool {
	return k.whole || len(terms) == len(k.norm.Terms) && !k.r.p.norm.Accumulate &&
		!slices.ContainsFunc(k.operands, func(o operand) bool { return o.name != o.tensor })
}

// scheduled gives the leaf of a group the job's schedule, which orders the loops
// over a block; where there is none, the sizes of what no split cuts.
func (k *prepared) scheduled(s *statement) {
	if len(k.r.job.Schedule) == 0 {
		s.exact = k.uncut()
		return
	}
	s.schedule = k.r.job.Schedule
	if k.whole {
		return
	}
	s.names = map[string]string{}
	for _, b := range k.problem.Vars {
		s.parts = append(s.parts, b.Name)
	}
	for _, o := range k.operands {
		s.names[o.name] = o.tensor
	}
}

// uncut lists the variables that no split cuts.
func (k *prepared) uncut() []string {
	var list []string
	for _, v := range k.norm.Vars {
		if !slices.ContainsFunc(k.problem.Vars, func(b place.BlockVar) bool { return b.Name == v }) {
			list = append(list, v)
		}
	}
	return list
}

// userNote puts the user's names of tensors into a line of the compiler's.
func (k *prepared) userNote(note string) string {
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
func (k *prepared) leaf(s plan.Step, operands []*tcs.Tensor) (out *tcs.Tensor, err error) {
	if k.into != nil {
		return k.into.run(k)
	}
	err = k.onBlocks(s, operands, func(st *statement, args []*tcs.Tensor, ranges map[string][2]int64) error {
		box := k.problem.Box(k.problem.Result, s.Partial.Result, k.r.sizes.Dims[k.r.p.result])
		out, err = st.call(k.r.ctx, args, ranges, box)
		return err
	})
	if err != nil || !k.whole {
		return out, err
	}
	return k.statements[0].finish(out)
}

// onBlocks calls f with a step's statement, the arguments of its leaf and the
// ranges of its loops.
func (k *prepared) onBlocks(s plan.Step, operands []*tcs.Tensor, f func(st *statement, args []*tcs.Tensor, ranges map[string][2]int64) error) error {
	st := k.statements[s.Group]
	args := k.bound
	if args == nil {
		var made []*tcs.Tensor
		var err error
		if args, made, err = st.arguments(k.given(operands)); err != nil {
			return err
		}
		defer func() {
			for _, t := range made {
				t.Close()
			}
		}()
	}
	ranges := map[string][2]int64{}
	for v, b := range k.problem.Vars {
		at := s.Tuple[v]
		ranges[b.Name] = [2]int64{b.Cuts[at], b.Cuts[at+1]}
	}
	return f(st, args, ranges)
}

// given names operand blocks.
func (k *prepared) given(operands []*tcs.Tensor) map[string]*tcs.Tensor {
	out := map[string]*tcs.Tensor{}
	for i, t := range operands {
		if t != nil {
			out[k.operands[i].name] = t
		}
	}
	return out
}

// compileSum compiles the addition of two blocks of the result, where the tree
// sums have any.
func (k *prepared) compileSum() error {
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
	if err := k.sum.compile(); err != nil {
		return err
	}
	return k.sum.load()
}

// add sums two partial blocks: b's values are added to a's where both are
// dense, and so hold the same coordinates.
func (k *prepared) add(a, b *tcs.Tensor) (*tcs.Tensor, error) {
	if k.sum == nil {
		reduce.AddDense(a, b, k.r.threads)
		return a, nil
	}
	args, _, err := k.sum.arguments(map[string]*tcs.Tensor{"P": a, "Q": b})
	if err != nil {
		return nil, err
	}
	ranges := map[string][2]int64{}
	for m, v := range k.sum.stmt.LHS.Vars {
		ranges[v] = a.Range(m)
	}
	return k.sum.call(k.r.ctx, args, ranges, a.Box)
}

// like tells the compiler of each operand's blocks what holds at every rank:
// the widest arrays and the sum of entries, and of positions at each level. Collective.
func (k *prepared) like() (map[string]codegen.Tensor, error) {
	out := map[string]codegen.Tensor{}
	for i, o := range k.operands {
		f := k.r.formats[o.tensor]
		n := len(f.Levels)
		widths, counts := make([]int64, 2*n), make([]int64, n+1) // the last: entries
		for _, t := range k.exec.Own[i] {
			counts[n] += t.Vals.Len
			for l, lev := range t.Levels {
				counts[l] += t.Positions(l)
				widths[2*l] = max(widths[2*l], int64(lev.Pos.Width))
				widths[2*l+1] = max(widths[2*l+1], int64(lev.Crd.Width))
			}
		}
		c := k.r.comm.Uncounted()
		if err := c.Allreduce(comm.Of(widths), comm.Max); err != nil {
			return nil, err
		}
		for _, t := range k.exec.Own[i] {
			for l, lev := range t.Levels {
				if int64(lev.Pos.Width) != widths[2*l] || int64(lev.Crd.Width) != widths[2*l+1] {
					return nil, runErrorf("%s: blocks with 32-bit and with 64-bit positions at different ranks; use fewer entries a block", o.tensor)
				}
			}
		}
		if err := c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return nil, err
		}
		spec := codegen.Tensor{Format: f, Type: irTypes[k.r.types[o.tensor]], Dims: k.r.sizes.Dims[o.tensor], NNZ: counts[n], Counts: counts[:n]}
		for l := range n {
			spec.PosWidth = append(spec.PosWidth, uint8(widths[2*l]))
			spec.CrdWidth = append(spec.CrdWidth, uint8(widths[2*l+1]))
		}
		out[o.name] = spec
	}
	return out, nil
}
