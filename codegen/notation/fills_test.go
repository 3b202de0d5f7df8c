package notation

import "testing"

// TestFills checks where fills are written, and which reductions combine only what is stored.
func TestFills(t *testing.T) {
	for _, c := range []struct{ src, fill, normal string }{
		{"y(i) = A(i,j)*x(j)", "2", "y(i) = sum(j, fill(A(i,j), 2)*x(j))"},
		{"y(i) = min(j, A(i,j) + x(j))", "inf",
			"y(i) = minstored(j, both(A(i,j), fill(x(j), 0)))"},
		{"y(i) = max(j, x(j) + A(i,j))", "-inf",
			"y(i) = maxstored(j, both(fill(x(j), 0), A(i,j)))"},
		{"C(i,j) = min(k, A(i,k) + A(k,j))", "inf", "C(i,j) = minstored(k, both(A(i,k), A(k,j)))"},
		{"y(i) = min(j, A(i,j))", "inf", "y(i) = minstored(j, A(i,j))"},
		// A difference, a product and another fill say nothing.
		{"y(i) = min(j, x(j) - A(i,j))", "inf", "y(i) = min(j, (x(j) - fill(A(i,j), inf)))"},
		{"y(i) = min(j, x(j)*A(i,j))", "inf", "y(i) = min(j, x(j)*fill(A(i,j), inf))"},
		{"y(i) = max(j, x(j) + A(i,j))", "inf", "y(i) = max(j, (x(j) + fill(A(i,j), inf)))"},
		{"y(i) = any(j, A(i,j))", "1", "y(i) = any(j, nonzero(fill(A(i,j), 1)))"},
	} {
		text, err := WithFills(c.src, map[string]string{"A": c.fill})
		if err != nil {
			t.Fatal(err)
		}
		s := mustParse(t, text)
		if got := Normalize(s).String(); got != c.normal {
			t.Errorf("%s with fill %s: got %s, want %s", c.src, c.fill, got, c.normal)
		}
		again := mustParse(t, c.normal)
		if got := Normalize(again).String(); got != c.normal {
			t.Errorf("%s: read back as %s", c.normal, got)
		}
	}
	if _, err := WithFills("y(i) = ", nil); err == nil {
		t.Error("got no error for a statement that does not parse")
	}
}
