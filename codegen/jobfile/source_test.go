package jobfile

import (
	"errors"
	"strings"
	"testing"
)

// parseFiles parses the file main.dst of files.
func parseFiles(files map[string]string) (*File, error) {
	f, err := ParseFiles("dir/main.dst", files["dir/main.dst"], func(name string) (string, error) {
		text, ok := files[name]
		if !ok {
			return "", errors.New(name + " does not exist")
		}
		return text, nil
	})
	if err == nil {
		err = f.Check()
	}
	return f, err
}

// TestExpanded checks the statements of a file with functions, procedures and an include.
func TestExpanded(t *testing.T) {
	f, err := parseFiles(map[string]string{"dir/main.dst": `include "lib/f.dst"   # comments stay out
tensor X(4, 3): dd from dense
param c = 3
call gram(X, G)     # twice
repeat 2 {
  call gram(X, H)
}
z = relu(half(G(i,i)) - c) * 2
repeat 5 until relu(z) <= half(c) {
  z = z - relu(1)
}
call both(X, a, b)
print a
`, "dir/lib/f.dst": `def relu(x) = max(x, 0)
def half(x) = x / 2
proc gram(A, G) {
  t(k,i) = A(k,i)   # A copy
    split(k, k0, k1, 2)
    reorder(k0, k1, i)
  G(i,j) = t(k,i) * t(k,j) + 0 * relu(t(k,i))
    precompute(t(k,i) * t(k,j), i, i, t2)
}
proc total(x, r) { r = x(i,j) }
proc both(B, r, s) {
  call total(B, r)
  u(i,j) = 2 * B(i,j)
  call total(u, s)
}
tensor Y(2): d from "y.npy"
`})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for s := range f.Statements() {
		file, line, _ := f.Place(s.Pos)
		text := strings.Join(strings.Fields(s.Text), " ")
		for _, c := range s.Schedule {
			text += " | " + c.Text
		}
		got = append(got, strings.TrimPrefix(file, "dir/")+":"+string(rune('0'+line))+" "+text)
	}
	want := []string{
		"lib/f.dst:4 t_gram_1(k,i) = X(k,i) | split(k, k0, k1, 2) | reorder(k0, k1, i)",
		"lib/f.dst:7 G(i,j) = t_gram_1(k,i) * t_gram_1(k,j) + 0 * max(t_gram_1(k,i), 0) | precompute(t_gram_1(k,i) * t_gram_1(k,j), i, i, t2)",
		"lib/f.dst:4 t_gram_2(k,i) = X(k,i) | split(k, k0, k1, 2) | reorder(k0, k1, i)",
		"lib/f.dst:7 H(i,j) = t_gram_2(k,i) * t_gram_2(k,j) + 0 * max(t_gram_2(k,i), 0) | precompute(t_gram_2(k,i) * t_gram_2(k,j), i, i, t2)",
		"main.dst:8 z = max(((G(i,i) / 2) - 3), 0) * 2",
		"main.dst:: z = z - max(1, 0)",
		"lib/f.dst:: a = X(i,j)",
		"lib/f.dst:= u_both_3(i,j) = 2 * X(i,j)",
		"lib/f.dst:: b = u_both_3(i,j)",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if list := f.Included(); len(list) != 1 || list[0] != "dir/lib/f.dst" {
		t.Errorf("got included files %q", list)
	}
	if file, _, _ := f.Place(f.Tensor("Y").FromAt.Pos); file != "dir/lib/f.dst" {
		t.Errorf("tensor Y is of %s", file)
	}
	back, err := Parse("dir/main.dst", f.String())
	if err != nil || back.String() != f.String() {
		t.Errorf("prints as\n%s\nwhich is read as\n%s, %v", f, back, err)
	}
}

// TestPlacesOfErrors checks the places of errors in included files, functions and procedures.
func TestPlacesOfErrors(t *testing.T) {
	for _, c := range []struct{ main, other, want string }{
		{"include \"b.dst\"\n", "x = 1\ny = x +\n",
			"dir/b.dst:2:8: got the end of the statement, want an operand: a tensor, a number, a function, sum(...) or a parenthesis (included at dir/main.dst:1:1)\n    y = x +\n           ^"},
		{"x = 1\ninclude \"b.dst\"\ny = q\n", "z = x\n",
			"dir/main.dst:3:5: got q, which is neither declared nor computed by a statement above\n    y = q\n        ^"},
		{"include \"b.dst\"\n", "include \"main.dst\"\n",
			"dir/b.dst:1:9: got the file dir/main.dst, which includes this line (included at dir/main.dst:1:1)\n    include \"main.dst\"\n            ^^^^^^^^^^"},
		{"include \"c.dst\"\n", "",
			"dir/main.dst:1:9: got a file that cannot be read: dir/c.dst does not exist\n    include \"c.dst\"\n            ^^^^^^^"},
		{"include \"b.dst\"\nx(i) = f(x(i))\n", "def f(a) = a + 1\n",
			"dir/main.dst:2:10: got x, which has no values yet: line 2 is the first to compute it\n    x(i) = f(x(i))\n             ^^^^"},
		{"tensor A(2): d from dense\ninclude \"b.dst\"\ncall p(A, y)\nq = 3\n", "proc p(x, r) {\n  r(i) = x(i)\n  q(j) = x(i,j)\n}\n",
			"dir/b.dst:3:10: got A with 2 modes, want 1, as on line 1 (called at dir/main.dst:3:1, included at dir/main.dst:2:1)\n      q(j) = x(i,j)\n             ^^^^^^"},
		{"include \"b.dst\"\nparam f = 1\n", "def f(a) = a + 1\n",
			"dir/main.dst:2:7: got f as a param, but it is a function on line 1 of dir/b.dst; want different names\n    param f = 1\n          ^"},
		{"include \"b.dst\"\nz = g(1)\n", "def f(a) = a + 1\ndef g(a) = f(a) * u\n",
			"dir/b.dst:2:19: got u in function g, want its arguments, numbers and params (included at dir/main.dst:1:1)\n    def g(a) = f(a) * u\n                      ^"},
	} {
		_, err := parseFiles(map[string]string{"dir/main.dst": c.main, "dir/b.dst": c.other})
		if got := strings.TrimRight(errText(err), "\n"); got != c.want {
			t.Errorf("%q and %q: got\n%s\nwant\n%s", c.main, c.other, got, c.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}
