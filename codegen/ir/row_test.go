package ir

import "testing"

// TestHasBlocks checks hasBlocks against the rows of all statements.
func TestHasBlocks(t *testing.T) {
	for _, s := range Statements() {
		want := false
		for _, o := range RowOf(s).Operands {
			switch o.at.(type) {
			case *Block, **Block:
				want = true
			}
		}
		if hasBlocks(s) != want {
			t.Errorf("%T: got %v, want %v", s, !want, want)
		}
	}
}
