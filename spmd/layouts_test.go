package spmd_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
)

// TestLayouts checks jobs that read dense operands from copies in another order. Their results are
// right, they use no more memory than planned, and they make copies where their plans do: of the
// whole operand, in blocks that many steps read, repeatedly, and for a layout command. No copy is
// made if each rank would copy more than it reads.
func TestLayouts(t *testing.T) {
	const rows, columns = 600, 500
	ttm := "Y(i,j,k) = B(i,j,l)*C(k,l)"
	for _, c := range []struct {
		statement string
		ranks     int
		splits    []string
		schedule  []string
		copies    bool
	}{
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 1, nil, nil, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 1, []string{"i:7"}, nil, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 1, []string{"j:7", "i:3"}, nil, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 2, []string{"i:10"}, nil, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 3, []string{"i:6", "k:4"}, nil, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 20, []string{"i:20"}, nil, false},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 2, []string{"i:4"}, []string{"layout(D(k,j),1,0)"}, true},
		{"A(i,j) = B(i,j)*C(i,k)*D(k,j)", 2, []string{"i:4"}, []string{"layout(D(k,j),0,1)"}, false},
		{ttm, 1, nil, nil, true},
		{ttm, 2, []string{"i:2", "l:5"}, nil, true},
	} {
		name := fmt.Sprint(c.statement, " on ", c.ranks, " ranks, ", c.splits, c.schedule)
		var notes []string
		j := &spmd.Job{Statement: c.statement, Formats: map[string]string{"A": "ds", "B": "ds"},
			Sizes: map[string][]int64{"i": {rows}, "j": {columns}, "k": {16}},
			Inputs: map[string]spmd.Input{"B": spmd.Generated("uniform:12000:int"),
				"C": spmd.Generated("dense:int"), "D": spmd.Generated("dense:int")}}
		if c.statement == ttm {
			j.Formats = map[string]string{"Y": "ssd", "B": "sss"}
			j.Sizes["l"] = []int64{40}
			delete(j.Inputs, "D")
		}
		j.Ranks, j.Threads, j.Splits, j.Schedule, j.Check, j.Repeat = c.ranks, 1, c.splits, c.schedule,
			true, 2
		j.Note = func(line string) { notes = append(notes, line) }
		p, err := j.Plan(t.Context(), 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notes = nil
		report, err := j.Run(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for rank, took := range report.Allocated {
			if took > p.Memory[rank] {
				t.Errorf("%s: rank %d took %d bytes, and the plan says %d", name, rank, took, p.Memory[rank])
			}
		}
		if got := slices.ContainsFunc(notes,
			func(s string) bool { return strings.Contains(s, "copying ") }); got != c.copies {
			t.Errorf("%s: a copy is made: %v, want %v", name, got, c.copies)
		}
	}
}
