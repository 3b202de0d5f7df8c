package lint

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"#include <stdint.h>\n#include <math.h>\nint f(int64_t *restrict a) {\n#pragma omp " +
			"parallel for\nfor (int i = 0; i < 3; i++) a[i] = i + (int64_t)sqrt(2.0);\nreturn 0; }",
			""},
		{"#include <complex.h>\ndouble _Complex f(double _Complex x) { double _Complex z = " +
			"CMPLX(1, 2); return creal(x) + __real__ x + z + 1.0i; }", ""},
		{"static inline __attribute__((always_inline)) int g(int a) { return a; }\nint f(int a) " +
			"{ return g(a); }", ""},
		{"#include <stdlib.h>\n#include <string.h>\nint f(int *a) { __atomic_fetch_add(a, 1, " +
			"__ATOMIC_RELAXED); __builtin_prefetch(a, 0, 0); memset(a, 0, sizeof *a); free(a); " +
			"return 0; }", ""},
		{"int f(int (*g)(int)) { return g(1); }", ""},
		{"int f() { return 0; }\nint g(void) { return f(1); }", ""},
		{"int f(void) { return x; }", "leaf.c:1:22: undefined: x"},
		{"int f(void) {\n  return g(3);\n}", "leaf.c:2:10: call of g, which is not declared"},
		{"int g(int a, int b) { return a + b; }\nint f(int a) { if (a) { return 1 + g(a); } " +
			"return 0; }", "leaf.c:2:36: call of g with 1 arguments, want 2"},
		{"int g(void) { return 0; }\nint f(int (*h)(int)) { return h(1, 2); }",
			"call of h with 2 arguments, want 1"},
		{"int f(void) { return 1 +; }", "leaf.c:1:25: unexpected ';'"},
		{"typedef struct { int a; } s; int f(s *x) { return x->b; }", "no member named b"},
		{"#include <nofile.h>\n", "not found"},
		{"#include \"/etc/passwd\"\n", "not found"},
		{"#include \"../lint.go\"\n", "not found"},
		{"_Static_assert(sizeof(int) == 8, \"int\");", "int"},
	} {
		err := Check(c.src)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s\n%v", c.src, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s\ngot %v, want one about %q", c.src, err, c.want)
		case err != nil && strings.Contains(err.Error(), "TODO"):
			t.Errorf("%s\nthe parser's own notes: %v", c.src, err)
		}
	}
}

// TestFunction checks the types of a function's result and parameters as leaves write them, and the
// error for a source without the function.
func TestFunction(t *testing.T) {
	const src = `#include <stdint.h>
#include <complex.h>
typedef double value;
static inline void rows(int64_t i_begin, const int32_t *restrict pos, value *y, value w[], float _Complex z, const double complex *c, _Bool b) {}
double other(void) { return 1; }
void *third(volatile int *x, long long *n, char **s, unsigned u, struct s *p, ...) { return x; }
int declared(int);
int variable;
`
	for name, want := range map[string]string{
		"rows": "void: int64_t; const int32_t *; double *; double *; float _Complex; const " +
			"double _Complex *; _Bool",
		"other": "double: ",
		"third": "void *: pointer to volatile int; pointer to long long; pointer to pointer to " +
			"char; unsigned; pointer to struct s; ...",
	} {
		f, err := Function("dir/a.c", src, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := f.Result + ": " + strings.Join(f.Params, "; "); got != want ||
			f.File != "dir/a.c" || f.Name != name || f.Text != src {
			t.Errorf("%s: got %q of %s, want %q", name, got, f.File, want)
		}
	}
	for _, name := range []string{"none", "declared", "variable"} {
		if _, err := Function("a.c", src, name); err == nil ||
			err.Error() != "a.c defines no function "+name {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := Function("dir/a.c", "\nvoid f(void) { x; }", "f"); err == nil ||
		!strings.Contains(err.Error(), "dir/a.c:2:16: undefined: x") {
		t.Errorf("got %v", err)
	}
}
