package jobfile

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
)

// randomExpr returns an expression over a and b, and numbers that sometimes make sums and products
// overflow an int64. seven is one of them.
func randomExpr(g *rand.Rand, depth int, seven string) string {
	if depth == 0 || g.Intn(4) == 0 {
		return []string{"a", "b", seven, "0", "3037000500", "9223372036854775807",
			fmt.Sprint(g.Int63n(100))}[g.Intn(7)]
	}
	x, y := randomExpr(g, depth-1, seven), randomExpr(g, depth-1, seven)
	switch op := g.Intn(6); op {
	case 4:
		return "-" + x
	case 5:
		return "(" + x + ")"
	default:
		return "(" + x + ")" + string("+-*/"[op]) + "(" + y + ")"
	}
}

var errNoNumber = errors.New("no number")

// bigEval returns an expression's value if no part of it overflows an int64.
func bigEval(e notation.Expr, names map[string]int64) (*big.Int, error) {
	var v *big.Int
	switch e := e.(type) {
	case *notation.Number:
		v = big.NewInt(e.Int)
	case *notation.Access:
		v = big.NewInt(names[e.Name])
	case *notation.Neg:
		x, err := bigEval(e.X, names)
		if err != nil {
			return nil, err
		}
		v = new(big.Int).Neg(x)
	case *notation.Binary:
		x, err := bigEval(e.X, names)
		if err != nil {
			return nil, err
		}
		y, err := bigEval(e.Y, names)
		if err != nil {
			return nil, err
		}
		switch e.Op {
		case '+':
			v = new(big.Int).Add(x, y)
		case '-':
			v = new(big.Int).Sub(x, y)
		case '*':
			v = new(big.Int).Mul(x, y)
		case '/':
			if y.Sign() == 0 {
				return nil, errNoNumber
			}
			v = new(big.Int).Quo(x, y)
		}
	}
	if !v.IsInt64() {
		return nil, errNoNumber
	}
	return v, nil
}

// randomNames returns values for a and b, sometimes at the ends of int64.
func randomNames(g *rand.Rand) map[string]int64 {
	names := map[string]int64{}
	for _, n := range []string{"a", "b"} {
		names[n] = []int64{math.MinInt64, math.MaxInt64, -1, 0, 1, g.Int63n(1000),
			int64(g.Uint64())}[g.Intn(7)]
	}
	return names
}

func TestSizeEval(t *testing.T) {
	g := rand.New(rand.NewSource(1))
	values, errs := 0, 0
	for range 20000 {
		text := randomExpr(g, 3, "7")
		f, err := Parse("job.dst", "tensor A("+text+"): d\n")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		s := f.Tensor("A").Sizes[0]
		names := randomNames(g)
		got, err := s.Eval(func(n string) (int64, bool) { return names[n], true })
		want, wantErr := bigEval(s.raw, names)
		if wantErr == nil && (want.Sign() < 0 || want.Cmp(big.NewInt(1<<61)) > 0) {
			wantErr = errNoNumber
		}
		if (err != nil) != (wantErr != nil) || err == nil && got != want.Int64() {
			t.Fatalf("%s with %v: got %d, %v, want %v, %v", text, names, got, err, want, wantErr)
		}
		if err == nil {
			values++
		} else {
			errs++
		}
	}
	if values < 2000 || errs < 2000 {
		t.Errorf("%d values and %d errors, want both often", values, errs)
	}
}

// condition returns a condition over scalars.
func condition(t *testing.T, text string) *Cond {
	t.Helper()
	f, err := Parse("job.dst", "repeat 1 until "+text+" {\n}\n")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f.Items[0].(*Repeat).Until
}

// holds reports whether a comparison is true if x - y has the given sign.
func holds(op string, sign int) bool {
	return map[string]bool{"<": sign < 0, "<=": sign <= 0, ">": sign > 0, ">=": sign >= 0,
		"==": sign == 0, "!=": sign != 0}[op]
}

func TestCondIntegers(t *testing.T) {
	g := rand.New(rand.NewSource(2))
	values, errs := 0, 0
	for range 20000 {
		op := operators[g.Intn(len(operators))]
		text := randomExpr(g, 2, "7") + " " + op + " " + randomExpr(g, 2, "7")
		c := condition(t, text)
		names := randomNames(g)
		got, err := c.Eval(func(n string) (tensor.Value, error) {
			return reference.Int(names[n]), nil
		})
		if len(c.Scalars()) == 0 {
			continue // a comparison of literals alone compares floats
		}
		x, errX := bigEval(c.X, names)
		y, errY := bigEval(c.Y, names)
		if errX != nil || errY != nil {
			var d *diag.Error
			if !errors.As(err, &d) || d.ExitCode() != 3 || d.Line != 1 {
				t.Fatalf("%s with %v: got %v, %v, want an error of data", text, names, got, err)
			}
			errs++
			continue
		}
		if want := holds(op, x.Cmp(y)); err != nil || got != want {
			t.Fatalf("%s with %v: got %v, %v, want %v", text, names, got, err, want)
		}
		values++
	}
	if values < 2000 || errs < 2000 {
		t.Errorf("%d values and %d errors, want both often", values, errs)
	}
}

// floatEval returns an expression's value in float64.
func floatEval(e notation.Expr, names map[string]float64) float64 {
	switch e := e.(type) {
	case *notation.Number:
		return e.Float
	case *notation.Access:
		return names[e.Name]
	case *notation.Neg:
		return -floatEval(e.X, names)
	}
	b := e.(*notation.Binary)
	x, y := floatEval(b.X, names), floatEval(b.Y, names)
	return map[byte]float64{'+': x + y, '-': x - y, '*': x * y, '/': x / y}[b.Op]
}

func TestCondFloats(t *testing.T) {
	g := rand.New(rand.NewSource(3))
	nans := 0
	for range 20000 {
		op := operators[g.Intn(len(operators))]
		text := randomExpr(g, 2, "0.7") + " " + op + " " + randomExpr(g, 2, "1e-9")
		c := condition(t, text)
		names := map[string]float64{}
		for _, n := range []string{"a", "b"} {
			names[n] = []float64{math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1),
				g.NormFloat64(), 1e300}[g.Intn(7)]
		}
		got, err := c.Eval(func(n string) (tensor.Value, error) {
			return reference.Float(names[n]), nil
		})
		x, y := floatEval(c.X, names), floatEval(c.Y, names)
		want := map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y,
			"!=": x != y}[op]
		if err != nil || got != want {
			t.Fatalf("%s with %v: got %v, %v, want %v", text, names, got, err, want)
		}
		if x != x || y != y {
			nans++
		}
	}
	if nans < 2000 {
		t.Errorf("%d comparisons with NaN, want many", nans)
	}
}

func TestCondTypes(t *testing.T) {
	values := map[string]tensor.Value{
		"z": {Type: tensor.Complex128, C: 3 + 4i},
		"w": {Type: tensor.Complex64, C: 5i},
		"k": {Type: tensor.Int64, I: 1<<53 + 1},
		"m": {Type: tensor.Int32, I: math.MaxInt32},
		"f": {Type: tensor.Float32, C: 0.5},
		"q": {Type: tensor.Complex128, C: complex(math.NaN(), 0)},
	}
	for text, want := range map[string]string{
		"z*z == -7 + 24*w/5 - 24*w/5 + z*z + 7": "true",
		"z/w == 0.8 - w*0.12":                   "true",
		"z != 3":                                "true",
		"q == q":                                "false",
		"q != q":                                "true",
		"k == 9007199254740993":                 "true",
		"k > 9007199254740992":                  "true",
		"k > 9007199254740992.0":                "false", // float64 cannot represent this integer
		"m + 1 > 2147483647":                    "true",
		"m < 3000000000":                        "true",
		"m / 2 == 1073741823":                   "true",
		"m / 2 == 1073741823.5":                 "true", // computed in float64
		"m * 0.5 == 1073741823.5":               "true",
		"f * m == 1073741823.5":                 "true",
		"z < 4":                                 "job.dst:1:16: got the complex scalar z as an operand of <, want real scalars: complex numbers have no order",
		"4 >= f*z":                              "job.dst:1:23: got the complex scalar z as an operand of >=, want real scalars: complex numbers have no order",
		"m / (k - k) < 2":                       "job.dst:1:16: got an integer division by zero",
		"k * k * k < 2":                         "job.dst:1:16: got an integer past 2^63",
		"abs(m - 2147483648) == 1":              "true",
		"max(k, m, 1) == k":                     "true",
		"sqrt(m + 1) > 46340.95":                "true", // of an integer in float64
		"f**2 + min(f, 0.25) == 0.5":            "true",
		"log(-f) == log(-f)":                    "false",
		"abs(z) == 5":                           "job.dst:1:20: got the complex scalar z in a condition with a function, want real scalars: functions have no complex values",
		"other < 2":                             "no other",
	} {
		got, err := condition(t, text).Eval(func(n string) (tensor.Value, error) {
			v, ok := values[n]
			if !ok {
				return v, errors.New("no " + n)
			}
			return v, nil
		})
		said := fmt.Sprint(got)
		if err != nil {
			said, _, _ = strings.Cut(err.Error(), "\n")
		}
		if said != want {
			t.Errorf("%s: got %s, want %s", text, said, want)
		}
	}
}
