package share_test

import (
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/lower/tree"
	"distaff/codegen/share"
	"distaff/io/tensor"
)

func format(t *testing.T, text string) tensor.Format {
	t.Helper()
	f, err := tensor.ParseFormat(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFind checks which operand gives a sparse result its level arrays.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		stmt  string
		width uint8 // that the result must have in its second level, or 0
		want  string
	}{
		{"forall(i, forall(j, A(i,j) = B(i,j) * x(j)))", 0, "B(i,j)"},
		{"forall(i, forall(j, A(i,j) = B(i,j) * x(j)))", 4, "B(i,j)"},
		{"forall(i, forall(j, A(i,j) = B(i,j) * x(j)))", 8, ""},
		{"forall(i, forall(j, A(i,j) = x(i) * B(i,j)))", 0, "B(i,j)"},
		{"forall(i, forall(j, where(A(i,j) = B(i,j) * t, forall(k, t += D(i,k) * D(k,j)))))", 0,
			"B(i,j)"},
		// The result has fewer entries than an operand, or more.
		{"forall(i, forall(j, A(i,j) = B(i,j) * C(i,j)))", 0, ""},
		{"forall(i, forall(j, A(i,j) = B(i,j) + C(i,j)))", 0, ""},
		{"forall(i, forall(j, A(i,j) = B(i,j) * B(i,i)))", 0, ""},
		// The operand's levels differ from the result's.
		{"forall(i, forall(j, A(i,j) = B(j,i) * x(j)))", 0, ""},
		{"forall(i, forall(j, A(i,j) = D(i,j)))", 0, ""},
	} {
		s, err := cin.Parse(c.stmt)
		if err != nil {
			t.Fatal(err)
		}
		p := &share.Problem{Vars: []string{"i", "j"}, Result: format(t, "ds"),
			Size: func(string) int64 { return 10 }}
		if c.width > 0 {
			p.PosWidth, p.CrdWidth = []uint8{0, c.width}, []uint8{0, c.width}
		}
		for name, f := range map[string]string{"B": "ds", "C": "ds", "D": "dd", "x": "d"} {
			p.Operands = append(p.Operands, tree.Argument{Name: name, Format: format(t, f),
				PosWidth: []uint8{0, 4}, CrdWidth: []uint8{0, 4}})
		}
		got := ""
		found := share.Find(s, p)
		if found != nil {
			got = found.Key()
		}
		if got != c.want {
			t.Errorf("%s with width %d: got %q, want %q", c.stmt, c.width, got, c.want)
		}
		if err := share.Verify(s, p, found); err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		}
		if share.Verify(s, p, &cin.Access{Name: "x", Vars: []string{"j"}}) == nil {
			t.Errorf("%s: x, which has other levels, is verified", c.stmt)
		}
	}
}
