package notation

import "testing"

func TestBroadcast(t *testing.T) {
	sizes := map[string][]int64{"A": {3, 4}, "B": {3, 1}, "C": {1, 1}, "v": {1}, "n": {5},
		"u": {7}}
	for text, want := range map[string]string{
		"X(i,j) = A(i,j) + B(i,j)":              "X(i,j) = A(i,j) + B(i,j_1)",
		"X(i,j) = A(i,j) * C(i, j) - exp(v(j))": "X(i,j) = A(i,j) * C(i_1, j_1) - exp(v(j_1))",
		"X(i,j) = B(i,j)":                       "X(i,j) = B(i,j)",
		"x(n) = v(n)":                           "x(n) = v(n_1)",
		"x(i,j) = C(i,j) * Q(i,j)":              "x(i,j) = C(i,j) * Q(i,j)",
		"j_1(i,j) = A(i,j) + B(i,j)":            "j_1(i,j) = A(i,j) + B(i,j_2)",
		"x = C(i,i) * A(i,j)":                   "x = C(i_1,i_1) * A(i,j)",
	} {
		if got, err := Broadcast(text, sizes); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := Broadcast("x(i = 3", nil); err == nil {
		t.Error("got no error for a text that is not a statement")
	}
}
