package spmd_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/spmd"
)

// matrixChain is a product of n square matrices of integers, of so many rows.
func matrixChain(n int, size int64, kind, format string) *spmd.Job {
	j := &spmd.Job{Inputs: map[string]spmd.Input{}, Formats: map[string]string{},
		Sizes: map[string][]int64{}}
	var factors []string
	for k := range n {
		name := fmt.Sprintf("A%d", k)
		factors = append(factors, fmt.Sprintf("%s(i%d,i%d)", name, k, k+1))
		j.Inputs[name], j.Formats[name], j.Sizes[name] = spmd.Generated(kind), format, []int64{size, size}
	}
	j.Statement = fmt.Sprintf("Y(i0,i%d) = %s", n, strings.Join(factors, "*"))
	j.Ranks, j.Threads, j.Target = 1, 1, spmd.Interpreter
	return j
}

// TestLongProducts: products that are too large for the search are contracted from left to right,
// by default and when two tensors at a time are asked for, on any number of ranks.
func TestLongProducts(t *testing.T) {
	for _, network := range []string{"", "pairwise"} {
		for _, n := range []int{9, 14, 40} { // one nest of loops would have 100^10 points
			j := matrixChain(n, 100, "banded:1:int", "ds")
			j.Network = network
			if _, err := j.Run(t.Context()); err != nil {
				t.Errorf("%d matrices, --network=%s: %v", n, network, err)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		j, vars := &spmd.Job{Inputs: map[string]spmd.Input{}, Formats: map[string]string{},
			Sizes: map[string][]int64{}}, 8+r.IntN(7)
		size := make([]int64, vars)
		for v := range size {
			size[v] = 1 + r.Int64N(2)
		}
		size[r.IntN(vars)] = 3
		var factors []string
		for k := range 9 + r.IntN(3) {
			name, list, format := fmt.Sprintf("A%d", k), r.Perm(vars)[:1+r.IntN(3)], ""
			list[0] = k % vars
			list = slices.Compact(slices.Sorted(slices.Values(list)))
			r.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			var names []string
			places := int64(1)
			for _, v := range list {
				names = append(names, fmt.Sprintf("i%d", v))
				j.Sizes[name] = append(j.Sizes[name], size[v])
				places *= size[v]
				format += string("dss"[r.IntN(3)])
			}
			j.Formats[name] = format
			if len(list) > 1 && r.IntN(2) == 0 {
				j.Formats[name] += ":" + strings.Trim(
					strings.Join(strings.Fields(fmt.Sprint(r.Perm(len(list)))), ","), "[]")
			}
			j.Inputs[name] = spmd.Generated(fmt.Sprintf("uniform:%d:int", max(places*3/4, 1)))
			factors = append(factors, name+"("+strings.Join(names, ",")+")")
		}
		all := strings.Join(factors, "*")
		var left []string
		for _, v := range r.Perm(vars)[:r.IntN(3)] {
			if strings.Contains(all, fmt.Sprintf("i%d,", v)) ||
				strings.Contains(all, fmt.Sprintf("i%d)", v)) {
				left = append(left, fmt.Sprintf("i%d", v))
			}
		}
		j.Statement = "Y = " + all
		if len(left) > 0 {
			j.Statement = "Y(" + strings.Join(left, ",") + ") = " + all
			if r.IntN(2) == 0 {
				j.Formats["Y"] = strings.Repeat("s", len(left))
			}
		}
		if r.IntN(4) == 0 {
			j.Statement += fmt.Sprintf(" + A%d(%s)", 99, strings.Join(left, ","))
			j.Inputs["A99"] = spmd.Generated("dense:int")
			if len(left) == 0 {
				j.Statement = strings.TrimSuffix(j.Statement, "()")
			}
		}
		j.Network, j.Ranks, j.Threads, j.Target, j.Check = []string{"pairwise", "", "direct"}[r.IntN(3)],
			1+r.IntN(2), 1, spmd.Interpreter, true
		if _, err := j.Run(t.Context()); err != nil {
			t.Errorf("%s, --network=%s, %d ranks, formats %v: %v", j.Statement, j.Network, j.Ranks,
				j.Formats, err)
		}
	}
}

// TestEndlessNest: a nest of loops that costs far more than contractions two by two, which
// something else that was asked for forbids, is refused with both figures, or taken where it is
// asked for.
func TestEndlessNest(t *testing.T) {
	for _, c := range []struct {
		n        int
		network  string
		order    int
		says, at string
	}{
		{9, "", 1, "in one nest of loops costs 1e+20 multiply-adds, and two tensors at a time ", ""},
		{12, "auto", 1, "want --intermediate-order=2, or --network=direct", "auto"},
		{9, "pairwise", 1,
			"two tensors at a time make an intermediate of 2 variables, and --intermediate-order=1 allows no more than that", "pairwise"},
		{3, "pairwise", 1, "two tensors at a time make an intermediate of 2 variables", "pairwise"},
	} {
		j := matrixChain(c.n, 100, "dense:int", "dd")
		j.Network, j.IntermediateOrder = c.network, c.order
		_, err := j.Run(t.Context())
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != diag.NetworkRefused || !strings.Contains(d.Msg, c.says) ||
			d.Src[d.Pos:d.End] != c.at {
			t.Errorf("%d matrices, --network=%s --intermediate-order=%d: got %v, want %q", c.n, c.network,
				c.order, err, c.says)
		}
	}
	j := matrixChain(9, 2, "dense:int", "dd")
	j.Network, j.Check = "direct", true
	if _, err := j.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
