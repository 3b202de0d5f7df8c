package lower_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/analysis"
	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/explicit"
	"distaff/codegen/ir"
	"distaff/codegen/lower"
	"distaff/codegen/lower/rewrite"
	"distaff/codegen/lower/scope"
	"distaff/codegen/lower/tree"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// leaf is a statement in concrete index notation and the formats of its tensors, the result first,
// as in "y:d A:ds x:d". All sizes are 100, and positions and coordinates have 32 bits.
type leaf struct {
	stmt, formats string
	change        func(*scope.Spec, *analysis.Problem)
}

// pattern returns the pattern that the result of statement s shares.
func pattern(s cin.Stmt, spec *scope.Spec) (p explicit.Pattern) {
	cin.Accesses(s, func(a *cin.Access) {
		if a.Key() == spec.Share {
			p.Access = a
		}
	})
	k := slices.IndexFunc(spec.Operands,
		func(o tree.Argument) bool { return o.Name == p.Access.Name })
	p.Format, p.Result = spec.Operands[k].Format, spec.Operands[0].Format
	return p
}

func (x leaf) lower(t *testing.T) (*ir.Func, error) {
	t.Helper()
	s, err := cin.Parse(x.stmt)
	if err != nil {
		t.Fatalf("%s: %v", x.stmt, err)
	}
	if err := cin.Verify(s); err != nil {
		t.Fatalf("%s: %v", x.stmt, err)
	}
	spec := scope.Spec{Name: "leaf", Stmt: s, Compute: tensor.Float64}
	of := analysis.Problem{Sizes: map[string]int64{},
		Target: analysis.Target{LongRow: 1 << 16, ChunkWork: 1 << 13, FarBytes: 8 << 20}}
	for k, f := range strings.Fields(x.formats) {
		name, text, _ := strings.Cut(f, ":")
		var layout tensor.Format
		if text != "" {
			if layout, err = notation.ParseFormat(text); err != nil {
				t.Fatal(err)
			}
		}
		widths := slices.Repeat([]uint8{4}, len(layout.Levels))
		spec.Operands = append(spec.Operands,
			tree.Argument{Name: name, Number: k, Format: layout, Type: tensor.Float64, PosWidth: widths,
				CrdWidth: widths})
		of.Tensors = append(of.Tensors, analysis.Tensor{NNZ: 1000})
	}
	add := func(a *cin.Access) {
		if !slices.ContainsFunc(spec.Operands, func(o tree.Argument) bool { return o.Name == a.Name }) {
			return // a temporary
		}
		for _, v := range a.Vars {
			if of.Sizes[v] == 0 {
				spec.Vars, of.Sizes[v] = append(spec.Vars, v), 100
			}
		}
	}
	cin.Walk(s, func(u cin.Stmt) {
		if a, ok := u.(*cin.Assign); ok {
			add(a.LHS)
			cin.ExprAccesses(a.RHS, add)
		}
	})
	spec.Assembly = strategy.AssemblyOf(spec.Operands[0].Format, strategy.Pattern{}, false)
	if x.change != nil {
		x.change(&spec, &of)
	}
	of.Stmt, of.Compute, of.Assembly, of.Share = s, spec.Compute, spec.Assembly, spec.Share
	for k, o := range spec.Operands {
		t := &of.Tensors[k]
		t.Name, t.Format, t.Type, t.CrdWidth = o.Name, o.Format, o.Type, o.CrdWidth
	}
	if cin.Relations(s) == nil {
		spec.Strategy, _ = choice.Choose(&of)
	} else if spec.Strategy, _, err = choice.Follow(&of, nil); err != nil {
		return nil, err
	}
	spec.Strategy = explicit.Chunks(spec.Strategy)
	spec.Stmt = cin.WithBody(s, spec.Strategy.Stmt)
	if spec.Share != "" {
		spec.Stmt = explicit.Positions(spec.Stmt, spec.Strategy, pattern(s, &spec))
	}
	low, err := lower.Lower(spec)
	if err != nil {
		return nil, err
	}
	vectorize := func() { rewrite.Vectorize(low.Func.Body, low.Lanes) }
	for _, pass := range []func(){func() {}, vectorize, low.Simplify} {
		pass()
		if err := ir.Verify(low.Func); err != nil {
			t.Errorf("%s with %s: %v", x.stmt, x.formats, err)
		}
	}
	return low.Func, nil
}

// holds checks how often each pattern occurs in the leaf's text.
func (x leaf) holds(t *testing.T, want map[string]int) {
	t.Helper()
	f, err := x.lower(t)
	if err != nil {
		t.Errorf("%s with %s: %v", x.stmt, x.formats, err)
		return
	}
	text := ir.Print(f)
	for pattern, n := range want {
		if got := len(regexp.MustCompile(pattern).FindAllString(text, -1)); got != n {
			t.Errorf("%s with %s: %s is there %d times, want %d, in\n%s", x.stmt, x.formats, pattern, got, n,
				text)
		}
	}
}

// holds is a leaf with the number of occurrences of each pattern in its text.
type holds struct {
	leaf
	want map[string]int
}

func run(t *testing.T, table []holds) {
	t.Helper()
	for _, c := range table {
		c.leaf.holds(t, c.want)
	}
}

const (
	merge  = `while \w+_p(_\d+)? < \w+_e(_\d+)? && ` // merges several operands
	drain  = `while \w+_p(_\d+)? < \w+_e(_\d+)? {`   // visits the rest of one operand after a merge
	search = `= search`
)

// TestCoiteration checks which loops visit the coordinates of sparse operands.
func TestCoiteration(t *testing.T) {
	const add, mul = "forall(i, y(i) = a(i) + b(i))", "forall(i, y(i) = a(i) * b(i))"
	run(t, []holds{
		// Both operands are merged, and values are computed only if both are present.
		{leaf{mul, "y:d a:s b:s", nil}, map[string]int{merge: 1, drain: 0, `if i_a == i && i_b == i`: 1}},
		// The loop visits a's entries and looks each up in b. The order of the factors does not
		// matter.
		{leaf{mul, "y:d a:s b:d", nil},
			map[string]int{`for a_p in`: 1, `while`: 0, `\bif `: 0, `b_vals\[`: 1}},
		{leaf{mul, "y:d a:d b:s", nil}, map[string]int{`for b_p in`: 1, `while`: 0, `\bif `: 0}},
		{leaf{mul, "y:d a:d b:d", nil}, map[string]int{`for i in i_lo : i_hi`: 1, `while`: 0, `fill`: 0}},
		// A merge of both operands, then the rest of each.
		{leaf{add, "y:d a:s b:s", nil}, map[string]int{merge: 1, drain: 2}},
		// The loop visits all coordinates, and merges a.
		{leaf{add, "y:d a:s b:d", nil}, map[string]int{`for i in i_lo : i_hi`: 1, `while`: 0, `a_at`: 3}},
		// Three operands. A sum has 7 cases. A factor removes the cases in which only b or c
		// remain.
		{leaf{"forall(i, y(i) = a(i) + b(i) + c(i))", "y:d a:s b:s c:s", nil},
			map[string]int{merge: 4, drain: 3}},
		{leaf{"forall(i, y(i) = a(i) * (b(i) + c(i)))", "y:d a:s b:s c:s", nil},
			map[string]int{merge: 3, drain: 0}},
		{leaf{"forall(i, y(i) = a(i) * b(i) + c(i))", "y:d a:s b:s c:s", nil},
			map[string]int{merge: 2, drain: 1}},
		// A difference visits the entries of both operands. A quotient is computed at the entries
		// of its numerator.
		{leaf{"forall(i, y(i) = a(i) - b(i))", "y:d a:s b:s", nil}, map[string]int{merge: 1, drain: 2}},
		{leaf{"forall(i, y(i) = a(i) / b(i))", "y:d a:s b:s", nil}, map[string]int{merge: 1, drain: 1}},
		// A number is present everywhere.
		{leaf{"forall(i, y(i) = a(i) + 1)", "y:d a:s", nil},
			map[string]int{`for i in i_lo : i_hi`: 1, `while`: 0}},
		// An operand that occurs twice is visited once.
		{leaf{"forall(i, y(i) = a(i) * a(i))", "y:d a:s", nil},
			map[string]int{`for a_p in`: 1, `while`: 0}},
		// The diagonal entry of each row is found by a search.
		{leaf{"forall(i, y(i) = A(i,i))", "y:d A:ds", nil}, map[string]int{`for i in`: 1, search: 1}},
		{leaf{"suchthat(forall(i, gallop, y(i) = a(i) * b(i)))", "y:d a:s b:s", nil},
			map[string]int{`gallop|search`: 2}},
	})
}

// TestLevels checks how a loop visits a level of each kind, and how it finds a coordinate there.
func TestLevels(t *testing.T) {
	const spmv = "forall(i, forall(j, y(i) += A(i,j) * x(j)))"
	run(t, []holds{
		{leaf{spmv, "y:d A:dd x:d", nil}, map[string]int{`for i in`: 1, `for j in`: 1, `A_pos|A_crd`: 0}},
		{leaf{spmv, "y:d A:ds x:d", nil},
			map[string]int{`for i in`: 1, `for A_p_1 in A_s : A_e`: 1, `A_pos1\[`: 2, `A_crd1\[`: 1}},
		{leaf{spmv, "y:d A:ss x:d", nil},
			map[string]int{`for A_p in`: 1, `for A_p_1 in`: 1, `fill y_vals\[0 : y_size0\]`: 1}},
		// The end of a run of equal rows is found before its columns are visited.
		{leaf{spmv, "y:d A:uq x:d", nil},
			map[string]int{`A_crd0\[A_r:64\] == i`: 1, `for A_p_1 in A_s_1 : A_e_1`: 1, `A_pos1`: 0}},
		// Values with the same coordinate are summed before they are multiplied.
		{leaf{spmv, "y:d A:du x:d", nil},
			map[string]int{`for i in`: 1, `A_v \+= A_vals`: 1, `A_v \* x_v`: 1}},
		{leaf{spmv, "y:d A:sq x:d", nil}, map[string]int{`for A_p in`: 1, `A_pos1`: 0, `A_crd1\[`: 1}},
		// The coordinate of padding is negative.
		{leaf{spmv, "y:d A:dp x:d", nil}, map[string]int{`if 0 <= j`: 1}},
	})
}

// TestAssembly checks how results with compressed levels are made.
func TestAssembly(t *testing.T) {
	share := func(s *scope.Spec, _ *analysis.Problem) {
		s.Assembly, s.Share = strategy.SharedPattern,
			"A(i,j)"
	}
	const add, threads = "forall(i, forall(j, C(i,j) = A(i,j) + B(i,j)))",
		"suchthat(forall(i, CPUThread/NoRaces, forall(j, C(i,j) = A(i,j) + B(i,j))))"
	const scale = "forall(i, forall(j, C(i,j) = A(i,j) * b(j)))"
	run(t, []holds{
		// Capacity for a row is reserved before the row is merged, not inside the merge.
		{leaf{add, "C:ds A:ds B:ds", nil},
			map[string]int{`grow C_crd1`: 1, `grow C_vals`: 1, `publish`: 3, `C_n1_end int64 = C_n1 \+`: 1}},
		{leaf{add, "C:ss A:ss B:ss", nil}, map[string]int{`publish`: 5, `C_crd0\[`: 5}},
		{leaf{add, "C:dd A:ds B:ds", nil}, map[string]int{`publish|grow|alloc`: 0, `fill C_vals`: 1}},
		// A dense level below a compressed level has a block for each entry above.
		{leaf{"forall(i, forall(j, C(i,j) = A(i,j)))", "C:sd A:ss", nil},
			map[string]int{`publish`: 3, `C_crd1`: 0}},
		// In parallel, the result is made in ordered chunks. A chunk has capacity for a row before
		// the row is merged. The chunk is copied after the previous chunk, or later if there is not
		// enough capacity.
		{leaf{threads, "C:ds A:ds B:ds", nil},
			map[string]int{`for chunk in 0 : chunks parallel\(dynamic, 1\)`: 1, `ordered \{`: 1,
				`before\[chunk \+ 1\] = from \+ n`: 1, `copy C_crd\[from`: 2, `keep crds`: 1,
				`if capacity < before\[chunks\]`: 1}},
		// If the result has an operand's pattern, only values are written, at the operand's
		// positions.
		{leaf{scale, "C:ss A:ss b:d", share},
			map[string]int{`publish|alloc|grow`: 0, `C_crd|C_pos`: 0, `C_vals\[A_p\] = `: 1}},
		{leaf{scale, "C:ss A:ss b:d", nil}, map[string]int{`publish`: 5}},
	})
}

// TestWorkspaces checks the kinds of workspaces that a product of sparse matrices uses for its
// rows.
func TestWorkspaces(t *testing.T) {
	const spgemm = "forall(i, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))"
	long := func(_ *scope.Spec, p *analysis.Problem) { p.Sizes["j"] = 1 << 40 }
	wide := func(s *scope.Spec, p *analysis.Problem) {
		p.Sizes["j"] = 1 << 40
		for k := range s.Operands {
			s.Operands[k].CrdWidth = []uint8{0, 8}
		}
	}
	few := func(_ *scope.Spec, p *analysis.Problem) {
		for k := range p.Tensors {
			p.Tensors[k].NNZ = 100
		}
	}
	run(t, []holds{
		// If many values are added, there are a place and a bit for every coordinate.
		{leaf{spgemm, "C:ds A:ds B:ds", nil},
			map[string]int{`alloc W_vals float64\[.*zero`: 1, `mark W_bits`: 1, `collect W_list`: 1,
				`sort|W_mark|W_table`: 0}},
		// Otherwise there are a place and a mark for every coordinate, and a list of the marked
		// ones.
		{leaf{spgemm, "C:ds A:ds B:ds", few},
			map[string]int{`alloc W_mark bool`: 1, `alloc W_list int32`: 1, `sort W_list`: 1, `W_table`: 0}},
		// If there are too many coordinates for places, a hash table is used.
		{leaf{spgemm, "C:ds A:ds B:ds", long},
			map[string]int{`alloc W_mark`: 0, `sortby W_perm`: 1, `alloc W_table`: 2}},
		{leaf{spgemm, "C:ds A:ds B:ds", wide}, map[string]int{`alloc C_crd1 int64`: 1}},
		// Nothing is sorted if the producer visits coordinates in order and only once.
		{leaf{"suchthat(forall(i, where(forall(j, C(i,j) = W(j)), forall(j, W(j) = A(i,j) * b(j)))))",
			"C:ds A:ds b:d", nil}, map[string]int{`sort`: 0, `W_mark|W_table`: 0}},
		// An array is used if the whole row is set.
		{
			leaf{
				"suchthat(forall(i, where(forall(j, C(i,j) = W(j) * 2), forall(k, forall(j, W(j) += A(i,k) * B(k,j))))))", "C:dd A:ds B:dd", nil}, map[string]int{`W_mark|W_list|W_table|sort`: 0, `W_vals\[`: 3}},
		// A temporary without variables is a scalar.
		{leaf{"forall(i, where(y(i) = t * z(i), forall(j, t += A(i,j))))", "y:d A:ds z:d", nil},
			map[string]int{`alloc`: 0, `var t float64 = 0.0`: 1, `\bt \+= `: 1}},
	})
}

// TestPicked checks that sums of floats select present values without a branch, and that sums of
// integers add 0.
func TestPicked(t *testing.T) {
	const add = "forall(i, y(i) = a(i) + b(i))"
	ints := func(s *scope.Spec, _ *analysis.Problem) {
		s.Compute = tensor.Int64
		for k := range s.Operands {
			s.Operands[k].Type = tensor.Int64
		}
	}
	run(t, []holds{
		{leaf{add, "y:d a:s b:s", nil},
			map[string]int{`select\(a_at, term, -0\.0\)`: 1, `select\(b_at, term_1, -0\.0\)`: 1,
				`\bif `: 0}},
		{leaf{add, "y:d a:s b:s", ints}, map[string]int{`-0\.0`: 0}},
	})
}

// TestSplits checks the loops of split variables, and the tests that they need.
func TestSplits(t *testing.T) {
	const copied = "forall(i0, forall(i1, y(i) = a(i)))"
	run(t, []holds{
		// The last tile ends at the end of the range.
		{leaf{"suchthat(" + copied + ", split(i, i0, i1, 8))", "y:d a:d", nil},
			map[string]int{`min\(i1_lo \+ 8, i_hi\)`: 1, `\bif `: 0}},
		// If the tile size divides the bound, no test remains except one check of the bound before
		// the loop.
		{leaf{"suchthat(" + copied + ", bound(i, ib, 96, MaxExact), split(ib, i0, i1, 8))", "y:d a:d",
			nil}, map[string]int{`min\(`: 0, `fail bound`: 1, `for i0 in 0 : 12`: 1}},
		{leaf{"suchthat(" + copied + ", bound(i, ib, 100, MaxExact), split(ib, i0, i1, 8))", "y:d a:d",
			nil}, map[string]int{`min\(`: 1, `fail bound`: 1}},
		// Tiles of a sparse operand's coordinates start and end at positions that are searched for.
		{leaf{"suchthat(" + copied + ", split(i, i0, i1, 8))", "y:d a:s", nil},
			map[string]int{`for i0 in`: 1, search: 2, `fill y_vals\[i1_lo - y_off0 : i1_hi - y_off0\]`: 1}},
		// The first row of a tile is searched for. The next rows follow.
		{
			leaf{
				"suchthat(forall(p0, forall(p1, y(i) += A(i,j) * x(j))), fuse(i, j, f), pos(f, p, A(i,j)), split(p, p0, p1, 16))", "y:d A:ds x:d", nil},
			map[string]int{search: 1, `A_p \+= 1`: 2, `for i in`: 0}},
		// Tiles of pairs of coordinates: the start and the end are each searched for in the rows
		// and in the columns. One more search finds the first row of a tile of entries.
		{
			leaf{
				"suchthat(forall(f0, forall(p0, forall(p1, y(i) += A(i,j) * x(j)))), fuse(i, j, f), split(f, f0, f1, 64), pos(f1, p, A(i,j)), split(p, p0, p1, 16))", "y:d A:ss x:d", nil},
			map[string]int{search: 5, `A_p \+= 1`: 2, `for i in`: 0}},
		// Positions back to coordinates: the loop visits another operand's entries between the
		// first entries of two tiles.
		{
			leaf{
				"suchthat(forall(p0, forall(c0, forall(c1, y(i) += A(i,j) + B(i,j)))), fuse(i, j, f), pos(f, p, A(i,j)), split(p, p0, p1, 16), coord(p1, c), split(c, c0, c1, 8))", "y:d A:ds B:ds", nil},
			map[string]int{`i_at[_1]* = .*\* j_hi`: 2, `while A_p_1 < A_e_2 && B_p_1 < B_e_1`: 1}},
		// Positions in a row need no search.
		{
			leaf{
				"suchthat(forall(i, forall(p0, forall(p1, y(i) += A(i,j) * x(j)))), pos(j, p, A(i,j)), split(p, p0, p1, 4))", "y:d A:ds x:d", nil}, map[string]int{search: 0}},
	})
}

// TestRaces checks, for each race strategy, how iterations of a parallel loop add to the same
// place.
func TestRaces(t *testing.T) {
	csc := func(race string) leaf {
		return leaf{"suchthat(forall(j, CPUThread/" + race + ", forall(i, y(i) += A(i,j) * x(j))))",
			"y:d A:ds:1,0 x:d", nil}
	}
	run(t, []holds{
		{leaf{"suchthat(forall(i, CPUThread/NoRaces, forall(j, y(i) += A(i,j) * x(j))))", "y:d A:ds x:d",
			nil}, map[string]int{`atomic`: 0, `alloc`: 0, `parallel`: 1}},
		{csc("Atomics"), map[string]int{`atomic y_vals`: 1, `alloc`: 0}},
		{csc("IgnoreRaces"), map[string]int{`atomic`: 0, `alloc`: 0, `for j in j_lo : j_hi parallel`: 1}},
		// Each chunk has its own copy of the result.
		{csc("Temporary"), map[string]int{`atomic`: 0, `alloc y_`: 1, `for j in`: 1}},
		{leaf{"suchthat(forall(i, CPUThread/ParallelReduction, forall(j, s += A(i,j))))", "s: A:ds", nil},
			map[string]int{`atomic`: 0, `reduce\(`: 1}},
		{leaf{"suchthat(forall(i, forall(j, CPUVector/ParallelReduction, y(i) += A(i,j) * x(j))))",
			"y:d A:ds x:d", nil}, map[string]int{`vector reduce\(sum`: 1}},
	})
}

// TestRows checks that short rows of dense operands are kept in registers, and that rows far away
// in memory are fetched ahead.
func TestRows(t *testing.T) {
	const spmm = "forall(i, forall(j, forall(k, C(i,k) += A(i,j) * B(j,k))))"
	known := func(s *scope.Spec, p *analysis.Problem) { p.Exact = []string{"k"}; p.Sizes["k"] = 32 }
	far := func(_ *scope.Spec, p *analysis.Problem) { p.Target.FarBytes = 1 }
	both := func(s *scope.Spec, p *analysis.Problem) {
		p.Exact, p.Target.FarBytes = []string{"l"}, 1
		p.Sizes["l"] = 32
	}
	run(t, []holds{
		{leaf{spmm, "C:dd A:ds B:dd", known},
			map[string]int{`for k_tile in 0 : 1 step 32`: 1, `local C_row float64\[32\]`: 1, `prefetch`: 0,
				`k_hi`: 1}},
		{leaf{spmm, "C:dd A:ds B:dd", far},
			map[string]int{`A_p_1 \+ 16 < A_end`: 1, `A_p_1 \+ 64 < A_end`: 1, `prefetch`: 4,
				`prefetch .*, 32 far\n`: 1, `prefetch .*, 64 far\n`: 1}},
		// Two loops around the row read B's row from registers. Before the last entries, no loop
		// tests whether there is an entry to fetch ahead for.
		{leaf{"forall(i, forall(j, forall(k, forall(l, C(j,l) += A(i,j,k) * B(i,l) * D(k,l)))))",
			"C:dd A:sss B:dd D:dd", both}, map[string]int{
			`local B_row(_1)? float64\[32\]`: 2, `A_early \+= -1`: 1, `in A_s : A_early`: 1,
			`in A_early : A_e`: 1, `prefetch`: 8, `prefetch .* far\n`: 4, `if .* < A_end1`: 2,
			`if .* < A_end2`: 2}},
		// With one loop around the row, the C compiler keeps the row in registers.
		{leaf{spmm, "C:dd A:ds B:dd", both}, map[string]int{`local B_row`: 0, `A_early`: 0}},
		// The rows of C are not contiguous, so they are not kept in registers.
		{leaf{spmm, "C:dd:1,0 A:ds B:dd", nil}, map[string]int{`local`: 0}},
	})
}

// TestRefused checks refusals of lowering, and the loops that they name.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		leaf
		v, why  string
		pattern bool
	}{
		{leaf{"forall(i, CPUVector/NoRaces, y(i) = a(i) + b(i))", "y:d a:s b:s", nil}, "i",
			"steps through several operands", false},
	} {
		_, err := c.lower(t)
		r, ok := err.(*scope.Refusal)
		if !ok || r.Var != c.v || !strings.Contains(r.Why, c.why) || r.Pattern != c.pattern {
			t.Errorf("%s: got %v, want %s: %s", c.stmt, err, c.v, c.why)
		}
	}
}

// TestHuge checks that all threads compute long rows if at most one sum runs along them.
func TestHuge(t *testing.T) {
	const sddmm = "forall(i, CPUThread, forall(j, where(A(i,j) = t, forall(k, t += B(i,j) * C(i,k) * D(j,k)))))"
	share := func(s *scope.Spec, p *analysis.Problem) {
		s.Assembly, s.Share, p.Target.LongRow = strategy.SharedPattern, "B(i,j)", 10
	}
	short := func(s *scope.Spec, _ *analysis.Problem) {
		s.Assembly, s.Share = strategy.SharedPattern,
			"B(i,j)"
	}
	run(t, []holds{
		{leaf{sddmm, "A:ds B:ds C:dd D:dd", share},
			map[string]int{`\b10 < `: 2, `alloc long_left_out bool`: 1, ` parallel`: 2, `sum`: 0}},
		{leaf{sddmm, "A:ds B:ds C:dd D:dd", short},
			map[string]int{`alloc long_left_out`: 0, ` parallel`: 1}},
		// The rows of a product are computed whole.
		{
			leaf{
				"forall(i, CPUThread, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))", "C:ds A:ds B:ds", nil},
			map[string]int{`alloc long_left_out`: 0, `ordered \{`: 1}},
	})
}

// TestStretch checks that long rows of a sum are cut at coordinates, and that one chunk closes each
// row.
func TestStretch(t *testing.T) {
	const sum = "forall(i, CPUThread, forall(j, A(i,j) = B(i,j) + C(i,j)))"
	cuts := func(_ *scope.Spec, p *analysis.Problem) { p.Target.LongRow = 10 }
	given := func(s *scope.Spec, p *analysis.Problem) {
		p.Target.LongRow, s.Assembly = 10, strategy.FixedPattern
	}
	cut := map[string]int{`\b10 < end`: 2, `search\(B_crd1`: 4, `var open bool`: 1, `if !open`: 1}
	run(t, []holds{
		{leaf{sum, "A:ds B:ds C:ds", cuts}, cut},
		// the operands have too few entries for long rows
		{leaf{sum, "A:ds B:ds C:ds", nil}, map[string]int{`search`: 0, `open`: 0}},
		{leaf{sum, "A:ss B:ss C:ss", cuts}, map[string]int{`search\(B_crd1`: 0, `open`: 0}},
		{leaf{sum, "A:ds B:ds C:ds", given},
			map[string]int{`\b10 < end`: 2, `search\(A_crd1`: 4, `var open bool`: 1, `if !open`: 0}},
	})
}

// TestAhead checks that long rows of a product are computed on all threads before the other rows,
// in stretches of 16 positions and in bands of 32 coordinates.
func TestAhead(t *testing.T) {
	const product = "forall(i, CPUThread, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))"
	cuts := func(_ *scope.Spec, p *analysis.Problem) {
		p.Target.LongRow = 1 << 7
		p.Sizes["j"] = 1 << 10
		for k := range p.Tensors {
			p.Tensors[k].NNZ = 1 << 13
		}
	}
	run(t, []holds{
		{leaf{product, "C:ds A:ds B:ds", cuts}, map[string]int{
			`alloc long_row`: 1, `long_least < `: 2, ` for stretch\w* in 0 : stretches parallel`: 2,
			` for band\w* in 0 : bands parallel`: 3, `search\(A_crd1`: 4, ` - j_lo\) / 32`: 2,
		}},
		{leaf{product, "C:ds A:ds B:ds", nil}, map[string]int{`long`: 0, `search`: 0}},
		{leaf{product, "C:ss A:ss B:ss", cuts}, map[string]int{`long`: 0}},
	})
}
