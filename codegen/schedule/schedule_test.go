package schedule_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/schedule"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// problem is a statement in concrete index notation, with the formats of its tensors, as in "A:ds
// x:d". If shared is true, the result has an operand's pattern.
type problem struct {
	stmt, formats string
	shared        bool
	compute       tensor.Type
	parts         []string // variables whose ranges are cut into blocks
	gpu           bool
}

var (
	spmv = problem{stmt: "forall(i, forall(j, y(i) += A(i,j) * x(j)))", formats: "y:d A:ds x:d"}
	dcsr = problem{stmt: "forall(i, forall(j, y(i) += A(i,j) * x(j)))", formats: "y:d A:ss x:d"}
	coo  = problem{stmt: "forall(i, forall(j, y(i) += A(i,j) * x(j)))", formats: "y:d A:uq x:d"}
	spmm = problem{stmt: "forall(i, forall(j, forall(k, C(i,k) += A(i,j) * B(j,k))))",
		formats: "C:dd A:ds B:dd"}
	dense = problem{stmt: "forall(i, forall(j, forall(k, C(i,k) += A(i,j) * B(j,k))))",
		formats: "C:dd A:dd B:dd"}
	add = problem{stmt: "forall(i, forall(j, C(i,j) = A(i,j) + B(i,j)))",
		formats: "C:ds A:ds B:ds"}
	meet = problem{stmt: "forall(i, forall(j, C(i,j) = A(i,j) * B(i,j)))",
		formats: "C:ds A:ds B:ds"}
	dot   = problem{stmt: "forall(i, a += B(i) * C(i))", formats: "a: B:d C:d"}
	addTo = problem{stmt: "forall(i, forall(j, C(i,j) = A(i,j) + B(i,j)))",
		formats: "C:dd A:ss B:ss"}
	twice = problem{stmt: "forall(i, forall(j, forall(k, C(i,k) += A(i,j) * A(j,k))))",
		formats: "C:dd A:ds"}
	diagon = problem{stmt: "forall(i, y(i) = A(i,i))", formats: "y:d A:ds"}
	sum    = problem{stmt: "forall(i, forall(j, s += A(i,j)))", formats: "s: A:ds"}
	sddmm  = problem{stmt: "forall(i, forall(j, forall(k, Y(i,j) += A(i,j) * C(i,k) * D(j,k))))",
		formats: "Y:ds A:ds C:dd D:dd", shared: true}
	sddmmOwn = problem{stmt: sddmm.stmt, formats: "Y:ss A:ds C:dd D:dd"}
	spgemm   = problem{
		stmt:    "forall(i, where(forall(j, A(i,j) = w(j)), forall(k, forall(j, w(j) += B(i,k) * C(k,j)))))",
		formats: "A:ds B:ds C:ds"}
	gemm = problem{
		stmt:    "forall(b, forall(i, forall(j, forall(k, C(b,i,j) += A(b,i,k) * B(k,j)))))",
		formats: "C:ddd:0,2,1 A:ddd B:dd"}
	spgemmTo = problem{
		stmt: "forall(i, where(forall(j, A(i,j) = w(j)), seq(forall(j, w(j) += D(i,j)), forall(k, forall(j, w(j) += -(2 * B(i,k) * C(k,j)))))))", formats: "A:ds B:ds C:ds D:ds"}
	twoSums = problem{
		stmt: "forall(i, where(forall(j, A(i,j) = w(j)), seq(forall(k, forall(j, w(j) += B(i,k) * C(k,j))), forall(l, forall(j, w(j) += D(i,l) * C(l,j))))))", formats: "A:ds B:ds C:ds D:ds"}
	mttkrp = problem{
		stmt:    "forall(i, forall(k, forall(l, forall(j, A(i,j) += B(i,k,l) * C(k,j) * D(l,j)))))",
		formats: "A:dd B:dss C:dd D:dd"}
	mttkrpAll = mttkrp.with("A:dd B:ddd C:dd D:dd")
	rowSum    = problem{stmt: "forall(i, where(y(i) = t * z(i), forall(j, t += A(i,j))))",
		formats: "y:d z:d A:ds"}
	parts = problem{stmt: "forall(i, seq(forall(j, y(i) += A(i,j)), y(i) += z(i)))",
		formats: "y:d z:d A:ds"}
	tensors = problem{
		stmt: "forall(i, seq(forall(j, forall(k, y(i) += T(i,j,k))), forall(j, forall(k, y(i) += U(i,j,k)))))", formats: "y:d T:ddd U:ddd"}
	poly = problem{stmt: "forall(i, y(i) = a(i) - (b(i) + 2 * c(i)) * d(i))",
		formats: "y:d a:d b:d c:d d:d"}
	outer = problem{stmt: "forall(j, forall(i, y(i) += A(i,j) * x(j)))",
		formats: "y:d A:ds:1,0 x:d"}
)

// integers returns a statement that computes in integers, over sparse vectors B, C and D and a
// checkDense vector E.
func integers(stmt string) problem {
	return problem{stmt: stmt, formats: "A: B:s C:s D:s E:d", compute: tensor.Int32}
}

// sizeOf returns the size of a variable.
func sizeOf(v string) int64 {
	if v == "none" {
		return 0
	}
	return 100
}

// apply runs a schedule and prints the statement.
func (p problem) apply(t *testing.T, commands string) (string, bool, error) {
	t.Helper()
	s, err := cin.Parse(p.stmt)
	if err != nil {
		t.Fatal(err)
	}
	in := schedule.Problem{Stmt: s, Formats: map[string]tensor.Format{}, Shared: p.shared,
		Compute: tensor.Float64, Size: sizeOf, Parts: p.parts, GPU: p.gpu,
		Source: func(name string) string { return name }}
	if p.compute != tensor.None {
		in.Compute = p.compute
	}
	for _, f := range strings.Fields(p.formats) {
		name, kinds, _ := strings.Cut(f, ":")
		if in.Formats[name], err = notation.ParseFormat(kinds); err != nil && kinds != "" {
			t.Fatal(err)
		}
	}
	in.Strategy = p.strategy(in)
	list, err := schedule.Parse([]string{commands})
	if err != nil {
		return "", false, err
	}
	scheduled, err := schedule.Apply(in, list)
	if err != nil {
		return "", false, err
	}
	out := scheduled.Stmt
	if err := cin.Verify(out); err != nil {
		t.Errorf("%s: %v", cin.String(out), err)
	}
	back, err := cin.Parse(cin.String(out))
	if err != nil || cin.String(back) != cin.String(out) {
		t.Errorf("%s does not read back: %v", cin.String(out), err)
	}
	return cin.String(out), scheduled.Shared, nil
}

// strategy returns the strategy's input for the problem. All sizes are 100, and sparse operands
// have 10 entries in each row.
func (p problem) strategy(in schedule.Problem) func(cin.Stmt, bool) *analysis.Problem {
	return func(s cin.Stmt, shared bool) *analysis.Problem {
		out := &analysis.Problem{Stmt: s, Sizes: map[string]int64{}, Compute: in.Compute,
			Target: analysis.Target{LongRow: 1 << 16, ChunkWork: 1 << 13, FarBytes: 8 << 20, GPU: in.GPU}}
		sizes := func(a *cin.Access) {
			for _, v := range a.Vars {
				if out.Sizes[v] == 0 && !slices.Contains(in.Parts, v) {
					out.Exact = append(out.Exact, v)
				}
				out.Sizes[v] = 100
			}
		}
		cin.Accesses(s, sizes)
		sizes(cin.Target(s))
		for k, f := range strings.Fields(p.formats) {
			name, _, _ := strings.Cut(f, ":")
			form := in.Formats[name]
			out.Tensors = append(out.Tensors,
				analysis.Tensor{Name: name, Format: form, Type: in.Compute, NNZ: 1000,
					CrdWidth: slices.Repeat([]uint8{4}, len(form.Levels))})
			if k == 0 {
				out.Assembly = strategy.AssemblyOf(form, strategy.Pattern{Shared: shared},
					s.(*cin.SuchThat).Insert)
			}
		}
		if shared {
			cin.Accesses(s, func(a *cin.Access) {
				if f := in.Formats[a.Name]; out.Share == "" && !f.AllDense() {
					out.Share = a.Key()
				}
			})
		}
		return out
	}
}

// TestCommands checks the statements that commands make.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		problem
		commands, want string
	}{
		{spmv, "split(i,i0,i1,32)",
			"suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j)))), split(i, i0, i1, 32))"},
		{spmv, "split(j,j0,j1,4)",
			"suchthat(forall(i, forall(j0, forall(j1, y(i) += A(i,j) * x(j)))), split(j, j0, j1, 4))"},
		{spmv, "divide(i,i0,i1,3)",
			"suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j)))), divide(i, i0, i1, 3))"},
		{spmv, "split( i , i0,\n\ti1 , 32 )",
			"suchthat(forall(i0, forall(i1, forall(j, y(i) += A(i,j) * x(j)))), split(i, i0, i1, 32))"},
		// Every loop over the variable is split, also in the parts of a seq.
		{parts, "split(i,i0,i1,2)",
			"suchthat(forall(i0, forall(i1, seq(forall(j, y(i) += A(i,j)), y(i) += z(i)))), split(i, i0, i1, 2))"},
		{rowSum, "split(j,j0,j1,2)",
			"suchthat(forall(i, where(y(i) = t * z(i), forall(j0, forall(j1, t += A(i,j))))), split(j, j0, j1, 2))"},

		{spmv, "fuse(i,j,f)", "suchthat(forall(f, y(i) += A(i,j) * x(j)), fuse(i, j, f))"},
		{spmm, "fuse(j,k,f)", "suchthat(forall(i, forall(f, C(i,k) += A(i,j) * B(j,k))), fuse(j, k, f))"},
		{spmm, "split(i,i0,i1,4),fuse(i1,j,f)",
			"suchthat(forall(i0, forall(f, forall(k, C(i,k) += A(i,j) * B(j,k)))), split(i, i0, i1, 4), fuse(i1, j, f))"},

		// Terms next to the fused loop get loops of their own, over the original variables.
		{parts, "fuse(i,j,f)",
			"suchthat(seq(forall(i, y(i) += z(i)), forall(f, y(i) += A(i,j))), fuse(i, j, f))"},
		{parts, "split(i,i0,i1,4),fuse(i1,j,f)",
			"suchthat(seq(forall(i, y(i) += z(i)), forall(i0, forall(f, y(i) += A(i,j)))), split(i, i0, i1, 4), fuse(i1, j, f))"},
		{parts, "fuse(i,j,f),parallelize(i,CPUThread,NoRaces)",
			"suchthat(seq(forall(i, CPUThread/NoRaces, y(i) += z(i)), forall(f, y(i) += A(i,j))), fuse(i, j, f))"},
		{parts, "fuse(i,j,f),unroll(i,4)",
			"suchthat(seq(forall(i, unroll 4, y(i) += z(i)), forall(f, y(i) += A(i,j))), fuse(i, j, f))"},
		{tensors, "fuse(i,j,f)",
			"suchthat(seq(forall(i, forall(j, forall(k, y(i) += U(i,j,k)))), forall(f, forall(k, y(i) += T(i,j,k)))), fuse(i, j, f))"},
		{problem{stmt: "forall(i, where(y(i) = z(i) - t + 2 * u(i), forall(j, t += A(i,j))))",
			formats: "y:d z:d u:d A:ds"}, "fuse(i,j,f)",
			"suchthat(seq(forall(i, y(i) = z(i) + 2 * u(i)), forall(f, y(i) += -A(i,j))), fuse(i, j, f))"},
		{
			problem{
				stmt: "forall(i, where(where(y(i) = s + t * z(i), forall(k, t += B(i,k))), forall(j, s += A(i,j))))", formats: "y:d z:d A:ds B:ds", compute: tensor.Int64}, "fuse(i,k,f)",
			"suchthat(seq(forall(i, where(y(i) = s, forall(j, s += A(i,j)))), forall(f, y(i) += z(i) * B(i,k))), fuse(i, k, f))"},
		{problem{stmt: "forall(i, where(y(i) = t, forall(j, t += A(i,j))))", formats: "y:d A:ds"},
			"fuse(i,j,f)", "suchthat(forall(f, y(i) += A(i,j)), fuse(i, j, f))"},

		{spmm, "reorder(i,k,j)", "suchthat(forall(i, forall(k, forall(j, C(i,k) += A(i,j) * B(j,k)))))"},
		{spmm, "reorder(k,j)", "suchthat(forall(i, forall(k, forall(j, C(i,k) += A(i,j) * B(j,k)))))"},
		// Loops that are not named keep their places.
		{dense, "reorder(k,i)", "suchthat(forall(k, forall(j, forall(i, C(i,k) += A(i,j) * B(j,k)))))"},
		// In a statement of several parts, the parts that have the loops are reordered.
		{tensors, "reorder(k,j)",
			"suchthat(forall(i, seq(forall(k, forall(j, y(i) += T(i,j,k))), forall(k, forall(j, y(i) += U(i,j,k))))))"},
		// A command may ask for what is already true.
		{rowSum, "reorder(i,j)", "suchthat(forall(i, where(y(i) = t * z(i), forall(j, t += A(i,j)))))"},
		// The consumer has a loop over j, but none over l, and remains unchanged.
		{mttkrpAll, "precompute(B(i,k,l)*D(l,j),j,j,W),reorder(j,l)",
			"suchthat(forall(i, forall(k, where(forall(j, A(i,j) += W(j) * C(k,j)), forall(j, forall(l, W(j) += B(i,k,l) * D(l,j)))))))"},
		// A workspace of the user replaces the implicit workspace, whatever its name is.
		{gemm, "substitute({i,j,k},gemm)",
			"suchthat(forall(b, forall(k, forall(j, forall(i, C(b,i,j) += A(b,i,k) * B(k,j))))))"},
		{gemm, "split(k,k0,k1,8),reorder(k0,b,i,j,k1),substitute({i,j,k1},gemm)",
			"suchthat(forall(k0, forall(b, forall(k1, forall(j, forall(i, C(b,i,j) += A(b,i,k) * B(k,j)))))), split(k, k0, k1, 8))"},
		{spgemm, "precompute(B(i,k)*C(k,j),j,j,w)", "suchthat(" + spgemm.stmt + ")"},
		// Integers are divided where the statement divides them.
		{integers("forall(j, A += B(j) / C(j) * E(j) + D(j))"), "precompute(B(j)/C(j),j,j,w)",
			"suchthat(where(forall(j, A += w(j) * E(j) + D(j)), forall(j, w(j) += B(j) / C(j))))"},
		{integers("forall(j, A += B(j) / C(j) / D(j))"), "precompute(B(j)/C(j),j,j,w)",
			"suchthat(where(forall(j, A += w(j) / D(j)), forall(j, w(j) += B(j) / C(j))))"},
		{integers("forall(j, A += E(j) / (B(j) / C(j)) * (D(j) + 1))"), "precompute(B(j)/C(j),j,j,w)",
			"suchthat(where(forall(j, A += E(j) / w(j) * (D(j) + 1)), forall(j, w(j) += B(j) / C(j))))"},
		{integers("forall(j, A += B(j) / (-2) * D(j))"), "precompute(B(j)/-2,j,j,w)",
			"suchthat(where(forall(j, A += w(j) * D(j)), forall(j, w(j) += B(j) / (-2))))"},
		{integers("forall(j, forall(k, A += B(j) / C(j) * E(k)))"), "precompute(B(j)/C(j),j,j,w)",
			"suchthat(where(forall(j, forall(k, A += w(j) * E(k))), forall(j, w(j) += B(j) / C(j))))"},
		{problem{stmt: "forall(j, A += B(j) / C(j) * D(j))", formats: "A: B:s C:s D:s"},
			"precompute(B(j)/C(j),j,j,w)",
			"suchthat(where(forall(j, A += w(j) * D(j)), forall(j, w(j) += B(j) / C(j))))"},
		{spgemm, "precompute(C(k,j)*B(i,k),j,jw,v)",
			"suchthat(forall(i, where(forall(j, A(i,j) = v(j)), forall(k, forall(jw, v(jw) += C(k,jw) * B(i,k))))), precompute(j, jw))"},
		{spgemm, "precompute(B(i,k)*C(k,j),j,j)", "suchthat(" + spgemm.stmt + ")"},
		{spgemm, "precompute(B(i,k)*C(k,j),{i,j},{i,j},w)",
			"suchthat(where(forall(i, forall(j, A(i,j) = w(i,j))), forall(i, forall(k, forall(j, w(i,j) += B(i,k) * C(k,j))))))"},
		{spgemm, "split(i,i0,i1,4),precompute(B(i,k)*C(k,j),j,j,w)",
			"suchthat(forall(i0, forall(i1, where(forall(j, A(i,j) = w(j)), forall(k, forall(j, w(j) += B(i,k) * C(k,j)))))), split(i, i0, i1, 4))"},
		// The other terms do not sum.
		{spgemmTo, "precompute(B(i,k)*C(k,j),j,j,w)",
			"suchthat(forall(i, where(forall(j, A(i,j) = D(i,j) + -(w(j) * 2)), forall(k, forall(j, w(j) += B(i,k) * C(k,j))))))"},
		// The implicit workspace remains if it also has other sums, or if the result could not be
		// written without it.
		{twoSums, "precompute(B(i,k)*C(k,j),j,j,w)",
			"suchthat(forall(i, where(forall(j, A(i,j) = w1(j)), " +
				"seq(where(forall(j, w1(j) += w(j)), forall(k, forall(j, w(j) += B(i,k) * C(k,j)))), forall(l, forall(j, w1(j) += D(i,l) * C(l,j)))))))"},
		{spgemm, "precompute(B(i,k),k,k,w)",
			"suchthat(forall(i, where(forall(j, A(i,j) = w1(j)), where(forall(k, forall(j, w1(j) += w(k) * C(k,j))), forall(k, w(k) += B(i,k))))))"},
		// A variable may also have its name.
		{spgemm, "split(i,w,v,4)",
			"suchthat(forall(w, forall(v, where(forall(j, A(i,j) = w1(j)), forall(k, forall(j, w1(j) += B(i,k) * C(k,j)))))), split(i, w, v, 4))"},

		// The loops of a sum visit values of a result with an operand's pattern several times.
		{sddmm, "split(j,j0,j1,4),reorder(j0,k,j1)",
			"suchthat(forall(i, forall(j0, forall(k, forall(j1, Y(i,j) += A(i,j) * C(i,k) * D(j,k))))), split(j, j0, j1, 4))"},
		{sddmm, "parallelize(k,CPUVector,ParallelReduction)",
			"suchthat(forall(i, forall(j, forall(k, CPUVector/ParallelReduction, Y(i,j) += A(i,j) * C(i,k) * D(j,k)))))"},
		{sddmmOwn, "parallelize(k,CPUVector,ParallelReduction)",
			"suchthat(forall(i, forall(j, forall(k, CPUVector/ParallelReduction, Y(i,j) += A(i,j) * C(i,k) * D(j,k)))))"},

		{spmm, "split(k,k0,k1,8),reorder(k0,i,j,k1)",
			"suchthat(forall(k0, forall(i, forall(j, forall(k1, C(i,k) += A(i,j) * B(j,k))))), split(k, k0, k1, 8))"},

		{spmv, "pos(j,p,A)", "suchthat(forall(i, forall(p, y(i) += A(i,j) * x(j))), pos(j, p, A(i,j)))"},
		{spmv, "pos(j,p,A( i , j ))",
			"suchthat(forall(i, forall(p, y(i) += A(i,j) * x(j))), pos(j, p, A(i,j)))"},
		{twice, "pos(k,p,A(j,k))",
			"suchthat(forall(i, forall(j, forall(p, C(i,k) += A(i,j) * A(j,k)))), pos(k, p, A(j,k)))"},
		{dcsr, "pos(i,p,A)", "suchthat(forall(p, forall(j, y(i) += A(i,j) * x(j))), pos(i, p, A(i,j)))"},
		{spmv, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16)",
			"suchthat(forall(p0, forall(p1, y(i) += A(i,j) * x(j))), fuse(i, j, f), pos(f, p, A(i,j)), split(p, p0, p1, 16))"},
		{coo, "fuse(i,j,f),pos(f,p,A)",
			"suchthat(forall(p, y(i) += A(i,j) * x(j)), fuse(i, j, f), pos(f, p, A(i,j)))"},

		{spmv, "pos(j,p,A),split(p,p0,p1,8),coord(p1,c)",
			"suchthat(forall(i, forall(p0, forall(c, y(i) += A(i,j) * x(j)))), pos(j, p, A(i,j)), split(p, p0, p1, 8), coord(p1, c))"},
		{spmv, "bound(i,ib,100,MaxExact)",
			"suchthat(forall(ib, forall(j, y(i) += A(i,j) * x(j))), bound(i, ib, 100, MaxExact))"},
		{spmv, "bound(i,ib,MaxExact,100)",
			"suchthat(forall(ib, forall(j, y(i) += A(i,j) * x(j))), bound(i, ib, 100, MaxExact))"},
		{spmv, "bound(j,jb,BoundType::MinConstraint,7)",
			"suchthat(forall(i, forall(jb, y(i) += A(i,j) * x(j))), bound(j, jb, 7, MinConstraint))"},
		{spmv, "bound(j,jb,7,MinConstraint)",
			"suchthat(forall(i, forall(jb, y(i) += A(i,j) * x(j))), bound(j, jb, 7, MinConstraint))"},

		{spmv, "unroll(j,4)", "suchthat(forall(i, forall(j, unroll 4, y(i) += A(i,j) * x(j))))"},
		{spmv, "split(i,i0,i1,4),unroll(i1)",
			"suchthat(forall(i0, forall(i1, unroll, forall(j, y(i) += A(i,j) * x(j)))), split(i, i0, i1, 4))"},

		{meet, "mergeby(j,Gallop)", "suchthat(forall(i, forall(j, gallop, C(i,j) = A(i,j) * B(i,j))))"},
		// A command about merging may come before the commands that cut the loop.
		{meet, "mergeby(j,Gallop),split(j,j0,j1,4)",
			"suchthat(forall(i, forall(j0, forall(j1, gallop, C(i,j) = A(i,j) * B(i,j)))), split(j, j0, j1, 4))"},
		{meet, "mergeby(j,Gallop),pos(j,p,A),split(p,p0,p1,4)",
			"suchthat(forall(i, forall(p0, forall(p1, gallop, C(i,j) = A(i,j) * B(i,j)))), pos(j, p, A(i,j)), split(p, p0, p1, 4))"},
		{meet, "mergeby(j,Gallop),bound(j,jb,9,MaxConstraint)",
			"suchthat(forall(i, forall(jb, gallop, C(i,j) = A(i,j) * B(i,j))), bound(j, jb, 9, MaxConstraint))"},
		{spmv, "mergeby(j,Gallop)", "suchthat(forall(i, forall(j, gallop, y(i) += A(i,j) * x(j))))"},
		{add, "mergeby(j,Gallop),mergeby(j,TwoFinger)",
			"suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))))"},
		{add, "assemble(C,Append)", "suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))))"},
		{add, "assemble(C,Insert,true)",
			"suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))), assemble(C, Insert))"},
		{add, "assemble(C,AssembleStrategy::Insert,false)",
			"suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))), assemble(C, Insert))"},
		{add, "assemble(C,Insert)",
			"suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))), assemble(C, Insert))"},
		{addTo, "assemble(C,Insert)", "suchthat(forall(i, forall(j, C(i,j) = A(i,j) + B(i,j))))"},
		{sddmm, "assemble(Y,Insert)",
			"suchthat(forall(i, forall(j, forall(k, Y(i,j) += A(i,j) * C(i,k) * D(j,k)))))"},

		{spmv, "parallelize(i,CPUThread,NoRaces)",
			"suchthat(forall(i, CPUThread/NoRaces, forall(j, y(i) += A(i,j) * x(j))))"},
		{spmv, "parallelize(i,CPUThread,NoRaces,16)",
			"suchthat(forall(i, CPUThread/NoRaces/16, forall(j, y(i) += A(i,j) * x(j))))"},
		{spmv, "parallelize(i,NotParallel,NoRaces)",
			"suchthat(forall(i, forall(j, y(i) += A(i,j) * x(j))))"},
		{spmv, "parallelize(j,CPUVector,ParallelReduction)",
			"suchthat(forall(i, forall(j, CPUVector/ParallelReduction, y(i) += A(i,j) * x(j))))"},
		{outer, "parallelize(j,CPUThread,Atomics)",
			"suchthat(forall(j, CPUThread/Atomics, forall(i, y(i) += A(i,j) * x(j))))"},
		{outer, "parallelize(j,CPUThread,Temporary)",
			"suchthat(forall(j, CPUThread/Temporary, forall(i, y(i) += A(i,j) * x(j))))"},
		{outer, "parallelize(j,CPUThread,IgnoreRaces)",
			"suchthat(forall(j, CPUThread/IgnoreRaces, forall(i, y(i) += A(i,j) * x(j))))"},
		{sum, "parallelize(i,CPUThread,ParallelReduction)",
			"suchthat(forall(i, CPUThread/ParallelReduction, forall(j, s += A(i,j))))"},
		// The spellings of the sources.
		{spmv, "parallelize(i,ParallelUnit::CPUThread,OutputRaceStrategy::NoRaces)",
			"suchthat(forall(i, CPUThread/NoRaces, forall(j, y(i) += A(i,j) * x(j))))"},
		{spmv, "split(i,i0,i1,4),split(j,j0,j1,4),order({i0,j0,i1,j1})",
			"suchthat(forall(i0, forall(j0, forall(i1, forall(j1, y(i) += A(i,j) * x(j))))), split(i, i0, i1, 4), split(j, j0, j1, 4))"},
		{spmm, "reorder({i,k,j})",
			"suchthat(forall(i, forall(k, forall(j, C(i,k) += A(i,j) * B(j,k)))))"},
		{spmm, "order(i,k,j)", "suchthat(forall(i, forall(k, forall(j, C(i,k) += A(i,j) * B(j,k)))))"},
		{spmv, "collapse(i,j,f)", "suchthat(forall(f, y(i) += A(i,j) * x(j)), fuse(i, j, f))"},
		{spmv, "fuse({i,j},f)", "suchthat(forall(f, y(i) += A(i,j) * x(j)), fuse(i, j, f))"},
		// Commands that change loops may follow a parallelize.
		{spmv, "parallelize(i,CPUThread,NoRaces),unroll(j,2)",
			"suchthat(forall(i, CPUThread/NoRaces, forall(j, unroll 2, y(i) += A(i,j) * x(j))))"},
		{spmv, "parallelize(i0,CPUThread,NoRaces),split(i,i0,i1,4)," +
			"parallelize(j,CPUVector,ParallelReduction),bound(i1,b,4,MaxConstraint)",
			"suchthat(forall(i0, CPUThread/NoRaces, forall(b, forall(j, CPUVector/ParallelReduction, y(i) += A(i,j) * x(j)))), split(i, i0, i1, 4), bound(i1, b, 4, MaxConstraint))"},
		// Several levels of parallelism.
		{spmm, "split(i,i0,i1,8),parallelize(i0,CPUThread,NoRaces),parallelize(k,CPUVector,NoRaces)",
			"suchthat(forall(i0, CPUThread/NoRaces, forall(i1, forall(j, forall(k, CPUVector/NoRaces, C(i,k) += A(i,j) * B(j,k))))), split(i, i0, i1, 8))"},
		// Each place of a workspace belongs to one iteration.
		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,jw,W),parallelize(jw,CPUVector,NoRaces)",
			"suchthat(forall(i, forall(k, where(forall(j, A(i,j) += W(j) * C(k,j)), forall(l, forall(jw, CPUVector/NoRaces, W(jw) += B(i,k,l) * D(l,jw)))))), precompute(j, jw))"},
		// A result that is appended to: each piece is a part of its outermost variable.
		{add, "split(i,i0,i1,8),parallelize(i0,CPUThread,NoRaces)",
			"suchthat(forall(i0, CPUThread/NoRaces, forall(i1, forall(j, C(i,j) = A(i,j) + B(i,j)))), split(i, i0, i1, 8))"},
		// Tiles of several operands that a loop merges.
		{addTo, "split(j,j0,j1,8),parallelize(j0,CPUThread,NoRaces)",
			"suchthat(forall(i, forall(j0, CPUThread/NoRaces, forall(j1, C(i,j) = A(i,j) + B(i,j)))), split(j, j0, j1, 8))"},

		// The producer sums over the variables that only the expression has.
		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,j,W)",
			"suchthat(forall(i, forall(k, where(forall(j, A(i,j) += W(j) * C(k,j)), forall(l, forall(j, W(j) += B(i,k,l) * D(l,j)))))))"},
		{mttkrp, "precompute(D(l,j)*B(i,k,l),j,jw)",
			"suchthat(forall(i, forall(k, where(forall(j, A(i,j) += w(j) * C(k,j)), forall(l, forall(jw, w(jw) += D(l,jw) * B(i,k,l)))))), precompute(j, jw))"},
		{spmm, "precompute(A(i,j)*B(j,k),k,k)",
			"suchthat(forall(i, where(forall(k, C(i,k) += w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k))))))"},
		{spmv, "precompute(x(j),{},{},t)",
			"suchthat(forall(i, forall(j, where(y(i) += t * A(i,j), t += x(j)))))"},
		{spmv, "precompute(A(i,j)*x(j),{i},{i},W)",
			"suchthat(where(forall(i, y(i) += W(i)), forall(i, forall(j, W(i) += A(i,j) * x(j)))))"},
		{spmm, "reorder(i,k,j),precompute(A(i,j)*B(j,k),{i,k},{iw,kw},W)",
			"suchthat(where(forall(i, forall(k, C(i,k) += W(i,k))), forall(iw, forall(kw, forall(j, W(iw,kw) += A(iw,j) * B(j,kw))))), precompute(i, iw), precompute(k, kw))"},
		// The workspace is over tile numbers, and has the sum of each tile.
		{dot, "split(i,i0,i1,5),precompute(B(i)*C(i),i0,i0,W)",
			"suchthat(forall(i0, where(a += W, forall(i1, W += B(i) * C(i)))), split(i, i0, i1, 5))"},
		{dot, "split(i,i0,i1,5),precompute(B(i)*C(i),i0,iw,W),precompute(B(i),i1,i1,V)",
			"suchthat(forall(i0, where(a += W, where(forall(i1, W += V(i) * C(i)), forall(i1, V(i) += B(i))))), split(i, i0, i1, 5))"},
		{spmm, "split(j,j0,j1,4),reorder(i,j0,k,j1),precompute(A(i,j)*B(j,k),{j0,k},{j0,k},W)",
			"suchthat(forall(i, forall(j0, where(forall(k, C(i,k) += W(k)), forall(k, forall(j1, W(k) += A(i,j) * B(j,k)))))), split(j, j0, j1, 4))"},
		// A negated part of a sum with numbers.
		{poly, "precompute((b(i)+2*c(i))*d(i),{},{},t)",
			"suchthat(forall(i, where(y(i) = a(i) - t, t += (b(i) + 2 * c(i)) * d(i))))"},
		{poly, "precompute(c(i)*2,i,iw,W)",
			"suchthat(where(forall(i, y(i) = a(i) - (b(i) + W(i)) * d(i)), forall(iw, W(iw) += c(iw) * 2)), precompute(i, iw))"},
		{problem{stmt: "forall(i, y(i) = -(a(i) / b(i)))", formats: "y:d a:s b:d"},
			"precompute(a(i)/b(i),i,i,W)",
			"suchthat(where(forall(i, y(i) = -W(i)), forall(i, W(i) += a(i) / b(i))))"},
		{problem{stmt: "forall(i, y(i) = -a(i) * b(i))", formats: "y:d a:s b:d"},
			"precompute(-a(i),i,iw,W)",
			"suchthat(where(forall(i, y(i) = W(i) * b(i)), forall(iw, W(iw) += -a(iw))), precompute(i, iw))"},
	} {
		got, _, err := c.apply(t, c.commands)
		if err != nil || got != c.want {
			t.Errorf("%s\n-s=%s\ngot  %s, %v\nwant %s", c.stmt, c.commands, got, err, c.want)
		}
	}
}

// TestShares checks for which schedules the result keeps the pattern of an operand.
func TestShares(t *testing.T) {
	for commands, want := range map[string]bool{
		"split(i,i0,i1,8)":                    true,
		"parallelize(i,CPUThread,NoRaces)":    true,
		"precompute(C(i,k)*D(j,k),{},{},t)":   false,
		"precompute(A(i,j),{j},{jw},W)":       false,
		"unroll(k,4)":                         true,
		"pos(j,p,A),split(p,p0,p1,4)":         true,
		"assemble(Y,Append)":                  true,
		"split(k,k0,k1,4),reorder(i,j,k0)":    true,
		"bound(k,kb,100,MaxExact),unroll(kb)": true,
	} {
		_, shared, err := sddmm.apply(t, commands)
		if err != nil || shared != want {
			t.Errorf("-s=%s: shares %v, %v, want %v", commands, shared, err, want)
		}
	}
}
