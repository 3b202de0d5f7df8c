package spmd_test

import (
	"context"
	"testing"

	"distaff/codegen"
	emitc "distaff/codegen/emit/c"
	"distaff/codegen/schedule"
	"distaff/spmd"
)

// TestLeavesOfRanks checks that the printed schedules of a job's leaves over ranks and blocks,
// given back to the job, make the same leaves.
func TestLeavesOfRanks(t *testing.T) {
	for _, x := range []struct {
		statement, format, split string
		ranks                    int
		leaves                   int
	}{
		{"y(i) = A(i,j) * x(j)", "ds", "", 2, 1},
		{"y(i) = A(i,j) * x(j)", "ds", "j:2", 1, 1},
		{"y(i) = A(i,j) * x(j)", "ds:1,0", "", 3, 1},
		{"y(i) = A(i,j) * x(j) + x(i)", "ds", "", 2, 1},
		{"y(i) = A(i,j) * x(j) + x(i)", "ds", "j:2", 2, 2},
		{"y(i,k) = A(i,j) * A(j,k)", "ds", "", 2, 1},
	} {
		ctx := context.Background()
		leaves := func(schedule []string) []*codegen.Unit {
			j := &spmd.Job{Statement: x.statement, Formats: map[string]string{"A": x.format},
				Sizes: map[string][]int64{"A": {300, 300}},
				Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:9000:int"),
					"x": spmd.Generated("dense:int")}}
			if x.statement[2] == 'i' && x.statement[3] == ',' {
				delete(j.Inputs, "x")
			}
			j.Ranks, j.Schedule = x.ranks, schedule
			if x.split != "" {
				j.Splits = []string{x.split}
			}
			u, err := j.Compile(ctx, "")
			if err != nil {
				t.Fatalf("%s: %v", x.statement, err)
			}
			units, err := u.Leaves(ctx)
			if err != nil {
				t.Fatalf("%s: %v", x.statement, err)
			}
			return units
		}
		units := leaves(nil)
		if len(units) != x.leaves {
			t.Errorf("%s, --ranks=%d --split=%s: got %d leaves, want %d", x.statement, x.ranks, x.split,
				len(units), x.leaves)
		}
		for _, u := range units {
			lines, err := codegen.Schedule(u.Request)
			if err != nil {
				t.Errorf("%s: %v", x.statement, err)
				continue
			}
			text := schedule.Text(lines)
			if len(units) == 1 {
				if again := leaves([]string{text}); emitc.File(again[0].Func) != emitc.File(u.Func) {
					t.Errorf("%s, --ranks=%d --split=%s: another leaf is made by\n%s", x.statement, x.ranks,
						x.split, text)
				}
			}
		}
	}
}
