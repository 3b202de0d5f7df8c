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

// matrixChain is a product of n square matrices of integers with size rows.
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

// someTree returns a tree of these factors, two or three at a time, in any order.
func someTree(r *rand.Rand, names []string) string {
	parts := slices.Clone(names)
	for len(parts) > 1 {
		r.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		n := min(2+r.IntN(2), len(parts))
		text := strings.Join(parts[:n], "*")
		if parts = parts[n:]; len(parts) > 0 {
			text = "(" + text + ")"
		}
		parts = append(parts, text)
	}
	return parts[0]
}

// TestLongTrees checks that a chain of any number of matrices is contracted by a given tree.
func TestLongTrees(t *testing.T) {
	for _, n := range []int{9, 14, 40} {
		var level []string
		for k := range n {
			level = append(level, fmt.Sprintf("A%d", k))
		}
		for len(level) > 1 { // neighbours, so that no intermediate has more than two variables
			var next []string
			for k := 0; k < len(level); k += 2 {
				if text := strings.Join(level[k:min(k+2, len(level))], "*"); k+1 < len(level) &&
					len(level) > 2 {
					next = append(next, "("+text+")")
				} else {
					next = append(next, text)
				}
			}
			level = next
		}
		for _, ranks := range []int{1, 3} {
			j := matrixChain(n, 100, "banded:1:int", "ds")
			j.Network, j.Ranks = level[0], ranks
			if ranks > 1 {
				j.Splits = []string{fmt.Sprintf("i%d:4", n/2)}
			}
			if _, err := j.Run(t.Context()); err != nil {
				t.Errorf("%d matrices, --network=%s: %v", n, level[0], err)
			}
		}
	}
}

// TestLongProducts checks that products that are too large for the search are contracted from left
// to right, by default, for --network=pairwise and by a tree, on any number of ranks.
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
	for range 100 {
		j, vars := &spmd.Job{Inputs: map[string]spmd.Input{}, Formats: map[string]string{},
			Sizes: map[string][]int64{}}, 8+r.IntN(7)
		size := make([]int64, vars)
		for v := range size {
			size[v] = 1 + r.Int64N(2)
		}
		size[r.IntN(vars)] = 3
		var factors, tensors []string
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
			tensors = append(tensors, name)
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
		j.Network = []string{"pairwise", "", "direct", someTree(r, tensors)}[r.IntN(4)]
		j.Ranks, j.Threads, j.Target, j.Check = 1+r.IntN(3), 1, spmd.Interpreter, true
		if v := r.IntN(vars); r.IntN(3) == 0 && strings.Contains(all, fmt.Sprintf("i%d,", v)) {
			j.Splits = []string{fmt.Sprintf("i%d:2", v)}
		}
		if _, err := j.Run(t.Context()); err != nil {
			t.Errorf("%s, --network=%s, %d ranks, formats %v: %v", j.Statement, j.Network, j.Ranks,
				j.Formats, err)
		}
	}
}

// TestEndlessNest checks a loop nest that costs far more than contractions of two tensors at a
// time, which another option forbids. It is refused with both costs, and runs only if the user
// requests it.
func TestEndlessNest(t *testing.T) {
	for _, c := range []struct {
		n        int
		network  string
		order    int
		says, at string
	}{
		{9, "", 1, "costs 1e+20 multiply-adds in one nest of loops, but", ""},
		{12, "auto", 1, "want --intermediate-order=2, or --network=direct", "auto"},
		{9, "pairwise", 1,
			"--network: multiplying two tensors at a time makes an intermediate of 2 variables, but --intermediate-order=1 allows at most 1", "pairwise"},
		{3, "pairwise", 1, "--network: multiplying two tensors at a time makes an intermediate of 2 variables, but --intermediate-order=", "pairwise"},
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
	j := matrixChain(9, 100, "dense:int", "dd")
	j.Statement += " + Z(i0,i9)" // on several ranks, another leaf computes this term
	j.Inputs["Z"], j.IntermediateOrder, j.Ranks = spmd.Generated("dense:int"), 1, 2
	j.Splits = []string{"i4:2"}
	if _, err := j.Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "want --intermediate-order=2, or --network=direct") {
		t.Errorf("on two ranks, with another term: got %v", err)
	}
	j = matrixChain(9, 2, "dense:int", "dd")
	j.Network, j.Check = "direct", true
	if _, err := j.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
