package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/provenance"
	"distaff/io/tensor"
	"distaff/kernels/lint"
)

// externs draws a random schedule and replaces some innermost loops of the result by a C function.
// The function iterates over all points of the loops' ranges. At each point it finds the value of
// each operand by a search of all entries that the operand's levels store. The test first gives the
// compiler a function without parameters. The compiler's error lists the required parameters.
type externs struct {
	drawn, taken, refused, sparse, several, workspaces *atomic.Int64
}

func newExterns() externs {
	return externs{new(atomic.Int64), new(atomic.Int64), new(atomic.Int64), new(atomic.Int64),
		new(atomic.Int64), new(atomic.Int64)}
}

// wanted matches the required parameters in the compiler's error.
var wanted = regexp.MustCompile(`, want the prototype void brute[0-9]+\((.*)\)$`)

func (x externs) scheduled(p *Prepared, r *codegen.Request) error {
	rng := source(p)
	text := ""
	r.Ask.Extern = func(file, name string) (*ir.Extern, error) { return lint.Function(file, text, name) }
	d := drawer{}
	var err error
	stmt := func(list []string) (cin.Stmt, error) {
		q := *r
		q.Ask.Schedule = list
		u, err := codegen.Compile(q)
		if err != nil {
			return nil, err
		}
		return u.CIN, nil
	}
	r.Ask.Schedule = []string{"assemble(" + p.Case.Tensors[0].Name + ",Append)"}
	if rng.IntN(2) == 0 {
		if r.Ask.Schedule, err = d.draw(rng, p, stmt); err != nil {
			return err
		}
	}
	s, err := stmt(r.Ask.Schedule)
	if err != nil {
		return err
	}
	for range 8 {
		b := drawNest(rng, p, r, s, fmt.Sprint("brute", x.drawn.Add(1)))
		if b == nil {
			return nil
		}
		text = "void " + b.name + "(void) {}"
		list := append(slices.Clone(r.Ask.Schedule), b.command)
		_, err := stmt(list)
		var refusal *diag.Error
		if !errors.As(err, &refusal) || !isRefusal(err) {
			return fmt.Errorf("%s: got %v, want a refusal", b.command, err)
		}
		found := wanted.FindStringSubmatch(refusal.Msg)
		if found == nil {
			x.refused.Add(1)
			continue
		}
		text = b.function(found[1])
		if _, err := stmt(list); isRefusal(err) && errors.As(err, &refusal) &&
			!wanted.MatchString(refusal.Msg) {
			x.refused.Add(1) // the code around the loops permits no function
			continue
		} else if err != nil {
			return fmt.Errorf("%s with %s: %w", b.command, text, err)
		}
		r.Ask.Schedule = list
		x.count(b, found[1])
		return nil
	}
	return nil
}

func (x externs) count(b *loopNest, params string) {
	x.taken.Add(1)
	if strings.Contains(params, "_pos") {
		x.sparse.Add(1)
	}
	if len(b.vars) > 1 {
		x.several.Add(1)
	}
	if b.assign.LHS.Name != b.result {
		x.workspaces.Add(1)
	}
}

// loopNest is a C function for the innermost loops around an assignment.
type loopNest struct {
	name, command string
	vars          []string // the variables of the loops, with the names in the statement's accesses
	assign        *cin.Assign
	result        string
	formats       map[string]tensor.Format
	compute       tensor.Type

	params []string // that are left to read, as "TYPE NAME"
	out    strings.Builder
}

// drawNest draws the loops that a function replaces. It returns nil if the statement has no loops.
func drawNest(rng *rand.Rand, p *Prepared, r *codegen.Request, s cin.Stmt, name string) *loopNest {
	g := cin.Relations(s)
	type nest struct {
		vars   []string
		assign *cin.Assign
	}
	var nests []nest
	cin.Paths(cin.Body(s), func(loops []*cin.Forall, a *cin.Assign) {
		n := nest{assign: a}
		for k := len(loops) - 1; k >= 0 &&
			(k == len(loops)-1 || loops[k].Body == cin.Stmt(loops[k+1])); k-- {
			if len(n.vars) == 0 && loops[k].Body != cin.Stmt(a) {
				break
			}
			n.vars = append(n.vars, loops[k].Var)
		}
		if len(n.vars) > 0 {
			nests = append(nests, n)
		}
	})
	if len(nests) == 0 {
		return nil
	}
	n := nests[rng.IntN(len(nests))]
	names := slices.Clone(n.vars[:1+rng.IntN(len(n.vars))])
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	b := &loopNest{name: name, assign: n.assign, result: cin.Target(s).Name,
		formats: map[string]tensor.Format{}}
	for _, t := range p.Case.Tensors {
		b.formats[t.Name] = t.Format
	}
	if u, err := codegen.Compile(*r); err == nil {
		b.compute = u.Compute
		b.formats[b.result] = u.Result.Format
		for _, a := range u.Args[1:] {
			b.formats[a.Name] = a.Format
		}
	}
	for _, v := range names {
		b.vars = append(b.vars, root(g, v))
	}
	b.command = "substitute({" + strings.Join(names, ",") + "},\"brute.c:" + name + "\")"
	return b
}

// root returns the variable of the accesses over which the loop v iterates.
func root(g *provenance.Graph, v string) string { return g.Underived(g.ConsumerVar(v))[0] }

// next returns and removes the next parameter in b.params.
func (b *loopNest) next() (typ, name string) {
	k := strings.LastIndexAny(b.params[0], " *") + 1
	typ, name = strings.TrimSpace(b.params[0][:k]), b.params[0][k:]
	b.params = b.params[1:]
	return typ, name
}

// strides removes the parameters for the strides of an array, and returns the array's index at the
// loops' coordinates. If below is true, the index is below position p of the level above.
func (b *loopNest) strides(array string, below bool) string {
	index := "0"
	scaled := false
	for len(b.params) > 0 && strings.HasPrefix(b.params[0], "int64_t "+array+"_") {
		_, name := b.next()
		v := strings.TrimPrefix(name, array+"_")
		if v == "p" && below && !scaled {
			v, scaled = "_p", true
		}
		index += " + " + name + " * " + v
	}
	if below && !scaled {
		index += " + _p"
	}
	return index
}

// function returns the text of the function with the required parameters. Its local variables begin
// with an underscore. Parameters never do, because no index variable and no tensor does.
func (b *loopNest) function(params string) string {
	b.params = strings.Split(params, ", ")
	b.out.Reset()
	fmt.Fprintf(&b.out, "#include <stdint.h>\n#include <complex.h>\n"+
		"#pragma GCC diagnostic ignored \"-Wtautological-compare\"\nstatic void %s(%s) {\n", b.name,
		params)
	for _, v := range b.vars {
		_, lo := b.next()
		_, hi := b.next()
		fmt.Fprintf(&b.out, "for (int64_t %[1]s = %[2]s; %[1]s < %[3]s; %[1]s++)\n", v, lo, hi)
	}
	b.out.WriteString("{\n")
	_, target := b.next()
	at := b.strides(target, false)
	have := map[string]string{}
	cin.ExprAccesses(b.assign.RHS, func(a *cin.Access) {
		if _, ok := have[a.Key()]; !ok {
			have[a.Key()] = fmt.Sprintf("_v%d", len(have))
			b.lookUp(a, have[a.Key()])
		}
	})
	has, value := b.expr(b.assign.RHS, have)
	fmt.Fprintf(&b.out, "if (%s) %s[%s] += %s;\n}\n}\n", has, target, at, value)
	return b.out.String()
}

// lookUp writes code that searches for the entry of an access at the loops' coordinates, and sets
// the variable value.
func (b *loopNest) lookUp(a *cin.Access, value string) {
	t := ir.CType(b.compute)
	fmt.Fprintf(&b.out, "%[1]s %[2]s = 0; int _has%[2]s = 0;\n", t, value)
	f, ok := b.formats[a.Name]
	if !ok { // the access reads a workspace
		f = tensor.DenseOf(len(a.Vars))
	}
	first := slices.IndexFunc(f.Order,
		func(mode int) bool { return slices.Contains(b.vars, a.Vars[mode]) })
	if first < 0 {
		_, name := b.next()
		fmt.Fprintf(&b.out, "%[1]s = %[2]s; _has%[1]s = 1;\n", value, name)
		return
	}
	closing := ""
	below := false
	for l := first; l < len(f.Order); l++ {
		if f.Levels[l] != tensor.Compressed {
			continue
		}
		_, pos := b.next()
		at := b.strides(pos, below)
		_, crd := b.next()
		fmt.Fprintf(&b.out,
			"{ const int64_t _at = %[1]s;\nfor (int64_t _p = %[2]s[_at]; _p < %[2]s[_at + 1]; _p++) if (%[3]s[_p] == %[4]s) {\n", at, pos, crd, a.Vars[f.Order[l]])
		closing += "} }"
		below = true
	}
	_, vals := b.next()
	fmt.Fprintf(&b.out, "%[1]s = %[2]s[%[3]s]; _has%[1]s = 1;\n%[4]s\n", value, vals,
		b.strides(vals, below), closing)
}

// expr returns C expressions for whether an expression is present, and for its value if it is.
func (b *loopNest) expr(x cin.Expr, have map[string]string) (has, value string) {
	switch x := x.(type) {
	case *cin.Access:
		return "_has" + have[x.Key()], have[x.Key()]
	case *cin.Lit:
		if c := x.Value.C; x.Value.Typ.IsComplex() {
			return "1", fmt.Sprintf("(%s)(%v + %v*I)", ir.CType(b.compute), real(c), imag(c))
		} else if !x.Value.Typ.HoldsInts() {
			return "1", fmt.Sprintf("(%s)(%v)", ir.CType(b.compute), real(c))
		}
		return "1", fmt.Sprintf("(%s)(%d)", ir.CType(b.compute), x.Value.I)
	case *cin.Neg:
		has, value = b.expr(x.X, have)
		return has, "-(" + value + ")"
	case *cin.Binary:
		h, v := b.expr(x.X, have)
		k, w := b.expr(x.Y, have)
		value = fmt.Sprintf("(%s %c %s)", v, x.Op, w)
		switch x.Op {
		case '*':
			return "(" + h + " && " + k + ")", fmt.Sprintf("(%s && %s ? %s : 0)", h, k, value)
		case '/':
			return h, value
		}
		return "(" + h + " || " + k + ")",
			fmt.Sprintf("((%s ? %s : 0) %c (%s ? %s : 0))", h, v, x.Op, k, w)
	}
	call, ok := x.(*cin.Call)
	if !ok {
		panic(fmt.Sprintf("no expression: %T", x))
	}
	has, t := "0", ir.CType(b.compute)
	vars := ""
	for k, y := range call.Args {
		h, v := b.expr(y, have)
		has = "(" + has + " || " + h + ")"
		vars += fmt.Sprintf("%s %c = %s ? %s : 0; ", t, 'x'+k, h, v)
	}
	if !call.Func.KeepsZero {
		has = "1"
	}
	value = call.Func.C
	switch {
	case value == "" && b.compute.HoldsInts():
		value = "x" // floor and the like
		if call.Func.Name == "abs" {
			value = "x < 0 ? -x : x"
		}
	case value == "":
		value = "__builtin_" + call.Func.Library + map[bool]string{true: "f"}[b.compute == tensor.Float32] +
			map[int]string{1: "(x)", 2: "(x, y)"}[call.Func.Args]
	}
	return has, "({ " + vars + value + "; })"
}

// externLines contains statements for which the compiler accepts most functions.
var externLines = []string{
	"y(i) = A(i,j)*x(j); y:d A:ds/ss/dd/sd/ds:1,0 x:d/s",
	"y(i) = A(i,j)*x(j) + z(i); y:d A:ds/dd x:d z:d/s",
	"a = x(i)*y(i); x:d/s y:d",
	"C(i,k) = A(i,j)*B(j,k); C:dd/dd:1,0 A:ds/dd/ds:1,0 B:dd/ds",
	"A(i,j) = B(i,k,j)*C(k); A:dd B:dsd/sdd/dds/ddd:1,2,0 C:d",
	"A(i,l) = B(i,j,k)*C(j,l)*D(k,l); A:dd B:sss/dss/ddd C:dd D:dd",
	"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:ds B:ds C:dd D:dd",
	"y(i) = A(i,i)*x(i); y:d A:dd x:d",
}

// TestOracleExterns checks that the results are right if C functions replace random loops of random
// schedules, on several threads.
func TestOracleExterns(t *testing.T) {
	t.Parallel()
	c, err := NewC(os.Getenv, "-O1", "-Wno-unused-parameter", "-Wno-unused-variable",
		"-Wno-unused-but-set-variable")
	if err != nil {
		t.Skip(err)
	}
	x := newExterns()
	sweep(t, externC{c, x}, Options{Exact: true, Kinds: "ds"}, 60)
	n := uint64(5)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(externLines)), 1)
	}
	var cases []*Case
	for m, line := range externLines {
		for k := *firstFlag; k < *firstFlag+n; k++ {
			p, err := kernelCaseOf(line, Rand(*seedFlag+uint64(m)<<32, k), tensor.Float64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			cases = append(cases, p.Case)
		}
	}
	for k, err := range checkAll(t, externC{c, x}, cases) {
		if err != nil {
			t.Errorf("%v\n%s", err, cases[k].Text())
		}
	}
	t.Logf(
		"%d functions taken, of which %d get compressed levels, %d run several loops and %d fill workspaces; %d refused", x.taken.Load(), x.sparse.Load(), x.several.Load(), x.workspaces.Load(), x.refused.Load())
	if *nFlag == 0 && (x.sparse.Load() == 0 || x.several.Load() == 0) {
		t.Error("some kind of function was never taken")
	}
}

// externC is an engine that compiles cases with C functions for some loops.
type externC struct {
	*C
	externs
}

func (e externC) Name() string { return "functions in " + e.C.Name() }

func (e externC) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.batch(ctx, []*Prepared{p})[0](ctx)
}

func (e externC) batch(ctx context.Context, cases []*Prepared) []func(context.Context) (*Output,
	error) {
	return e.C.scheduledBatch(ctx, cases, e.scheduled)
}

// TestOracleExternsSanitized does what TestOracleExterns does, under sanitizers.
func TestOracleExternsSanitized(t *testing.T) {
	t.Parallel()
	e := newSanitized(t)
	x := newExterns()
	e.schedules = x
	var cases []*Case
	for m, line := range externLines {
		p, err := kernelCaseOf(line, Rand(*seedFlag+uint64(m)<<32, *firstFlag), tensor.Float64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, p.Case)
	}
	for k, err := range checkAll(t, e, cases) {
		if err != nil {
			t.Errorf("%v\n%s", err, cases[k].Text())
		}
	}
	if x.taken.Load() < 4 {
		t.Errorf("%d functions taken, want 4 at least", x.taken.Load())
	}
}
