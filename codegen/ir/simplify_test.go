package ir_test

import (
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
)

func TestSimplify(t *testing.T) {
	const head = "func f\n  param x float64 = t0.vals\n  param k int64 = t1.vals\n  bounds lo hi\n{\n"
	cases := []struct{ body, want string }{
		{"var a int64 = 3\nx[a + 1] = 1.0", "x[4] = 1.0"},
		{"var a int64 = lo\nvar b int64 = a\nk[b] = a", "k[lo] = lo"},
		{"var a int64 = lo\na = 2\nk[a] = a", "var a int64 = lo\na = 2\nk[a] = a"},
		{"var a int64 = lo\nvar b int64 = a\na += 1\nk[b] = a",
			"var a int64 = lo\nvar b int64 = a\na += 1\nk[b] = a"},
		{"var a int64 = 0\nvar b int64 = 0\na += b + k[0]\nb += a", ""},
		{"for i in lo : hi {\nvar a int64 = i\nk[a] = a\n}", "for i in lo : hi {\nk[i] = i\n}"},
		{"for i in 2 : 3 {\nk[i] = i\n}", "k[2] = 2"},
		{"for i in 2 : 9 step 7 parallel {\nk[i] = i\n}", "k[2] = 2"},
		{"for i in 2 : 3 parallel(dynamic, 1) {\nordered {\nk[i] = i\n}\n}", "k[2] = 2"},
		{"for i in lo : hi parallel(dynamic, 1) {\nk[i] = i\nordered {\nvar a int64 = 3\n}\n}",
			"for i in lo : hi parallel(dynamic, 1) {\nk[i] = i\n}"},
		{"for i in 2 : 10 step 7 {\nk[i] = i\n}", "for i in 2 : 10 step 7 {\nk[i] = i\n}"},
		{"for i in 3 : 3 {\nk[i] = i\n}\nfor i in lo : lo {\nk[i] = i\n}", ""},
		{"for i in lo : hi {\n# nothing\nif k[i] == 0 {\n}\n}", ""},
		{"while lo < lo {\nk[0] = 1\n}", ""},
		{"while k[0] < 1 {\n}", "while k[0] < 1 {\n}"},
		{"if true {\nk[0] = 1\n} else {\nk[0] = 2\n}", "k[0] = 1"},
		{"if lo == lo + 1 - 1 {\nvar a int64 = k[0]\nk[0] = a\n}\nk[1] = 1",
			"{\nvar a int64 = k[0]\nk[0] = a\n}\nk[1] = 1"},
		{"if lo < hi {\n} else {\nk[0] = 2\n}", "if hi <= lo {\nk[0] = 2\n}"},
		{"if lo < hi {\nk[0] = 1\n} else {\n}", "if lo < hi {\nk[0] = 1\n}"},
		{"{\n{\nk[0] = 1\n}\nvar a int64 = k[0]\nk[1] = a\n}", "k[0] = 1\nvar a int64 = k[0]\nk[1] = a"},
		{"if lo < 0 {\nfail bound(lo)\nk[0] = 1\n}", "if lo < 0 {\nfail bound(lo)\n}"},
		{"fill x[lo : lo] = 1.0", ""},
		{"var s int64 = 0\nfor i in lo : hi vector reduce(s) {\ns += i\nk[i] = 1\n}",
			"for i in lo : hi vector {\nk[i] = 1\n}"},
		{"var s int64 = 0\nfor i in lo : hi vector reduce(s) {\nk[i] = 1\n}\nk[0] = s",
			"var s int64 = 0\nfor i in lo : hi vector reduce(s) {\nk[i] = 1\n}\nk[0] = s"},
		{"var s int64 = k[0]\ns += 0\nk[1] = s", "var s int64 = k[0]\nk[1] = s"},
		{"var s float64 = x[0]\ns += 0.0\nx[1] = s", "var s float64 = x[0]\ns += 0.0\nx[1] = s"},
		{"for i in 2 : 3 blocks {\nfor j in 0 : 1 lanes(32) {\nk[i] = j\n}\n}",
			"for i in 2 : 3 blocks {\nfor j in 0 : 1 lanes(32) {\nk[i] = j\n}\n}"},
		{"for i in lo : hi blocks {\nfor j in 0 : 0 lanes(32) {\nk[i] = j\n}\n}", ""},
		{"launch g[lo - 0, 32] b, t {\nvar a int64 = b\nk[a] = t\n}",
			"launch g[lo, 32] b, t {\nk[b] = t\n}"},
		{"launch g[lo, 32] b, t {\nvar a int64 = b\n}", ""},
		{"launch g[lo, 32] b, t {\nvar a int64 = 0\nshuffle a = t + 0, 1\nk[b] = a\n}",
			"launch g[lo, 32] b, t {\nvar a int64 = 0\nshuffle a = t, 1\nk[b] = a\n}"},
		{"launch g[lo, 32] b, t {\nvar a int64 = 0\nshuffle a = t, 1\nk[b] = t\n}",
			"launch g[lo, 32] b, t {\nk[b] = t\n}"},
		{"scan k[lo : hi + 0]\nscan k[lo : lo]", "scan k[lo : hi]"},
	}
	for _, c := range cases {
		f, err := ir.Parse(head + c.body + "\n}")
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		ir.Simplify(f)
		if err := ir.Verify(f); err != nil {
			t.Errorf("%s: %v", c.body, err)
		}
		var lines []string
		for _, l := range strings.Split(strings.TrimPrefix(ir.Print(f), head), "\n") {
			lines = append(lines, strings.TrimSpace(l))
		}
		got := strings.TrimSuffix(strings.TrimSuffix(strings.Join(lines, "\n"), "}\n"), "\n")
		if got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", c.body, got, c.want)
		}
	}
}

// TestSimplifyMeaning runs every leaf before and after Simplify and compares the results.
func TestSimplifyMeaning(t *testing.T) {
	for _, c := range irtest.Cases() {
		f := c.Func()
		ir.Simplify(f)
		once := ir.Print(f)
		ir.Simplify(f)
		if twice := ir.Print(f); twice != once {
			t.Errorf("%s: simplified again to\n%s\nfrom\n%s", c.Name, twice, once)
		}
		want, got := c.Args(), c.Args()
		wantFail, err := interp.Run(c.Func(), want, c.Bounds, 2)
		if err != nil {
			t.Fatal(err)
		}
		gotFail, err := interp.Run(f, got, c.Bounds, 2)
		if err != nil {
			t.Fatalf("%s: %v\n%s", c.Name, err, once)
		}
		if fmt.Sprint(gotFail, got) != fmt.Sprint(wantFail, want) {
			t.Errorf("%s: got %v, %v, want %v, %v", c.Name, gotFail, got, wantFail, want)
		}
	}
}
