package oracle

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"sync/atomic"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// programCase is a random program: a list of steps that use named tensors.
type programCase struct {
	ranks   int
	compile bool // compile leaves and do not interpret them
	fresh   bool // results never reuse the memory of the previous value
	gpu     bool // there are GPUs, and the program's target is target
	target  string
	// If not nil, the run stores the number, from 1, of a step on a GPU that the GPU refuses.
	refused *atomic.Int64
	onCPU   *atomic.Int64 // if not nil, counts statements that the GPU refuses and the CPU runs
	steps   []*progStep
}

// progStep is one step of a program. The expected results of steps are computed by follow.
type progStep struct {
	// set, declare, do, prepare, run, close, place, drop, or negate (set with negated values)
	op     string
	tensor *Tensor // set, declare
	wide   bool    // set: with 64-bit indices
	plain  bool    // set: the caller's tensor has only compressed levels
	name   string  // place, negate, drop
	mode   int     // place
	stmt   string  // do, prepare
	splits []string
	on     string // do, prepare: what the statement runs on (spmd.How.On)
	id     int    // prepare, run, close
	code   int    // do, run: the expected exit code, or 0

	want  *Want  // do, run: the expected result; nil if the statement must be refused
	left  string // do, run: the name of the result
	state map[string]*Tensor
}

// String returns the step as a line. It includes the entries of a set.
func (s *progStep) String() string {
	if s.code > 0 {
		x := *s
		x.code = 0
		return fmt.Sprintf("%v, which must fail with exit code %d", &x, s.code)
	}
	switch s.op {
	case "set", "declare":
		t := s.tensor
		text := fmt.Sprintf("%s %s %s %s %v wide=%v plain=%v", s.op, t.Name, orDash(t.Format.String()),
			t.Type, t.Dims, s.wide, s.plain)
		for _, e := range t.Entries {
			text += fmt.Sprintf(" %v=%s", e.Coord, formatValue(t.Type, e.Value))
		}
		return text
	case "do":
		return "do " + s.stmt + onText(s.on)
	case "prepare":
		return fmt.Sprintf("prepare %d %s %v", s.id, s.stmt, s.splits) + onText(s.on)
	case "run", "close":
		return fmt.Sprintf("%s %d", s.op, s.id)
	case "place":
		return fmt.Sprintf("place %s %d", s.name, s.mode)
	}
	return s.op + " " + s.name
}

// onText returns a clause that says what a statement runs on, or "".
func onText(on string) string {
	if on == "" {
		return ""
	}
	return " on " + on
}

// String returns the program as text, one line for each step.
func (c *programCase) String() string {
	text := fmt.Sprintf("ranks %d, compiled %v, fresh %v, on GPUs %v with the target %q\n", c.ranks,
		c.compile, c.fresh, c.gpu, c.target)
	for _, s := range c.steps {
		text += s.String() + "\n"
	}
	return text
}

// world is the expected state of a program after some steps.
type world struct {
	tensors  map[string]*Tensor // declared tensors and tensors with values; Input is true for values
	sized    map[string]bool    // declare or set fixed the tensor's sizes for statements
	moved    map[string]bool    // a statement has read or written the tensor, so it can be placed
	direct   map[string]bool    // the program uses the memory of the caller's tensor
	broken   map[string]bool    // a statement failed while it wrote the tensor
	prepared map[int]*progStep
}

func newWorld() *world {
	return &world{tensors: map[string]*Tensor{}, sized: map[string]bool{}, moved: map[string]bool{},
		direct: map[string]bool{}, broken: map[string]bool{}, prepared: map[int]*progStep{}}
}

// valued returns the names of the tensors that have a value, in order.
func (w *world) valued() []string {
	var list []string
	for name, t := range w.tensors {
		if t.Input {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// caseOf returns the case of a statement with the tensors of the world. It returns an error if the
// statement does not fit the tensors.
func (w *world) caseOf(text string) (*Case, error) {
	s, err := notation.Parse(text)
	if err != nil {
		return nil, err
	}
	name := s.LHS.Name
	old := notation.NameOld(s)
	c := &Case{Stmt: s.String()}
	sizes := map[string]int64{}
	for _, a := range notation.Normalize(s).Accesses() {
		from := a.Name
		if from == old {
			from = name
		}
		t := w.tensors[from]
		if t == nil || !t.Input || len(t.Dims) != len(a.Vars) {
			return nil, fmt.Errorf("%s has no value with %d modes", from, len(a.Vars))
		}
		for m, v := range a.Vars {
			sizes[v] = t.Dims[m]
		}
	}
	if s.Accumulate && w.broken[name] {
		return nil, fmt.Errorf("%s has no value to add to", name)
	}
	is := w.tensors[name]
	left := &Tensor{Name: name, Dims: []int64{}}
	if is != nil {
		if len(is.Format.Levels) != len(s.LHS.Vars) {
			return nil, fmt.Errorf("%s has other modes", name)
		}
		left.Format, left.Type = is.Format, is.Type
		if left.Input = s.Accumulate && is.Input; left.Input {
			left.Entries = is.Entries
		}
	} else {
		left.Format, _ = notation.ParseFormat(strings.Repeat("d", len(s.LHS.Vars)))
	}
	for m, v := range s.LHS.Vars {
		n, ok := sizes[v]
		switch {
		case is != nil && (w.sized[name] || left.Input || !ok):
			n = is.Dims[m]
		case !ok:
			return nil, fmt.Errorf("the size of %s is not known", v)
		}
		left.Dims = append(left.Dims, n)
	}
	c.Tensors = append(c.Tensors, left)
	for _, u := range s.Tensors()[1:] {
		from := u.Name
		if from == old {
			from = name
		}
		t := *w.tensors[from]
		t.Name = u.Name
		c.Tensors = append(c.Tensors, &t)
	}
	return c, nil
}

// errInexact is the reason for omitting a statement.
var errInexact = fmt.Errorf("values that other orders of evaluation change, or that grow")

// assign computes the result of a statement in the world.
func (w *world) assign(text string) (*Prepared, *Want, error) {
	c, err := w.caseOf(text)
	if err != nil {
		return nil, nil, err
	}
	if f := c.Tensors[0].Format; len(f.Bound()) > 0 || strings.Contains(f.Letters(), "p") {
		return nil, nil, fmt.Errorf("the format %s has not room for every result", f)
	}
	p, err := c.Prepare()
	if err != nil {
		return nil, nil, err
	}
	space := 1.0
	for _, v := range p.Normal.Vars {
		space *= float64(max(p.Sizes.Vars[v], 1))
	}
	if space > 5000 {
		return nil, nil, errInexact
	}
	want, err := p.Expect(context.Background())
	if err != nil {
		return nil, nil, err
	}
	if want.Err != nil || want.Overflow || want.MayDivide {
		return nil, nil, errInexact
	}
	for _, pt := range want.Points {
		if !pt.Exact || pt.Value.I > 1<<20 || pt.Value.I < -1<<20 || !(cmplx.Abs(pt.Value.C) < 1<<20) ||
			real(pt.Value.C) != math.Trunc(real(pt.Value.C)) {
			return nil, nil, errInexact
		}
	}
	return p, want, nil
}

// take applies a step to the world. It returns an error if the step is not possible.
func (w *world) take(s *progStep) error {
	s.want, s.left = nil, ""
	if s.code > 0 {
		return w.fail(s)
	}
	switch s.op {
	case "set":
		w.forget(s.tensor.Name)
		w.tensors[s.tensor.Name] = s.tensor
		w.direct[s.tensor.Name] = !s.plain && len(s.tensor.Dims) > 0
	case "declare":
		w.forget(s.tensor.Name)
		w.tensors[s.tensor.Name] = s.tensor
		w.sized[s.tensor.Name] = true
	case "drop":
		if w.tensors[s.name] == nil {
			return fmt.Errorf("no tensor %s", s.name)
		}
		w.forget(s.name)
	case "place":
		if t := w.tensors[s.name]; !w.moved[s.name] || !t.Input || s.mode >= len(t.Dims) {
			return fmt.Errorf("%s cannot be placed", s.name)
		}
	case "negate":
		if !w.direct[s.name] {
			return fmt.Errorf("%s is not the caller's", s.name)
		}
		t := *w.tensors[s.name]
		w.forget(s.name)
		w.direct[s.name] = true
		t.Entries = slices.Clone(t.Entries)
		for k := range t.Entries {
			t.Entries[k].Value = negated(t.Entries[k].Value)
		}
		w.tensors[s.name] = &t
	case "close":
		if w.prepared[s.id] == nil {
			return fmt.Errorf("nothing was prepared as %d", s.id)
		}
		delete(w.prepared, s.id)
	case "prepare":
		c, err := w.caseOf(s.stmt)
		if err == nil {
			_, err = c.Prepare()
		}
		if err != nil {
			return err
		}
		w.prepared[s.id] = s
		w.touch(s.stmt)
	case "do", "run":
		text := s.stmt
		if s.op == "run" {
			if w.prepared[s.id] == nil {
				return fmt.Errorf("nothing was prepared as %d", s.id)
			}
			text = w.prepared[s.id].stmt
		}
		p, want, err := w.assign(text)
		if err != nil {
			return err
		}
		s.want, s.left = want, p.Parsed.LHS.Name
		w.touch(text)
		t := &Tensor{Name: s.left, Format: want.Format, Type: want.Type, Dims: want.Dims, Input: true}
		for k, coord := range want.Coords {
			t.Entries = append(t.Entries, Entry{coord, want.Points[k].Value})
		}
		if len(t.Dims) == 0 && len(t.Entries) == 0 {
			t.Entries = []Entry{{Coord: []int64{}}}
		}
		w.tensors[s.left] = t
		w.moved[s.left] = true
		delete(w.direct, s.left)
		delete(w.broken, s.left)
	}
	return nil
}

func negated(v tensor.Value) tensor.Value { return tensor.Value{I: -v.I, C: 0 - v.C} }

func (w *world) forget(name string) {
	delete(w.tensors, name)
	delete(w.sized, name)
	delete(w.moved, name)
	delete(w.direct, name)
	delete(w.broken, name)
}

// touch records that the tensors of a statement are distributed over ranks.
func (w *world) touch(text string) {
	s, err := notation.Parse(text)
	if err != nil {
		panic("BUG: oracle: " + err.Error())
	}
	for _, a := range s.Accesses() {
		if t := w.tensors[a.Name]; t != nil && t.Input {
			w.moved[a.Name] = true
		}
	}
}

// follow computes the expected result of each step. It returns an error if the steps are not a
// valid program.
func (c *programCase) follow() error {
	w := newWorld()
	for _, s := range c.steps {
		if err := w.take(s); err != nil {
			return fmt.Errorf("%v: %w", s, err)
		}
		s.state = map[string]*Tensor{}
		for _, name := range w.valued() {
			s.state[name] = w.tensors[name]
		}
	}
	return nil
}

// programGen generates programs.
type programGen struct {
	*generator
	w     *world
	c     *programCase
	sizes []int64
	types func() tensor.Type
	vars  []string // of the statement, with
	size  map[string]int64
}

// programNames contains the names of tensors, by the number of modes.
var programNames = [][]string{{"a", "b"}, {"X", "Y", "Z"}, {"A", "B", "C"}, {"T"}}

// randomProgram generates a program of 2 to 8 statements. Some of them run many times.
func randomProgram(seed, k uint64) *programCase {
	r := Rand(seed, k)
	g := &programGen{generator: &generator{rand: r, o: Options{Exact: true}.withDefaults()},
		w: newWorld()}
	g.c = &programCase{ranks: 1 + g.pick(40, 25, 20, 15), fresh: g.chance(0.1), compile: g.chance(0.1)}
	g.types = g.generator.types()
	g.sizes = []int64{int64(2 + g.rand.IntN(5)), int64(g.rand.IntN(8))}
	if g.chance(0.5) {
		g.sizes = g.sizes[:1]
	}
	for _, names := range programNames {
		for _, name := range names {
			if g.chance(0.75) {
				g.add(g.input(name))
			}
		}
	}
	texts := []string{}
	most := 2 + g.rand.IntN(7)
	for runs, tries := 0, 0; runs < most*3 && tries < 400; tries++ {
		switch {
		case len(texts) < most && (len(texts) < 2 || g.chance(0.3)):
			text, ok := g.statement()
			if !ok {
				continue
			}
			if g.chance(0.25) {
				s := &progStep{op: "prepare", stmt: text, id: len(g.c.steps), splits: g.splits(text)}
				if g.add(s) && g.add(&progStep{op: "run", id: s.id}) {
					texts = append(texts, text)
					runs++
				}
			} else if g.add(&progStep{op: "do", stmt: text}) {
				texts = append(texts, text)
				runs++
			}
		case g.chance(0.12):
			g.add(g.input(g.name()))
		case g.chance(0.05):
			g.add(g.declared(g.name()))
		case g.chance(0.10):
			name := g.name()
			if t := g.w.tensors[name]; t != nil {
				g.add(&progStep{op: "place", name: name, mode: g.rand.IntN(len(t.Dims)+1) - 1})
			}
		case g.chance(0.05):
			g.add(&progStep{op: "negate", name: g.name()})
		case g.chance(0.02):
			g.add(&progStep{op: "drop", name: g.name()})
		case len(g.w.prepared) > 0 && g.chance(0.4):
			var ids []int
			for id := range g.w.prepared {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			id := ids[g.rand.IntN(len(ids))]
			if g.chance(0.05) {
				g.add(&progStep{op: "close", id: id})
			} else if g.add(&progStep{op: "run", id: id}) {
				runs++
			}
		case len(texts) > 0:
			text := texts[g.rand.IntN(len(texts))]
			for range 1 + g.pick(60, 20, 10, 10) {
				if g.add(&progStep{op: "do", stmt: text}) {
					runs++
				}
			}
		}
	}
	return g.c
}

// add appends a step to the program if the step is possible, and reports whether it is.
func (g *programGen) add(s *progStep) bool {
	if g.w.take(s) != nil {
		return false
	}
	g.c.steps = append(g.c.steps, s)
	return true
}

func (g *programGen) name() string {
	names := programNames[g.pick(20, 35, 35, 10)]
	return names[g.rand.IntN(len(names))]
}

// drawn returns a tensor with a drawn type, format and sizes, and without entries.
func (g *programGen) drawn(name string, result bool) *Tensor {
	order := 0
	for n, names := range programNames {
		if slices.Contains(names, name) {
			order = n
		}
	}
	t := &Tensor{Name: name, Dims: []int64{}, Type: g.types()}
	for range order {
		t.Dims = append(t.Dims, g.sizes[g.rand.IntN(len(g.sizes))])
	}
	switch {
	case result && g.chance(0.4):
		t.Format = g.generator.format(order, "d", true)
	case result:
		t.Format = g.generator.format(order, "dddsssuqc", true)
	default:
		t.Format = g.generator.format(order, g.o.Kinds, false)
	}
	if order > 0 && g.chance(0.1) { // another size
		t.Dims[g.rand.IntN(order)] = int64(1 + g.rand.IntN(7))
	}
	return t
}

func (g *programGen) input(name string) *progStep {
	t := g.drawn(name, g.chance(0.7))
	t.Input = true
	if is := g.w.tensors[name]; is != nil && g.chance(0.6) { // only values and pattern change
		t.Format, t.Type, t.Dims = is.Format, is.Type, is.Dims
		if t.Type == tensor.None {
			t.Type = tensor.Float64
		}
	}
	g.entries(t, style{})
	return &progStep{op: "set", tensor: t, wide: g.chance(0.2),
		plain: len(t.Dims) > 0 && g.chance(0.2)}
}

func (g *programGen) declared(name string) *progStep {
	return &progStep{op: "declare", tensor: g.drawn(name, true)}
}

// access returns an access to a tensor, with variables of the right sizes.
func (g *programGen) access(name string, distinct bool) *notation.Access {
	a := &notation.Access{Name: name}
	for _, n := range g.w.tensors[name].Dims {
		var fit []string
		for _, v := range g.vars {
			if g.size[v] == n && !(slices.Contains(a.Vars, v) && (distinct || g.chance(0.9))) {
				fit = append(fit, v)
			}
		}
		if len(fit) == 0 || len(g.vars) < 4 && g.chance(0.25) {
			v := string(rune('i' + len(g.vars)))
			g.vars = append(g.vars, v)
			g.size[v] = n
			fit = []string{v}
		}
		a.Vars = append(a.Vars, fit[g.rand.IntN(len(fit))])
	}
	return a
}

// tree draws an expression of n operands. If first is not nil, it is the first operand.
func (g *programGen) tree(n int, first *notation.Access) notation.Expr {
	if n > 1 {
		op := "*+-"[g.pick(50, 30, 20)]
		x := g.tree(n-1, first)
		y := g.tree(1, nil)
		if g.chance(0.3) {
			x, y = y, x
		}
		var e notation.Expr = &notation.Binary{Op: op, X: x, Y: y}
		if free := notation.FreeVars(e); len(free) > 0 && g.chance(0.06) {
			e = &notation.Sum{Vars: free[:1], X: e}
		}
		return e
	}
	if first != nil {
		return first
	}
	if g.chance(0.12) {
		s, err := notation.Parse("A = " + []string{"0", "1", "2", "3"}[g.rand.IntN(4)])
		if err != nil {
			panic("BUG: oracle: " + err.Error())
		}
		return s.RHS
	}
	list := g.w.valued()
	return g.access(list[g.rand.IntN(len(list))], false)
}

// statement draws a statement with the tensors of the world.
func (g *programGen) statement() (string, bool) {
	list := g.w.valued()
	if len(list) == 0 {
		return "", false
	}
	g.vars, g.size = nil, map[string]int64{}
	s := &notation.Stmt{LHS: &notation.Access{}}
	if g.chance(0.4) { // reads the old value of the result
		name := list[g.rand.IntN(len(list))]
		s.LHS = g.access(name, true)
		first := &notation.Access{Name: name, Vars: slices.Clone(s.LHS.Vars)}
		switch g.pick(40, 30, 30) {
		case 0:
			s.Accumulate = true
			if first = nil; g.chance(0.2) {
				first = g.access(name, false)
			}
		case 1: // transposed, if its sizes allow it
			first = g.access(name, false)
		}
		s.RHS = g.tree(1+g.pick(30, 40, 30), first)
	} else {
		s.RHS = g.tree(1+g.pick(25, 45, 30), nil)
		free := notation.FreeVars(s.RHS)
		g.rand.Shuffle(len(free), func(a, b int) { free[a], free[b] = free[b], free[a] })
		order := min(g.rand.IntN(4), len(free), 3)
		names := programNames[order]
		s.LHS.Name, s.LHS.Vars = names[g.rand.IntN(len(names))], free[:order]
		s.Accumulate = g.chance(0.1)
	}
	return s.String(), true
}

// splits draws the splits of a prepared statement. Mostly there are none.
func (g *programGen) splits(text string) []string {
	c, err := g.w.caseOf(text)
	if err != nil || g.chance(0.6) {
		return nil
	}
	p, err := c.Prepare()
	if err != nil {
		return nil
	}
	var list []string
	for _, v := range p.Normal.Vars {
		name := v
		if s, ok := p.Normal.Source[v]; ok {
			name = s
		}
		if isSplittable(p, name) && g.chance(0.5) &&
			!slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, name+":") }) {
			list = append(list, fmt.Sprint(name, ":", 1+g.rand.IntN(4)))
		}
	}
	return list
}
