package flat

import (
	"fmt"
	"strings"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

// TestLong checks that the leaf of a chain of 200 matrices has one product for each contraction, and
// memory for only a few intermediates.
func TestLong(t *testing.T) {
	const n, size = 200, 8
	operands := []tree.Argument{{Name: "Y", Format: tensor.DenseOf(2), Type: tensor.Float64}}
	text, vars := "", []string{"i0"}
	for k := range n {
		vars = append(vars, fmt.Sprintf("i%d", k+1))
		operands = append(operands, tree.Argument{Name: fmt.Sprintf("A%d", k), Number: k + 1,
			Format: tensor.DenseOf(2), Type: tensor.Float64})
		left, from := fmt.Sprintf("w%d(i0,i%d)", k, k+1), fmt.Sprintf("w%d(i0,i%d)", k-1, k)
		switch {
		case k == 0:
			continue
		case k == 1:
			from = "A0(i0,i1)"
		case k == n-1:
			left = fmt.Sprintf("Y(i0,i%d)", n)
		}
		one := fmt.Sprintf("forall(i0, forall(i%d, forall(i%d, %s += %s * A%d(i%d,i%d))))", k, k+1, left,
			from, k, k, k+1)
		if text = one; k > 1 {
			text = "where(" + one + ", " + texts[k-1] + ")"
		}
		texts[k] = text
	}
	s, err := cin.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if made, ok := Accepts(s, operands, tensor.Float64); !ok || made != n-2 {
		t.Fatalf("got %d intermediates, %v, want %d", made, ok, n-2)
	}
	x := Lower(Problem{Name: "leaf", Stmt: s, Vars: vars, Operands: operands, Compute: tensor.Float64,
		Size: func(string) int64 { return size }, Whole: vars})
	if err := ir.Verify(x.Func); err != nil {
		t.Error(err)
	}
	if got := strings.Count(ir.Print(x.Func), "gemm("); got != n-1 {
		t.Errorf("got %d products of matrices, want %d", got, n-1)
	}
	if want := int64(2 * size * size * 8); x.Bytes != want {
		t.Errorf("the intermediates have %d bytes, want %d", x.Bytes, want)
	}
}

// texts has the text of each contraction of TestLong, with the contractions before it.
var texts = map[int]string{}
