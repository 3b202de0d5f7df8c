package lint

import (
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"#include <stdint.h>\n#include <math.h>\nint f(int64_t *restrict a) {\n#pragma omp parallel for\nfor (int i = 0; i < 3; i++) a[i] = i + (int64_t)sqrt(2.0);\nreturn 0; }", ""},
		{"#include <complex.h>\ndouble _Complex f(double _Complex x) { double _Complex z = CMPLX(1, 2); return creal(x) + __real__ x + z + 1.0i; }", ""},
		{"static inline __attribute__((always_inline)) int g(int a) { return a; }\nint f(int a) { return g(a); }", ""},
		{"#include <stdlib.h>\n#include <string.h>\nint f(int *a) { __atomic_fetch_add(a, 1, __ATOMIC_RELAXED); __builtin_prefetch(a, 0, 0); memset(a, 0, sizeof *a); free(a); return 0; }", ""},
		{"int f(int (*g)(int)) { return g(1); }", ""},
		{"int f() { return 0; }\nint g(void) { return f(1); }", ""},
		{"int f(void) { return x; }", "leaf.c:1:22: undefined: x"},
		{"int f(void) {\n  return g(3);\n}", "leaf.c:2:10: call of g, which is not declared"},
		{"int g(int a, int b) { return a + b; }\nint f(int a) { if (a) { return 1 + g(a); } return 0; }", "leaf.c:2:36: call of g with 1 arguments, want 2"},
		{"int g(void) { return 0; }\nint f(int (*h)(int)) { return h(1, 2); }", "call of h with 2 arguments, want 1"},
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

func TestSignature(t *testing.T) {
	src := c.Header() + `
int leaf(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env) { (void)t; (void)bounds; return env->threads; }
double other(void) { return 1; }
int declared(int);
int variable;
`
	if f, err := Signature(src, "leaf"); err != nil || !reflect.DeepEqual(f, LeafFunc) {
		t.Errorf("leaf: %+v, %v", f, err)
	}
	if f, err := Signature(src, "other"); err != nil || !reflect.DeepEqual(f, Func{Result: "double"}) {
		t.Errorf("other: %+v, %v", f, err)
	}
	for _, name := range []string{"none", "declared", "variable"} {
		if f, err := Signature(src, name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}
