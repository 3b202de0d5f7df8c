package contract_test

import (
	"strings"
	"testing"

	"distaff/codegen/contract"
	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/io/tensor"
)

// chosen chooses the contractions of a product of dense matrices. All sizes are 100.
func chosen(t *testing.T, ask contract.Problem) (*contract.Contractions, error) {
	t.Helper()
	s, err := notation.Parse("A(i,l) = B(i,j)*C(j,k)*D(k,l)")
	if err != nil {
		t.Fatal(err)
	}
	ask.Normal, ask.Result, ask.Compute = notation.Normalize(s), tensor.DenseOf(2), tensor.Float64
	ask.Size = func(string) int64 { return 100 }
	ask.Uses = operand.Collect(ask.Normal, func(string) operand.Tensor {
		return operand.Tensor{Format: tensor.DenseOf(2), Type: tensor.Float64, Dims: []int64{100, 100},
			NNZ: 1e4, Counts: []int64{100, 1e4}}
	}, nil)
	order, notes := ask.Uses.Fit(ask.Normal, ask.Result, ask.Size, false)
	return contract.Choose(ask, order, notes)
}

// TestChoose checks whether a product of three matrices has an intermediate. With one, it takes
// 2 * 10^6 multiply-adds, and otherwise 10^8.
func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  contract.Problem
		one  bool   // there is one nest of loops
		text string // in the plan's text
	}{
		{"auto", contract.Problem{}, false, "pairwise "},
		{"pairwise", contract.Problem{Network: "pairwise"}, false, "pairwise "},
		{"direct", contract.Problem{Network: "direct"}, true, "direct "},
		{"the tree on the right", contract.Problem{Network: "B*(C*D)"}, false, "C(j,k)*D(k,l)"},
		{"the tree on the left", contract.Problem{Network: "(B*C)*D"}, false, "B(i,j)*C(j,k)"},
		{"a schedule", contract.Problem{Schedule: []string{"split(i,i0,i1,4)"}}, true, "direct "},
		{"a GPU", contract.Problem{GPU: true}, false, "pairwise "},
	} {
		got, err := chosen(t, c.ask)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := got.String(); got.OneNest() != c.one || !strings.Contains(text, c.text) {
			t.Errorf("%s: one nest of loops: %v, want %v, and %q in\n%s", c.name, got.OneNest(), c.one,
				c.text, text)
		}
		if saving := got.Saving(); c.one != (saving == 1) || !c.one && saving < 10 {
			t.Errorf("%s: the intermediates save a factor of %v", c.name, saving)
		}
		made, rest := got.Intermediates()
		products := rest
		for _, x := range made {
			products += x.Added
		}
		if want := map[bool]float64{true: 1e8, false: 2e6}[c.one]; products != want {
			t.Errorf("%s: got %v multiply-adds, want %v", c.name, products, want)
		}
		if err := got.Verify(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRefusals checks the refusals of --network.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		ask  contract.Problem
		want string
	}{
		{contract.Problem{Network: "B*C"}, "the tree must also have the factor D"},
		{contract.Problem{Network: "(B*C)*X"}, "got X, which is not a factor of the product"},
		{contract.Problem{Network: "pairwise", Schedule: []string{}},
			"the loops are given by a schedule"},
	} {
		if _, err := chosen(t, c.ask); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.ask.Network, err, c.want)
		}
	}
}
