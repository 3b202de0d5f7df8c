package spmd_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
)

// TestPlacementsOfOtherBlocks checks tensors whose placements have other pieces than the steps use.
// The tensors begin and end at their placements, the result is right, and a run moves the planned
// number of bytes of dense tensors.
func TestPlacementsOfOtherBlocks(t *testing.T) {
	trials := 60
	if testing.Short() {
		trials = 12
	}
	moved := int64(0)
	for seed := range uint64(trials) {
		r := rand.New(rand.NewPCG(seed, 3))
		j, name, dense := placedJob(r)
		job := *j
		p, err := job.Plan(context.Background(), 0)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, name, err)
		}
		report, err := j.Run(context.Background())
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, name, err)
		}
		for _, x := range p.Tensors {
			moved += x.Moved
		}
		got := report.Stats.Comm
		if dense && (!slices.Equal(got.BytesSent, p.Comm.BytesSent) ||
			!slices.Equal(got.BytesReceived, p.Comm.BytesReceived) ||
			!slices.Equal(got.MessagesSent, p.Comm.MessagesSent)) {
			t.Errorf("seed %d: %s: a run counts %+v, its plan %+v", seed, name, got, p.Comm)
		}
	}
	if moved == 0 {
		t.Error("no plan moves a tensor from or to its placement")
	}
}

// placedJob returns a random job over a grid, with Check set. dense is true if all of its tensors
// are dense.
func placedJob(r *rand.Rand) (j *spmd.Job, name string, dense bool) {
	statements := []string{"A(i,j) = B(i,j) + C(i,j)", "A(i,j) = B(i,k) * C(k,j)",
		"a(i) = B(i,j) * c(j)", "A(i,j) = B(i,j) * c(j)", "A(i,j) = B(j,i) * C(i,j)"}
	schedules := []string{"divide(i,io,ii,M.x),distribute(io)",
		"divide(j,jo,ji,M.y),reorder(jo,i,ji),distribute(jo)",
		"divide(i,io,ii,M.x),divide(j,jo,ji,M.y),reorder(io,jo,ii,ji),distribute(io),distribute(jo)",
		"divide(i,io,ii,3),distribute(io)", "reorder(j,i),distribute(j)"}
	j = &spmd.Job{Statement: statements[r.IntN(len(statements))], Sizes: map[string][]int64{},
		Formats: map[string]string{}, Types: map[string]string{}, Inputs: map[string]spmd.Input{}}
	j.Ranks, j.Machine, j.Target, j.Check = 1+r.IntN(6),
		fmt.Sprintf("%dx%d", 1+r.IntN(3), 1+r.IntN(3)), spmd.Interpreter, true
	j.Schedule = []string{schedules[r.IntN(len(schedules))]}
	dense = r.IntN(2) == 0
	n := int64(5 + r.IntN(6))
	for _, x := range "AaBCc" {
		tensor := string(x)
		if !strings.Contains(j.Statement, tensor+"(") {
			continue
		}
		modes, kind := 2, "uniform:20:int"
		if x == 'a' || x == 'c' {
			modes, kind = 1, "uniform:4:int"
		}
		j.Formats[tensor] = map[bool][]string{true: {"", "d", "dd"},
			false: {"", "s", []string{"ds", "ss", "ds:1,0"}[r.IntN(3)]}}[dense][modes]
		if x != 'A' && x != 'a' {
			j.Sizes[tensor] = []int64{n, n}[:modes]
			if j.Inputs[tensor] = spmd.Generated(kind); dense {
				j.Inputs[tensor] = spmd.Generated("dense:int")
			}
		}
		if r.IntN(3) > 0 {
			j.Placements = append(j.Placements, tensor+placementOf(r, modes))
		}
	}
	return j, fmt.Sprintf("%s, %v, %s, %s, %v, %d ranks over %s, %d", j.Statement, j.Formats,
		j.Schedule, strings.Join(j.Placements, "; "), j.Sizes, j.Ranks, j.Machine, n), dense
}

// placementOf returns a random placement of a tensor on a grid of two dimensions.
func placementOf(r *rand.Rand, modes int) string {
	left, all := "(x,y)", []string{"x,y", "y,x", "x,0", "0,x", "y,0", "0,y", "0,0", "x,*", "*,y"}
	if modes == 1 {
		left, all = "(x)", []string{"x,0", "0,x", "0,0", "x,*"}
	}
	return left + " -> M(" + all[r.IntN(len(all))] + ")"
}
