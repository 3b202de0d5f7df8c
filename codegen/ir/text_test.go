package ir_test

import (
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/io/tensor"
)

// TestRoundTrip checks that Parse(Print(f)) equals f. The leaves are written in the style of Print,
// except for redundant parentheses, so that it also checks that Print(Parse(s)) equals s.
func TestRoundTrip(t *testing.T) {
	for _, c := range irtest.All() {
		f := c.Func()
		text := ir.Print(f)
		if text != c.Text {
			t.Errorf("%s: printed\n%s\nwant\n%s", c.Name, text, c.Text)
		}
		g, err := ir.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if again := ir.Print(g); again != text ||
			!strings.Contains(text, "nan") && !reflect.DeepEqual(f, g) {
			t.Errorf("%s: read back as\n%s\nwant\n%s", c.Name, again, text)
		}
	}
}

func TestVerifyCases(t *testing.T) {
	for _, c := range irtest.All() {
		if err := ir.Verify(c.Func()); err != nil {
			t.Error(err)
		}
	}
}

// TestWordsAsNames checks that variables may have the names of words of the text form.
func TestWordsAsNames(t *testing.T) {
	a := ir.NewArray("a", tensor.Float64)
	for _, name := range []string{"mark", "collect", "union", "fill", "far", "warp", "reduce", "zero", "apply"} {
		v := ir.NewVar(name, tensor.Int64)
		f := &ir.Func{Name: "f", Params: []ir.Param{{Slot: ir.Slot{Field: ir.Vals}, A: a}},
			Body: ir.Seq(&ir.Declare{V: v, Init: ir.Int(0)}, &ir.Prefetch{A: a, Index: v},
				&ir.Assign{V: v, X: ir.Int(1)}, &ir.Prefetch{A: a, Index: v, Far: true},
				&ir.Assign{V: v, Accumulate: true, X: ir.Int(1)})}
		g, err := ir.Parse(ir.Print(f))
		if err != nil || !reflect.DeepEqual(f, g) {
			t.Errorf("%s: got %v, %v", name, err, ir.Print(f))
		}
	}
}

func TestParseErrors(t *testing.T) {
	cases := []struct{ src, want string }{
		{"", `1:1: got the end, want "func"`},
		{"func for", `got "for", want a name`},
		{"func f {\n x = 1\n}", "2:4: x is neither a variable nor an array"},
		{"func f {\n var x int64 = \n}", `3:1: got "}", want a name`},
		{"func f {\n var x int65 = 1\n}", `got "int65", want a type`},
		{"func f {\n var x int64 = 1e\n}", `got "1e", want a number`},
		{"func f {\n var x int64 = 99999999999999999999\n}", `got "99999999999999999999", want a number`},
		{"func f {\n var x int32 = 2147483648i32\n}", `got "2147483648i32", want a number`},
		{"func f param x float64 = t0.nose", `got "nose", want a field of a tensor, such as vals or pos`},
		{"func f param x float64 = u0.vals", `got "u0", want t followed by a number`},
		{"func f param x = t0.level0.size param x float64 = t0.vals", "x is not an array"},
		{"func f { fail ok() }", "want the name of a failure"},
		{"func f { var x int64 = 1 atomic x = 2 }", "x is not an array"},
		{"func f { } }", "after the function"},
		{"func f { var x int64 = 1 < 2 < 3 }", `got "<"`},
		{"func @f", "quoted name"},
		{"func f { ~ }", "starts nothing"},
		{"func f { var x int64 = " + strings.Repeat("(", 100000), "nested too deep"},
	}
	for _, c := range cases {
		_, err := ir.Parse(c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: got %v, want %q", c.src, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range irtest.All() {
		f.Add(c.Text)
	}
	f.Fuzz(func(t *testing.T, src string) {
		g, err := ir.Parse(src)
		if err != nil || g.Body == nil {
			return
		}
		text := ir.Print(g)
		h, err := ir.Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again := ir.Print(h); again != text {
			t.Fatalf("got\n%s\nwant\n%s", again, text)
		}
		_ = ir.Verify(g)
	})
}

func TestVerify(t *testing.T) {
	const head = "func f\n param x float64 = t0.vals\n param c int32 const = t0.level0.crd\n " +
		"param n = t0.nnz\n bounds lo hi\n{\n"
	cases := []struct{ body, want string }{
		{"x[0] = 1", "array x holds float64, but a value of type int64 is stored in it"},
		{"x[0i32] = 1.0", "index 0i32 has the type int32, want int64"},
		{"c[0] = 1", "c is const"},
		{"fill c[0 : 1] = 1", "c is const"},
		{"sort x[0 : 1]", "only integers are sorted"},
		{"alloc b int32[1] zero\n alloc w int32[2]\n var k int64 = 0\n mark b[0], w, k",
			"b holds int32, want int64"},
		{"alloc b int64[1] zero\n mark b[0], c, n", "c is const"},
		{"alloc b int64[1] zero\n alloc w int32[2]\n mark b[0], w, n",
			"n cannot be assigned, because it is a loop variable or a parameter of the function"},
		{"alloc b int64[1] zero\n alloc w int32[2]\n var k int64 = 0\n collect w[0] = b[1], w, b, k",
			"b holds int64, want bool"},
		{
			"alloc b int64[1] zero\n alloc w int32[2]\n alloc f bool[64] zero\n var k int64 = 0\n " +
				"collect x[0] = b[1], w, f, k", "x holds float64, want int32"},
		{"x[0] = 1.0 + 1", "the operands of 1.0 + 1 have the types float64 and int64, want equal types"},
		{"x[0] = 1.0 % 2.0", "no operator %"},
		{"x[0] = c[0:64]", "of type int64"},
		{"x[0] = float64(x[0:64])", "cannot be widened"},
		{"x[0] = select(1, 1.0, 2.0)", "condition 1 has the type int64, want bool"},
		{"x[0] = select(true, 1.0, 2)", "value 2 has the type int64, want float64"},
		{"x[0] = float64(int64(complex128(x[0])))", "cannot convert a value from complex128 to int64"},
		{"if !n == 1 {\n }", "no unary operator !"},
		{"while n {\n }", "condition n"},
		{"n = 3", "n cannot be assigned, because it is a loop variable or a parameter of the function"},
		{"for i in 0 : 2 {\n i = 1\n }", "cannot be assigned"},
		{"for i in 0 : 2 step 0 {\n }", "step 0"},
		{"for i in 0 : 2 {\n var i int64 = 2\n }", "variable i is declared twice in one scope"},
		{"var a int64 = 1\n var a int64 = 2", "variable a is declared twice in one scope"},
		{"{\n var a int64 = 1\n }\n a = 2", "a is not declared here"},
		{"var a float64 = 1", "variable a has the type float64, but its value has the type int64; " +
			"want equal types"},
		{"var a bool = true\n var b bool = a - a", "the type bool has no operator -"},
		{"var a int64 = 0\n for i in 0 : 2 parallel {\n a = i\n }", "the parallel loop assigns a, which it neither declares nor reduces"},
		{"var a int64 = 0\n for i in 0 : 2 vector {\n a += i\n }", "the vector loop assigns a, which it neither declares nor reduces"},
		{"var a int64 = 0\n for i in 0 : 2 parallel reduce(a) {\n a = i\n }",
			"the parallel loop assigns a, which it neither declares nor reduces"},
		{"var a int64 = 0\n for i in 0 : 2 parallel reduce(a) {\n a += a\n }",
			"a must not be read in the parallel loop, which reduces it"},
		{"var a int64 = 0\n for i in 0 : 2 vector nontemporal reduce(a) {\n a += i\n }",
			"got a nontemporal vector loop, want a vector loop that has no reduction"},
		{"for i in 0 : 2 parallel reduce(n) {\n }", "a loop cannot reduce n; want a number that is " +
			"declared outside of the loop"},
		{"for i in 0 : 2 vector {\n for j in 0 : 2 parallel {\n }\n }",
			"a vector loop must not contain a parallel loop"},
		{"alloc w int64[1]\n for i in 0 : 2 parallel {\n free w\n }",
			"the parallel loop uses w from outside; want it declared within the parallel loop"},
		{"alloc w int64[1]\n var k int64 = 1\n for i in 0 : 2 parallel {\n grow w, k, 3\n }",
			"the parallel loop uses w from outside; want it declared within the parallel loop"},
		{"free x", "x is a parameter"},
		{"alloc x float64[1]", "x is a parameter"},
		{"publish t0.vals = x, 1", "x is a parameter"},
		{"alloc w float64[1]\n publish t0.vals = w, 1\n publish t0.vals = w, 1", "published twice"},
		{"alloc w float64[1]\n publish t0.level0.pos = w, 1", "array w holds float64, but slot " +
			"t0.level0.pos needs integers"},
		{"alloc w float64[1]\n while true {\n publish t0.vals = w, 1\n }", "publish in a loop"},
		{"alloc w float64[1]\n copy w[0] = c[0], 1", "cannot copy from c, which holds int32, to w, " +
			"which holds float64; want equal types"},
		{"fail bound(true)", "coordinate true"},
		{"alloc p int64[1]\n sortby p[0 : 1] ()", "no keys"},
		{"alloc p int64[1]\n sortby p[0 : 1] (c)", "array c cannot be a sort key; want an array of " +
			"int64 other than the permutation"},
		{"alloc p int64[1]\n sortby p[0 : 1] (p)", "array p cannot be a sort key; want an array of " +
			"int64 other than the permutation"},
		{"alloctable T float64[3]\n keep T[0] = x", "x is a parameter"},
		{"alloctable T int64[3]\n alloc w float64[1]\n keep T[0] = w",
			"table T holds arrays of int64, but array w holds float64; want equal types"},
		{"ordered {\n }", "an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel {\n ordered {\n }\n }",
			"an ordered section that is not the only one in the body of a parallel(dynamic, 1) loop"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n ordered {\n }\n ordered {\n }\n }",
			"an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n if i == 1 {\n ordered {\n }\n }\n }",
			"an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n ordered {\n n = 3\n }\n }",
			"n cannot be assigned, because it is a loop variable or a parameter of the function"},
		{"alloctable T int64[3]\n for i in 0 : 3 parallel {\n freetable T\n }",
			"the parallel loop uses T from outside; want it declared within the parallel loop"},
		{"x[search(x, 0, 1, 0)] = 1.0", "only integers are searched"},
		{"for i in 0 : 2 warps(2) {\n }", "a warps loop must be within a blocks loop"},
		{"for i in 0 : 2 lanes(2) {\n }", "a lanes loop must be within a blocks loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 blocks {\n }\n }", "a blocks loop must not " +
			"contain a blocks loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 warps(33) {\n }\n }",
			"a warps loop of width 33, want 1 to 32"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(1025) {\n }\n }",
			"a lanes loop of width 1025, want 1 to 1024"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 warps(2) {\n for k in 0 : 2 lanes(16) {\n }\n }\n }",
			"a lanes loop has the width 16, want 32: the lanes of a warp"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(2) {\n for k in 0 : 2 warps(2) {\n }\n }\n }",
			"a lanes loop must not contain a warps loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(2) {\n for k in 0 : 2 lanes(2) {\n }\n }\n }",
			"a lanes loop must not contain a lanes loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 parallel {\n }\n }",
			"a blocks loop must not contain a parallel loop"},
		{"for i in 0 : 2 parallel {\n for j in 0 : 2 blocks {\n }\n }",
			"a parallel loop must not contain a blocks loop"},
		{"var a int64 = 0\n for i in 0 : 2 blocks {\n a = i\n }", "the blocks loop assigns a, which it neither declares nor reduces"},
		{"for i in 0 : 2 blocks {\n var a int64 = 0\n for j in 0 : 2 lanes(2) {\n a += i\n }\n }",
			"the lanes loop assigns a, which it neither declares nor reduces"},
		{"for i in 0 : 2 blocks {\n }\n launch k[1, 32] b, t {\n }",
			"a leaf with a blocks loop must not contain a launch"},
		{"launch k[1, 32] b, t {\n }\n for i in 0 : 2 blocks {\n }",
			"a leaf with a launch must not contain a blocks loop"},
		{"launch k[1, 33] b, t {\n }", "a launch has 33 threads in each block, want a multiple of " +
			"32 up to 1024"},
		{"launch k[1, 2048] b, t {\n }", "a launch has 2048 threads in each block, want a multiple " +
			"of 32 up to 1024"},
		{"launch k[true, 32] b, t {\n }", "grid true has the type bool, want int64"},
		{"launch k[1, 32] b, t {\n }\n launch k[1, 32] b, t {\n }",
			`got the name "k" for a launch, want a name that no other launch has`},
		{"for i in 0 : 2 parallel {\n launch k[1, 32] b, t {\n }\n }", "a launch in a parallel loop"},
		{"launch k[1, 32] b, t {\n launch l[1, 32] d, u {\n }\n }", "a launch must not contain this " +
			"operation"},
		{"launch k[1, 32] b, t {\n fill x[0 : 1] = 1.0\n }", "a launch must not contain this operation"},
		{"launch k[1, 32] b, t {\n alloc w int64[1]\n }", "a launch must not contain this operation"},
		{"launch k[1, 32] b, t {\n for i in 0 : 2 vector {\n }\n }", "a launch must not contain a " +
			"vector loop"},
		{"launch k[1, 32] b, t {\n t = 1\n }", "t is a loop variable"},
		{"var a int64 = 0\n launch k[1, 32] b, t {\n a = t\n }", "the launch assigns a, which it neither declares nor reduces"},
		{"launch k[1, 32] b, t {\n }\n x[t] = 1.0", "t is not declared here"},
		{"launch k[1, 32] b, t {\n shared w float64[4000]\n shared z float64[4000]\n }",
			"the shared arrays of a GPU block have 64000 bytes together, want at most 49152"},
		{"shared w float64[4]", "only a launch may contain this operation"},
		{"barrier", "only a launch may contain this operation"},
		{"launch k[1, 32] b, t {\n var a int64 = 0\n shuffle a = t, 32\n }",
			"a shuffle has the mask 32, want 1 to 31"},
		{"launch k[1, 32] b, t {\n var a int64 = 0\n shuffle a = true, 1\n }",
			"variable a has the type int64, but its value has the type bool"},
		{"launch k[1, 32] b, t {\n shuffle n = t, 1\n }",
			"n cannot be assigned, because it is a loop variable or a parameter of the function"},
		{"scan x[0 : 1]", "only integers are scanned"},
		{"scan c[0 : 1]", "c is const"},
		{"alloc w int64[1]\n for i in 0 : 2 {\n scan w[0 : 1]\n }", "scan in a loop"},
	}
	for _, c := range cases {
		f, err := ir.Parse(head + c.body + "\n}")
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if err := ir.Verify(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.body, err, c.want)
		}
	}
}

// TestVerifyNodes breaks rules that the text form cannot write.
func TestVerifyNodes(t *testing.T) {
	x, y := ir.NewVar("x", tensor.Int64), ir.NewVar("x", tensor.Int64)
	a, b := ir.NewArray("a", tensor.Float64), ir.NewArray("b", tensor.Float64)
	valsOf := ir.Slot{Field: ir.Vals}
	cases := []struct {
		f    *ir.Func
		want string
	}{
		{&ir.Func{Name: "f"}, "no body"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x, Init: ir.Int(1)}, &ir.Declare{V: y, Init: ir.Int(1)})},
			"two things are named x"},
		{&ir.Func{Body: ir.Seq(&ir.Free{A: a})}, "array a is used before it is allocated, and it is " +
			"not a parameter"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x})}, "nil expression"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x, Init: &ir.Lit{}})}, "without a type"},
		{&ir.Func{Body: ir.Seq(&ir.If{Cond: ir.Truth(true)})}, "nil block"},
		{&ir.Func{Params: []ir.Param{{Slot: valsOf, A: a}, {Slot: valsOf, A: b}}, Body: ir.Seq()},
			"bound twice"},
		{&ir.Func{Params: []ir.Param{{Slot: valsOf, V: x}}, Body: ir.Seq()}, ": slot t0.vals holds " +
			"an array, so its parameter must be an array"},
		{&ir.Func{Params: []ir.Param{{Slot: ir.Slot{Field: ir.Size}, A: a}}, Body: ir.Seq()},
			": slot t0.level0.size holds a number, so its parameter must not be an array"},
		{&ir.Func{Params: []ir.Param{{Slot: ir.Slot{Field: ir.Pos}, A: a}}, Body: ir.Seq()},
			": array a holds float64, but slot t0.level0.pos needs integers"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x, Init: &ir.Lit{Typ: tensor.Int32, I: 1 << 40}})},
			"no int32 literal"},
		{&ir.Func{Body: ir.Seq(&ir.Fail{Code: 9})}, "no such failure"},
	}
	for _, c := range cases {
		if err := ir.Verify(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
