package tree_test

import (
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/lower/emit"
	"distaff/codegen/lower/tree"
	"distaff/io/tensor"
)

func operand(b *emit.Builder, name string, kinds ...tensor.Kind) *tree.Operand {
	widths := make([]uint8, len(kinds))
	return tree.NewOperand(&tree.Arguments{B: b}, tree.Argument{Name: name, Number: 1,
		Format: tensor.Format{Levels: kinds}, Type: tensor.Float64, PosWidth: widths, CrdWidth: widths})
}

// code returns the text of what f emits, and of the expression that it returns.
func code(b *emit.Builder, f func() ir.Expr) (text string) {
	var x ir.Expr
	for _, s := range b.Within(func() { x = f() }).List {
		text += ir.PrintStmt(s)
	}
	return text + ir.PrintExpr(x)
}

// TestCursor follows an access down a dense and a compressed level.
func TestCursor(t *testing.T) {
	b := emit.New()
	op := operand(b, "A'", tensor.Dense, tensor.Compressed)
	root := &tree.Cursor{Of: op, Vars: []string{"i", "j"}, Pos: ir.Int(0), Present: ir.Truth(true)}
	var row *tree.Cursor
	got := code(b, func() ir.Expr { row = root.LocateDense(b.Var("i")); return row.Pos })
	if want := "var A__p int64 = 0 - A__off0 + i\nA__p"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if row.Next() != "j" || row.Absent().Next() != "" || !ir.IsFalse(row.Absent().Present) {
		t.Errorf("after i comes %q, and after an absent cursor %q", row.Next(), row.Absent().Next())
	}
	got = code(b, func() ir.Expr { return row.LocateSearch(b.Var("j")).Present })
	const want = `var A__s int64 = A__pos1[A__p:64]
var A__e int64 = A__pos1[A__p + 1:64]
var A__p_1 int64 = search(A__crd1, A__s, A__e, j)
var A__has bool = A__p_1 < A__e && A__crd1[A__p_1:64] == j
A__has`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAbsent checks that the segment of an access that may be absent is empty if it is.
func TestAbsent(t *testing.T) {
	b := emit.New()
	here := ir.NewVar("here", tensor.Bool)
	c := &tree.Cursor{Of: operand(b, "B", tensor.Compressed), Vars: []string{"i"}, Pos: ir.Int(0),
		Present: here}
	got := code(b, func() ir.Expr { lo, hi := c.Segment(); return ir.Less(lo, hi) })
	const want = `var B_s int64 = 0
var B_e int64 = 0
if here {
  B_s = B_pos0[0:64]
  B_e = B_pos0[1:64]
}
B_s < B_e`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestAncestors checks the positions that contain a position of the last of three levels.
func TestAncestors(t *testing.T) {
	b := emit.New()
	op := operand(b, "T", tensor.CompressedNonunique, tensor.Singleton, tensor.Dense)
	op.GiveSize(2, ir.Size, b.Var("size"))
	c := &tree.Cursor{Of: op, Vars: []string{"i", "j", "k"}, Pos: ir.Int(0), Present: ir.Truth(true)}
	p := b.Var("p")
	got := code(b, func() ir.Expr {
		at := c.Ancestors(make([]ir.Expr, 6), 3, p)
		return ir.Both(ir.Equal(at[0], at[1]), ir.Equal(at[2], p))
	})
	if want := "var T_row int64 = p / size\ntrue"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
