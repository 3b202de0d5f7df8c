package notation

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

func TestInferTypes(t *testing.T) {
	const (
		i4, i8, f4, f8 = tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64
		c8, c16, none  = tensor.Complex64, tensor.Complex128, tensor.None
	)
	for _, c := range []struct {
		src          string
		a, b, c      tensor.Type // a: the operand of +=
		result       tensor.Type
		compute, res tensor.Type // compute none: refused
	}{
		{"a(i) = b(i)*c(i)", none, i4, f4, none, f8, f8},
		{"a(i) = b(i)*c(i)", none, i8, f4, none, f8, f8},
		{"a(i) = b(i)*c(i)", none, i4, i8, none, i8, i8},
		{"a(i) = b(i)*c(i)", none, c8, f8, none, c16, c16},
		{"a(i) = b(i)*c(i)", none, c8, i4, none, c16, c16},
		{"a(i) = b(i)*c(i)", none, c8, f4, none, c8, c8},
		{"a(i) = b(i)*c(i)*2", none, i4, i4, none, i4, i4},
		{"a(i) = abs(b(i))*max(c(i), 2)", none, i4, i8, none, i8, i8},
		{"a(i) = sqrt(b(i))*c(i)", none, i4, i4, none, f8, f8},
		{"a(i) = exp(b(i))*c(i)", none, f4, f4, none, f4, f4},
		{"a(i) = b(i)**2*c(i)", none, i4, i4, i4, none, none},
		{"a(i) = exp(b(i))*c(i)", none, f8, c8, none, none, none},
		{"a(i) = exp(b(i))*c(i)", none, f8, f8, c8, none, none},
		{"a(i) = b(i)*c(i)*2.0", none, i4, i4, none, f8, f8},
		{"a(i) = b(i)*c(i)*2.5", none, f4, f4, none, f4, f4},
		{"a(i) = b(i)*c(i)*2.5", none, c8, f4, none, c8, c8},
		{"a(i) = b(i)*c(i)", none, f4, f4, f8, f8, f8},
		{"a(i) = b(i)*c(i)", none, f8, f8, f4, f8, f4},
		{"a(i) = b(i)*c(i)", none, i8, i8, i4, i8, i4},
		{"a(i) = b(i)*c(i)", none, i8, i8, f4, f8, f4},
		{"a(i) = b(i)*c(i)", none, i4, i4, c8, c16, c8},
		{"a(i) = b(i)*c(i)", none, c16, f8, c8, c16, c8},
		{"a(i) = b(i)*c(i)", none, c16, f8, f8, none, none},
		{"a(i) = b(i)*c(i)", none, f4, f4, i8, none, none},
		{"a(i) = b(i)*c(i)*0.5", none, i4, i4, i8, none, none},
		{"a(i) += b(i)*c(i)", f8, i4, i4, none, f8, f8},
		{"a(i) += b(i)*c(i)", none, i4, i4, none, i4, i4},
		{"a(i) = 1", none, none, none, none, f8, f8},
		{"a(i) = 1", none, none, none, i4, i4, i4},
		{"a(i) = 1.5", none, none, none, f4, f4, f4},
		{"a(i) = 1.5", none, none, none, i4, none, none},
		{"a(i) = b(i)*3000000000", none, i4, i4, none, none, none},
		{"a(i) = b(i)*3000000000", none, i4, i4, i8, i8, i8},
		{"a(i) = b(i)*3000000000", none, f4, i4, none, f4, f4},
	} {
		types := map[string]tensor.Type{"a": c.a, "b": c.b, "c": c.c}
		compute, res, err := InferTypes(mustParse(t, c.src), types, c.result)
		if c.compute == none {
			var d *diag.Error
			if !errors.As(err, &d) || d.Code != diag.LossyType || d.ExitCode() != 2 {
				t.Errorf("%s %v %v: got %v, %v, %v, want a refusal", c.src, types, c.result, compute, res, err)
			}
		} else if err != nil || compute != c.compute || res != c.res {
			t.Errorf("%s %v %v: got %v, %v, %v, want %v, %v", c.src, types, c.result, compute, res, err,
				c.compute, c.res)
		}
	}
}

func exact(from string, sizes ...int64) (out []Known) {
	for _, s := range sizes {
		out = append(out, Known{s, true, from})
	}
	return out
}

func atLeast(from string, sizes ...int64) (out []Known) {
	for _, s := range sizes {
		out = append(out, Known{s, false, from})
	}
	return out
}

func TestUserSizes(t *testing.T) {
	for _, c := range []struct {
		src  string
		user map[string][]int64
		want string
		err  string
	}{
		{"a(i) = B(i,j)*c(j)", nil, "map[B:[-1 -1] a:[-1] c:[-1]]", ""},
		{"a(i) = B(i,j)*c(j)", map[string][]int64{"i": {0}}, "map[B:[0 -1] a:[0] c:[-1]]", ""},
		{"a(i) = B(i,j)*c(j)", map[string][]int64{"c": {7}, "B": {3, 7}}, "map[B:[3 7] a:[3] c:[7]]", ""},
		{"A(i,j) = B(i,j) + B(j,i)", map[string][]int64{"i": {4}}, "map[A:[4 4] B:[4 4]]", ""},
		{"a(i) = B(i,j)", map[string][]int64{"B": {3, 7}, "i": {4}}, "",
			"got size 3 for i from -d=B:3,7, but 4 from -d=i:4; want the same size"},
		{"a(i) = B(i,j)", map[string][]int64{"k": {4}}, "", "got -d=k:4, want an index variable or a tensor of the statement"},
	} {
		got, err := UserSizes(Normalize(mustParse(t, c.src)), c.user, nil)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", c.src, err, c.err)
			}
		} else if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: got %v, %v, want %s", c.src, got, err, c.want)
		}
	}
}

func TestInferSizes(t *testing.T) {
	type known = map[string][]Known
	type user = map[string][]int64
	for _, c := range []struct {
		src   string
		known known
		user  user
		vars  string // for example "i=3 j=4"
		err   string
	}{
		{"a(i) = B(i,j)*c(j)", known{"B": exact("b.mtx", 3, 4)}, nil, "i=3 j=4", ""},
		{"a(i) = B(i,j)*c(j)", known{"B": atLeast("b.tns", 3, 4), "c": exact("c.npy", 9)}, nil, "i=3 j=9",
			""},
		{"a(i) = B(i,j)*c(j)", known{"B": atLeast("b.tns", 3, 4), "c": atLeast("c.tns", 9)}, nil,
			"i=3 j=9", ""},
		{"a(i) = B(i,j)*c(j)", known{"B": atLeast("b.tns", 3, 4)}, user{"i": {100}}, "i=100 j=4", ""},
		{"a(i) = B(i,j)*c(j)", nil, user{"B": {5, 0}}, "i=5 j=0", ""},
		{"A(i,j) = B(i,j) + B(j,i)", known{"B": atLeast("b.tns", 3, 4)}, nil, "i=4 j=4", ""},
		{"a(i) = B(i,i)", known{"B": exact("b.mtx", 3, 4)}, nil, "",
			"got size 3 for i from mode 0 of B (b.mtx), but 4 from mode 1 of B (b.mtx); want the same size"},
		{"a(i) = B(i,j)*c(j)", known{"B": exact("b.mtx", 3, 4), "c": exact("c.npy", 5)}, nil, "",
			"got size 4 for j from mode 1 of B (b.mtx), but 5 from mode 0 of c (c.npy); want the same size"},
		{"a(i) = B(i,j)*c(j)", known{"B": exact("b.mtx", 3, 4)}, user{"j": {5}}, "",
			"got size 5 for j from -d=j:5, but 4 from mode 1 of B (b.mtx); want the same size"},
		{"a(i) = B(i,j)*c(j)", known{"c": exact("c.npy", 4)}, nil, "",
			"the size of i is not known: want -d=i:SIZE"},
		{"A(i,j) = b(i)", known{"b": exact("b.npy", 4)}, nil, "", "want -d=j:SIZE"},
		{"A(i,j) = b(i)", known{"b": exact("b.npy", 4)}, user{"A": {4, 2}}, "i=4 j=2", ""},
		{"a(i) = B(i)", known{"B": atLeast("b.tns", 0)}, nil, "", "mode 0 of B (b.tns) is empty"},
		{"a(i) = B(i)+c(i)", known{"B": atLeast("b.tns", 0), "c": atLeast("c.tns", 2)}, nil, "i=2", ""},
		{"a(i) = sum(j, B(i,j)) + sum(j, C(i,j))", known{"B": exact("b", 2, 3), "C": exact("c", 2, 5)},
			nil, "i=2 j=3 j_1=5", ""},
		{"a = sum(j, B(j)) + sum(j, C(j))", nil, user{"j": {7}}, "j=7 j_1=7", ""},
		{"a(i) = b(i)", known{"b": exact("b", 2)}, user{"k": {3}}, "",
			"got -d=k:3, want an index variable or a tensor of the statement"},
		{"a(i) = b(i)", known{"b": exact("b", 2, 2)}, nil, "", "got b with 2 modes in b, want 1"},
		{"a(i) = b(i)", nil, user{"b": {3, 4}}, "", "got -d=b:3,4 with 2 sizes, want 1"},
		{"a(i) = b(i)", nil, user{"i": {3, 4}}, "", "want only one: i is an index variable"},
		{"a = 1", nil, nil, "", ""},
		{"y(i) = x(i+1)", known{"x": exact("x", 6)}, nil, "i=5 at1=6", ""},
		{"y(i) = x(i+1) - x(i)", known{"x": exact("x", 6)}, nil, "i=5 at1=6 at2=6", ""},
		{"y(i) = x(2*i+1)", known{"x": exact("x", 6)}, nil, "i=3 at1=6", ""},
		{"y(i) = x(2*i+1)", known{"x": exact("x", 7)}, nil, "i=3 at1=7", ""},
		{"y(i) = x(5-i)", known{"x": exact("x", 9)}, nil, "i=6 at1=9", ""},
		{"y(i) = x(i+j)*w(j)", known{"x": exact("x", 9), "w": exact("w", 3)}, nil, "i=7 j=3 at1=9", ""},
		{"y(i) = x(i-j+2)*w(j)", known{"x": exact("x", 9), "w": exact("w", 3)}, nil, "i=7 j=3 at1=9", ""},
		{"y(i) = x(i+j)", known{"x": exact("x", 9)}, nil, "", "the size of i is not known"},
		{"y(i) = x(i+2)", known{"x": exact("x", 1)}, nil, "i=0 at1=1", ""},
		{"y(i) = x(i+2)", nil, user{"i": {4}}, "i=4 at1=6", ""},
		{"y(i) = A(i,3)", known{"A": exact("A", 2, 4)}, nil, "i=2 at1=4", ""},
		{"y(i) = A(i,3)", known{"A": exact("A", 2, 3)}, nil, "",
			"got index 3 in A(i,3), want one from 0 to 2; with ~ before the index, the tensor is absent there"},
		{"y(i) = x(i-1)", known{"x": exact("x", 6)}, nil, "",
			"got index -1 at i = 0 in x(i-1), want one from 0 to 5"},
		{"y(i) = x(2*i-j)*w(j)", known{"x": exact("x", 6), "w": exact("w", 3)}, nil, "",
			"got index -2 at i = 0, j = 2 in x(2*i-j), want one from 0 to 5"},
		{"y(i) = x(i+1)*z(i)", known{"x": exact("x", 6), "z": exact("z", 6)}, nil, "",
			"got index 6 at i = 5 in x(i+1), want one from 0 to 5"},
		{"y(i) = x(~i-1)", known{"x": exact("x", 6)}, nil, "i=6 at1=6", ""},
		{"y(i) = x(~2*i-1)", known{"x": exact("x", 6)}, user{"i": {9}}, "i=9 at1=6", ""},
		{"x(i) = i", nil, nil, "", "the size of i is not known: want -d=i:SIZE"},
	} {
		n := Normalize(mustParse(t, c.src))
		got, err := InferSizes(n, c.known, c.user, nil)
		if c.err != "" {
			var d *diag.Error
			if !errors.As(err, &d) || !strings.Contains(d.Error(), c.err) || d.ExitCode() != 2 {
				t.Errorf("%s: got %v, want %q", c.src, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		var vars []string
		for _, v := range n.Vars {
			vars = append(vars, v+"="+itoa(got.Vars[v]))
		}
		if s := strings.Join(vars, " "); s != c.vars || len(got.Overruns) != 0 {
			t.Errorf("%s: got %s %v, want %s", c.src, s, got.Overruns, c.vars)
		}
	}
}

func itoa(n int64) string { return (&Number{IsInt: true, Int: n}).String() }

func TestOverrun(t *testing.T) {
	n := Normalize(mustParse(t, "a(i) = B(i,j)*c(j)"))
	got, err := InferSizes(n, map[string][]Known{"B": atLeast("b.tns", 3, 9), "c": exact("c.npy", 5)},
		nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Overrun{{"B", 1, 9, "mode 1 of B (b.tns)", 5, "mode 0 of c (c.npy)"}}
	if !reflect.DeepEqual(got.Overruns, want) {
		t.Errorf("got %+v", got.Overruns)
	}
	if !reflect.DeepEqual(got.Dims, map[string][]int64{"a": {3}, "B": {3, 5}, "c": {5}}) {
		t.Errorf("dims %v", got.Dims)
	}
}

func TestSameSize(t *testing.T) {
	got := Normalize(mustParse(t, "A(i,j) = B(i,k)*C(k,l) + B(j,j) + d(m)")).SameSize()
	want := map[string]string{"i": "i", "j": "i", "k": "i", "l": "l", "m": "m"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
