package c

import (
	"fmt"
	"strings"

	"distaff/codegen/emit/clike"
	"distaff/codegen/ir"
)

// cfunc is one C function as it is printed.
type cfunc struct {
	leaf *leaf
	*clike.Function
	lens   map[*ir.Array]string // of arrays made here: the variable with the length
	tables map[*ir.Table]string
	tlens  map[*ir.Table]string
	fault  string // what has fail_coord: env, or fault in a piece of a parallel loop
	piece  bool   // parallel loops in it are serial
	lanes  bool   // what is printed is in a loop of lanes
	single bool   // the innermost loop runs one iteration at a time: no vectors of them
	fails  bool
	split  map[*ir.Var][2]string // sums of a vector loop that run on two scalars
	owns   bool                  // there is something to release at the end
	lines  bool                  // it stores lines past the caches
	reads  []bool                // which of the leaf's values it uses; nil for none
	// orderedOf is the loop whose iterations have an ordered section, nil for none; changing is what
	// iterations before have changed.
	orderedOf *ir.For
	changing  map[*ir.Array]bool
	outermost bool               // what is printed is in no loop
	shares    map[*ir.For]*share // loops that run in strips, to tell their progress
	told      string             // what was told of the chunk at hand, "" outside of chunks
}

func (l *leaf) newFunc() *cfunc {
	f := &cfunc{
		leaf: l, Function: clike.NewFunction(l.file.names), fault: "env",
		lens: map[*ir.Array]string{}, tables: map[*ir.Table]string{}, tlens: map[*ir.Table]string{},
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

// nameAll gives everything that is used its name, before any temporary has one.
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

// pragma writes a pragma, at the margin as is the custom.
func (f *cfunc) pragma(format string, args ...any) {
	f.Margin("#pragma "+format, args...)
}

func (f *cfunc) table(t *ir.Table) string {
	if _, ok := f.tables[t]; !ok {
		f.tables[t] = f.Names.User(t.Name)
	}
	return f.tables[t]
}

// arrayParam declares a parameter for a.
func (f *cfunc) arrayParam(a *ir.Array) string {
	if a.Const {
		return "const " + ctype(a.Elem) + " *restrict " + f.Array(a)
	}
	if f.changing[a] { // others change it while the function runs
		return ctype(a.Elem) + " *" + f.Array(a)
	}
	return ctype(a.Elem) + " *restrict " + f.Array(a)
}

// own declares the arrays and tables that the function makes, at its top, so
// that its end can release what is left of them.
func (f *cfunc) own(u *usage, made []*ir.Array, tables []*ir.Table) {
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

// fail leaves the function with a code, an expression.
func (f *cfunc) fail(code string) {
	if f.owns {
		f.Line("rc = %s;", code)
		f.Line("goto done;")
		return
	}
	f.Line("return %s;", code)
}

// release writes the function's end: what it still owns is released there.
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

// main prints the extern function, and the body in front of it if that has a
// function of its own; the pieces of parallel loops print themselves.
func (l *leaf) main(bodyName string) string {
	u := l.usage(l.fn.Body)
	inner := l.newFunc()
	inner.outermost, inner.shares = true, l.shares(l.fn.Body, false)
	u.env = u.env || len(inner.shares) > 0
	inner.nameAll(u)
	made, tables := outerMade(l.fn.Body)
	inner.own(u, made, tables)
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
	signature := fmt.Sprintf("int %s(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) {\n",
		l.symbol)
	if bodyName == "" {
		b.WriteString("\n" + signature + unpacked + inner.valueLines() + inner.Text() + "}\n")
		return b.String()
	}
	params, args := l.bodyParams(inner, entry, u)
	result := "void"
	if u.fails {
		result = "int"
	}
	fmt.Fprintf(&b, "\n%s {\n%s}\n", prototype(result, bodyName, params),
		inner.valueLines()+inner.Text())
	call := fmt.Sprintf("%s(%s);\n", bodyName, strings.Join(args, ", "))
	if u.fails {
		call = "    return " + call
	} else {
		call = "    " + call + "    return 0;\n"
	}
	b.WriteString("\n" + signature + unpacked + call + "}\n")
	return b.String()
}

// prototype is the head of a static function, on lines of at most about 110
// characters.
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

// finish ends the function that holds the leaf's body; that of the leaf itself
// has a result even where it cannot fail.
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

// outerMade lists what the leaf makes outside of its parallel loops.
func outerMade(b *ir.Block) (made []*ir.Array, tables []*ir.Table) {
	seen := map[any]bool{}
	outer(b, func(s ir.Stmt) {
		var a *ir.Array
		switch s := s.(type) {
		case *ir.Alloc:
			a = s.A
		case *ir.Take:
			a = s.A
		case *ir.AllocTable:
			if !seen[s.T] {
				seen[s.T] = true
				tables = append(tables, s.T)
			}
		}
		if a != nil && !seen[a] {
			seen[a] = true
			made = append(made, a)
		}
	})
	return made, tables
}

// unpack declares the locals of the leaf's parameters, as far as they are used.
func (f *cfunc) unpack(u *usage) string {
	g := &cfunc{leaf: f.leaf, Function: f.Beside()}
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

// nullEnv puts an environment of zeros in the place of a null pointer.
const nullEnv = `    dst_env none = {0};
    env = env ? env : &none;
`

// bodyParams are the parameters of the body's function and the arguments for
// them.
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
