package notation

import (
	"strings"
	"testing"
)

func TestEinsum(t *testing.T) {
	for _, c := range []struct {
		text   string
		orders []int
		want   string
	}{
		{"ij,jk->ik", []int{2, 2}, "out(i,k) = A(i,j) * B(j,k)"},
		{" i j , jk", []int{2, -1}, "out(i,k) = A(i,j) * B(j,k)"},
		{"ba", []int{2}, "out(a,b) = A(b,a)"},
		{"aB", []int{2}, "out(B,a) = T0(a,B)"},
		{"ii", []int{2}, "out = A(i,i)"},
		{"ii->i", []int{2}, "out(i) = A(i,i)"},
		{"i,i", []int{1, 1}, "out = A(i) * B(i)"},
		{"ij->", []int{2}, "out = A(i,j)"},
		{",ij->ji", []int{0, 2}, "out(j,i) = A * B(i,j)"},
		{"...i,i...->...", []int{3, 2}, "out(e1,e2) = A(e1,e2,i) * B(i,e2)"},
		{"i...j,...", []int{2, 3}, "out(e1,e2,e3,i,j) = A(i,j) * B(e1,e2,e3)"},
		{"...", []int{2}, "out(e1,e2) = A(e1,e2)"},
		{"i...->i", []int{1}, "out(i) = A(i)"},
	} {
		e, err := ParseEinsum(c.text, c.orders)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if e.Statement != c.want {
			t.Errorf("%q: got %s, want %s", c.text, e.Statement, c.want)
		}
		if s, err := Parse(e.Statement); err != nil || Check(s) != nil {
			t.Errorf("%q: %s is not a statement", c.text, e.Statement)
		}
	}
}

func TestEinsumErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		orders []int
		want   string // the message and the marked text
	}{
		{"ij,jk->ik", []int{2}, "got subscripts for 2 operands, but 1 operands|ij,jk->ik"},
		{"ij,jk->iz", []int{2, 2}, "got z in the result, but no operand has it|z"},
		{"ij,jk->ii", []int{2, 2}, "got i twice in the result, want it once|i"},
		{"ij,j?", []int{2, 2}, "got \"?\", want letters, \"...\", \",\" or one \"->\"|?"},
		{"ij->i->j", []int{2}, "got \"-\", want letters, \"...\", \",\" or one \"->\"|-"},
		{"i..", []int{1}, "got \".\", want letters, \"...\", \",\" or one \"->\"|."},
		{"ij->i,j", []int{2}, "got \",\", want letters, \"...\", \",\" or one \"->\"|,"},
		{"ij,jkl->ik", []int{2, 2}, "got 3 subscripts for operand 2, which has 2 modes|jkl"},
		{"ij...->i", []int{1}, "got 2 subscripts for operand 1, which has only 1 modes|ij..."},
		{"i...->i...", []int{-1}, "got an ellipsis for operand 1, but its number of modes is not known; want a subscript for each mode|..."},
		{"i...->i", []int{2}, "got a result without an ellipsis, but the ellipsis of an operand has 1 modes|i"},
		{"......", []int{1}, "got a second ellipsis for one operand, want one at most|..."},
	} {
		_, err := ParseEinsum(c.text, c.orders)
		if err == nil {
			t.Errorf("%q: got no error", c.text)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		mark := lines[len(lines)-1]
		from := strings.IndexByte(mark, '^')
		got := strings.TrimPrefix(lines[0], "einsum: ") + "|" + lines[1][from:len(mark)]
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}
