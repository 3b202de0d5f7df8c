package notation

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/diag"
)

// tree prints an expression with every operator in parentheses.
func tree(e Expr) string {
	switch e := e.(type) {
	case *Neg:
		return "(-" + tree(e.X) + ")"
	case *Binary:
		return "(" + tree(e.X) + string(rune(e.Op)) + tree(e.Y) + ")"
	case *Sum:
		return "sum[" + strings.Join(e.Vars, " ") + "]{" + tree(e.X) + "}"
	}
	return ExprString(e)
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ src, print, tree string }{
		{"A(i,l) = B(i,j,k) * C(j,l) * D(k,l)", "A(i,l) = B(i,j,k)*C(j,l)*D(k,l)",
			"((B(i,j,k)*C(j,l))*D(k,l))"},
		{"a=b-c-d", "a = b - c - d", "((b-c)-d)"},
		{"a=b-(c-d)", "a = b - (c - d)", "(b-(c-d))"},
		{"a=b/(c*d)", "a = b/(c*d)", "(b/(c*d))"},
		{"a=b/c*d", "a = b/c*d", "((b/c)*d)"},
		{"a=(b+c)*d", "a = (b + c)*d", "((b+c)*d)"},
		{"a=-b*c", "a = -b*c", "((-b)*c)"},
		{"a=-(b*c)", "a = -(b*c)", "(-(b*c))"},
		{"a=b*-c", "a = b*-c", "(b*(-c))"},
		{"a=b--c", "a = b - -c", "(b-(-c))"},
		{"a=--b", "a = --b", "(-(-b))"},
		{"a() += b()", "a += b", "b"},
		{"a = sum(j, B(j)*c(j))", "a = sum(j, B(j)*c(j))", "sum[j]{(B(j)*c(j))}"},
		{"a = sum(i, j, s)", "a = sum(i,j, s)", "sum[i j]{s}"},
		{"a = sum(i, j)", "a = sum(i, j)", "sum[i]{j}"},
		{"a = sum(i, j*x(i))", "a = sum(i, j*x(i))", "sum[i]{(j*x(i))}"},
		{"a = sum(i, sum(j, B(i,j)))", "a = sum(i, sum(j, B(i,j)))", "sum[i]{sum[j]{B(i,j)}}"},
		{"sum = B(i)*c(i)", "sum = B(i)*c(i)", "(B(i)*c(i))"},
		{"sum(i) = B(i)", "sum(i) = B(i)", "B(i)"},
		{"A(i) = sum(i)*sum()", "A(i) = sum(i)*sum", "(sum(i)*sum)"},
		{"A(i) = sum(i)*sum(j, B(j))", "A(i) = sum(i)*sum(j, B(j))", "(sum(i)*sum[j]{B(j)})"},
		{"a = sum + 1", "a = sum + 1", "(sum+1)"},
		{"a = 1e-3 + 2. + .5 + 1E+4*x_1",
			"a = 1e-3 + 2. + .5 + 1E+4*x_1", "(((1e-3+2.)+.5)+(1E+4*x_1))"},
		{" a\t=\n b \r\n", "a = b", "b"},
		{"y(i) = x(2 * i+1)*i", "y(i) = x(2*i+1)*i", "(x(2*i+1)*i)"},
		{"y(i) = A(p(i), ~(j-1), 3)", "y(i) = A(p(i),~j-1,3)", "A(p(i),~j-1,3)"},
		{"y(n-1-i) = x(-(i-4))", "y(n-1-i) = x(-(i-4))", "x(-(i-4))"},
	} {
		s, err := Parse(c.src)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.src, err)
			continue
		}
		if s.String() != c.print || tree(s.RHS) != c.tree {
			t.Errorf("Parse(%q) = %q, tree %s, want %q, %s", c.src, s, tree(s.RHS), c.print, c.tree)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		src   string
		isInt bool
		i     int64
		f     float64
	}{
		{"2", true, 2, 2}, {"2.0", false, 0, 2}, {"2e0", false, 0, 2}, {"007", true, 7, 7},
		{"9223372036854775807", true, 1<<63 - 1, 1 << 63}, {"9223372036854775808", false, 0, 1 << 63},
		{"1e-3", false, 0, 1e-3},
	} {
		s, err := Parse("a = " + c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		n := s.RHS.(*Number)
		if n.IsInt != c.isInt || n.Int != c.i || n.Float != c.f {
			t.Errorf("%s: got %+v", c.src, n)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		src, want string
		pos       int
	}{
		{"", "got the end of the statement, want the name of the result", 0},
		{"A(i) = B(i,", "got the end of the statement, want an index variable", 11},
		{"A(i) B(i)", `got "B", want "=" or "+="`, 5},
		{"A[i] = B(i)",
			`got "[", want "=" or "+=" after the left side; indices must be in parentheses, as in A(i,j)`, 1},
		{"A(i) = B[i]", `indices must be in parentheses, as in A(i,j)`, 8},
		{"A(i) = erf(B(i))",
			"there is no function erf: compute its values beforehand, and give them as a tensor (-i=T:FILE)", 12},
		{"y(i) = real(x(i))", "there is no function real: compute its values beforehand, and give them as a tensor (-i=T:FILE)", 13},
		{"y(i) = 2 * imag(x(i) + 1)", "there is no function imag: compute its values beforehand, and give them as a tensor (-i=T:FILE)", 17},
		{"y(i) = conj(x(i))", "there is no function conj: compute its values beforehand, and give them as a tensor (-i=T:FILE)", 13},
		{"y(i) = erf(2)", "there is no function erf: compute its values beforehand, and give them as a tensor (-i=T:FILE)", 11},
		{"y(i) = max(x(i))", "got 1 argument of the function max, want 2 or more", 7},
		{"y(i) = pow(x(i), 2, 3)", "got 3 arguments of the function pow, want 2", 7},
		{"y(i) = exp()", "got 0 arguments of the function exp, want 1", 7},
		{"y(i) = exp(x(i) z(i))", `want an operator, "," or ")" in exp(...)`, 16},
		{"y(i) = max(x(i),)", "want an operand", 16},
		{"y(i) = x(i) > 1",
			"there are no comparisons: give the outcome as a tensor of zeros and ones, and multiply by it, as in m(i)*x(i)", 12},
		{"y(i) = (x(i) <= 1) * x(i)", "there are no comparisons", 13},
		{"y(i) = x(i) == 1", "there are no comparisons", 12},
		{"y(i) = x(i) != 1", "there are no comparisons", 12},
		{"y(i) = 2x(i)", "a product must have a * between its factors, as in 2*x(i)", 8},
		{"y(i) = sum(j, 2 A(i,j))", "a product must have a * between its factors, as in 2*x(i)", 16},
		{"y(i) = (x(i))(z(i))", "a product must have a * between its factors, as in 2*x(i)", 13},
		{"y(i) = A(i,j) .* B(i,j)",
			"* is elementwise where both factors have the same variables, as in A(i,j)*B(i,j)", 14},
		{"y(i) = A(i,j)./B(i,j)", "/ is elementwise where both sides have the same variables", 13},
		{"y(i) = x.T", "a transpose must be written with its variables swapped, as in A(j,i)", 8},
		{"y(i) = A(i,j)'", "a transpose must be written with its variables swapped, as in A(j,i)", 13},
		{"if (x(i)) y(i) = 1",
			"there are no conditions: give them as a tensor of zeros and ones, and multiply by it, as in m(i)*x(i)",
			5},
		{"y(i) = 1 if x(i)", "there are no conditions", 9},
		{"y(i) = if x(i)", "there are no conditions", 10},
		{"y(i) = if(x(i))", "there are no conditions", 11},
		{"y(i) = x(i) ? 1 : 2", "there are no conditions", 12},
		{"while x",
			"a statement has no loops of its own: variables take all values of their ranges; repeat in a job file runs statements again (docs/jobs.md)", 6},
		{"for (i = 0)", "a statement has no loops of its own: variables take all values of their ranges; repeat in a job file runs statements again (docs/jobs.md)", 7},
		{"for(i) = 2x(i)", "a product must have a * between its factors, as in 2*x(i)", 10},
		{"y(i) = x(i) and z(i)", "there are no logical operators: with zeros and ones, write a*b for \"and\", and 1-a for \"not\"", 12},
		{"y(i) = x(i) *= 2", `got "*=", want an operator`, 12},
		{"y(i) = any({j, A(i,j))", `got "(", want "," or "}"`, 16},
		{"y(i) = prod(A(i,j))", `as in prod(j, B(i,j)): "prod(" begins a reduction`, 12},
		{"y(i) = x(i); z(i) = y(i)", "a command has only one statement; several must be in a job file, one on each line (docs/jobs.md)", 11},
		{"A(i) = B(i)^2",
			"want an operator or the end of the statement; a power must be written with **, as in x(i)**2", 11},
		{"A(i) = B(i) ** ", "got the end of the statement, want an operand", 15},
		{"A(i) = B(i,j) @ c(j)",
			`want an operator or the end of the statement; a matrix product must be written as a sum over the shared variable`, 14},
		{"A(i) := B(i)", `got ":", want "=" or "+=" after the left side; an assignment must have one "="`, 5},
		{"A(i) == B(i)", `; an assignment must have one "="`, 6},
		{"ij,j->i",
			`got "->", want a statement with "=" or "+="; einsum's subscripts must be written as C(i) = A(i,j) * B(j)`,
			4},
		{" Ab , bc-> Ac ", `einsum's subscripts must be written as D(A,c) = B(A,b) * C(b,c)`, 8},
		{"ij->", `got "->", want a statement with "=" or "+="; einsum's subscripts must be written as B() = A(i,j)`, 2},
		{"A(i) = ", "got the end of the statement, want an operand", 7},
		{"A(i) = B(i) C(i)", `got "C", want an operator or the end`, 12},
		{"A(i) = B(i))", `got ")", want an operator or the end`, 11},
		{"A(i) = (B(i)", `want an operator or ")"`, 12},
		{"A(i) = B(i+)", `got ")", want an operand`, 11},
		{"A(i) = B(~)", `got ")", want an operand`, 10},
		{"A(i) = B(*i)", `got "*", want an index variable`, 9},
		{"A(i) = B(i;j)", `got ";", want "," or ")" after an index variable of B`, 10},
		{"A(i) = +B(i)", `got "+", want an operand`, 7},
		{"A(i) = B(i) += C(i)", `an operand: "+=" may only follow the left side`, 12},
		{"A(i) = sum(B(i))", `got "B", want an index variable and ","`, 11},
		{"A(i) = sum(2, B(i))", `got "2", want an index variable`, 11},
		{"A(i) = sum(j, B(i,j)", `at the end of sum(...)`, 20},
		{"A(i) = 1e999", "want a number below", 7},
		{"A(i) = 2x(i)", `got "x", want an operator`, 8},
		{"A(i) = 2e", `got "e", want an operator`, 8},
		{"_a = 1", `got "_", want the name of the result`, 0},
		{"a = é", `got "é", want an operand`, 4},
		{"a = b == c", `got "=", want an operator`, 6},
		{"A(i) == B(i)", `got "=", want an operand`, 6},
		{"1 = b", `got "1", want the name of the result`, 0},
		{"A(,) = b", `got ",", want an index variable`, 2},
		{"a = " + strings.Repeat("(", 2000), "got an expression nested more than 1000 deep", 1005},
		{"a = " + strings.Repeat("-", 200000) + "b", "got an expression nested more than 1000 deep", 1005},
	} {
		_, err := Parse(c.src)
		var d *diag.Error
		if !errors.As(err, &d) {
			t.Errorf("Parse(%.40q) = %v, want a *diag.Error", c.src, err)
			continue
		}
		if !strings.Contains(d.Msg, c.want) || d.Pos != c.pos || d.ExitCode() != 2 {
			t.Errorf("Parse(%.40q) = %q at %d (exit %d), want %q at %d", c.src, d.Msg, d.Pos, d.ExitCode(),
				c.want, c.pos)
		}
	}
}

func TestCaret(t *testing.T) {
	_, err := Parse("A(i) =\tB(i) $ C(i)")
	want :=
		"got \"$\", want an operator or the end of the statement\n    A(i) = B(i) $ C(i)\n                ^"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// randomExpr returns a random tree of the grammar over a few names.
func randomExpr(r *rand.Rand, depth int) Expr {
	if depth == 0 || r.Intn(4) == 0 {
		switch r.Intn(4) {
		case 0:
			return &Access{Name: "s"}
		case 1:
			return &Number{Text: "2", IsInt: true, Int: 2, Float: 2}
		case 2:
			return &Number{Text: "1e-3", Float: 1e-3}
		}
		return &Access{Name: "B", Vars: []string{"i", "j"}}
	}
	switch r.Intn(7) {
	case 0:
		return &Neg{X: randomExpr(r, depth-1)}
	case 1:
		return &Sum{Vars: []string{"i", "j"}[:1+r.Intn(2)], X: randomExpr(r, depth-1)}
	}
	return &Binary{Op: "+-*/"[r.Intn(4)], X: randomExpr(r, depth-1), Y: randomExpr(r, depth-1)}
}

func TestPrintParses(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 5000 {
		s := &Stmt{LHS: &Access{Name: "A", Vars: []string{"i"}}, RHS: randomExpr(r, 5),
			Accumulate: r.Intn(2) == 0}
		text := s.String()
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if tree(back.RHS) != tree(s.RHS) || back.Accumulate != s.Accumulate ||
			!reflect.DeepEqual(back.LHS.Vars, s.LHS.Vars) {
			t.Fatalf("%s came back as %s", tree(s.RHS), tree(back.RHS))
		}
		if back.String() != text {
			t.Fatalf("%s prints as %s", text, back)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"A(i) = B(i,j)*c(j)", "a += -2e-3/(b+sum(i,j, C(i,j)))", "a=sum(i,",
		"a(("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		s, err := Parse(src)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		back, err := Parse(s.String())
		if err != nil || back.String() != s.String() {
			t.Fatalf("%q printed as %q, which gives %v, %v", src, s, back, err)
		}
		if Check(s) == nil {
			_ = Normalize(s).String()
		}
	})
}

// TestParseIn checks that the spans of a part's tree and errors are offsets in the whole text.
func TestParseIn(t *testing.T) {
	const src = "((= a(i) = b(i)*c =))"
	s, err := ParseIn(src, Span{4, 17})
	if err != nil || s.String() != "a(i) = b(i)*c" {
		t.Fatalf("got %v, %v", s, err)
	}
	for want, at := range map[string]Span{"a(i)": s.LHS.At, "i": s.LHS.VarAt[0],
		"b(i)*c": s.RHS.Span()} {
		if got := src[at.Pos:at.End]; got != want {
			t.Errorf("got %q at the place of %q", got, want)
		}
	}
	x, err := ParseExprIn(src, Span{11, 17})
	if err != nil || ExprString(x) != "b(i)*c" || x.Span() != (Span{11, 17}) {
		t.Errorf("got %s at %v, %v", ExprString(x), x.Span(), err)
	}
	for want, part := range map[string]Span{
		`got "=", want an operator or the end of the expression at 9`:                                                     {4, 17},
		"got the end of the expression, want an operand: a tensor, a number, a function, sum(...) or a parenthesis at 16": {11, 16},
		`got "=", want an operator or the end of the expression at 18`:                                                    {11, 19},
	} {
		var d *diag.Error
		if _, err := ParseExprIn(src, part); !errors.As(err, &d) ||
			fmt.Sprintf("%s at %d", d.Msg, d.Pos) != want {
			t.Errorf("%q: got %v", src[part.Pos:part.End], err)
		}
	}
}

// TestEinsumIn checks that hints look only at the part of the text.
func TestEinsumIn(t *testing.T) {
	var d *diag.Error
	if _, err := ParseIn("# in einsum: ij,j->i", Span{12, 20}); !errors.As(err, &d) || d.Pos != 17 ||
		d.End != 19 {
		t.Errorf("got %v", err)
	}
}

// TestNameOld checks that the left tensor's old value gets a name that nothing else has, in every
// access, and that accesses keep their spans.
func TestNameOld(t *testing.T) {
	for src, want := range map[string][2]string{
		"a(i) = b(i)":                  {"", "a(i) = b(i)"},
		"a(i) = a(i) + b(i)":           {"a_old", "a(i) = a_old(i) + b(i)"},
		"A(i,j) = A(j,i)*A(i,j)":       {"A_old", "A(i,j) = A_old(j,i)*A_old(i,j)"},
		"a += 2*a":                     {"a_old", "a += 2*a_old"},
		"a(i) = a(i)*a_old(i)":         {"a_old_", "a(i) = a_old_(i)*a_old(i)"},
		"a(a_old) = a(a_old)":          {"a_old_", "a(a_old) = a_old_(a_old)"},
		"a(i) = sum(a_old, a(a_old))":  {"a_old_", "a(i) = sum(a_old, a_old_(a_old))"},
		"a(i) = b(i,a_old)/(a(i) + 1)": {"a_old_", "a(i) = b(i,a_old)/(a_old_(i) + 1)"},
	} {
		s := mustParse(t, src)
		at := s.Accesses()[0].At
		if old := NameOld(s); old != want[0] || s.String() != want[1] || s.Accesses()[0].At != at ||
			s.Src != src {
			t.Errorf("%s: got %q, %s, want %q", src, old, s, want)
		}
	}
}
