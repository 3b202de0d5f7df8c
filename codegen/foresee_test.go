package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// packed returns the arrays of a tensor with random entries whose levels are all compressed.
func packed(rng *rand.Rand, dims []int64, most int) interp.Arg {
	seen := map[string]bool{}
	var coords [][]int64
	for range 1 + rng.IntN(most) {
		c := make([]int64, len(dims))
		for k, d := range dims {
			c[k] = rng.Int64N(d)
		}
		if !seen[fmt.Sprint(c)] {
			seen[fmt.Sprint(c)], coords = true, append(coords, c)
		}
	}
	slices.SortFunc(coords, slices.Compare[[]int64])
	var a interp.Arg
	parents := []int{0, len(coords)} // the bounds of the entries of each parent
	for l := range dims {
		pos, crd, next := []int32{0}, []int32{}, []int(nil)
		for p := range parents[1:] {
			for n := parents[p]; n < parents[p+1]; n++ {
				if n == parents[p] || coords[n][l] != coords[n-1][l] {
					crd, next = append(crd, int32(coords[n][l])), append(next, n)
				}
			}
			pos = append(pos, int32(len(crd)))
		}
		parents = append(next, len(coords))
		a.Levels = append(a.Levels,
			interp.Level{Size: dims[l], Pos: interp.Array{Data: pos}, Crd: interp.Array{Data: crd}})
	}
	a.Vals = interp.Array{Data: slices.Repeat([]float64{1}, len(coords))}
	return a
}

// TestForesee compares the foreseen steps of random schedules with the steps that the leaves take.
func TestForesee(t *testing.T) {
	tiles, sparse, all := 0, 0, 0
	for seed := range uint64(1200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		vars := []string{"i", "j", "k"}[:1+rng.IntN(3)]
		list := strings.Join(vars, ",")
		src := []string{"s = B(%[1]s)", "s = B(%[1]s)*C(%[1]s)", "s = B(%[1]s)+C(%[1]s)",
			"s = B(%[1]s)+1"}[rng.IntN(4)]
		s, err := notation.Parse(fmt.Sprintf(src, list))
		if err != nil {
			t.Fatal(err)
		}
		r := codegen.Request{Statement: codegen.Statement{Stmt: s, ComputeType: tensor.Float64},
			Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: map[string]int64{}},
			Ask:     codegen.Ask{Verify: true}}
		dims, bounds := make([]int64, len(vars)), make([][2]int64, len(vars))
		for k, x := range vars {
			dims[k] = 8 + rng.Int64N(24)
			r.Tensors.Sizes[x], bounds[k] = dims[k], [2]int64{0, dims[k]}
		}
		r.Tensors.All["s"] = codegen.Tensor{Type: tensor.Float64, NNZ: 1}
		args := []interp.Arg{{Vals: interp.Array{Data: make([]float64, 1), Fresh: true}}}
		given := map[string]interp.Arg{}
		dense := rng.IntN(2) == 0
		for _, a := range s.Accesses() {
			spec := codegen.Tensor{Format: tensor.DenseOf(len(vars)), Type: tensor.Float64, Dims: dims,
				PosWidth: make([]uint8, len(vars)), CrdWidth: make([]uint8, len(vars))}
			arg, n := interp.Arg{}, int64(1)
			for l, d := range dims {
				n *= d
				arg.Levels = append(arg.Levels, interp.Level{Size: d})
				if !dense {
					spec.Format.Levels[l], spec.PosWidth[l], spec.CrdWidth[l] = tensor.Compressed, 4, 4
				}
			}
			if arg.Vals = (interp.Array{Data: make([]float64, n)}); !dense {
				arg = packed(rng, dims, 40)
			}
			given[a.Name], r.Tensors.All[a.Name] = arg, spec
		}
		r.Ask.Schedule = []string{}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 1 + rng.IntN(5) {
			q := r
			q.Ask.Schedule = append(slices.Clone(r.Ask.Schedule), drawLoops(rng, u.CIN, r.Tensors.Sizes, n))
			if next, err := codegen.Compile(q); err == nil {
				r, u = q, next
			}
		}
		counts := make([][]int64, len(u.Args))
		for n, a := range u.Args[1:] {
			arg := given[a.Tensor]
			positions := int64(1)
			for _, l := range arg.Levels {
				if positions *= l.Size; !dense {
					positions = int64(len(l.Crd.Data.([]int32)))
				}
				counts[n+1] = append(counts[n+1], positions)
			}
			args = append(args, arg)
		}
		seen := u.Foresee(bounds, counts, 1)
		if u.Foresee(bounds, nil, 1).Fail != seen.Fail {
			t.Fatalf("a failure that depends on entries: %v", seen.Fail)
		}
		took := int64(0)
		prog, err := interp.Compile(u.Func)
		if err != nil {
			t.Fatal(err)
		}
		fail, err := prog.Run(args, bounds, interp.Env{Threads: 1, Ran: &took})
		if err != nil {
			t.Fatal(err)
		}
		if (fail != nil) != (seen.Fail != nil) {
			t.Fatalf("the leaf fails with %v, want %v", fail, seen.Fail)
		}
		if fail != nil {
			continue
		}
		all++
		// If entries of several operands meet, only a part of the steps is foreseen.
		merged := !dense && len(given) > 1
		if got := float64(took); seen.Steps > 6*got+500 || !merged && got > 4*seen.Steps+500 {
			t.Errorf("seed %d: %s, -s=%s with sizes %v: %v steps are foreseen, the leaf takes %v\n%s",
				seed, s, strings.Join(r.Ask.Schedule, ","), r.Tensors.Sizes, seen.Steps, got, ir.Print(u.Func))
		}
		if !dense {
			sparse++
		}
		if strings.Contains(strings.Join(r.Ask.Schedule, ","), "split") {
			tiles++
		}
	}
	t.Logf("%d leaves, %d over sparse operands, %d with tiles", all, sparse, tiles)
	if all < 400 || sparse < 100 || tiles < 100 {
		t.Error("too few of a kind")
	}
}
