package reference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// tensorOf makes a tensor from a map of coordinates, such as "1,2", to values.
func tensorOf(t tensor.Type, dims []int64, entries map[string]float64) *Tensor {
	out := NewTensor(t, dims...)
	for key, v := range entries {
		coord := make([]int64, len(dims))
		for m, s := range strings.FieldsFunc(key,
			func(r rune) bool { return strings.ContainsRune(", []", r) }) {
			fmt.Sscan(s, &coord[m])
		}
		if t.IsInt() {
			out.Append(coord, Int(int64(v)))
		} else {
			out.Append(coord, Float(v))
		}
	}
	return out.Finish()
}

// problem returns a statement over variables of the given sizes, without its tensors.
func problem(t testing.TB, src string, ty tensor.Type, sizes map[string]int64) Problem {
	t.Helper()
	s, err := notation.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	if err := notation.Check(s); err != nil {
		t.Fatal(err)
	}
	n := notation.Normalize(s)
	p := Problem{Normal: n, Sizes: map[string]int64{}, Compute: ty, Result: ty,
		Tensors: map[string]*Tensor{}}
	for _, v := range n.Vars {
		name := v
		if user, ok := n.Source[v]; ok {
			name = user
		}
		p.Sizes[v] = sizes[name]
	}
	return p
}

// evaluate runs a statement over tensors of one type.
func evaluate(t testing.TB, src string, ty tensor.Type, sizes map[string]int64,
	tensors map[string]map[string]float64) (*Evaluator, map[string]float64, error) {
	t.Helper()
	p := problem(t, src, ty, sizes)
	n := p.Normal
	for _, a := range append(n.Accesses(), n.LHS) {
		if a == n.LHS && tensors[a.Name] == nil {
			continue
		}
		dims := make([]int64, len(a.Vars))
		for m, v := range a.Vars {
			dims[m] = p.Sizes[v]
		}
		entries := tensors[a.Name]
		if len(dims) == 0 && len(entries) == 0 {
			entries = map[string]float64{"": 0}
		}
		p.Tensors[a.Name] = tensorOf(ty, dims, entries)
	}
	e := New(p)
	out, _, err := e.All(context.Background())
	if err != nil {
		return e, nil, err
	}
	got := map[string]float64{}
	coord := make([]int64, len(out.Dims))
	for k := range out.Len() {
		out.Coord(k, coord)
		key := strings.Trim(strings.ReplaceAll(fmt.Sprint(coord), " ", ","), "[]")
		if ty.IsInt() {
			got[key] = float64(out.Value(k).I)
		} else {
			got[key] = real(out.Value(k).C)
		}
	}
	return e, got, nil
}

func same(a, b map[string]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok || v != w && !(math.IsNaN(v) && math.IsNaN(w)) {
			return false
		}
	}
	return true
}

// TestSpec has the rules of "Tensor index notation" in the specification, with results computed by
// hand.
func TestSpec(t *testing.T) {
	type m = map[string]float64
	type ts = map[string]m
	inf, nan := math.Inf(1), math.NaN()
	sizes := map[string]int64{"i": 2, "j": 3, "k": 2}
	B := m{"0,0": 1, "0,2": 2, "1,2": 3}       // i j
	C := m{"0,0": 10, "0,1": 20, "1,0": 30}    // i k
	c := m{"0": 5, "2": 7}                     // j
	d := m{"0": 100}                           // i
	S := m{"0,0": 1, "0,1": 2, "1,0": 4}       // square
	sq := map[string]int64{"i": 2, "j": 2}     //
	one := map[string]int64{"i": 1, "j": 1}    //
	x := func(v float64) m { return m{"": v} } // scalar
	for _, tc := range []struct {
		why, src string
		sizes    map[string]int64
		in       ts
		want     m
	}{
		{"a variable that the left side lacks is summed", "a(i) = B(i,j)*c(j)", sizes, ts{"B": B, "c": c},
			m{"0": 19, "1": 21}},
		{"each additive term sums over those it holds", "a(i) = d(i) + B(i,j)*c(j)", sizes,
			ts{"B": B, "c": c, "d": d}, m{"0": 119, "1": 21}},
		{"two terms, two sums", "a(i) = B(i,j) + C(i,k)", sizes, ts{"B": B, "C": C}, m{"0": 33, "1": 33}},
		{"as if multiplied out", "a(i) = (B(i,j) + C(i,k))*d(i)", sizes, ts{"B": B, "C": C, "d": d},
			m{"0": 3300}},
		{"a quotient is one term", "a(i) = (B(i,j) + C(i,k))/d(i)", sizes,
			ts{"B": B, "C": C, "d": m{"0": 2, "1": 1}}, m{"0": (2*3 + 3*30) / 2.0, "1": 2*3 + 3*30}},
		{"sum says it outright", "a(i) = sum(j, B(i,j)*c(j))", sizes, ts{"B": B, "c": c},
			m{"0": 19, "1": 21}},
		{"sum binds what the left side has too", "a(j) = sum(j, c(j))", sizes, ts{"c": c},
			m{"0": 12, "1": 12, "2": 12}},
		{"sum of a body that only partly holds the variable", "a(i) = sum(j, B(i,j) + d(i))", sizes,
			ts{"B": B, "d": d}, m{"0": 303, "1": 3}},
		{"sum beside factors", "a(i) = d(i)*sum(j, B(i,j))", sizes, ts{"B": B, "d": d}, m{"0": 300}},
		{"sum in a quotient", "A(i,j) = B(i,j)/sum(j, B(i,j))", sizes, ts{"B": B},
			m{"0,0": 1.0 / 3, "0,2": 2.0 / 3, "1,2": 1}},
		{"a variable that only the left side has broadcasts", "A(i,k) = d(i)", sizes, ts{"d": d},
			m{"0,0": 100, "0,1": 100}},
		{"a bare name is a scalar, on either side", "a = B(i,j)*s", sizes, ts{"B": B, "s": x(2)},
			m{"": 12}},
		{"NAME() is a scalar", "a() = s() + 1e-1", sizes, ts{"s": x(2)}, m{"": 2.1}},
		{"a scalar is present everywhere", "a(i) = d(i) + s", sizes, ts{"d": d, "s": x(0)},
			m{"0": 100, "1": 0}},
		{"+= adds to the left tensor's input", "a(i) += d(i)", sizes, ts{"a": m{"0": 1, "1": 2}, "d": d},
			m{"0": 101, "1": 2}},
		{"+= without an input starts from zero", "a(i) += d(i)", sizes, ts{"d": d}, m{"0": 100}},
		{"transpose", "A(i,j) = S(j,i)", sq, ts{"S": S}, m{"0,0": 1, "1,0": 2, "0,1": 4}},
		{"a tensor with its transpose", "A(i,j) = S(i,j) + S(j,i)", sq, ts{"S": S},
			m{"0,0": 2, "0,1": 6, "1,0": 6}},
		{"a product with the transpose", "a = S(i,j)*S(j,i)", sq, ts{"S": S}, m{"": 1 + 8 + 8}},
		{"the diagonal", "a(i) = S(i,i)", sq, ts{"S": S}, m{"0": 1}},
		{"the trace", "a = S(i,i)", sq, ts{"S": m{"0,0": 1, "1,1": 5, "0,1": 9}}, m{"": 6}},
		{"a product is absent where a factor is: no 0 times infinity", "a(i) = d(i)*e(i)", sizes,
			ts{"d": d, "e": m{"1": inf}}, m{}},
		{"a stored zero is stored: there it arises", "a(i) = d(i)*e(i)", sizes,
			ts{"d": m{"1": 0}, "e": m{"1": inf}}, m{"1": nan}},
		{"a sum is absent where all its terms are", "a(i) = d(i) + e(i)", map[string]int64{"i": 4},
			ts{"d": d, "e": m{"2": 1}}, m{"0": 100, "2": 1}},
		{"a stored zero is a stored entry", "a(i) = d(i)", sizes, ts{"d": m{"0": 0}}, m{"0": 0}},
		{"cancellation leaves one", "a(i) = d(i) - e(i)", sizes, ts{"d": d, "e": d}, m{"0": 0}},
		{"a number makes every coordinate present", "a(i) = d(i) + 1", sizes, ts{"d": d},
			m{"0": 101, "1": 1}},
		{"a number times a tensor does not", "a(i) = 2*d(i)", sizes, ts{"d": d}, m{"0": 200}},
		{"absent by stored is absent", "a(i) = d(i)/e(i)", sizes, ts{"d": m{}, "e": m{"0": 2}}, m{}},
		{"stored by absent is x/0", "a(i) = d(i)/e(i)", sizes, ts{"d": m{"0": 100, "1": -1}, "e": m{}},
			m{"0": inf, "1": -inf}},
		{"stored zero by absent is 0/0", "a(i) = d(i)/e(i)", sizes, ts{"d": m{"0": 0}, "e": m{}},
			m{"0": nan}},
		{"absent by absent is absent", "a(i) = d(i)/e(i)", sizes, ts{"d": m{}, "e": m{}}, m{}},
		{"a number by absent", "a(i) = 1/d(i)", sizes, ts{"d": m{"0": 4}}, m{"0": 0.25, "1": inf}},
		{"a summed quotient runs over absent denominators", "a = d(i)/B(i,j)", sizes,
			ts{"d": d, "B": m{"0,0": 1, "0,1": 2, "0,2": 4}}, m{"": 175}},
		{"numerator of a sum", "a(i) = (d(i)-e(i))/f(i)", map[string]int64{"i": 3},
			ts{"d": d, "e": m{"1": 6}, "f": m{"0": 2, "1": 3, "2": 1}}, m{"0": 50, "1": -2}},
		{"negation", "a(i) = -d(i) - -2*d(i)", sizes, ts{"d": d}, m{"0": 100}},
		{"an empty mode sums to nothing", "a = c(j)", map[string]int64{"j": 0}, ts{"c": m{}}, m{}},
		{"nothing is added over an empty mode", "a(i) = sum(j, c(j) + d(i))",
			map[string]int64{"i": 2, "j": 0}, ts{"c": m{}, "d": d}, m{}},
		{"mode of size one", "A(i,j) = B(i,j)", one, ts{"B": m{"0,0": 3}}, m{"0,0": 3}},
	} {
		e, got, err := evaluate(t, tc.src, tensor.Float64, tc.sizes, tc.in)
		if err != nil || !same(got, tc.want) {
			t.Errorf("%s: %s: got %v, %v, want %v", tc.why, tc.src, got, err, tc.want)
			continue
		}
		compareAt(t, e, tc.src, got)
	}
}

// compareAt compares At with the points of All at every coordinate.
func compareAt(t *testing.T, e *Evaluator, src string, want map[string]float64) {
	t.Helper()
	coord := make([]int64, len(e.left))
	var walk func(m int)
	walk = func(m int) {
		if m < len(coord) {
			for c := int64(0); c < e.p.slotSizes[e.left[m]]; c++ {
				coord[m] = c
				walk(m + 1)
			}
			return
		}
		p, err := e.At(coord)
		key := strings.Trim(strings.ReplaceAll(fmt.Sprint(coord), " ", ","), "[]")
		w, ok := want[key]
		v := tensor.Value{I: int64(w), C: complex(w, 0)}
		if err != nil || ok != p.Present || ok && !p.Agrees(v) {
			t.Errorf("%s: At(%v) = %+v, %v, want %v %v", src, coord, p, err, w, ok)
		}
	}
	walk(0)
}

func TestIntegerDivision(t *testing.T) {
	type m = map[string]float64
	sizes := map[string]int64{"i": 3, "j": 2}
	for _, tc := range []struct {
		src  string
		in   map[string]m
		want m
		err  string
	}{
		{"a(i) = b(i)/c(i)", map[string]m{"b": {"0": 7, "1": -7}, "c": {"0": 2, "1": 2}},
			m{"0": 3, "1": -3}, ""},
		{"a(i) = b(i)/c(i)", map[string]m{"b": {"0": 7, "1": 1}, "c": {"0": 2}}, nil,
			"division by zero at i=1 in b(i)/c(i)"},
		{"a(i) = b(i)/c(i)", map[string]m{"b": {"2": 1}, "c": {"2": 0}}, nil, "at i=2"},
		{"a(i) = b(i)/c(i)*d(i)", map[string]m{"b": {"1": 1}, "c": {}, "d": {"0": 1}}, m{}, ""},
		{"a(i) = d(i)*(b(i)/c(i))", map[string]m{"b": {"1": 1}, "c": {}, "d": {"0": 1}}, m{}, ""},
		{"a(i) = d(i)*(b(i)/c(i) + 1)", map[string]m{"b": {"1": 1}, "c": {}, "d": {"1": 1}}, nil,
			"at i=1"},
		{"a = b(i)/c(j)", map[string]m{"b": {"1": 1}, "c": {"0": 1}}, nil, "at i=1, j=1 in b(i)/c(j)"},
		{"a = 1/s", map[string]m{"s": {"": 0}}, nil, "division by zero in 1/s"},
		{"a(i) = (b(i) + 1/c(i))/d(i)",
			map[string]m{"b": {}, "c": {"0": 1, "1": 0, "2": 1}, "d": {"0": 1, "1": 1, "2": 1}}, nil,
			"at i=1 in 1/c(i)"},
	} {
		src := tc.src
		_, got, err := evaluate(t, src, tensor.Int32, sizes, tc.in)
		if tc.err == "" {
			if err != nil || !same(got, tc.want) {
				t.Errorf("%s: got %v, %v, want %v", src, got, err, tc.want)
			}
			continue
		}
		var d *diag.Error
		if !errors.As(err, &d) || d.ExitCode() != 3 || !strings.Contains(d.Msg, tc.err) {
			t.Errorf("%s: got %v, want %q with exit code 3", src, err, tc.err)
		}
	}
}

func TestTypesRoundAndWrap(t *testing.T) {
	type m = map[string]float64
	one := map[string]int64{"i": 1}
	for _, tc := range []struct {
		src  string
		ty   tensor.Type
		in   map[string]m
		want float64
	}{
		{"a(i) = b(i)*b(i)", tensor.Int32, map[string]m{"b": {"0": 65536}}, 0},
		{"a(i) = b(i) + b(i)", tensor.Int32, map[string]m{"b": {"0": 1<<31 - 1}}, -2},
		{"a(i) = b(i)/-1", tensor.Int32, map[string]m{"b": {"0": -1 << 31}}, -1 << 31},
		{"a(i) = b(i)*b(i)", tensor.Int64, map[string]m{"b": {"0": 65536}}, 1 << 32},
		{"a(i) = b(i) + 1", tensor.Float32, map[string]m{"b": {"0": 1 << 24}}, 1 << 24},
		{"a(i) = b(i) + 1", tensor.Float64, map[string]m{"b": {"0": 1 << 24}}, 1<<24 + 1},
		{"a(i) = 0.1*b(i)", tensor.Float32, map[string]m{"b": {"0": 1}}, float64(float32(0.1))},
		{"a(i) = b(i)/3", tensor.Float32, map[string]m{"b": {"0": 1}}, float64(float32(1) / 3)},
	} {
		_, got, err := evaluate(t, tc.src, tc.ty, one, tc.in)
		if err != nil || got["0"] != tc.want {
			t.Errorf("%s in %v: got %v, %v, want %v", tc.src, tc.ty, got, err, tc.want)
		}
	}
}

// TestComplex multiplies, divides and mixes complex, float and integer operands.
func TestComplex(t *testing.T) {
	s, _ := notation.Parse("a(i) = b(i)*c(i)/d(i)")
	n := notation.Normalize(s)
	b, c, d := NewTensor(tensor.Complex64, 2), NewTensor(tensor.Int32, 2), NewTensor(tensor.Float64, 2)
	b.Append([]int64{0}, tensor.Value{C: 1 + 2i})
	b.Append([]int64{1}, tensor.Value{C: 3i})
	c.Append([]int64{0}, Int(2))
	c.Append([]int64{1}, Int(4))
	d.Append([]int64{0}, Float(4))
	out, _,
		err := New(Problem{Normal: n, Sizes: map[string]int64{"i": 2}, Compute: tensor.Complex128,
		Result:  tensor.Complex64,
		Tensors: map[string]*Tensor{"b": b.Finish(), "c": c.Finish(), "d": d.Finish()}}).All(
		context.Background())
	if err != nil || out.Len() != 2 || out.Value(0).C != 0.5+1i {
		t.Fatalf("got %v, %v", out, err)
	}
	if v := out.Value(1).C; !math.IsNaN(real(v)) || !math.IsInf(imag(v), 1) {
		t.Errorf("12i/0 = %v", v)
	}
}

func TestDuplicatesAreSummed(t *testing.T) {
	x := NewTensor(tensor.Float64, 2, 2)
	for _, e := range [][3]float64{{1, 1, 5}, {0, 1, 2}, {1, 1, -5}, {0, 0, 1}} {
		x.Append([]int64{int64(e[0]), int64(e[1])}, Float(e[2]))
	}
	x.Finish()
	if x.Len() != 3 || x.Value(2) != Float(0) || x.Value(1) != Float(2) {
		t.Errorf("got %+v", x)
	}
}

func TestExactAndTolerance(t *testing.T) {
	run := func(src string, ty, res tensor.Type, b ...float64) Point {
		s, _ := notation.Parse(src)
		x := NewTensor(ty, int64(len(b)))
		for k, v := range b {
			x.Append([]int64{int64(k)}, tensor.Value{I: int64(v), C: complex(v, 0)})
		}
		p,
			err := New(Problem{Normal: notation.Normalize(s), Sizes: map[string]int64{"i": int64(len(b))},
			Compute: ty, Result: res,
			Tensors: map[string]*Tensor{"b": x.Finish()}}).At(nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	f8, f4 := tensor.Float64, tensor.Float32
	for _, tc := range []struct {
		why   string
		p     Point
		exact bool
	}{
		{"integers", run("a = b(i)*b(i)", f8, f8, 3, 4, 5), true},
		{"a fraction", run("a = b(i)", f8, f8, 3, 0.5), false},
		{"a division", run("a = b(i)/2", f8, f8, 4, 2), false},
		{"a literal fraction", run("a = 0.5*b(i)", f8, f8, 4, 2), false},
		{"past 2^24 on the way", run("a = b(i)", f4, f4, 1<<24, 1, -1<<24), false},
		{"up to 2^24", run("a = b(i)", f4, f4, 1<<24-1, 1), true},
		{"past 2^53", run("a = b(i)*b(i)", f8, f8, 1<<27), false},
		{"an infinity", run("a = b(i)", f8, f8, math.Inf(1)), false},
		{"integers wrap", run("a = b(i)*b(i)*b(i)*b(i)*b(i)", tensor.Int32, tensor.Int32, 1e6, 3), true},
	} {
		if tc.p.Exact != tc.exact {
			t.Errorf("%s: exact is %v: %+v", tc.why, tc.p.Exact, tc.p)
		}
	}
	p := run("a = b(i)", f8, f8, 1, 1e-3, -1)
	if p.Agrees(Float(1.1e-3)) || !p.Agrees(Float(1e-3)) || !p.Agrees(Float(1e-3+1e-16)) {
		t.Errorf("tolerance %g", p.Tolerance())
	}
	if p := run("a = b(i)", f8, f8, 3); p.Agrees(Float(3 + 1e-15)) {
		t.Error("an exact value has no tolerance")
	}
	if p := run("a = 1/b(i)", f8, f8, 0); !p.Agrees(Float(math.Inf(1))) ||
		p.Agrees(Float(math.Inf(-1))) || p.Agrees(Float(1e308)) {
		t.Error("infinities must be the same")
	}
	// A denominator that is zero but for rounding, and one that is not.
	if p := run("a = 1/sum(i, b(i))", f8, f8, 1.5, 1e-17, -1.5); !p.Agrees(Float(-1e17)) ||
		!p.Agrees(Float(math.NaN())) {
		t.Error("what is divided by a rounding error can be any value")
	}
	if p := run("a = 1/sum(i, b(i))", f8, f8, 1.5, 1e-12, -1.5); p.Agrees(Float(-1e12)) ||
		p.Agrees(Float(math.NaN())) || !p.Agrees(Float(1e12)) {
		t.Error("what is divided by more than a rounding error is not any value")
	}
	if p := run("a = 1/sum(i, b(i))", f8, f8, 2, -2); !p.Agrees(Float(math.Inf(1))) ||
		p.Agrees(Float(1)) {
		t.Error("an exact zero is a zero")
	}
	if p := run("a = b(i)", f8, f8, math.Inf(1), math.Inf(-1)); !p.Agrees(Float(math.NaN())) ||
		p.Agrees(Float(0)) {
		t.Error("NaN must be NaN")
	}
	p = run("a = b(i)*b(i)", f8, f8, math.Inf(1), 1)
	if !p.Agrees(Float(math.NaN())) || !p.Agrees(Float(math.Inf(-1))) || p.Agrees(Float(1)) {
		t.Error("a sum of infinite products is an infinity or NaN")
	}
	p = run("a = b(i)*b(i)", f8, f8, math.Inf(1))
	if !p.Agrees(Float(math.Inf(1))) || p.Agrees(Float(math.NaN())) {
		t.Error("one infinite product is an infinity")
	}
	p = run("a = b(i)*b(i)", f8, f8, math.NaN(), 1)
	if !p.Agrees(Float(math.NaN())) || p.Agrees(Float(math.Inf(1))) {
		t.Error("a sum with a NaN is NaN")
	}
}

// TestLargeSpaces covers rows whose points are identified by numbers and by bytes, and hypersparse
// modes.
func TestLargeSpaces(t *testing.T) {
	for _, size := range []int64{1 << 24, 1 << 40} {
		b := NewTensor(tensor.Float64, size, size, size)
		b.Append([]int64{5, size - 1, 3}, Float(2))
		b.Append([]int64{5, 0, 7}, Float(1))
		b.Append([]int64{size - 1, 9, size - 1}, Float(4))
		s, _ := notation.Parse("A(k,j,i) = B(i,j,k)*2")
		e := New(Problem{Normal: notation.Normalize(s),
			Sizes:   map[string]int64{"i": size, "j": size, "k": size},
			Compute: tensor.Float64, Result: tensor.Float64, Tensors: map[string]*Tensor{"B": b.Finish()}})
		out, points, err := e.All(context.Background())
		if err != nil || out.Len() != 3 || len(points) != 3 || out.Value(0) != Float(4) ||
			out.Value(1) != Float(2) || out.Coords[0][2] != size-1 {
			t.Fatalf("got %+v, %v", out, err)
		}
		if p, _ := e.At([]int64{3, size - 1, 5}); !p.Present || p.Value != Float(4) {
			t.Errorf("At: %+v", p)
		}
		if p, _ := e.At([]int64{3, size - 2, 5}); p.Present {
			t.Errorf("At: %+v", p)
		}
	}
}

func TestContextEnds(t *testing.T) {
	s, _ := notation.Parse("a = B(i)*1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := NewTensor(tensor.Float64, 1<<18)
	for k := range int64(1 << 17) {
		b.Append([]int64{k}, Float(1))
	}
	_, _,
		err := New(Problem{Normal: notation.Normalize(s), Sizes: map[string]int64{"i": 1 << 18},
		Compute: tensor.Float64, Result: tensor.Float64,
		Tensors: map[string]*Tensor{"B": b.Finish()}}).All(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkMTTKRP(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	const n, rank = 2000, 16
	B, C := NewTensor(tensor.Float64, n, n, n), NewTensor(tensor.Float64, n, rank)
	for range 50000 {
		B.Append([]int64{r.Int63n(n), r.Int63n(n), r.Int63n(n)}, Float(r.Float64()))
	}
	for i := range int64(n) {
		for l := range int64(rank) {
			C.Append([]int64{i, l}, Float(r.Float64()))
		}
	}
	s, _ := notation.Parse("A(i,l) = B(i,j,k)*C(j,l)*D(k,l)")
	ts := map[string]*Tensor{"B": B.Finish(), "C": C.Finish(), "D": C}
	for b.Loop() {
		e := New(Problem{Normal: notation.Normalize(s),
			Sizes: map[string]int64{"i": n, "j": n, "k": n, "l": rank}, Compute: tensor.Float64,
			Result: tensor.Float64, Tensors: ts})
		if _, _, err := e.All(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(50000*rank), "ns/point")
}

func BenchmarkChain(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	const n, row = 1000, 20
	B := NewTensor(tensor.Float64, n, n)
	for range n * row {
		B.Append([]int64{r.Int63n(n), r.Int63n(n)}, Float(r.Float64()))
	}
	s, _ := notation.Parse("A(i,l) = B(i,j)*C(j,k)*D(k,l)")
	ts := map[string]*Tensor{"B": B.Finish(), "C": B, "D": B}
	for b.Loop() {
		e := New(Problem{Normal: notation.Normalize(s),
			Sizes: map[string]int64{"i": n, "j": n, "k": n, "l": n}, Compute: tensor.Float64,
			Result: tensor.Float64, Tensors: ts})
		if err := e.Each(context.Background(), func([]int64, Point) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(n*row*row*row), "ns/point")
}
