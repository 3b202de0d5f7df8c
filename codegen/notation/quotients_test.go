package notation

import (
	"fmt"
	"strings"
	"testing"
)

func TestSummedQuotients(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"B(i,j) = A(i,j)/A(i,k)", "A(i,j)/A(i,k) over k: A(i,j)/sum(k, A(i,k))"},
		{"B(i,j) = 2*A(i,j)/(A(i,k) + c(l))",
			"2*A(i,j)/(A(i,k) + c(l)) over k,l: 2*A(i,j)/sum(k,l, A(i,k) + c(l))"},
		{"s = 1/x(i)", "1/x(i) over i: 1/sum(i, x(i))"},
		{"y(i) = d(i) - A(i,j)/x(k) + z(i)/w(l)",
			"A(i,j)/x(k) over k: A(i,j)/sum(k, x(k)); z(i)/w(l) over l: z(i)/sum(l, w(l))"},
		{"y(i) = x(i)*(1 + 1/z(j))", "1/z(j) over j: 1/sum(j, z(j))"},
		{"y(i) = x(i)/z(j)/w(j)", "x(i)/z(j)/w(j) over j: x(i)/z(j)/sum(j, w(j))"},
		{"y(i) = A(i,j)/x(j)", ""},
		{"y(i) = A(i,j)/x(i)", ""},
		{"y(i) = x(i)/z(j)*w(j)", ""},
		{"y(i) = w(j)*(x(i)/z(j))", ""},
		{"y(i) = w(j)*(x(i) + 1/z(j))", ""},
		{"B(i,j) = A(i,j)/sum(k, A(i,k))", ""},
		{"B(i,j) = sum(k, A(i,j)/A(i,k))", ""},
		{"B(i,j) = A(i,j)*A(i,k)", ""},
		{"y(i) = a/b*x(i)", ""},
	} {
		s, err := Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, q := range SummedQuotients(s) {
			text := ExprString(q.Binary)
			_, other, _ := strings.Cut(q.String(), ", write ")
			got = append(got, text+" over "+strings.Join(q.Vars, ",")+": "+other)
			if back, err := Parse(s.LHS.String() + " = " + other); err != nil || Check(back) != nil {
				t.Errorf("%s: %s is no right side: %v", c.src, other, err)
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.src, text, c.want)
		}
	}
}

// TestSummedQuotientsLong checks that the time for a long chain does not grow with the square of
// its length.
func TestSummedQuotientsLong(t *testing.T) {
	var b strings.Builder
	b.WriteString("s = x(i)")
	for k := range 200_000 {
		fmt.Fprintf(&b, "/y(i)*z%d", k%3)
	}
	s, err := Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	if q := SummedQuotients(s); q != nil {
		t.Errorf("got %d, want none", len(q))
	}
}
