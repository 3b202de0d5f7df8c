package c

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// cfunc is a C function that is being printed.
type cfunc struct {
	leaf *leaf
	*clike.Function
	lens         map[*ir.Array]string // arrays made here: the variable that holds the length
	tables       map[*ir.Table]string // names of tables
	tlens        map[*ir.Table]string // tables made here: the variable that holds the length
	fault        string               // the struct with fail_coord: "env", or "fault" in a piece
	piece        bool                 // it runs a piece of a parallel loop; parallel loops in it are serial
	inVectorLoop bool                 // the current statement is in a vector loop
	inScalarLoop bool                 // the innermost loop runs one iteration at a time and is not vectorized
	fails        bool
	split        map[*ir.Var][2]string // complex sums of a vector loop: variables of their parts
	owns         bool                  // the function must release something at its end
	storeLines   bool                  // the function has stores that bypass the caches
	numbers      numbers               // numbers that the function loads from the environment
	// orderedOf is the parallel loop that this function runs a piece of, if its iterations have an
	// ordered section. Otherwise it is nil. changing holds the arrays that earlier iterations
	// change in that section.
	orderedOf *ir.For
	changing  map[*ir.Array]bool
	outermost bool               // the current statement is in no loop
	shares    map[*ir.For]*share // loops that run in strips, to report progress
	toldVar   string             // variable with the reported part of the chunk, or ""
}

func (l *leaf) newFunc() *cfunc {
	f := &cfunc{
		leaf: l, Function: clike.NewFunction(l.file.names), fault: "env",
		numbers: numbers{all: l.values}, lens: map[*ir.Array]string{},
		tables: map[*ir.Table]string{}, tlens: map[*ir.Table]string{},
	}
	for _, own := range []string{"t", "bounds", "env", "rc", "fault", "shared", "ordered", "done",
		"none"} {
		f.Names.Take(own)
	}
	for n := range l.values {
		f.Names.Take(valueName(n))
	}
	return f
}

// nameAll gives names to all variables, arrays and tables in u, before any temporary gets a name.
func (f *cfunc) nameAll(u *usage) {
	for _, a := range u.arrays {
		f.Array(a)
	}
	for _, t := range u.tables {
		f.table(t)
	}
	for _, v := range u.vars {
		f.Variable(v)
	}
}

// pragma prints a pragma without indentation.
func (f *cfunc) pragma(format string, args ...any) {
	f.Margin("#pragma "+format, args...)
}

func (f *cfunc) table(t *ir.Table) string {
	if _, ok := f.tables[t]; !ok {
		f.tables[t] = f.Names.User(t.Name)
	}
	return f.tables[t]
}

// arrayParam returns the declaration of the parameter for a.
func (f *cfunc) arrayParam(a *ir.Array) string {
	if a.Const {
		return "const " + ctype(a.Elem) + " *restrict " + f.Array(a)
	}
	if f.changing[a] { // other threads change it while the function runs
		return ctype(a.Elem) + " *" + f.Array(a)
	}
	return ctype(a.Elem) + " *restrict " + f.Array(a)
}

// declareOwned prints the declarations of the arrays and tables that the function makes, at its
// top, so that the code at the function's end can release them.
func (f *cfunc) declareOwned(u *usage, made []*ir.Array, tables []*ir.Table) {
	f.fails = u.fails
	for _, a := range made {
		name := f.Array(a)
		f.lens[a] = f.Names.Fresh(name + "_len")
		f.Line("%s *%s = 0;", ctype(a.Elem), name)
		f.Line("int64_t %s = 0;", f.lens[a])
		f.owns = true
	}
	for _, t := range tables {
		name := f.table(t)
		f.tlens[t] = f.Names.Fresh(name + "_len")
		f.Line("dst_array *%s = 0;", name)
		f.Line("int64_t %s = 0;", f.tlens[t])
		f.owns = true
	}
	if f.fails && f.owns {
		f.Line("int rc = 0;")
	}
}

// fail prints the exit from the function with a failure code, which is a C expression.
func (f *cfunc) fail(code string) {
	if f.owns {
		f.Line("rc = %s;", code)
		f.Line("goto done;")
		return
	}
	f.Line("return %s;", code)
}

// release prints the release of everything that the function still owns at its end.
func (f *cfunc) release(made []*ir.Array, tables []*ir.Table) {
	if f.fails && f.owns {
		f.Depth--
		f.Line("done:")
		f.Depth++
	}
	for _, a := range made {
		f.releaseArray(a)
	}
	for _, t := range tables {
		f.leaf.file.need("free_table")
		f.Line("dst_free_table(env, %s, %s, sizeof(%s));", f.table(t), f.tlens[t], ctype(t.Elem))
	}
}

func (f *cfunc) releaseArray(a *ir.Array) {
	f.leaf.file.need("release")
	f.Line("dst_release(env, %s, %s, sizeof(%s));", f.Array(a), f.lens[a], ctype(a.Elem))
}

// main returns the text of the extern function. If bodyName is not "", the leaf's body becomes a
// separate function with that name, which precedes the extern function. The functions of parallel
// loops are printed on the way.
func (l *leaf) main(bodyName string) string {
	u := l.usage(l.fn.Body)
	inner := l.newFunc()
	inner.outermost, inner.shares = true, l.shares(l.fn.Body, false)
	u.env = u.env || len(inner.shares) > 0
	inner.nameAll(u)
	made, tables := outerMade(l.fn.Body)
	inner.declareOwned(u, made, tables)
	inner.declareLate()
	inner.stmts(l.fn.Body.List)
	inner.endLines()
	inner.finish(made, tables, bodyName == "")

	entry := inner
	if bodyName != "" {
		entry = l.newFunc()
		entry.nameAll(u)
	}
	unpacked := entry.unpack(u)
	var b strings.Builder
	quick := ""
	if l.quick {
		quick = "DST_QUICK "
	}
	signature := fmt.Sprintf("%sint %s(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {\n",
		quick, l.symbol)
	if bodyName == "" {
		b.WriteString("\n" + signature + unpacked + inner.numbers.lines() + inner.Text() + "}\n")
		return b.String()
	}
	params, args := l.bodyParams(inner, entry, u)
	result := "void"
	if u.fails {
		result = "int"
	}
	fmt.Fprintf(&b, "\n%s%s {\n%s}\n", quick, prototype(result, bodyName, params),
		inner.numbers.lines()+inner.Text())
	call := fmt.Sprintf("%s(%s);\n", bodyName, strings.Join(args, ", "))
	if u.fails {
		call = "    return " + call
	} else {
		call = "    " + call + "    return 0;\n"
	}
	b.WriteString("\n" + signature + unpacked + call + "}\n")
	return b.String()
}

// prototype returns the first lines of a static function, up to the parenthesis that ends the
// parameters. It breaks lines at about 110 characters.
func prototype(result, name string, params []string) string {
	s := "static " + result + " " + name + "("
	width := len(s)
	for i, p := range params {
		switch {
		case i == 0:
		case width+len(p) > 110:
			s += ",\n        "
			width = 8
		default:
			s += ", "
		}
		s += p
		width += len(p) + 2
	}
	return s + ")"
}

// finish prints the end of the function that holds the leaf's body. If main is true, this is the
// extern function, which returns 0 even if it cannot fail.
func (f *cfunc) finish(made []*ir.Array, tables []*ir.Table, main bool) {
	f.release(made, tables)
	f.publishLate()
	switch {
	case f.fails && f.owns:
		f.Line("return rc;")
	case f.fails || main:
		f.Line("return 0;")
	}
}

// outerMade lists the arrays and tables that the leaf makes outside of its parallel loops.
func outerMade(b *ir.Block) (made []*ir.Array, tables []*ir.Table) {
	seen := map[any]bool{}
	outer(b, func(s ir.Stmt) {
		r := ir.RowOf(s)
		for a, role := range r.Arrays() {
			if role == ir.Makes && !seen[a] {
				seen[a] = true
				made = append(made, a)
			}
		}
		for t, role := range r.Tables() {
			if role == ir.Makes && !seen[t] {
				seen[t] = true
				tables = append(tables, t)
			}
		}
	})
	return made, tables
}

// unpack returns the declarations of the locals that hold the leaf's arguments. Arguments that are
// not used have none.
func (f *cfunc) unpack(u *usage) string {
	g := &cfunc{leaf: f.leaf, Function: f.WithSharedNames()}
	usesT, usesBounds := u.publishes, false
	for _, q := range f.leaf.fn.Params {
		switch {
		case q.A != nil && u.seen[q.A]:
			g.leaf.file.need("base")
			constant := ""
			if q.A.Const {
				constant = "const "
			}
			base := fmt.Sprintf("dst_base(&%s, ", slotExpr(q.Slot))
			if q.Slot.Field == ir.Rows {
				g.leaf.file.need("rows")
				base = fmt.Sprintf("dst_rows(%s, ", rowsExpr(q.Slot))
			}
			g.Line("%s%s *const %s = %ssizeof(%s));", constant, ctype(q.A.Elem), g.Array(q.A), base,
				ctype(q.A.Elem))
			usesT = true
		case q.V != nil && u.seen[q.V]:
			g.Line("const int64_t %s = %s;", g.Variable(q.V), slotExpr(q.Slot))
			usesT = true
		}
	}
	for k, b := range f.leaf.fn.Bounds {
		for side, v := range b {
			if v != nil && u.seen[v] {
				g.Line("const int64_t %s = bounds[%d][%d];", g.Variable(v), k, side)
				usesBounds = true
			}
		}
	}
	usesEnv := u.env
	if v := f.leaf.fn.Threads; v != nil && u.seen[v] {
		g.Line("const int64_t %s = env->threads > 1 ? env->threads : 1;", g.Variable(v))
		usesEnv = true
	}
	if u.fails {
		g.Line("env->fail_ncoord = 0;")
		usesEnv = true
	}
	ownEnv := ""
	if usesEnv {
		ownEnv = nullEnv
	}
	unused := ""
	for _, p := range []struct {
		name string
		used bool
	}{{"t", usesT}, {"bounds", usesBounds}, {"env", usesEnv}} {
		if !p.used {
			unused += "    (void)" + p.name + ";\n"
		}
	}
	return unused + ownEnv + g.Text()
}

// nullEnv is C code that replaces a null environment by an environment of zeros.
const nullEnv = `    dst_env none = {0};
    env = env ? env : &none;
`

// bodyParams returns the parameters of the function for the leaf's body, and the arguments that the
// extern function passes. inner is the function for the body, and entry the extern function.
func (l *leaf) bodyParams(inner, entry *cfunc, u *usage) (params, args []string) {
	for _, q := range l.fn.Params {
		if q.A != nil && u.seen[q.A] {
			params = append(params, inner.arrayParam(q.A))
			args = append(args, entry.Array(q.A))
		}
	}
	heads := []*ir.Var{}
	for _, q := range l.fn.Params {
		heads = append(heads, q.V)
	}
	for _, b := range l.fn.Bounds {
		heads = append(heads, b[0], b[1])
	}
	for _, v := range append(heads, l.fn.Threads) {
		if v != nil && u.seen[v] {
			params = append(params, "int64_t "+inner.Variable(v))
			args = append(args, entry.Variable(v))
		}
	}
	if u.publishes {
		params = append(params, "dst_tensor **t")
		args = append(args, "t")
	}
	if u.env || u.fails {
		params = append(params, "dst_env *env")
		args = append(args, "env")
	}
	if len(params) == 0 {
		params = []string{"void"}
	}
	return params, args
}
