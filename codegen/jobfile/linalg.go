package jobfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Linalg computes a function of whole dense matrices, as in (Q, R) = qr(A).
type Linalg struct {
	span
	Func    string
	Out, In []string
	f       *File
	outAt   []notation.Span
	inAt    []notation.Span
}

// linalgFunc is a row of the table of functions of whole matrices.
type linalgFunc struct {
	out, in int
	// shapes returns the sizes of the results, or false if the operands' sizes do not fit. Every
	// operand is a matrix, except that the last operand of solve may be a vector.
	shapes func(in [][]int64) ([][]int64, bool)
	// want describes the operands for errors, and example is a use.
	want, example string
	// reals has the positions of results that are real even if the operand is complex.
	reals []int
}

const wantSquare = "a square matrix"

// linalgFuncs is the table of functions, by name. Package lapack computes them.
var linalgFuncs = map[string]linalgFunc{
	"solve": {out: 1, in: 2,
		example: "X = solve(A, B)", want: "a square matrix, and a vector or a matrix with as many rows",
		shapes: func(in [][]int64) ([][]int64, bool) {
			a, b := in[0], in[1]
			return [][]int64{slices.Clone(b)}, a[0] == a[1] && a[0] == b[0]
		}},
	"inv": {out: 1, in: 1,
		example: "X = inv(A)", want: wantSquare,
		shapes: func(in [][]int64) ([][]int64, bool) {
			return [][]int64{slices.Clone(in[0])}, in[0][0] == in[0][1]
		}},
	"pinv": {out: 1, in: 1,
		example: "X = pinv(A)", want: "a matrix",
		shapes: func(in [][]int64) ([][]int64, bool) {
			return [][]int64{{in[0][1], in[0][0]}}, true
		}},
	"det": {out: 1, in: 1,
		example: "d = det(A)", want: wantSquare,
		shapes: func(in [][]int64) ([][]int64, bool) {
			return [][]int64{{}}, in[0][0] == in[0][1]
		}},
	"qr": {out: 2, in: 1,
		example: "(Q, R) = qr(A)", want: "a matrix",
		shapes: func(in [][]int64) ([][]int64, bool) {
			m, n := in[0][0], in[0][1]
			return [][]int64{{m, min(m, n)}, {min(m, n), n}}, true
		}},
	"svd": {out: 3, in: 1,
		example: "(U, s, V) = svd(A)", want: "a matrix", reals: []int{1},
		shapes: func(in [][]int64) ([][]int64, bool) {
			m, n := in[0][0], in[0][1]
			k := min(m, n)
			return [][]int64{{m, k}, {k}, {k, n}}, true
		}},
	"eigh": {out: 2, in: 1,
		example: "(w, V) = eigh(A)", want: wantSquare, reals: []int{0},
		shapes: func(in [][]int64) ([][]int64, bool) {
			n := in[0][0]
			return [][]int64{{n}, {n, n}}, n == in[0][1]
		}},
	"cholesky": {out: 1, in: 1,
		example: "L = cholesky(A)", want: wantSquare,
		shapes: func(in [][]int64) ([][]int64, bool) {
			return [][]int64{slices.Clone(in[0])}, in[0][0] == in[0][1]
		}},
}

// Linalgs returns the names of the functions of whole matrices, sorted.
func Linalgs() []string {
	var list []string
	for name := range linalgFuncs {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// isLinalg reports whether the text at a place is NAME = FUNC(...) or (NAME, ...) = FUNC(...), and
// FUNC is a function of whole matrices, and not a tensor of the lines above.
func (p *parser) isLinalg(at notation.Span) bool {
	r := p.f.reader(at)
	if r.skip("(") {
		r.until(")")
		r.skip(")")
	} else {
		r.word()
	}
	if !r.skip("=") {
		return false
	}
	name, _ := r.word()
	_, ok := linalgFuncs[name]
	if !ok || p.tensors[name] || r.next() != '(' {
		return false
	}
	r.skip("(")
	r.until(")")
	r.skip(")")
	return r.next() == 0
}

// linalg parses a function of whole matrices. isLinalg must be true for line l.
func (p *parser) linalg(l line) (Item, error) {
	t := &Linalg{span: span(l.at), f: p.f}
	r := p.f.reader(l.at)
	const want = "the name of a tensor, without index variables"
	if r.skip("(") {
		t.Out, t.outAt = r.names(want)
	} else {
		name, at := r.name(want)
		t.Out, t.outAt = []string{name}, []notation.Span{at}
	}
	r.want("=", "")
	var at notation.Span
	t.Func, at = r.word()
	r.want("(", "")
	t.In, t.inAt = r.names(want)
	row := linalgFuncs[t.Func]
	switch {
	case r.err != nil:
	case len(t.In) != row.in:
		r.fail(at, Syntax, "got %s for %s, want %d", tensor.Count(len(t.In), "operand"), t.Func,
			row.in)
	case len(t.Out) != row.out:
		r.fail(at, Syntax, "got %s of %s, want %d", tensor.Count(len(t.Out), "result"), t.Func,
			row.out)
	}
	for k, name := range t.Out {
		if slices.Contains(t.Out[:k], name) {
			r.fail(t.outAt[k], Syntax, "got %s twice as a result, want different names", name)
		}
		p.tensors[name] = true
	}
	if r.err != nil {
		return nil, r.err
	}
	p.lines.moveTo(l.at.End)
	return t, p.noLineIndented(l, "function of whole matrices")
}

// names consumes names with commas between them and a closing parenthesis. want describes a name in
// errors.
func (r *reader) names(want string) (names []string, at []notation.Span) {
	for r.err == nil {
		name, place := r.name(want)
		names, at = append(names, name), append(at, place)
		if r.skip(")") {
			break
		}
		r.want(",", `or ")"`)
	}
	return names, at
}

// arguments parses the names of the arguments of a function or procedure, up to ")".
func (r *reader) arguments() []string {
	names, places := r.names("the name of an argument")
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			r.fail(places[k], NameClash, "got the argument %s twice, want different names", name)
		}
	}
	return names
}

// String returns t as in the file.
func (t *Linalg) String() string {
	out := t.Out[0]
	if len(t.Out) > 1 {
		out = "(" + strings.Join(t.Out, ", ") + ")"
	}
	return out + " = " + t.Func + "(" + strings.Join(t.In, ", ") + ")"
}

// order returns the number of modes of result k of t. An operand that is not declared counts as a
// matrix.
func (t *Linalg) order(k int) int {
	in := [][]int64{{1, 1}, {1, 1}}
	if x := t.f.Tensor(t.In[len(t.In)-1]); x != nil && x.Order == 1 {
		in[1] = in[1][:1]
	}
	out, _ := linalgFuncs[t.Func].shapes(in)
	return len(out[k])
}

// Shapes returns the sizes of the results of t. in has the sizes of its operands.
func (t *Linalg) Shapes(in [][]int64) ([][]int64, error) {
	row := linalgFuncs[t.Func]
	out, ok := row.shapes(in)
	if ok {
		return out, nil
	}
	var got []string
	for k, dims := range in {
		words := make([]string, len(dims))
		for m, n := range dims {
			words[m] = strconv.FormatInt(n, 10)
		}
		got = append(got, t.In[k]+" of "+strings.Join(words, "x"))
	}
	return nil, t.f.Errorf(notation.Span(t.span), diag.SizeClash, "got %s for %s, want %s",
		strings.Join(got, " and "), t.Func, row.want)
}

// Types returns the types of the results of t, if no declaration gives them. in has the types of
// its operands. A result is computed in 64-bit floats. If all operands have 32-bit floats, it is
// rounded to 32 bits.
func (t *Linalg) Types(in []tensor.Type) []tensor.Type {
	typ := tensor.Common(in)
	if typ.HoldsInts() {
		typ = tensor.Float64
	}
	out := slices.Repeat([]tensor.Type{typ}, len(t.Out))
	for _, k := range linalgFuncs[t.Func].reals {
		out[k] = map[tensor.Type]tensor.Type{tensor.Complex64: tensor.Float32,
			tensor.Complex128: tensor.Float64}[typ]
		if !typ.IsComplex() {
			out[k] = typ
		}
	}
	return out
}

// linalg checks the operands and results of t, after everything before it has been checked.
func (c *checker) linalg(t *Linalg) error {
	row := linalgFuncs[t.Func]
	shapes := make([][]int64, len(t.In)) // with wrong sizes, but the right numbers of modes
	for k, name := range t.In {
		s, err := c.read(name, t.inAt[k])
		if err != nil {
			return err
		}
		vector := t.Func == "solve" && k == 1
		if s.t.Order != 2 && !(vector && s.t.Order == 1) {
			return c.f.Errorf(t.inAt[k], diag.OrderMismatch, "got %s with %s for %s, want %s", name,
				tensor.Count(s.t.Order, "mode"), t.Func, row.want)
		}
		shapes[k] = make([]int64, s.t.Order)
	}
	out, _ := row.shapes(shapes)
	for k, name := range t.Out {
		if err := c.assign(name, t.outAt[k], len(out[k])); err != nil {
			return err
		}
		s := c.states[name]
		if s.t.Order != len(out[k]) {
			return c.f.Errorf(t.outAt[k], diag.OrderMismatch, "got %s with %s as a result of %s, want %d",
				name, tensor.Count(s.t.Order, "mode"), t.Func, len(out[k]))
		}
		if s.t.Format == "" {
			continue
		}
		if f, err := notation.ParseFormat(s.t.Format); err == nil && !f.AllDense() {
			return c.f.Errorf(t.outAt[k], Declaration,
				"got the format %s for %s, a result of %s, want dense levels", s.t.Format, name, t.Func)
		}
	}
	return nil
}

// linalg checks the sizes of t's operands, if they are known, and gives its results sizes.
func (c *sizeChecker) linalg(t *Linalg) error {
	in := make([][]int64, len(t.In))
	for k, name := range t.In {
		dims, ok := c.dims[name]
		if !ok || slices.ContainsFunc(dims, unknown) {
			return nil
		}
		for _, d := range dims {
			in[k] = append(in[k], d.Size)
		}
	}
	out, err := t.Shapes(in)
	if err != nil {
		return err
	}
	for k, name := range t.Out {
		dims := make([]notation.Known, len(out[k]))
		for m, n := range out[k] {
			dims[m] = notation.Known{Size: n, Exact: true, From: fmt.Sprintf("line %s", c.f.line(t.span))}
			if old := c.dims[name]; len(old) > m && old[m].Exact && old[m].Size != n {
				return c.f.Errorf(t.outAt[k], diag.SizeClash,
					"got size %d for mode %d of %s from %s, but %d from %s; want the same size",
					old[m].Size, m, name, old[m].From, n, t.Func)
			}
		}
		c.dims[name] = dims
	}
	return nil
}

// linalg checks that the types of t's results can hold its values.
func (c *typeChecker) linalg(t *Linalg) error {
	in := make([]tensor.Type, len(t.In))
	for k, name := range t.In {
		if in[k] = c.types[name]; in[k] == tensor.None {
			return nil
		}
	}
	for k, got := range t.Types(in) {
		name := t.Out[k]
		want := c.types[name]
		exact := tensor.Promote(want, got) == want
		switch _, written := c.first[name]; {
		case want == tensor.None && written:
			continue
		case want == tensor.None:
			c.first[name], c.types[name] = t.outAt[k], got
		case want.HoldsInts() || got.IsComplex() && !want.IsComplex() || !c.given[name] && !exact:
			return c.f.Errorf(t.outAt[k], diag.LossyType,
				"got values of type %s for %s, which has type %s; want a declaration with another type",
				got, name, want)
		}
	}
	return nil
}
