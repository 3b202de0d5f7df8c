package spmd_test

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/spmd"
)

// ofGroups is a job whose terms are summed separately, on several ranks or with splits. The data
// are integers, so that every order of summation gives the same result.
func ofGroups(stmt string, ranks int, splits ...string) *spmd.Job {
	j := &spmd.Job{Statement: stmt, Formats: map[string]string{"A": "ds", "B": "ds"},
		Types: map[string]string{},
		Sizes: map[string][]int64{"A": {12, 12}, "B": {12, 12}, "E": {12, 12}, "x": {12}, "z": {12},
			"w": {12}}, Inputs: map[string]spmd.Input{}}
	left, right, _ := strings.Cut(stmt, "=")
	for name, kind := range map[string]string{"A": "uniform:40:int", "B": "uniform:40:int",
		"E": "dense:int", "x": "dense:int", "z": "dense:int", "w": "dense:int"} {
		if strings.Contains(right, name) {
			j.Inputs[name] = spmd.Generated(kind)
		} else {
			delete(j.Sizes, name)
			delete(j.Formats, name)
		}
	}
	if strings.Contains(left, "+") {
		j.Inputs["y"] = spmd.Generated("dense:int")
	}
	j.Ranks, j.Target, j.Check, j.Splits, j.Threads = ranks, spmd.Interpreter, true, splits, 1
	return j
}

// TestGroupsAsOnOneRank checks that several ranks and block schedules accept the same trees of
// --network and the same schedules as one rank. Each of their leaves computes some of the terms,
// over operands with other names.
func TestGroupsAsOnOneRank(t *testing.T) {
	for _, c := range []struct{ stmt, network, schedule string }{
		{"y(i) = A(i,j)*A(j,k)*x(k)", "A*(A*x)", ""},
		{"Y(i,l) = A(i,j)*B(j,k)*A(k,l)", "(A*B)*A", ""},
		{"y(i) = A(i,j)*A(j,k)*x(k) + z(i)", "A*(A*x)", ""},
		{"y(i) = z(i) + A(i,j)*B(j,k)*x(k)", "A*(B*x)", ""},
		{"y = A(i,j)*B(j,k)*x(k) + z(i)", "A*(B*x)", ""},
		{"y += A(i,j)*B(j,k)*x(k)", "(A*B)*x", ""},
		{"y += E(i,j)", "", "reorder(j,i)"},
		{"y(k) += E(i,j)*w(k)", "", "reorder(k,j,i)"},
		{"y(k) += E(i,j)*w(k)", "", "precompute(E(i,j),i,i)"},
		{"y(i) += E(i,j)", "", "split(j,j0,j1,4),unroll(j1,4)"},
		{"y(i) = A(i,j) + z(i)", "", "pos(j,jp,A),split(jp,j0,j1,4)"},
		{"y(i) = A(i,j) + z(i)*w(k)", "",
			"split(j,j0,j1,4),split(k,k0,k1,2),parallelize(i,CPUThread,NoRaces)"},
	} {
		for _, splits := range [][]string{nil, {"i:2"}, {"j:2"}, {"i:3", "j:2"}} {
			for ranks := 1; ranks <= 3; ranks++ {
				j := ofGroups(c.stmt, ranks, splits...)
				j.Network = c.network
				if c.schedule != "" {
					j.Schedule = []string{c.schedule}
				}
				if _, err := j.Run(t.Context()); err != nil {
					t.Errorf("%s --network=%q -s=%q, %d ranks, splits %v: %v", c.stmt, c.network, c.schedule,
						ranks, splits, err)
				}
			}
		}
	}
}

// TestGroupsRefused checks that a schedule that fits no leaf is refused with the same error as on
// one rank, at the same place.
func TestGroupsRefused(t *testing.T) {
	for _, c := range []struct{ stmt, network, schedule, at string }{
		{"y(i) = A(i,j)*B(j,k)*x(k) + z(i)", "A*(B*z)", "", "z"},
		{"y(i) = A(i,j)*B(j,k)*x(k) + z(i)", "A*B", "", "A*B"},
		{"y += E(i,j)", "", "reorder(j,q)", "q"},
		{"y(i) += E(i,j)", "", "unroll(q,2)", "q"},
		{"y = z(i) + w(j)", "", "reorder(j,i)", "reorder(j,i)"},
	} {
		for _, splits := range [][]string{nil, {"j:2"}} {
			for ranks := 1; ranks <= 2; ranks++ {
				j := ofGroups(c.stmt, ranks, splits...)
				j.Network = c.network
				if c.schedule != "" {
					j.Schedule = []string{c.schedule}
				}
				_, err := j.Run(t.Context())
				var d *diag.Error
				if !errors.As(err, &d) || d.Src[d.Pos:d.End] != c.at {
					t.Errorf("%s --network=%q -s=%q, %d ranks, splits %v: got %v, want it said of %s", c.stmt,
						c.network, c.schedule, ranks, splits, err, c.at)
				} else if strings.HasSuffix(d.Msg, ": ") {
					t.Errorf("%s -s=%q: %v: an empty list", c.stmt, c.schedule, err)
				}
			}
		}
	}
}
