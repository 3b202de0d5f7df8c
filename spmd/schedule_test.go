package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// published are the schedules of Senanayake (2020) for the CPU in our syntax, from its figures 2-1
// and 6-1 and its appendix.
var published = []struct {
	name, stmt string
	formats    map[string]string
	sizes      map[string][]int64
	schedule   string
	// ir has patterns that the leaf's text must match, and not has patterns that it must not match.
	ir, not []string
}{
	{"figure 2-1a", "a(i) = B(i,j) * c(j)", map[string]string{}, map[string][]int64{"B": {37, 29}},
		"fuse(i,j,f)",
		[]string{`for i in .*\n(.*\n)*? +for j in `}, nil},
	{"figure 2-1b", "a(i) = B(i,j) * c(j)", map[string]string{"B": "ds"},
		map[string][]int64{"B": {37, 29}}, "assemble(a,Insert)",
		[]string{`for i in i_lo : i_hi`, `while B_p_1 < B_e`}, []string{"parallel", "vector"}},
	{"figure 2-1c", "a(i) = B(i,j) * c(j)", map[string]string{"B": "ds"},
		map[string][]int64{"B": {37, 29}}, "split(i,i1,i2,4)",
		[]string{`for i1 in 0 : `, `for i in i2_lo : i2_hi`}, []string{"if "}},
	{"figure 2-1d", "a(i) = B(i,j) * c(j)", map[string]string{"B": "ds"},
		map[string][]int64{"B": {37, 29}}, "fuse(i,j,f),pos(f,p,B(i,j))",
		[]string{`while B_p < `}, nil},
	{"figure 6-1", "a(i) = B(i,j) * c(j)", map[string]string{"B": "ds"},
		map[string][]int64{"B": {37, 29}},
		"fuse(i,j,k),pos(k,p,B(i,j)),split(p,p0,p1,16),parallelize(p0,CPUThread,Atomics,1)",
		[]string{`for p0 in 0 : .* parallel`, `atomic a_vals`}, []string{`search(.*\n)*.*search`}},
	{"A.1", "y(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}, map[string][]int64{"A": {70, 29}},
		"split(i,i0,i1,32),reorder(i0,i1,j),parallelize(i0,CPUThread,NoRaces)",
		[]string{`for i0 in 0 : .* parallel`}, []string{"search", "atomic"}},
	{"A.1 bound", "y(i) = A(i,j) * x(j)", map[string]string{"A": "ds"},
		map[string][]int64{"A": {64, 29}},
		"bound(i,ib,64,MaxExact),split(ib,i0,i1,32),unroll(i1,4)",
		[]string{`for i0 in 0 : 2 `, `unrolled`}, []string{"min"}},
	{"A.3", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
		map[string][]int64{"A": {37, 29}, "B": {29, 16}},
		"split(i,i0,i1,8),pos(j,jpos,A(i,j)),split(jpos,jpos0,jpos1,8),reorder(i0,i1,jpos0,k,jpos1),parallelize(i0,CPUThread,NoRaces),parallelize(k,CPUVector,IgnoreRaces)",
		[]string{`for i0 in .* parallel`, `for k_lane in 0 : 16 vector`,
			`for A_p_1 in jpos1_lo : jpos1_hi`}, []string{"search"}},
	{"A.5", "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", map[string]string{"B": "dss"},
		map[string][]int64{"B": {67, 9, 11}, "C": {9, 8}},
		"precompute(B(i,k,l)*D(l,j),j,j,W),split(i,i1,i2,32),parallelize(i1,CPUThread,NoRaces)",
		[]string{`for i1 in .* parallel`, `W_vals\[j\] \+= `}, []string{"sort", "search"}},
	{"A.6", "A(i,j) = B(i,k,l,m) * C(k,j) * D(l,j) * E(m,j)", map[string]string{"B": "dsss"},
		map[string][]int64{"B": {67, 5, 6, 7}, "C": {5, 8}},
		"precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,BDE),precompute(B(i,k,l,m)*E(m,j),j,j,BE),split(i,i1,i2,32),parallelize(i1,CPUThread,NoRaces)",
		[]string{`BE_vals\[j.*\] \+= `, `BDE_vals\[j.*\] \+= `}, []string{"sort", "search"}},
	{"A.7", "A(i,j) = B(i,k,l,m,n) * C(k,j) * D(l,j) * E(m,j) * F(n,j)",
		map[string]string{"B": "dssss"}, map[string][]int64{"B": {67, 3, 4, 5, 6}, "C": {3, 8}},
		"precompute(B(i,k,l,m,n)*F(n,j)*E(m,j)*D(l,j),j,j,BDEF),precompute(B(i,k,l,m,n)*F(n,j)*E(m,j),j,j,BEF),precompute(B(i,k,l,m,n)*F(n,j),j,j,BF),split(i,i1,i2,32),parallelize(i1,CPUThread,NoRaces)",
		[]string{`BF_vals\[j.*\] \+= `, `BEF_vals\[j.*\] \+= `, `BDEF_vals\[j.*\] \+= `},
		[]string{"sort", "search"}},
	{"A.12", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
		map[string][]int64{"A": {37, 29}, "B": {29, 16}},
		"pos(j,jpos,A(i,j)),split(jpos,jpos0,jpos1,8),reorder(i,jpos0,k,jpos1)",
		[]string{`for jpos0 in `, `for k_tile in `, `for A_p_1 in jpos1_lo : jpos1_hi`},
		[]string{"search", "parallel"}},
	{"A.13", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
		map[string][]int64{"A": {37, 29}, "B": {29, 16}},
		"assemble(C,Insert)", []string{`for k in k_lo : k_hi`}, []string{"parallel"}},
	{"iw", "A(i,j) = B(i,k,l) * C(k,j) * D(l,j)", map[string]string{"B": "dss"},
		map[string][]int64{"B": {67, 9, 11}, "C": {9, 8}},
		"precompute(B(i,k,l)*D(l,j),j,jw),split(jw,j0,j1,4),unroll(j1),divide(i,i1,i2,3),parallelize(i1,CPUThread,NoRaces)", []string{`unrolled`}, nil},
	{"scalar", "a(i) = B(i,j) * C(j,k) * d(k)", map[string]string{"B": "ds", "C": "ds"},
		map[string][]int64{"B": {17, 9}, "C": {9, 8}},
		"precompute(C(j,k)*d(k),{},{},t)", nil, nil},
	{"reduction", "s = A(i,j) * x(j)", map[string]string{"A": "ds"}, map[string][]int64{"A": {70, 29}},
		"parallelize(i,CPUThread,ParallelReduction)", []string{`parallel reduce`}, nil},
	{"copies", "y(j) = A(i,j) * x(i)", map[string]string{"A": "ds"}, map[string][]int64{"A": {70, 29}},
		"split(i,i0,i1,8),parallelize(i0,CPUThread,Temporary)", []string{`y_copies`}, nil},
	{"pieces", "C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ds", "B": "ss", "C": "ds"},
		map[string][]int64{"A": {70, 29}},
		"split(i,i0,i1,8),parallelize(i0,CPUThread,NoRaces)", []string{`keep`}, nil},
	// The result is set to 0 before the first tile, and not in each tile.
	{"loops between tiles", "A(i,j) = B(i,j) + C(i)", map[string]string{"B": "ss"},
		map[string][]int64{"B": {37, 29}},
		"split(i,i0,i1,8),split(i1,i2,i3,3),split(j,j0,j1,4),reorder(i0,i2,j1,i3,j0)", nil, nil},
	{"gallop", "s = a(i) * b(i)", map[string]string{"a": "s", "b": "s"},
		map[string][]int64{"a": {5000}},
		"mergeby(i,Gallop)", []string{`search\(b_crd0`}, nil},
	{"gallop, cut afterwards", "s = a(i) * b(i)", map[string]string{"a": "s", "b": "s"},
		map[string][]int64{"a": {5000}},
		"parallelize(p0,CPUThread,ParallelReduction),mergeby(i,Gallop),pos(i,p,a),split(p,p0,p1,16)",
		[]string{`search\(b_crd0, b_p_?\d* \+ 1`, `parallel reduce`}, nil},
}

func scheduled(k int) *spmd.Job {
	p := published[k]
	j := &spmd.Job{Statement: p.stmt, Formats: p.formats, Sizes: p.sizes,
		Inputs: map[string]spmd.Input{}}
	j.Schedule, j.Check, j.Seed = []string{p.schedule}, true, 3
	for i, name := range regexp.MustCompile(`[A-Za-z]+[(0-9]?`).FindAllString(p.stmt, -1) {
		if name = strings.TrimSuffix(name, "("); i == 0 || !strings.Contains(p.stmt, name+"(") {
			continue
		}
		if f := p.formats[name]; strings.Contains(f, "s") {
			j.Inputs[name] = spmd.Generated("uniform:60:int")
		} else {
			j.Inputs[name] = spmd.Generated("dense:int")
		}
	}
	return j
}

// TestPublishedSchedules runs each schedule in the interpreter, which finds races, compares the
// result with the reference, and looks for the loops that the schedule promises.
func TestPublishedSchedules(t *testing.T) {
	for k, p := range published {
		t.Run(p.name, func(t *testing.T) {
			u, err := scheduled(k).Compile(context.Background(), "")
			if err != nil {
				t.Fatal(err)
			}
			text := ir.Print(u.Unit.Func)
			for _, want := range p.ir {
				if !regexp.MustCompile(want).MatchString(text) {
					t.Errorf("nothing like %s in\n%s", want, text)
				}
			}
			for _, not := range p.not {
				if regexp.MustCompile(not).MatchString(text) {
					t.Errorf("there is %s in\n%s", not, text)
				}
			}
			j := scheduled(k)
			j.Target, j.Threads = spmd.Interpreter, 3
			if _, err := j.Run(context.Background()); err != nil {
				t.Errorf("%v in\n%s", err, text)
			}
		})
	}
}

// TestPublishedSchedulesInC runs the same schedules compiled, on 1, 2 and 4 threads.
func TestPublishedSchedulesInC(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles many leaves")
	}
	if _, err := cc.FromEnv(os.Getenv); err != nil {
		t.Skip(err)
	}
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O1")
	for k, p := range published {
		for _, threads := range []int{1, 2, 4} {
			j := scheduled(k)
			j.Threads = threads
			if _, err := j.Run(context.Background()); errors.Is(err, cc.ErrNoCompiler) {
				t.Skip(err)
			} else if err != nil {
				t.Errorf("%s on %d threads: %v", p.name, threads, err)
			}
		}
	}
}

// TestScheduleRefusals has a schedule for each precondition.
func TestScheduleRefusals(t *testing.T) {
	spmv, fm := "y(i) = A(i,j) * x(j)", map[string]string{"A": "ds"}
	union := map[string]string{"A": "ss", "B": "ss"}
	for _, c := range []struct {
		stmt     string
		formats  map[string]string
		schedule string
		want     string
	}{
		{spmv, fm, "strip(i,4)", "want a scheduling command"},
		{spmv, fm, "split(i,i0,i1)", "got 3 arguments, want split(i, i0, i1, N)"},
		{spmv, fm, "split(i,i0,i1,4", `want "," or ")"`},
		{spmv, fm, "split(k,i0,i1,4)", "got k, want a variable that the statement loops over: i, j"},
		{spmv, fm, "split(i,i0,i1,0)", "0, want 1 to 2^40"},
		{spmv, fm, "split(i,i0,i1,x)", "want a whole number"},
		{spmv, fm, "split(i,j,i1,4)", "the name j is in use; want a new one"},
		{spmv, fm, "split(i,A,i1,4)", "the name A is in use; want a new one"},
		{spmv, fm, "split(i,a,a,4)", "the name a is in use; want a new one"},
		{spmv, fm, "split(i,i0,i1,4),split(i,a,b,4)", "i no longer exists: it was replaced by split(i, i0, i1, 4)"},
		{spmv, fm, "divide(i,i0,i1,-2)", "-2, want 1 to 2^40"},
		{spmv, fm, "reorder(j,i)", "stores j below i"},
		{spmv, fm, "reorder(i,i)", "got i twice, want each variable once"},
		{"a(i) = b(i) + C(i,j)*d(j)", map[string]string{"C": "ds"}, "reorder(j,i)",
			"must be directly nested"},
		{spmv, fm, "fuse(j,i,f)", "must be directly inside"},
		{spmv, fm, "pos(j,p,A),fuse(i,p,f)", "p runs over the positions of A(i,j); fuse the coordinates first, and use pos on the fused variable"},
		{spmv, fm, "pos(j,p,B)", "want either a tensor of the statement"},
		{spmv, fm, "pos(i,p,A)", "is dense and has no positions"},
		{spmv, fm, "pos(i,p,x)", "x(j), want an access that has the variable i"},
		{spmv, fm, "pos(j,p,A),pos(p,q,A)", "already runs over the positions of"},
		{spmv, fm, "split(j,j0,j1,4),pos(j0,p,A)", "counts tiles"},
		{spmv, fm, "coord(j,c)", "already runs over coordinates"},
		{spmv, fm, "bound(i,ib,4,Exact)", "want MinExact, MinConstraint, MaxExact or MaxConstraint"},
		{spmv, fm, "unroll(i,0)", "0, want 1 to 2^40"},
		{spmv, fm, "parallelize(i,GPUBlock,NoRaces)", "GPUBlock is a unit of a GPU"},
		{spmv, fm, "parallelize(i,CPU,NoRaces)", "want CPUThread, CPUVector"},
		{spmv, fm, "parallelize(i,CPUThread,Race)", "want NoRaces, IgnoreRaces"},
		{spmv, fm, "parallelize(j,CPUThread,NoRaces)", "iterations of j add to the same elements of y(i)"},
		{spmv, fm, "parallelize(i,CPUThread,NoRaces),unroll(i,2)", "the loop over i is unrolled"},
		{spmv, fm, "parallelize(i,CPUThread,NoRaces),parallelize(i,CPUVector,NoRaces)",
			"the loop over i is already parallel"},
		{spmv, fm, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,NoRaces)",
			"add to the same elements"},
		{spmv, fm, "fuse(i,j,f),pos(f,p,A),parallelize(p,CPUThread,Atomics)", "split it first"},
		{"C(i,j) = A(i,j) + B(i,j)", union, "parallelize(i,CPUThread,NoRaces)", "split or divide it"},
		{"C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ss", "B": "ss", "C": "ss"},
			"parallelize(j,CPUThread,NoRaces)", "is appended to in order"},
		{"C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ss", "B": "ss", "C": "ss"},
			"split(j,j0,j1,4),reorder(j0,i)", "so the loop over j0 must be inside the loops over these variables"},
		{"C(i,j) = A(i,j) + B(i,j)", map[string]string{"A": "ss", "B": "ss", "C": "ss"},
			"assemble(C,Both)", "want Append or Insert"},
		{"C(i,j) = A(i,j) + B(i,j)", union, "pos(j,p,A),split(p,p0,p1,4),reorder(p1,p0)",
			"also has values elsewhere"},
		{spmv, fm, "precompute(A(j,i)*x(j),i,i)", "want an expression of the statement"},
		{spmv, fm, "precompute(A(i,j)*x(j),k,k)", "want a variable that the statement loops over"},
		{spmv, fm, "precompute(x(j),i,i)", "got i, want a variable that occurs in x(j)"},
		{spmv, fm, "precompute(A(i,j)*x(j),i,y)", "got y as the workspace's variable, want either i or a new name"},
		{spmv, fm, "split(i,i0,i1,4),precompute(A(i,j)*x(j),i0,w)",
			"the loop over i0 counts tiles, and the loop over i1 inside it does not sum only A(i,j)*x(j); want a workspace over the inner variable of"},
		{spmv, fm, "split(i,i0,i1,4),precompute(A(i,j)*x(j),i1,w),split(w,a,b,2)", "w is the name of i1"},
		{spmv, fm, "split(i,i0,i1,4),precompute(A(i,j)*x(j),i1,w),split(i1,a,b,2)", "w is the name of i1"},
		{spmv, fm, "precompute(A(i,j)*x(j),j,j,W),parallelize(i,CPUVector,NoRaces)",
			"which vector lanes would share; use CPUThread, where each thread has its own"},
		{spmv, fm, "mergeby(j,Binary)", "want TwoFinger, Gallop, Predicated, Windows or OneBody"},
		{"C(i,j) = A(i,j) + B(i,j)", union, "mergeby(j,Gallop)", "also visits coordinates that not all of"},
		{spmv, fm, "assemble(A,Append)", "want the result, y"},
		{spmv, fm, "distribute(k)",
			"distribute: got k, want a variable that the statement loops over: i, j"},
		{spmv, fm, "rotate(i,{j},r),distribute(j)", "rotate"},
		{spmv, fm, "communicate(x,i)", "communicate"},
	} {
		j := &spmd.Job{Statement: c.stmt, Formats: c.formats}
		j.Schedule = []string{c.schedule}
		_, err := j.Compile(context.Background(), "")
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(d.Msg, c.want) ||
			d.Code != schedule.Refused && d.Code != schedule.BadCommand {
			t.Errorf("%s -s=%s: %v\nwant %q", c.stmt, c.schedule, err, c.want)
			continue
		}
		if d.ExitCode() != 2 || d.Src != c.schedule || d.End < d.Pos {
			t.Errorf("-s=%s: exit %d, place %d:%d of %q", c.schedule, d.ExitCode(), d.Pos, d.End, d.Src)
		}
	}
}

// TestBoundChecked runs bounds that do not hold.
func TestBoundChecked(t *testing.T) {
	for _, c := range []struct {
		bound string
		fails bool
	}{{"30,MaxExact", false}, {"31,MaxExact", true}, {"29,MaxConstraint", true},
		{"30,MaxConstraint", false}, {"0,MinExact", false}, {"1,MinConstraint", true}} {
		j := &spmd.Job{Statement: "y(i) = A(i,j) * x(j)", Formats: map[string]string{"A": "ds"},
			Sizes: map[string][]int64{"A": {30, 20}},
			Inputs: map[string]spmd.Input{"A": spmd.Generated("uniform:50:int"),
				"x": spmd.Generated("dense:int")}}
		j.Target, j.Check = spmd.Interpreter, true
		j.Schedule = []string{fmt.Sprintf("bound(i,ib,%s)", c.bound)}
		_, err := j.Run(context.Background())
		var e interface{ ExitCode() int }
		if c.fails != (err != nil) || err != nil && (!errors.As(err, &e) || e.ExitCode() != 2) {
			t.Errorf("bound(i,ib,%s): %v", c.bound, err)
		}
	}
}
