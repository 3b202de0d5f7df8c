package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/kernels/cc"
)

// largeSizes lists sizes. Most products of two or three of them exceed 2^63. The square of
// 3037000499 is just below 2^63.
var largeSizes = []int64{1<<31 - 1, 1 << 31, 1<<31 + 1, 3037000499, 3037000500, 1 << 32, 2902330,
	1 << 40, tensor.MaxSize - 1, tensor.MaxSize}

// largeLines contains statements over tensors that store only entries, with an access. Drawn
// schedules iterate over the positions of the access.
var largeLines = []struct{ stmt, access string }{
	{"s = A(i,j)", "A(i,j)"},
	{"s = A(i,j)*B(i,j)", "A(i,j)"},
	{"s = A(i,j)+B(i,j)", ""},
	{"y(i,j) = A(i,j)*B(i,j)", "A(i,j)"},
	{"y(i,j) = A(i,j)-B(i,j)", ""},
	{"y(i,j) = 3*A(i,j)", "A(i,j)"},
	{"s = A(i,j)*x(j)", "A(i,j)"},
	{"s = x(i)+z(i)", ""},
	{"y(i) = x(i)-z(i)", ""},
	{"s = A(i,j,k)", "A(i,j,k)"},
	{"y(i,j,k) = A(i,j,k)+B(i,j,k)", ""},
	{"y(i,j,k) = 2*A(i,j,k)*B(i,j,k)", "A(i,j,k)"},
}

// largeSchedule draws a schedule whose loops have few iterations, or iterate over entries.
func largeSchedule(r *rand.Rand, vars []string, access string) (list []string) {
	say := func(f string, args ...any) { list = append(list, fmt.Sprintf(f, args...)) }
	many := false           // there are many tiles; each would start the threads of an inner loop
	few := func(v string) { // at most 2^21 tiles of coordinates
		if many = r.IntN(2) == 0; !many {
			say("divide(%s,%s0,%s1,%d)", v, v, v, 1+r.IntN(7))
		} else {
			say("split(%s,%s0,%s1,%d)", v, v, v, int64(1)<<40)
		}
	}
	f := vars[0]
	if r.IntN(3) == 0 {
		few(f)
		f += "1"
	}
	for k, v := range vars[1:] {
		if k < len(vars)-2 && r.IntN(4) == 0 {
			break
		}
		say("fuse(%s,%s,f%d)", f, v, k)
		f = fmt.Sprintf("f%d", k)
	}
	at := f
	if access != "" && r.IntN(2) == 0 {
		say("pos(%s,p,%s)", f, access)
		if at = "p"; r.IntN(4) == 0 {
			say("coord(p,c)")
			at = "c"
		}
	}
	switch {
	case many:
	case at == "p" && r.IntN(3) > 0:
		say("split(p,p0,p1,%d)", 1+r.IntN(4))
		say("parallelize(p0,CPUThread,%s)", []string{"NoRaces", "Temporary", "Atomics"}[r.IntN(3)])
	case r.IntN(2) == 0:
		say("divide(%s,%s0,%s1,%d)", at, at, at, 1+r.IntN(7))
		say("parallelize(%s0,CPUThread,%s)", at, []string{"NoRaces", "Temporary", "Atomics"}[r.IntN(3)])
	}
	return list
}

// largeCase generates a case with few entries, and with sizes whose product exceeds 2^63.
func largeCase(seed, k uint64) (*Case, error) {
	r := Rand(seed, k)
	line := largeLines[r.IntN(len(largeLines))]
	s, err := notation.Parse(line.stmt)
	if err != nil {
		return nil, err
	}
	sizes, some := map[string]int64{}, map[string][]int64{}
	vars := notation.FreeVars(s.RHS)
	for _, v := range vars {
		n := largeSizes[r.IntN(len(largeSizes))]
		sizes[v], some[v] = n, []int64{0, n - 1, n / 2, r.Int64N(n), r.Int64N(n)}
	}
	c := &Case{Stmt: line.stmt, Variant: r.Uint64()}
	for k, a := range append([]*notation.Access{s.LHS}, s.Accesses()...) {
		t := &Tensor{Name: a.Name, Type: tensor.Float64, Input: k > 0}
		if t.Format, err = notation.ParseFormat(
			[]string{"s", "q", "u"}[r.IntN(3)] + strings.Repeat("s", max(len(a.Vars)-1, 0))); err != nil ||
			len(a.Vars) == 0 || k == 0 {
			t.Format, err = notation.ParseFormat(strings.Repeat("s", len(a.Vars)))
		}
		if err != nil {
			return nil, err
		}
		for _, v := range a.Vars {
			t.Dims = append(t.Dims, sizes[v])
		}
		for range 7 {
			e := Entry{Value: tensor.Value{C: complex(float64(1+r.IntN(9)), 0)}}
			for _, v := range a.Vars {
				e.Coord = append(e.Coord, some[v][r.IntN(len(some[v]))])
			}
			if k > 0 {
				t.Entries = append(t.Entries, e)
			}
		}
		c.Tensors = append(c.Tensors, t)
	}
	if c.Schedule = largeSchedule(r, vars, line.access); c.Schedule == nil || r.IntN(5) == 0 {
		c.Schedule = []string{} // the default schedule; for nil the engine would draw one
	}
	return c, nil
}

// manyPoints matches the refusal of fused loops with too many points.
var manyPoints = regexp.MustCompile(`fuse: got ([0-9 x]+) points of fused loops to count`)

// checkLarge compares an engine's output with the reference. The engine may refuse fused loops with
// more than 2^62 points. counted is true if it did not.
func checkLarge(p *Prepared, run func(context.Context) (*Output, error)) (counted bool, err error) {
	ctx := context.Background()
	w, err := p.Expect(ctx)
	if err != nil {
		return false, err
	}
	out, err := run(ctx)
	var said []string // numbers in the message; errors of other ranks are only text
	if err != nil {
		said = manyPoints.FindStringSubmatch(err.Error())
	}
	if said == nil {
		return true, w.Compare(out, err)
	}
	points := big.NewInt(1)
	for _, text := range strings.Split(said[1], " x ") {
		n, _ := new(big.Int).SetString(text, 10)
		points.Mul(points, n)
	}
	if points.Cmp(big.NewInt(1<<62)) <= 0 {
		return false, fmt.Errorf("refused: %w", err)
	}
	return false, nil
}

// TestOracleLarge compares interpreted jobs on several ranks, and compiled leaves, with the
// reference if the product of the sizes exceeds 64 bits.
func TestOracleLarge(t *testing.T) {
	t.Parallel()
	n := uint64(120)
	if *nFlag > 0 {
		n = *nFlag
	}
	var all []*Prepared
	for k := *firstFlag; k < *firstFlag+n; k++ {
		c, err := largeCase(*seedFlag, k)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("case %d: %v\n%s", k, err, c.Text())
		}
		all = append(all, p)
	}
	hold := func(t *testing.T, run func(k int) func(context.Context) (*Output, error)) {
		refused := 0
		for k, p := range all {
			counted, err := checkLarge(p, run(k))
			if err != nil {
				t.Errorf("seed %d, case %d: %v\n%s", *seedFlag, *firstFlag+uint64(k), err, p.Case.Text())
			}
			if !counted {
				refused++
			}
		}
		if refused == 0 || refused > len(all)/3 {
			t.Errorf("%d of %d cases refused, want some, and a third at most", refused, len(all))
		}
	}
	t.Run("interp", func(t *testing.T) {
		e := scheduleEngine{}
		hold(t, func(k int) func(context.Context) (*Output, error) {
			return func(ctx context.Context) (*Output, error) { return e.Run(ctx, all[k]) }
		})
	})
	t.Run("C", func(t *testing.T) {
		c, err := NewC(os.Getenv, "-O0")
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		runs := scheduledC{C: c}.batch(context.Background(), slices.Clone(all))
		hold(t, func(k int) func(context.Context) (*Output, error) { return runs[k] })
	})
}
