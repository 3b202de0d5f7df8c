package jobfile

import (
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/notation"
)

// input returns what is known of a tensor's sizes from an input.
func input(exact bool, sizes ...int64) []notation.Known {
	var k []notation.Known
	for _, n := range sizes {
		k = append(k, notation.Known{Size: n, Exact: exact, From: "its file"})
	}
	return k
}

func TestCheckSizes(t *testing.T) {
	const text = `tensor A(n, m): ds from "a.mtx"
tensor x(m): d from "x.npy"
tensor T(n, k): ds from "t.tns"
tensor y(n + 1): d to "y"
tensor c(k): d from "c.npy"
z(i) = A(i,j) * x(j)
y(i) = 2
w(i) = T(i,j) * c(j)
z(i) = z(i) + w(i)
s = z(i) * x(i)
`
	f := checked(t, strings.TrimSuffix(text, "s = z(i) * x(i)\n"))
	for name, c := range map[string]struct {
		known map[string][]notation.Known
		want  string
	}{
		"all": {map[string][]notation.Known{"A": input(true, 3, 4), "x": input(true, 4),
			"T": input(false, 2, 5), "c": input(true, 6)},
			"map[k:6 m:4 n:3] map[A:[3 4] T:[3 6] c:[6] w:[3] x:[4] y:[4] z:[3]]"},
		"bounds": {map[string][]notation.Known{"A": input(false, 3, 4), "x": input(true, 9),
			"T": input(false, 7, 5), "c": input(false, 2)},
			"map[k:5 m:9 n:7] map[A:[7 9] T:[7 5] c:[5] w:[7] x:[9] y:[8] z:[7]]"},
		"some": {map[string][]notation.Known{"A": input(true, 3, 4), "x": input(true, 4)},
			"map[m:4 n:3] map[A:[3 4] w:[3] x:[4] y:[4] z:[3]]"},
		"names": {map[string][]notation.Known{"A": input(true, 3, 4), "x": input(true, 5)},
			"job.dst:2:10: got size 4 for m from mode 1 of A (its file), but 5 from mode 0 of x (its file); want the same size"},
		"modes": {map[string][]notation.Known{"A": input(true, 3)},
			"job.dst:1:25: tensor A has 1 mode in its file, but its declaration has 2"},
	} {
		got := ""
		if s, err := f.CheckSizes(c.known); err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		} else {
			got = fmt.Sprint(s.Names, s.Dims)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
	f = checked(t, text)
	known := map[string][]notation.Known{"A": input(true, 3, 4), "x": input(true, 4),
		"T": input(false, 2, 5), "c": input(true, 6)}
	if _, err := f.CheckSizes(known); err == nil ||
		!strings.HasPrefix(err.Error(),
			"job.dst:10:7: got size 3 for i from mode 0 of z (line 6), but 4 from mode 0 of x (line 2); want the same size") {
		t.Errorf("got %v", err)
	}
	f, err := Parse("job.dst", "tensor A(n): d\nA(i) = 1\nu(i) = 1\n")
	if err != nil {
		t.Fatal(err)
	}
	f.Sizes = map[string]int64{"n": 5, "i": 5}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	if s, err := f.CheckSizes(nil); err != nil || fmt.Sprint(s.Dims) != "map[A:[5] u:[5]]" {
		t.Errorf("with -d: got %v, %v", s, err)
	}
	f.Sizes["i"] = 6
	if err := f.Check(); err == nil ||
		!strings.HasPrefix(err.Error(),
			"job.dst:2:3: got size 6 for i from -d=i:6, but 5 from mode 0 of A (-d=n:5)") &&
			!strings.HasPrefix(err.Error(), "job.dst:2:3: got size 5") {
		t.Errorf("got %v", err)
	}
}
