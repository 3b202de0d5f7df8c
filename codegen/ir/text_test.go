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
	for _, name := range []string{"mark", "collect", "union", "fill", "far", "warp", "reduce", "zero"} {
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
		{"func f {\n var x int64 = 1e\n}", "no number"},
		{"func f {\n var x int64 = 99999999999999999999\n}", "no number"},
		{"func f {\n var x int32 = 2147483648i32\n}", "no number"},
		{"func f param x float64 = t0.nose", "want a part of a tensor"},
		{"func f param x float64 = u0.vals", "want t and a number"},
		{"func f param x = t0.level0.size param x float64 = t0.vals", "x is no array"},
		{"func f { fail ok() }", "want the name of a failure"},
		{"func f { var x int64 = 1 atomic x = 2 }", "x is no array"},
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
	const head = "func f\n param x float64 = t0.vals\n param c int32 const = t0.level0.crd\n param n = t0.nnz\n bounds lo hi\n{\n"
	cases := []struct{ body, want string }{
		{"x[0] = 1", "x holds float64, the value is of type int64"},
		{"x[0i32] = 1.0", "index 0i32 is of type int32"},
		{"c[0] = 1", "c is const"},
		{"fill c[0 : 1] = 1", "c is const"},
		{"sort x[0 : 1]", "only integers are sorted"},
		{"alloc b int32[1] zero\n alloc w int32[2]\n var k int64 = 0\n mark b[0], w, k",
			"b holds int32, want int64"},
		{"alloc b int64[1] zero\n mark b[0], c, n", "c is const"},
		{"alloc b int64[1] zero\n alloc w int32[2]\n mark b[0], w, n",
			"n is a loop variable or of the function's head"},
		{"alloc b int64[1] zero\n alloc w int32[2]\n var k int64 = 0\n collect w[0] = b[1], w, b, k",
			"b holds int64, want bool"},
		{
			"alloc b int64[1] zero\n alloc w int32[2]\n alloc f bool[64] zero\n var k int64 = 0\n collect x[0] = b[1], w, f, k", "x holds float64, want int32"},
		{"x[0] = 1.0 + 1", "operands of 1.0 + 1 are of types float64 and int64"},
		{"x[0] = 1.0 % 2.0", "no operator %"},
		{"x[0] = c[0:64]", "of type int64"},
		{"x[0] = float64(x[0:64])", "cannot be widened"},
		{"x[0] = select(1, 1.0, 2.0)", "condition 1 is of type int64"},
		{"x[0] = select(true, 1.0, 2)", "value 2 is of type int64"},
		{"x[0] = float64(int64(complex128(x[0])))", "no cast from complex128 to int64"},
		{"if !n == 1 {\n }", "no unary operator !"},
		{"while n {\n }", "condition n"},
		{"n = 3", "n is a loop variable or of the function's head"},
		{"for i in 0 : 2 {\n i = 1\n }", "cannot be assigned"},
		{"for i in 0 : 2 step 0 {\n }", "step 0"},
		{"for i in 0 : 2 {\n var i int64 = 2\n }", "visible already"},
		{"var a int64 = 1\n var a int64 = 2", "visible already"},
		{"{\n var a int64 = 1\n }\n a = 2", "a is not declared here"},
		{"var a float64 = 1", "a is of type float64, its value int64"},
		{"var a bool = true\n a += true", "cannot be added to"},
		{"var a int64 = 0\n for i in 0 : 2 parallel {\n a = i\n }", "neither its own nor in reduce"},
		{"var a int64 = 0\n for i in 0 : 2 vector {\n a += i\n }", "neither its own nor in reduce"},
		{"var a int64 = 0\n for i in 0 : 2 parallel reduce(a) {\n a = i\n }",
			"neither its own nor in reduce"},
		{"var a int64 = 0\n for i in 0 : 2 parallel reduce(a) {\n a += a\n }",
			"a is read in the parallel loop that reduces it"},
		{"var a int64 = 0\n for i in 0 : 2 vector nontemporal reduce(a) {\n a += i\n }",
			"want a vector loop that reduces nothing"},
		{"for i in 0 : 2 parallel reduce(n) {\n }", "n cannot be reduced"},
		{"for i in 0 : 2 vector {\n for j in 0 : 2 parallel {\n }\n }",
			"a parallel loop in a vector loop"},
		{"alloc w int64[1]\n for i in 0 : 2 parallel {\n free w\n }",
			"w is from outside the parallel loop"},
		{"alloc w int64[1]\n var k int64 = 1\n for i in 0 : 2 parallel {\n grow w, k, 3\n }",
			"w is from outside the parallel loop"},
		{"free x", "x is a parameter"},
		{"alloc x float64[1]", "x is a parameter"},
		{"publish t0.vals = x, 1", "x is a parameter"},
		{"alloc w float64[1]\n publish t0.vals = w, 1\n publish t0.vals = w, 1", "published twice"},
		{"alloc w float64[1]\n publish t0.level0.pos = w, 1", "wants integers"},
		{"alloc w float64[1]\n while true {\n publish t0.vals = w, 1\n }", "publish in a loop"},
		{"alloc w float64[1]\n copy w[0] = c[0], 1", "w holds float64, c holds int32"},
		{"fail bound(true)", "coordinate true"},
		{"alloc p int64[1]\n sortby p[0 : 1] ()", "no keys"},
		{"alloc p int64[1]\n sortby p[0 : 1] (c)", "c cannot be a key"},
		{"alloc p int64[1]\n sortby p[0 : 1] (p)", "p cannot be a key"},
		{"alloctable T float64[3]\n keep T[0] = x", "x is a parameter"},
		{"alloctable T int64[3]\n alloc w float64[1]\n keep T[0] = w",
			"T holds arrays of int64, w is of float64"},
		{"ordered {\n }", "an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel {\n ordered {\n }\n }",
			"an ordered section that is not the only one in the body of a parallel(dynamic, 1) loop"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n ordered {\n }\n ordered {\n }\n }",
			"an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n if i == 1 {\n ordered {\n }\n }\n }",
			"an ordered section that is not the only one"},
		{"for i in 0 : 2 parallel(dynamic, 1) {\n ordered {\n n = 3\n }\n }",
			"n is a loop variable or of the function's head"},
		{"alloctable T int64[3]\n for i in 0 : 3 parallel {\n freetable T\n }",
			"T is from outside the parallel loop"},
		{"x[search(x, 0, 1, 0)] = 1.0", "only integers are searched"},
		{"for i in 0 : 2 warps(2) {\n }", "a warps loop outside of a blocks loop"},
		{"for i in 0 : 2 lanes(2) {\n }", "a lanes loop outside of a blocks loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 blocks {\n }\n }", "a blocks loop in a blocks loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 warps(33) {\n }\n }",
			"a warps loop of width 33, want 1 to 32"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(1025) {\n }\n }",
			"a lanes loop of width 1025, want 1 to 1024"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 warps(2) {\n for k in 0 : 2 lanes(16) {\n }\n }\n }",
			"16 lanes in a warp, want 32"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(2) {\n for k in 0 : 2 warps(2) {\n }\n }\n }",
			"a warps loop in a lanes loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 lanes(2) {\n for k in 0 : 2 lanes(2) {\n }\n }\n }",
			"a lanes loop in a lanes loop"},
		{"for i in 0 : 2 blocks {\n for j in 0 : 2 parallel {\n }\n }",
			"a parallel loop in a blocks loop"},
		{"for i in 0 : 2 parallel {\n for j in 0 : 2 blocks {\n }\n }",
			"a blocks loop in a parallel loop"},
		{"var a int64 = 0\n for i in 0 : 2 blocks {\n a = i\n }", "a is from outside the blocks loop"},
		{"for i in 0 : 2 blocks {\n var a int64 = 0\n for j in 0 : 2 lanes(2) {\n a += i\n }\n }",
			"a is from outside the lanes loop"},
		{"for i in 0 : 2 blocks {\n }\n launch k[1, 32] b, t {\n }",
			"a launch in a leaf with a blocks loop"},
		{"launch k[1, 32] b, t {\n }\n for i in 0 : 2 blocks {\n }",
			"a blocks loop in a leaf with a launch"},
		{"launch k[1, 33] b, t {\n }", "a launch of 33 threads a block"},
		{"launch k[1, 2048] b, t {\n }", "a launch of 2048 threads a block"},
		{"launch k[true, 32] b, t {\n }", "grid true is of type bool"},
		{"launch k[1, 32] b, t {\n }\n launch k[1, 32] b, t {\n }",
			`the name "k" of a launch is empty or another's`},
		{"for i in 0 : 2 parallel {\n launch k[1, 32] b, t {\n }\n }", "a launch in a parallel loop"},
		{"launch k[1, 32] b, t {\n launch l[1, 32] d, u {\n }\n }", "it cannot stand in a launch"},
		{"launch k[1, 32] b, t {\n fill x[0 : 1] = 1.0\n }", "it cannot stand in a launch"},
		{"launch k[1, 32] b, t {\n alloc w int64[1]\n }", "it cannot stand in a launch"},
		{"launch k[1, 32] b, t {\n for i in 0 : 2 vector {\n }\n }", "a vector loop in a launch"},
		{"launch k[1, 32] b, t {\n t = 1\n }", "t is a loop variable"},
		{"var a int64 = 0\n launch k[1, 32] b, t {\n a = t\n }", "a is from outside the launch"},
		{"launch k[1, 32] b, t {\n }\n x[t] = 1.0", "t is not declared here"},
		{"launch k[1, 32] b, t {\n shared w float64[4000]\n shared z float64[4000]\n }",
			"shared arrays of 64000 bytes, want at most 49152"},
		{"shared w float64[4]", "it stands in no launch"},
		{"barrier", "it stands in no launch"},
		{"launch k[1, 32] b, t {\n var a int64 = 0\n shuffle a = t, 32\n }",
			"a shuffle by mask 32, want 1 to 31"},
		{"launch k[1, 32] b, t {\n var a int64 = 0\n shuffle a = true, 1\n }",
			"a is of type int64, its value bool"},
		{"launch k[1, 32] b, t {\n shuffle n = t, 1\n }",
			"n is a loop variable or of the function's head"},
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
		{&ir.Func{Body: ir.Seq(&ir.Free{A: a})}, "neither a parameter nor allocated"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x})}, "nil expression"},
		{&ir.Func{Body: ir.Seq(&ir.Declare{V: x, Init: &ir.Lit{}})}, "without a type"},
		{&ir.Func{Body: ir.Seq(&ir.If{Cond: ir.Truth(true)})}, "nil block"},
		{&ir.Func{Params: []ir.Param{{Slot: valsOf, A: a}, {Slot: valsOf, A: b}}, Body: ir.Seq()},
			"bound twice"},
		{&ir.Func{Params: []ir.Param{{Slot: valsOf, V: x}}, Body: ir.Seq()}, "needs one"},
		{&ir.Func{Params: []ir.Param{{Slot: ir.Slot{Field: ir.Size}, A: a}}, Body: ir.Seq()},
			"needs a variable"},
		{&ir.Func{Params: []ir.Param{{Slot: ir.Slot{Field: ir.Pos}, A: a}}, Body: ir.Seq()},
			"wants integers"},
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
