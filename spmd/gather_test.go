package spmd_test

import (
	"context"
	"fmt"
	"testing"

	"distaff/spmd"
)

// TestGatheredRowsSuffice checks that a leaf reads no other rows of a gathered operand than the
// ones in memory, even if its loops visit coordinates of other operands. The interpreter checks
// every index.
func TestGatheredRowsSuffice(t *testing.T) {
	t.Parallel()
	const rows = "divide(i,io,ii,M.x),distribute(io)"
	const entries = "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo)"
	for _, c := range []struct{ statement, schedule string }{
		{"a(i) = B(i,j) * c(j)", rows},
		{"a(i) = B(i,j) * c(j) + D(i,j) * e(j)", rows},
		{"a(i) = B(i,j) * c(j) + D(i,j)", rows},
		{"a(i) = B(i,j) * D(i,j) * c(j)", rows},
		{"a(i) = B(i,j) * c(j) + e(j)", rows},
		{"a(i) = c(i) * d(i) + B(i,j) * c(j)", rows},
		{"a(i) = B(i,j) * (c(j) + D(i,j))", rows},
		{"a(i) = B(i,j) * c(j)", rows + ",precompute(c(j),j,jw,w)"},
		{"A(i,k) = B(i,j) * C(j,k)", rows},
		{"A(i,k) = B(i,j) * C(j,k) + F(i,j) * C(j,k)", rows},
		{"a(i) = B(i,j) * c(j)", entries},
		{"a(i) = B(i,j) * c(i)", entries},
		{"a(j) = B(i,j) * c(i)", entries},
		{"a(i) = B(i,j) * c(i) * e(j)", entries},
		{"a(i) = B(i,j) * D(i,j) * c(i)", entries},
		{"a(i) = B(i,j) * (c(i) + D(i,j))", entries},
		{"A(i,k) = B(i,j) * C(i,k)", entries},
		{"A(i,k) = B(i,j) * C(i,k)", entries + ",parallelize(i,CPUThread,NoRaces)"},
		{"a(i) = B(i,j) * c(i)", entries + ",precompute(c(i),i,iw,w)"},
		{"A(i,k) = B(i,j) * C(j,k)", rows + ",split(ii,it,iu,2),parallelize(it,CPUThread,NoRaces)"},
		{"a(i) = B(i,j) * c(j)", rows + ",split(j,jo,ji,3),fuse(jo,ji,f)"},
		{"a(i) = B(i,j) * c(j)", rows + ",split(j,jo,ji,1),fuse(jo,ji,f)"},
		{"a(i) = B(i,j) * c(j)", rows + ",split(j,jo,ji,3),reorder(ji,jo)"},
		{"a(i) = B(i,j) * c(j)", rows + ",split(j,jo,ji,3),reorder(jo,ii,ji)"},
		{"a(i) = B(i,j) * c(j)", rows + ",split(j,jo,ji,3),unroll(ji,3)"},
		{"a(i) = B(i,j) * c(j)", rows + ",divide(j,jo,ji,3),parallelize(ji,CPUVector,ParallelReduction)"},
		{"a(i) = B(i,j) * c(j)", rows + ",fuse(ii,j,f)"},
		{"a(i) = B(i,j) * c(j)", rows + ",fuse(ii,j,f),split(f,fo,fi,4)"},
		{"a(i) = B(i,j) * c(j)", rows + ",fuse(ii,j,f),split(f,fo,fi,4),reorder(fi,fo)"},
		{"a(i) = B(i,j) * c(j)", rows + ",fuse(ii,j,f),pos(f,fp,B),split(fp,fo,fi,4)"},
		{"a(i) = B(i,j) * c(j)", rows + ",pos(j,jp,B),split(jp,jo,ji,4),coord(ji,jc)"},
		{"a(i) = B(i,j) * c(j)", rows + ",bound(j,jb,23,MaxExact),split(jb,jo,ji,3)"},
		{"a(i) = B(i,j) * c(j)", rows + ",bound(j,jb,0,MinExact)"},
		{"a(i) = B(i,j) * D(i,j) * c(j)", rows + ",mergeby(j,Gallop)"},
		{"a(i) = B(i,j) * D(i,j) * c(j)", rows + ",split(j,jo,ji,3),reorder(ji,jo)"},
		{"A(i,k) = B(i,j) * C(j,k)", rows + ",split(j,jo,ji,3),reorder(ji,k,jo)"},
	} {
		for _, data := range []string{"banded:1:int", "uniform:40:int", "uniform:1:int",
			"uniform:0:int"} {
			for _, ranks := range []int{2, 5} {
				for _, target := range []string{spmd.Interpreter, "cpu"} {
					if target == "cpu" && ranks != 5 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%d/%v", c.statement, c.schedule, data, ranks, target),
						func(t *testing.T) {
							j := &spmd.Job{Statement: c.statement, Sizes: map[string][]int64{},
								Formats: map[string]string{}, Inputs: map[string]spmd.Input{}}
							j.Ranks, j.Target, j.Check, j.Schedule = ranks, target, true, []string{c.schedule}
							gatherJob(j, data)
							if _, err := j.Run(context.Background()); err != nil {
								t.Fatal(err)
							}
						})
				}
			}
		}
	}
}

// gatherJob gives a job the tensors of its statement: B, D and F are sparse, the others dense, and
// c and C are in parts.
func gatherJob(j *spmd.Job, data string) {
	const n, m = 23, 3
	for _, name := range j.Statement {
		switch name {
		case 'B', 'D', 'F':
			kind := data
			if name == 'D' {
				kind = "uniform:30:int"
			}
			j.Formats[string(name)], j.Sizes[string(name)], j.Inputs[string(name)] = "ds", []int64{n, n},
				spmd.Generated(kind)
		case 'c', 'd', 'e':
			j.Sizes[string(name)], j.Inputs[string(name)] = []int64{n}, spmd.Generated("dense:int")
		case 'C':
			j.Sizes["C"], j.Inputs["C"] = []int64{n, m}, spmd.Generated("dense:int")
		}
	}
	for name := range j.Inputs {
		switch name {
		case "c", "e":
			j.Placements = append(j.Placements, name+"(x) -> M(x)")
		case "C":
			j.Placements = append(j.Placements, "C(x,y) -> M(x)")
		}
	}
}
