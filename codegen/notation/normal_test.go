package notation

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"distaff/codegen/diag"
)

func mustParse(t *testing.T, src string) *Stmt {
	t.Helper()
	s, err := Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		src  string
		code diag.Code // "" is accepted
		pos  int
	}{
		{"A(i,j) = B(i,j) + B(j,i)", "", 0},
		{"a(i) = B(i,i)", "", 0},
		{"A(i,j) = b(i)", "", 0},
		{"a(i) = B(i,j) * sum(j, C(i,j))", "", 0},
		{"a(i) = sum(i, B(i))", "", 0},
		{"a = 1", "", 0},
		{"sum = sum(i, B(i))", "", 0},
		{"A(i,i) = B(i)", "", 0},
		{"A(i,2*j,j+i) = B(i)", diag.LeftRepeat, 8},
		{"A(i+j,i-j) = B(i,j)", diag.LeftRepeat, 6},
		{"A(i,~i+1) = B(i)", diag.BadIndex, 4},
		{"a(i) = a(j) + 1", "", 0},
		{"a(i) += a(i)", "", 0},
		{"a = b/(1 + a(i))", diag.OrderMismatch, 11},
		{"a(i) = sum(j, B(i))", diag.SumVariable, 11},
		{"a(i) = sum(j, sum(j, B(i,j)))", diag.SumVariable, 11},
		{"a(i) = sum(i, j, B(i))", diag.SumVariable, 14},
		{"a = sum(i, i, B(i))", diag.SumVariable, 11},
		{"a(i) = B(i,j) + B(i)", diag.OrderMismatch, 16},
		{"a = B + B(i)", diag.OrderMismatch, 8},
		{"a(i) = i * B(i)", "", 0},
		{"a(i) = B(2*i-1,~j+1,3)", "", 0},
		{"a(i) = B(i*j)", diag.BadIndex, 9},
		{"a(i) = B(i,1.5)", diag.BadIndex, 11},
		{"a(i) = B(i/2)", diag.BadIndex, 9},
		{"a(i) = B(i+C(i))", diag.BadIndex, 11},
		{"a(i) = B(4611686018427387904*i)", diag.BadIndex, 9},
		{"a(i) = B(i+a)", diag.NameClash, 11},
		{"a(i) = max(B(i,j), max(j, c))", diag.SumVariable, 23},
		{"a(i) = pow(max(j, 2), B(i,j))", diag.SumVariable, 15},
		{"a = " + strings.Repeat("abs(", 500) + "b" + strings.Repeat(")", 500), "", 0},
		{"a = exp(sum(i, x(i)*" + strings.Repeat("(b+c)*", 500) + "b))", diag.TooLarge, 0},
		{"a(B) = B(i)", diag.NameClash, 7},
		{"a(i) = B(i,B)", diag.NameClash, 11},
		{"a(a) = B(i)", diag.NameClash, 2},
		{"b = sum(i, i)", "", 0},
		{"b = sum(b, C(b))", diag.NameClash, 8},
		{"a = " + strings.Repeat("(b+c)*", 12) + "b", "", 0},
		{"a = " + strings.Repeat("(b+c)*", 13) + "b", diag.TooLarge, 0},
		{"a = " + strings.Repeat("(b+c)*", 500) + "b", diag.TooLarge, 0},
		{"a = 1/sum(i, x(i)*" + strings.Repeat("(b+c)*", 500) + "b)", diag.TooLarge, 0},
	} {
		err := Check(mustParse(t, c.src))
		if c.code == "" {
			if err != nil {
				t.Errorf("Check(%.60q): %v", c.src, err)
			}
			continue
		}
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != c.code || d.Pos != c.pos || d.ExitCode() != 2 {
			t.Errorf("Check(%.60q) = %v, want %s at %d", c.src, err, c.code, c.pos)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		src, want string
		vars      string
	}{
		{"A(i,l) = B(i,j,k)*C(j,l)*D(k,l)", "A(i,l) = sum(j,k, B(i,j,k)*C(j,l)*D(k,l))", "i l j k"},
		// Each term sums its own variables.
		{"a(i) = d(i) + B(i,j)*c(j)", "a(i) = d(i) + sum(j, B(i,j)*c(j))", "i j"},
		{"a(i) = B(i,j) + C(i,k)", "a(i) = sum(j, B(i,j)) + sum(k, C(i,k))", "i j k"},
		{"a(i) = (B(i,j) + C(i,k))*d(i)", "a(i) = sum(j, B(i,j)*d(i)) + sum(k, C(i,k)*d(i))", "i j k"},
		{"a(i) = (b(i)-c(i))*(d(i)-2)", "a(i) = (b(i) - c(i))*(d(i) - 2)", "i"},
		{"a(i) = -(b(i) - -c(i))*-2", "a(i) = (b(i) - -c(i))*2", "i"},
		// A sum of addends stays whole if all addends sum over the same variables.
		{"a = (b(i)-c(i))*(b(i)-c(i))", "a = sum(i, (b(i) - c(i))*(b(i) - c(i)))", "i"},
		{"a(i) = (B(i,j) + c(i))*d(j)", "a(i) = sum(j, (B(i,j) + c(i))*d(j))", "i j"},
		{"a(i) = (B(i,j) + c(i))*d(i)", "a(i) = sum(j, B(i,j)*d(i)) + c(i)*d(i)", "i j"},
		{"a(i) = (b(i) + 1)*(c(i) + D(i,j))", "a(i) = (b(i) + 1)*c(i) + sum(j, (b(i) + 1)*D(i,j))",
			"i j"},
		{"a(i) = ((b(i) + 1)*c(i) - 2)*d(i)", "a(i) = ((b(i) + 1)*c(i) - 2)*d(i)", "i"},
		{"a(i) = (sum(j, B(i,j)) + c(i))*d(i)", "a(i) = (sum(j, B(i,j)) + c(i))*d(i)", "i j"},
		{"A(i,j) += b(i)", "A(i,j) += b(i)", "i j"},
		// A quotient is one term.
		{"a(i) = (B(i,j) + C(i,k))/d(i)", "a(i) = sum(j,k, (B(i,j) + C(i,k))/d(i))", "i j k"},
		{"a(i) = B(i,j)*c(j)/d(i)", "a(i) = sum(j, B(i,j)*c(j)/d(i))", "i j"},
		{"a(i) = B(i,j)/d(i)*c(j)", "a(i) = sum(j, B(i,j)/d(i)*c(j))", "i j"},
		{"a(i) = (b(i)+c(i))*(d(i)/e(k))", "a(i) = sum(k, (b(i) + c(i))*(d(i)/e(k)))", "i k"},
		{"a(i) = -b(i)/c(i)", "a(i) = -b(i)/c(i)", "i"},
		{"a(i) = -(b(i)/c(i))", "a(i) = -b(i)/c(i)", "i"},
		// A call is one term.
		{"a(i) = exp(B(i,j) + c(j))", "a(i) = sum(j, exp(B(i,j) + c(j)))", "i j"},
		{"a(i) = -2*max(B(i,j), 0)*d(i)", "a(i) = -sum(j, 2*max(B(i,j), 0)*d(i))", "i j"},
		{"a = sqrt(sum(i, x(i)**2))/3", "a = sqrt(sum(i, pow(x(i), 2)))/3", "i"},
		{"a(i) = -x(i)**-y(i)**2", "a(i) = -pow(x(i), -pow(y(i), 2))", "i"},
		{"a(i) = min(b(i), c(i), 1)", "a(i) = min(min(b(i), c(i)), 1)", "i"},
		// An explicit sum that is a whole term joins it.
		{"a(i) = sum(j, B(i,j)*c(j))", "a(i) = sum(j, B(i,j)*c(j))", "i j"},
		{"a(i) = -sum(j, B(i,j) - C(i,j,k))", "a(i) = -sum(j, B(i,j)) + sum(j,k, C(i,j,k))", "i j k"},
		{"a(i) = sum(j, B(i,j) + c(i))", "a(i) = sum(j, B(i,j)) + sum(j, c(i))", "i j"},
		{"a = sum(i, sum(j, B(i,j)))", "a = sum(i,j, B(i,j))", "i j"},
		// A reduction that is not a sum is one factor.
		{"a(i) = max(j, B(i,j)) - c(i)", "a(i) = max(j, B(i,j)) - c(i)", "i j"},
		{"a(i) = -min({j,k}, B(i,j) + C(i,k))", "a(i) = -min(j,k, (B(i,j) + C(i,k)))", "i j k"},
		{"a(i) = count(j, B(i,j) - C(i,j))", "a(i) = sum(j, nonzero(B(i,j) - C(i,j)))", "i j"},
		{"a(i) = any(k, B(i,j,k))", "a(i) = sum(j, any(k, nonzero(B(i,j,k))))", "i j k"},
		{"a = max(i, prod(j, B(i,j)*c(k)))", "a = sum(k, max(i, prod(j, B(i,j)*c(k))))", "k i j"},
		{"a = max(x, max(i, b(i)))", "a = max(x, max(i, b(i)))", "i"},
		{"a(i) -= b(i) + C(i,j)", "a(i) = a(i) - b(i) - sum(j, C(i,j))", "i j"},
		{"a(i) *= b(i) + C(i,j)", "a(i) = a(i)*prod(j, (b(i) + C(i,j)))", "i j"},
		{"a(i) max= b(i)", "a(i) = max(a(i), b(i))", "i"},
		{"a or= B(i,j)", "a = max(nonzero(a), any(i,j, nonzero(B(i,j))))", "i j"},
		// Bound names are renamed apart.
		{"a(i) = sum(j, B(i,j)) + sum(j, C(i,j))", "a(i) = sum(j, B(i,j)) + sum(j_1, C(i,j_1))",
			"i j j_1"},
		{"a(i) = B(i,j) + sum(j, C(i,j))", "a(i) = sum(j, B(i,j)) + sum(j_1, C(i,j_1))", "i j j_1"},
		{"a(i) = sum(i, b(i))", "a(i) = sum(i_1, b(i_1))", "i i_1"},
		{"a(i) = sum(i, b(i)*i_1)", "a(i) = sum(i_2, b(i_2)*i_1)", "i i_2"},
		{"a = sum(j, B(j)*sum(j, C(j)))", "a = sum(j, B(j)*sum(j_1, C(j_1)))", "j j_1"},
		// A sum() that is multiplied by other factors is a reduction.
		{"a(i) = d(i)*sum(j, B(i,j)*c(j))", "a(i) = d(i)*sum(j, B(i,j)*c(j))", "i j"},
		{"a(i) = d(i)*sum(j, B(i,j) + C(j,k))",
			"a(i) = d(i)*sum(j, B(i,j)) + sum(k, d(i)*sum(j, C(j,k)))", "i j k"},
		{"a = sum(i, b(i))*sum(i, c(i))", "a = sum(i, b(i))*sum(i_1, c(i_1))", "i i_1"},
		{"a = -2*sum(i, -b(i))", "a = 2*sum(i, b(i))", "i"},
		{"a(i) = B(i,j)/sum(j, B(i,j) - sum(k, C(i,k)))",
			"a(i) = sum(j, B(i,j)/sum(j_1, B(i,j_1) - sum(k, C(i,k))))", "i j j_1 k"},
	} {
		s := mustParse(t, c.src)
		if err := Check(s); err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		before := s.String()
		n := Normalize(s)
		if n.String() != c.want || strings.Join(n.Vars, " ") != c.vars {
			t.Errorf("%s: got %s, vars %v\nwant %s, vars %s", c.src, n, n.Vars, c.want, c.vars)
		}
		if s.String() != before {
			t.Errorf("%s was changed to %s", before, s)
		}
		if _, err := Parse(n.String()); err != nil {
			t.Errorf("%s does not parse: %v", n, err)
		}
	}
}

func TestNormalKeepsUserNames(t *testing.T) {
	n := Normalize(mustParse(t, "a(i) = sum(i, b(i)) + sum(i, c(i))"))
	if !reflect.DeepEqual(n.Source, map[string]string{"i_1": "i", "i_2": "i"}) {
		t.Errorf("got %v", n.Source)
	}
}

func TestTensors(t *testing.T) {
	got := mustParse(t, "a(i) = sum(j, B(i,j)*x)/B(i,i)").Tensors()
	if want := []TensorUse{{"a", 1, false}, {"B", 2, false}, {"x", 0, false}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestExpand checks the accesses that take the place of indices that are not variables.
func TestExpand(t *testing.T) {
	for src, want := range map[string]string{
		"y(i) = x(i+1)":              "y(i) = pick1(i,at1)*x(at1)",
		"y(i) = x(i+1) - x(i)":       "y(i) = pick1(i,at1)*x(at1) - pick2(i,at2)*x(at2)",
		"y(i) = x(i+1) - z(i)":       "y(i) = pick1(i,at1)*x(at1) - z(i)",
		"y(i) = x(~i+1) - x(i)":      "y(i) = pick1(i,at1)*x(at1) - x(i)",
		"y(i) = x(i+1)*x(1+i)":       "y(i) = pick1(i,at1)*x(at1)*(pick1(i,at2)*x(at2))",
		"y(i) = exp(x(i-i+3))":       "y(i) = exp(sum(at1, pick1(i,at1)*x(at1)))",
		"y(i) = A(2*i+j,0)/b(j)":     "y(i) = sum(at1,at2, pick1(i,j,at1)*pick2(at2)*A(at1,at2))/b(j)",
		"y(i) = (x(i+1) - 2)*z(i)":   "y(i) = (sum(at1, pick1(i,at1)*x(at1)) - 2)*z(i)",
		"y(i) = -sum(j, A(i,2*j)*j)": "y(i) = -sum(j, pick1(j,at1)*A(i,at1)*index1(j))",
		"y(i) = i*sum(j, A(i,-j))":   "y(i) = index1(i)*sum(j, sum(at1, pick1(j,at1)*A(i,at1)))",
		"y(2*i) max= A(i,j+1)": "y(at1) = pick1(i,at1)*max(sum(at2, pick2(i,at2)*y(at2)), " +
			"max(j, sum(at3, pick3(j,at3)*A(i,at3)))) + rest1(at1)*y(at1)",
		"y(i) min= x(2*j)":         "y(i) = min(y(i), min(j, sum(at1, pick1(j,at1)*x(at1))))",
		"y(2*i) += x(i)":           "y(at1) += pick1(i,at1)*x(i)",
		"y(2*i) = x(i)":            "y(at1) = pick1(i,at1)*x(i) + rest1(at1)*y(at1)",
		"A(i,i) = x(i)":            "A(i,at1) = pick1(i,at1)*x(i) + rest1(i,at1)*A(i,at1)",
		"A(0,j-i,2) = x(i) - 1":    "A(at1,at2,at3) = pick1(at1)*(pick2(j,i,at2)*(pick3(at3)*x(i))) - pick1(at1)*(pick2(j,i,at2)*(pick3(at3)*1)) + rest1(at1)*A(at1,at2,at3) + pick1(at1)*(rest2(at2)*A(at1,at2,at3)) + pick2(j,i,at2)*(pick1(at1)*(rest3(at3)*A(at1,at2,at3)))",
		"y(i) = x(at1+pick1(i))":   "",
		"y(i) = x(at1+1)*pick1(i)": "y(i) = pick2(at1,at2)*x(at2)*pick1(i)",
	} {
		s := mustParse(t, src)
		if Check(s) != nil {
			if want != "" {
				t.Errorf("Check(%q): %v", src, Check(s))
			}
			continue
		}
		if got := Expand(s).String(); got != want {
			t.Errorf("Expand(%q) = %q, want %q", src, got, want)
		}
		if s.String() != strings.ReplaceAll(mustParse(t, src).String(), " ", " ") {
			t.Errorf("Expand changed %q to %q", src, s)
		}
	}
}
