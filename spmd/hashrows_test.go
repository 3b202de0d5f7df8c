package spmd_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
	"distaff/spmd"
)

// TestHashRows checks when the keys of a hash table are rows. If a workspace is filled everywhere
// or nowhere along its last variables, its hash table has a key for each row along these variables,
// by default and if a schedule requests a hash table. For other workspaces it has a key for each
// entry. Both tables give the same entries and sums, also if rows are found by position and on
// several ranks. If each entry of one operand adds a key, the table has room for all keys from the
// beginning. If most keys differ and rows are copied to a result, the workspace is a list of terms
// and not a table of rows.
func TestHashRows(t *testing.T) {
	t.Parallel()
	type operands map[string]string // as FORMAT GENERATOR
	sizes := map[string]int64{"i": 30, "j": 400, "k": 300, "l": 5, "m": 3}
	kept := 0
	for _, c := range []struct {
		name, stmt, result string
		operands           operands
		keys               int  // number of variables in the keys of the table for w
		room               bool // the table has room for all entries of an operand
		commands           []string
	}{
		{"mode 0", "A(k,j,l) = B(i,k,j)*C(i,l)", "ssd",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int"}, 2, true, nil},
		{"two dense variables", "A(k,j,l,m) = B(i,k,j)*C(i,l)*D(i,m)", "ssdd",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int", "D": "dd dense:int"}, 2, true, nil},
		{"a result that is sparse along rows", "A(k,j,l) = B(i,k,j)*C(i,l)", "sss",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int"}, 2, true, nil},
		{"a result with dense rows of rows", "A(k,j,l) = B(i,k,j)*C(i,l)", "dsd",
			operands{"B": "sss zipf:3000:1.1:int", "C": "dd dense:int"}, 2, true, nil},
		{"a factor that is there in all loops", "A(k,j,l) = B(i,k,j)*C(i,l)*x(l)", "ssd",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int", "x": "d dense:int"}, 2, true, nil},
		{"two sparse operands", "A(k,j,l) = B(i,k,j)*E(i,k)*C(i,l)", "ssd",
			operands{"B": "sss uniform:3000:int", "E": "ss uniform:4000:int", "C": "dd dense:int"}, 2, false,
			nil},
		{"blocks of an operand", "A(k,j,l) = B(i,k,j,l)*y(i)", "ssd",
			operands{"B": "sssd uniform:9000:int", "y": "d dense:int"}, 2, false, nil},
		{"an empty operand", "A(k,j,l) = B(i,k,j)*C(i,l)", "ssd",
			operands{"B": "sss uniform:0:int", "C": "dd dense:int"}, 2, true, nil},
		{"a term that has no rows", "A(k,j,l) = B(i,k,j)*C(i,l) + F(k,j,l)", "sss",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int", "F": "sss uniform:2000:int"}, 3,
			false, nil},
		{"another term beside the rows", "A(k,j,l) = B(i,k,j)*C(i,l) + F(k,j,l)", "sss",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int", "F": "sss uniform:90000:int"}, 2,
			true, []string{"precompute(B(i,k,j)*C(i,l),{k,j,l},{k,j,l},w)", "workspace(w,Hash)"}},
		{"rows times a sparse operand", "A(k,j,l) = B(i,k,j)*C(i,l)*F(k,j,l)", "sss",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int", "F": "sss uniform:90000:int"}, 2,
			true, []string{"precompute(B(i,k,j)*C(i,l),{k,j,l},{k,j,l},w)", "workspace(w,Hash)"}},
		{"two sums", "A(k,j,l) = B(i,k,j)*C(i,l) + E(i,k,j)*C(i,l)", "ssd",
			operands{"B": "sss uniform:3000:int", "E": "sss uniform:2000:int", "C": "dd dense:int"}, 2,
			false, nil},
		{"a sparse factor", "A(k,j,l) = B(i,k,j)*C(i,l)", "sss",
			operands{"B": "sss uniform:3000:int", "C": "ds uniform:60:int"}, 3, false, nil},
		{"inside of a loop", "A(i,k,l,m) = B(i,j,k)*C(j,l,m)", "ssdd",
			operands{"B": "sss uniform:3000:int", "C": "ddd dense:int"}, 1, false, nil},
		{"rows of few places inside of a loop", "A(i,k,l) = B(i,j,k)*C(j,l)", "ssd",
			operands{"B": "sss uniform:3000:int", "C": "dd dense:int"}, 0, false, nil},
		{"one key", "A(j,l) = B(i,j)*C(i,l)", "sd",
			operands{"B": "ss uniform:3000:int", "C": "dd dense:int"}, 1, false,
			[]string{"precompute(B(i,j)*C(i,l),{j,l},{j,l},w)", "reorder(i,j,l)", "workspace(w,Hash)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := func(ranks int, target string, commands ...string) *spmd.Job {
				j := &spmd.Job{Statement: c.stmt, Formats: map[string]string{"A": c.result},
					Sizes: map[string][]int64{}, Inputs: map[string]spmd.Input{}, Keep: true}
				for _, a := range regexp.MustCompile(`(\w)\(([a-z,]+)\)`).FindAllStringSubmatch(c.stmt, -1) {
					if a[1] != "A" {
						j.Sizes[a[1]] = nil
						for v := range strings.SplitSeq(a[2], ",") {
							j.Sizes[a[1]] = append(j.Sizes[a[1]], sizes[v])
						}
					}
				}
				for name, text := range c.operands {
					var format, generator string
					fmt.Sscan(text, &format, &generator)
					j.Formats[name], j.Inputs[name] = format, spmd.Generated(generator)
				}
				// Products of three factors stay in one nest of loops.
				j.Network = "direct"
				j.Ranks, j.Target, j.Schedule, j.Check, j.Threads = ranks, target, commands, true, 1
				return j
			}
			made, err := job(1, "", c.commands...).Compile(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			keys := regexp.MustCompile(`alloc w_key\d`).FindAllString(ir.Print(made.Unit.Func), -1)
			slices.Sort(keys)
			if n := len(slices.Compact(keys)); n != c.keys {
				t.Errorf("the table has %d keys, want %d, in\n%s", n, c.keys, ir.Print(made.Unit.Func))
			}
			if got := strings.Contains(ir.Print(made.Unit.Func),
				"var w_first int64 = B_nnz + 1"); got != c.room {
				t.Errorf("room for keys: got %v, want %v, in\n%s", got, c.room, ir.Print(made.Unit.Func))
			}
			lines, err := codegen.Schedule(made.Unit.Request)
			if err != nil {
				t.Fatal(err)
			}
			printed := schedule.Text(lines)
			again, err := job(1, "", printed).Compile(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := ir.Print(again.Unit.Func), ir.Print(made.Unit.Func); got != want {
				t.Errorf("%s\nmakes\n%s\nwant\n%s", printed, got, want)
			}
			sameResults(t, job(1, spmd.Interpreter, c.commands...), job(1, "", printed),
				job(2, spmd.Interpreter), job(3, ""))
			// If a list of terms is the default, a hash table must give the same sums.
			if strings.Contains(printed, "workspace(w,Terms)") {
				sameResults(t, job(1, "",
					strings.Replace(printed, "workspace(w,Terms)", "workspace(w,Hash)", 1)), job(1, "", printed))
				kept++
			}
		})
	}
	if kept == 0 {
		t.Error("no statement keeps rows of terms")
	}
}
