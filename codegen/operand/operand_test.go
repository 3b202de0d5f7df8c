package operand_test

import (
	"math"
	"slices"
	"testing"

	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/io/tensor"
)

func size(v string) int64 { return map[string]int64{"i": 1000, "j": 1000, "k": 32}[v] }

// collect returns the normal form and the uses of a statement. formats and entries describe its
// operands by name; an operand without a format is dense.
func collect(t *testing.T, stmt string, formats map[string]string,
	entries map[string]int64) (*notation.Normal, *operand.Uses) {
	t.Helper()
	s, err := notation.Parse(stmt)
	if err != nil {
		t.Fatal(err)
	}
	n, all := notation.Normalize(s), map[string]operand.Tensor{}
	for _, a := range n.Accesses() {
		x := operand.Tensor{Format: tensor.DenseOf(len(a.Vars)), Type: tensor.Float64, NNZ: 1}
		if text, ok := formats[a.Name]; ok {
			if x.Format, err = tensor.ParseFormat(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range a.Vars {
			x.Dims = append(x.Dims, size(v))
			x.NNZ *= size(v)
		}
		if k, ok := entries[a.Name]; ok {
			x.NNZ = k
		}
		all[a.Name] = x
	}
	return n, operand.Collect(n, func(name string) operand.Tensor { return all[name] }, nil)
}

// TestFit checks the order of the loops, and the operand that is converted because two operands
// need different orders.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		stmt    string
		formats map[string]string
		entries map[string]int64
		bySize  bool
		order   []string
		notes   []string
	}{
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "ds"}, nil, false, []string{"i", "j"}, nil},
		{"y(i) = A(i,j)*x(j)", map[string]string{"A": "ds:1,0"}, nil, false, []string{"j", "i"}, nil},
		{"y(i) = A(i,j)*B(j,i)", map[string]string{"A": "ds", "B": "ds"},
			map[string]int64{"A": 100, "B": 10}, false, []string{"i", "j"},
			[]string{"converting B from ds to ds:1,0"}},
		{"y(i) = A(i,j)*B(j,i)", map[string]string{"A": "ds", "B": "ds"},
			map[string]int64{"A": 10, "B": 100}, false, []string{"j", "i"},
			[]string{"converting A from ds to ds:1,0"}},
		{"y(i) = A(i,j)*B(j,i)", map[string]string{"A": "ds", "B": "ds"},
			map[string]int64{"A": -1, "B": 100}, false, []string{"i", "j"},
			[]string{"converting B from ds to ds:1,0"}},
		// B has fewer entries but more coordinates.
		{"y(i) = A(i,j)*B(j,i,k)", map[string]string{"A": "ds", "B": "dss"},
			map[string]int64{"A": 100, "B": 10}, true, []string{"j", "i", "k"},
			[]string{"converting A from ds to ds:1,0"}},
	} {
		n, uses := collect(t, c.stmt, c.formats, c.entries)
		result := tensor.DenseOf(1)
		order, notes := uses.Fit(n, result, size, c.bySize)
		if !slices.Equal(order, c.order) || !slices.Equal(notes, c.notes) {
			t.Errorf("%s %v, entries %v: got %q and %q, want %q and %q", c.stmt, c.formats, c.entries,
				order, notes, c.order, c.notes)
		}
		if err := uses.VerifyOrder(order, n, result); err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		}
		if slices.Reverse(order); uses.VerifyOrder(order, n, result) == nil {
			t.Errorf("%s: the order %v is verified", c.stmt, order)
		}
	}
}

// TestCopies: an operand is copied if the innermost loop then runs along its memory, and if its
// values are read often enough.
func TestCopies(t *testing.T) {
	for _, c := range []struct {
		entries, readers float64
		want             []string
	}{
		{4000, 1, []string{"D(k,j)"}}, {3999, 1, nil}, {7999, 2, nil}, {8000, 2, []string{"D(k,j)"}},
	} {
		n, uses := collect(t, "A(i,j) = B(i,j)*C(i,k)*D(k,j)", map[string]string{"B": "ds"},
			map[string]int64{"B": int64(c.entries)})
		order, _ := uses.Fit(n, tensor.DenseOf(2), size, false)
		by := operand.Copier{Uses: uses}
		var got []string
		for _, x := range by.Choose(order, size, func(*operand.Use) float64 { return c.readers }) {
			if got = append(got, x.Access); !slices.Equal(x.Modes, []int{1, 0}) {
				t.Errorf("%s is copied with the modes %v", x.Access, x.Modes)
			}
		}
		if !slices.Equal(got, c.want) || len(by.Notes) != len(c.want) {
			t.Errorf("%v entries, %v readers: got %q with the notes %q, want %q", c.entries, c.readers,
				got, by.Notes, c.want)
		}
	}
}

// TestEntries compares bounds of the entries of results with bounds computed by hand.
func TestEntries(t *testing.T) {
	stored := map[string]float64{"B": 50, "C": 3, "D": 70, "E": 1e9}
	for stmt, want := range map[string]float64{
		"A(i,j) = B(i,j)":                 50,
		"A(i,j) = B(i,j) + D(i,j)":        50 + 70,
		"A(i,j) = B(i,j)*D(i,j)":          50,
		"A(i,j) = C(i)*E(i,j)":            3 * 1000,
		"A(i,j) = B(i,k)*D(k,j)":          50 * 1000,
		"A(i,j) = B(i,j)/D(i,j)":          50,
		"A(i,j) = (B(i,j)+D(i,j))*E(i,j)": 50 + 70,
		"A(i,j) = B(i,j) + 1":             math.Inf(1),
	} {
		s, err := notation.Parse(stmt)
		if err != nil {
			t.Fatal(err)
		}
		got := operand.Entries(notation.Normalize(s), operand.Counting[float64]{
			Stored: func(name string) float64 { return stored[name] },
			Size:   func(v string) float64 { return float64(size(v)) },
			Times:  func(x, y float64) float64 { return x * y },
			Plus:   func(x, y float64) float64 { return x + y },
			Least:  func(x, y float64) float64 { return min(x, y) },
			Any:    math.Inf(1)})
		if got != want {
			t.Errorf("%s: got %v entries, want %v", stmt, got, want)
		}
	}
}
