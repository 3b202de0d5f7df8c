package ir

import (
	"distaff/io/tensor"
	"strings"
	"testing"
)

const calls = `func leaf
  param y float64 = t0.vals
  param x float64 const = t1.vals
  bounds i_lo i_hi
{
  call rows(i_lo, i_hi, += [y, i_lo * 3], [x, 0], 2.5) @"dir/a.c" = @"void rows(void) {}\n\"%d\""
}
`

// TestCalls checks that Parse reads back the text form of a call, that Verify accepts it, and that
// Verify refuses calls that do not match the function or that add to an array they also read.
func TestCalls(t *testing.T) {
	parse := func() (*Func, *Call) {
		f, err := Parse(calls)
		if err != nil {
			t.Fatal(err)
		}
		return f, f.Body.List[0].(*Call)
	}
	f, c := parse()
	if got := Print(f); got != calls {
		t.Errorf("got\n%s\nwant\n%s", got, calls)
	}
	if err := Verify(f); err != nil {
		t.Error(err)
	}
	if c.Func.Text != "void rows(void) {}\n\"%d\"" ||
		strings.Join(c.Types(), "; ") != "int64_t; int64_t; double *; const double *; double" {
		t.Errorf("got %q with %q", c.Func.Text, c.Types())
	}
	Simplify(f)
	if got := Print(f); got != calls {
		t.Errorf("simplified, got\n%s\nwant\n%s", got, calls)
	}
	for want, spoil := range map[string]func(f *Func, c *Call){
		"and the result void, but the call needs (int64_t, double *, const double *, double) and " +
			"the result void": func(f *Func, c *Call) { c.Args = c.Args[1:] },
		"and the result int, but the call needs (int64_t, int64_t, double *, const double *, " +
			"double) and the result void": func(f *Func, c *Call) { c.Func.Result = "int" },
		"x is const": func(f *Func, c *Call) {
			c.Args[3].Added, c.Func.Params[3] = true,
				"double *"
		},
		"the function adds to y, so y must not be another argument too": func(f *Func,
			c *Call) {
			c.Args[3].A = c.Args[2].A
		},
		"array z is used before it is allocated, and it is not a parameter": func(f *Func,
			c *Call) {
			c.Args[3].A = NewArray("z", tensor.Float64)
		},
		"want int64": func(f *Func, c *Call) { c.Args[3].X = &Lit{Typ: tensor.Float64} },
		"an argument is no number": func(f *Func, c *Call) {
			c.Args[4].Added = true
		},
		"n is not declared here": func(f *Func, c *Call) { c.Args[0].X = NewVar("n", tensor.Int64) },
	} {
		f, c := parse()
		spoil(f, c)
		if err := Verify(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
