package codegen_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/forms"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
)

// large returns a request like a golden's, with a million rows and ten entries in each.
func large(t *testing.T, text string) codegen.Request {
	t.Helper()
	r := goldenRequest(t, text)
	for v, n := range r.Tensors.Sizes {
		if n == 1000 {
			r.Tensors.Sizes[v] = 1000000
		}
	}
	for name, x := range r.Tensors.All {
		if name == r.Statement.Stmt.LHS.Name {
			continue
		}
		x.NNZ = 10000000
		n := int64(1000000)
		for l, k := range x.Format.Levels {
			if !x.Format.AllDense() && l > 0 {
				n *= map[bool]int64{true: 10, false: 1000000}[!k.CanLocate()]
			}
			x.Counts[l] = n
		}
		r.Tensors.All[name] = x
	}
	for _, a := range r.Statement.Stmt.Accesses() {
		x := r.Tensors.All[a.Name]
		for m, v := range a.Vars {
			x.Dims[m] = r.Tensors.Sizes[v]
		}
	}
	for v := range r.Tensors.Sizes {
		r.Tensors.Exact = append(r.Tensors.Exact, v)
	}
	slices.Sort(r.Tensors.Exact)
	return r
}

// TestDefaultSchedules: the printed default schedules of common kernels make the same leaf as no
// schedule. Each of their commands has a reason with figures.
func TestDefaultSchedules(t *testing.T) {
	for text, want := range map[string][]string{
		"y(i)=A(i,j)*x(j)\nA:ds": {"temporaries(y) sums are taken in t",
			"parallelize(i,CPUThread,NoRaces,Work) by the 10000000 entries of A(i,j)",
			"longrows(i,A,65536) A(i,j) has 10000000 entries"},
		"y(i)=A(i,j)*x(j)\nA:ds:1,0\ni=200000": {
			"parallelize(j,CPUThread,Temporary,Work,4) 1e+07 additions go to 2e+05 values"},
		"y(i)=A(i,j)*x(j)\nA:ds:1,0\ni=10000000": {
			"parallelize(j,CPUThread,NoRaces,Rows) y(i) is too large for partial results"},
		"a=x(i)*y(i)": {"temporaries(a)",
			"parallelize(i,CPUThread,ParallelReduction,Work,64) t is one sum", "vectorize(i)"},
		"a=x(i)*y(i)\nx:s": {"temporaries(a)",
			"parallelize(i,CPUThread,ParallelReduction,Work,64) t is one sum",
			"vectorize(i,x) segments of x(i) have 1000000.0 entries on average"},
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=32": {
			"bound(k,k,32,MaxExact) k has 32 coordinates, and all levels that it indexes are dense",
			"parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,A,65536)",
			"tile(k,32) rows of 32 values", "vectorize(k)",
			"nontemporal(C) C(i,k) takes 244.1 MiB, a cache may keep 32 MiB, and is written once", "prefetch(B,j,16,64) rows of B(j,k) take 244.1 MiB, those that are read take 244.1 MiB, and a core's caches hold 1 MiB"},
		"A(i,j)=B(i,j)*C(i,k)*D(j,k)\nA:ds\nB:ds\nk=16": {"temporaries(A)", "bound(k,k,16,MaxExact)",
			"parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,B,65536)", "vectorize(k)",
			"prefetch(D,j,16,64)",
			"prefetch(C,i,0,16) rows of C(i,k) are read in order, for 10.0 entries each"},
		"A(i,j)=B(i,j)+C(i,j)\nA:ds\nB:ds\nC:ds": {"assemble(A,Append)",
			"mergeby(j,Predicated) which of the terms",
			"parallelize(i,CPUThread,NoRaces,Ordered,16384) A(i,j) is appended to in order",
			"longrows(i,B,8192)"},
		"A(i,j)=B(i,j)+C(i,j)+D(i,j)\nA:ds\nB:ds\nC:ds\nD:ds": {"assemble(A,Append)",
			"mergeby(j,Predicated)", "parallelize(i,CPUThread,NoRaces,Ordered,24576)", "longrows(i,B,8192)"},
		"C(i,k)=A(i,j)*B(j,k)\nC:ds\nA:ds\nB:ds": {"assemble(C,Append)",
			"workspace(w,Bitmap) about 1e+08 values are added at 1e+06 coordinates",
			"parallelize(i,CPUThread,NoRaces,Ordered,65536)", "longrows(i,A,65536)",
			"prefetch(B,j,4) rows of B(j,k) take 114.4 MiB"},
		"A(i,j)=B(i,j,k)*c(k)\nA:ds\nB:dss": {"temporaries(A)",
			"parallelize(i,CPUThread,NoRaces,Work)",
			"flatten(i) A has the pattern of B(i,j,k), and nothing else reads i"},
		"A(i,j,l)=B(i,j,k)*C(k,l)\nA:dsd\nB:dss\nl=16": {"bound(l,l,16,MaxExact)",
			"parallelize(i,CPUThread,NoRaces,Work)", "flatten(i)", "tile(l,16)", "vectorize(l)",
			"nontemporal(A)", "prefetch(C,k,16,64)"},
		"C(i,k)=A(i,k)+B(i,k)\nk=20": {"parallelize(i,CPUThread,NoRaces,Work)",
			"vectorize(k)"},
		"C(i,k)=A(i,k)+B(i,k)\nk=75": {"parallelize(i,CPUThread,NoRaces,Work)",
			"vectorize(k)", "nontemporal(C) C(i,k) takes 572.2 MiB"},
		"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:dss\nl=32\nj=4200\nk=4200": {"bound(l,l,32,MaxExact)",
			"parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,B,65536)", "tile(l,32)", "vectorize(l)",
			"nontemporal(A)", "prefetch(C,j,8)", "prefetch(D,k,8)"},
		"A(i,l)=B(i,j,k,m)*C(j,l)*D(k,l)*E(m,l)\nB:dsss\nl=32\nj=4200\nk=4200\nm=4200": {
			"bound(l,l,32,MaxExact)", "parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,B,65536)",
			"tile(l,32)",
			"vectorize(l)", "nontemporal(A)", "prefetch(C,j,5)", "prefetch(D,k,5)", "prefetch(E,m,5)"},
		"A(i,l,m)=B(i,j,k)*C(j,l)*D(k,m)\nB:dss\nl=16\nm=16\nj=4200\nk=4200": {
			"temporaries(A) sums are taken in w(m)", "bound(l,l,16,MaxExact)", "bound(m,m,16,MaxExact)",
			"workspace(w,Dense)",
			"parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,B,65536)", "vectorize(m)",
			"prefetch(C,j,8)", "prefetch(D,k,8)"},
		"A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:dss\nl=32\nj=20000\nk=4200": {"bound(l,l,32,MaxExact)",
			"parallelize(i,CPUThread,Temporary,Work,8) 3.2e+08 additions go to 6.4e+05 values", "tile(l,32)",
			"vectorize(l)",
			"prefetch(D,k,8)", "prefetch(A,j,8,64) rows of A(j,l) take 4.883 MiB", "prefetch(C,i,0,16)"},
		"A(k,l)=B(i,j,k)*C(i,l)*D(j,l)\nB:dss\nl=32\nk=2000": {"bound(l,l,32,MaxExact)",
			"parallelize(i,CPUThread,Temporary,Work,32) 3.2e+08 additions go to 6.4e+04 values", "vectorize(l)",
			"prefetch(D,j,8,64)",
			"prefetch(A,k,8) rows of A(k,l) take 500 KiB, those that are read take 244.6 MiB",
			"prefetch(C,i,0,16)"},
	} {
		r := large(t, text)
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		said := schedule.Text(lines)
		for _, w := range want {
			command, why, _ := strings.Cut(w, ") ")
			command = strings.TrimSuffix(command, ")") + ")"
			if !slices.ContainsFunc(lines,
				func(l schedule.Line) bool {
					return l.Command == command &&
						strings.Contains(l.Why, why)
				}) {
				t.Errorf("%s: there is no %s, for %q, in\n%s", text, command, why, said)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%s: got %d commands, want %d:\n%s", text, len(lines), len(want), said)
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Ask.Schedule = []string{said}
		v, err := codegen.Compile(r)
		if err != nil {
			t.Errorf("%s: %v, of\n%s", text, err, said)
		} else if c.File(v.Func) != c.File(u.Func) {
			t.Errorf("%s: another leaf is made by\n%s", text, said)
		}
	}
}

// TestStreams: entries of the only sparse operand are prefetched if the processor's forms include
// it, the entries come from memory, and segments are not short.
func TestStreams(t *testing.T) {
	for _, x := range []struct {
		i, far int64
		forms  forms.Set
		want   bool
	}{
		{1000000, 0, forms.Set{forms.Streams: 128}, true},
		{1000000, 0, nil, false},
		{1000000, 4 << 20, forms.Set{forms.Streams: 128}, false},
		{10000000, 0, forms.Set{forms.Streams: 128}, false},
	} {
		r := large(t, "y(i)=A(i,j)*x(j)\nA:ds")
		a := r.Tensors.All["A"]
		a.Counts = []int64{x.i, a.NNZ}
		r.Tensors.All["A"], r.Target.Forms, r.Target.FarBytes = a, x.forms, x.far
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Fatal(err)
		}
		said := schedule.Text(lines)
		if got := strings.Contains(said, "prefetch(A,j,128)"); got != x.want {
			t.Errorf("%+v: got\n%s", x, said)
		}
		if x.want && !strings.Contains(said,
			"the entries of A(i,j) take 114.4 MiB, and a cache may keep 32 MiB; fetched 128 stored values ahead they were fastest") {
			t.Errorf("%+v: got\n%s", x, said)
		}
	}
}

// TestUnsaid: choices that a schedule leaves open (assembly, workspaces, jammed loops, loops with
// one body, prefetched rows) are printed with the schedule. A schedule with these commands makes
// the same leaf.
func TestUnsaid(t *testing.T) {
	const spmm, spgemm = "C(i,k)=A(i,j)*B(j,k)\nA:ds\n", "C(i,k)=A(i,j)*B(j,k)\nC:ds\nA:ds\nB:ds\n"
	const mttkrp = "A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:dss\nl=32"
	const fetched, rows = "prefetch(B,j,16,64) rows of B(j,k) take",
		"prefetch(B,j,4) rows of B(j,k) take"
	for _, x := range []struct {
		text, schedule string
		want           []string
	}{
		{spmm + "k=32", "reorder(i,k,j)", []string{"jam(k,32) which has at most 32 and is outside", fetched}},
		{spmm + "k=9", "reorder(i,k,j)", []string{"jam(k,8) which has at most 9 and is outside", fetched}},
		{spmm + "k=3", "reorder(i,k,j)", []string{fetched}},
		{spmm + "k=32", "reorder(i,k,j),jam(k,1)", []string{fetched}},
		{spmm + "k=32", "reorder(i,k,j),jam(k,16)", []string{fetched}},
		{spmm + "k=32", "split(k,k0,k1,8),reorder(i,k0,k1,j)",
			[]string{"jam(k,8) which has at most 8 and is outside", fetched}},
		{spmm + "k=32", "pos(j,jp,A),split(jp,jp0,jp1,8),reorder(i,jp0,k,jp1)",
			[]string{"jam(k,32)", fetched}},
		{spmm + "k=32", "reorder(k,i,j)", []string{fetched}}, // around loops that sum nothing, too
		{spmm + "k=32", "tile(k,8)", []string{fetched}},
		{spmm + "k=32", "prefetch(B,j,3)", nil},
		{spmm + "k=32", "prefetch(B,j,0)", nil},
		{spmm + "k=32", "fuse(i,j,f),pos(f,p,A)", []string{fetched}},
		{spmm + "k=32", "parallelize(i,CPUThread,NoRaces)", []string{fetched}},
		{mttkrp, "fuse(i,j,f),fuse(f,k,g),pos(g,p,B)",
			[]string{"prefetch(C,j,8,64) rows of C(j,l)", "prefetch(D,k,8,64) rows of D(k,l)"}},
		{mttkrp, "fuse(i,j,f),fuse(f,k,g),pos(g,p,B),prefetch(C,j,4)",
			[]string{"prefetch(D,k,8,64) rows of D(k,l)"}},
		{mttkrp, "prefetch(D,k,0),prefetch(C,j,0)", nil},
		{"a(i)=b(i)+c(i)+d(i)+e(i)\nb:s\nc:s\nd:s\ne:s", "unroll(i,2)",
			[]string{"mergeby(i,OneBody) more than 32"}},
		{"a(i)=b(i)+c(i)+d(i)\nb:s\nc:s\nd:s", "unroll(i,2)", nil},
		{"a(i)=b(i)+c(i)+d(i)\nb:s\nc:s\nd:s", "mergeby(i,OneBody)", nil},
		// no place for each coordinate
		{"C(i,k)=A(i,j)*B(j,k)\nC:ds\nA:ds\nB:ds\nk=1099511627776",
			"reorder(i,j,k),precompute(A(i,j)*B(j,k),k,kw,w)",
			[]string{"assemble(C,Append)", "workspace(w,Hash) 1.1e+12 coordinates",
				"prefetch(B,j,4) rows of B(j,kw) take"}},
		// as by default
		{spgemm, "parallelize(i,CPUThread,NoRaces,Ordered,64)",
			[]string{rows, "assemble(C,Append)",
				"workspace(w,Bitmap) values are added at 1e+06 coordinates"}},
		{spgemm, "split(i,i0,i1,16)",
			[]string{"assemble(C,Append)", "workspace(w,List) w(k) has 1e+06 coordinates", rows}},
		{spgemm, "precompute(A(i,j)*B(j,k),k,k,v)",
			[]string{"assemble(C,Append)", "workspace(v,List) v(k) has 1e+06 coordinates", rows}},
	} {
		r := large(t, x.text)
		r.Tensors.Exact, r.Ask.Schedule = nil, []string{x.schedule}
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Errorf("%s: -s=%s: %v", x.text, x.schedule, err)
			continue
		}
		said := schedule.Text(lines)
		given, err := schedule.Parse(r.Ask.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		rest := slices.DeleteFunc(slices.Clone(lines), func(l schedule.Line) bool {
			return slices.ContainsFunc(given,
				func(c *schedule.Command) bool { return c.String() == l.Command })
		})
		ok := len(rest) == len(x.want)
		for k, w := range x.want {
			command, why, _ := strings.Cut(w, ") ")
			ok = ok && rest[k].Command == strings.TrimSuffix(command, ")")+")" &&
				strings.Contains(rest[k].Why, why)
		}
		if !ok {
			t.Errorf("%s: -s=%s: want %q behind it, got\n%s", x.text, x.schedule, x.want, said)
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Ask.Schedule = []string{said}
		if v, err := codegen.Compile(r); err != nil || ir.Print(v.Func) != ir.Print(u.Func) {
			t.Errorf("%s: another leaf is made by\n%s: %v", x.text, said, err)
		}
	}
}

// TestForms checks the effect of each command on a leaf, and that the effect is absent without the
// command.
func TestForms(t *testing.T) {
	const spmv, spmm, add, spgemm = "y(i)=A(i,j)*x(j)\nA:ds", "C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=32",
		"A(i,j)=B(i,j)+C(i,j)\nA:ds\nB:ds\nC:ds", "C(i,k)=A(i,j)*B(j,k)\nC:ds\nA:ds\nB:ds"
	const scattered = "A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:dss\nl=1000"
	for _, x := range []struct {
		text, before, command string
		pattern               string
		n                     int
	}{
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:dss\nl=1000", "", "temporaries(A)", `w_vals`, 5},
		{spmm, "", "bound(k,k,32,MaxExact)", `for k in 0 : 32 `, 1},
		{spmv, "", "parallelize(i,CPUThread,NoRaces,Work)",
			`for chunk in 0 : chunks parallel\(dynamic, 1\)`, 1},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work)", "longrows(i,A,500)", `\b500 < `, 2},
		{"y(i)=A(i,j)*x(j)\nA:ds:1,0", "", "parallelize(j,CPUThread,Temporary,Work,7)",
			`min\(wave_from \+ wave_chunks, 7\)`, 1},
		{"y(i)=A(i,j)*x(j)\nA:ds:1,0", "", "parallelize(j,CPUThread,NoRaces,Rows)",
			`for part in 0 : @"threads" parallel`, 1},
		{"Y(i,k)=A(i,j)*X(j,k)\nA:ds:1,0", "", "parallelize(j,CPUThread,NoRaces,Rows,k)",
			`var k_from int64 = `, 1},
		{"y(i)=A(i,j)*x(j)\nA:ds:1,0", "", "parallelize(j,CPUThread,NoRaces,Whole)",
			`for piece in 0 : pieces parallel`, 1},
		{"a=x(i)*y(i)", "temporaries(a)", "parallelize(i,CPUThread,ParallelReduction,Work,9)",
			`for chunk in 0 : 9 parallel`, 1},
		{add, "", "parallelize(i,CPUThread,NoRaces,Ordered,4096)", `work / 4096`, 1},
		{add, "parallelize(i,CPUThread,NoRaces,Ordered)", "longrows(i,B,500)", `\b500 < `, 2},
		{spgemm, "parallelize(i,CPUThread,NoRaces,Ordered)", "longrows(i,A,1024)", `alloc long_row`, 1},
		{add, "", "mergeby(j,Predicated)", `select\(B_at, `, 1},
		{add, "split(j,j0,j1,8)", "mergeby(j1,Predicated)", `select\(B_at, `, 1},
		{add, "", "mergeby(j,OneBody)", `if B_at \|\| C_at`, 2},
		{spmm, "reorder(i,k,j)", "jam(k,8)", `for k_tile in k_lo : k_hi - 7 step 8`, 1},
		{spmm, "reorder(i,k,j)", "jam(k,1)", `k_tile`, 0},
		{spmm, "split(k,k0,k1,8)", "vectorize(k1)", `for k in k1_lo : k1_hi vector`, 1},
		{spgemm, "", "workspace(w,Hash)", `alloc w_table`, 2},
		{spgemm, "", "workspace(w,List)", `w_mark\[w_at\] = true`, 1},
		{spgemm, "split(i,i0,i1,16)", "workspace(w,Bitmap)", `mark w_bits`, 1},
		{"A(i,j)=B(i,j,k)*c(k)\nA:ds\nB:dss", "", "flatten(i)", `B_pos1\[i_lo - B_off0:64\]`, 1},
		{"A(i,j)=B(i,j,k)*c(k)\nA:ds\nB:dss", "flatten(i)", "parallelize(k,CPUVector,Temporary)",
			`vector reduce\(sum`, 1},
		{"A(j,l,k)=C(i)*B(k,l,j)\nA:sss:2,1,0\nB:sss", "reorder(k,l,j,i)", "fuse(j,i,f)",
			`fill A_vals\[B_s_2 : B_e_2\]`, 1},
		{spmm, "", "tile(k,8)", `for k_tile in k_lo : k_hi - 7 step 8`, 1},
		{spmm, "", "vectorize(k)", `for k in k_lo : k_hi vector`, 1},
		{spmv, "temporaries(y)", "vectorize(j,A)", `for A_p_1 in A_s : A_e vector`, 1},
		{spmm, "", "prefetch(B,j,3)", `A_p_1 \+ 3 < A_end`, 1},
		{spmm, "", "prefetch(B,j,3,12)",
			`if A_p_1 \+ 12 < A_end1 \{\n[^}]*, \d+ far\n *\}\n *if A_p_1 \+ 3 < A_end1 \{\n[^}]*, \d+\n *\}`, 1},
		{spgemm, "", "prefetch(B,j,3)",
			`if 0 <= B_next && B_next < B_size0 \{\n *var B_next_s int64 = B_pos1\[B_next:64\]\n *prefetch B_crd1\[B_next_s\]\n *prefetch B_vals\[B_next_s\]`, 1},
		// in rows that lie within a tile, and others
		{spmm, "fuse(i,j,f),pos(f,p,A)", "prefetch(B,j,3)", `A_p(_\d)? \+ 3 < A_end1 \{\n *var j_next`,
			2},
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:dss\nl=32", "fuse(i,j,f),fuse(f,k,g),pos(g,p,B)",
			"prefetch(C,j,3)", `B_p_\d \+ 3 < B_end1 \{\n *var j_next`, 2},
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:dss\nl=32", "fuse(i,j,f),fuse(f,k,g),pos(g,p,B)",
			"prefetch(D,k,3)", `B_p_\d \+ 3 < B_end2 \{\n *var k_next`, 2},
		{scattered, "", "prefetch(A,j,3)", `prefetch A_vals\[A_next\]`, 1},
		{scattered, "parallelize(i,CPUThread,Temporary,Work,8)", "prefetch(A,j,3)",
			`prefetch A_parts\[A_next\]`, 1},
		{scattered, "parallelize(i,CPUThread,Temporary)", "prefetch(A,j,3)",
			`prefetch A_copies\[A_next\]`, 1},
	} {
		count := func(commands ...string) int {
			r := large(t, x.text)
			// nothing is prefetched unless a command asks for it
			r.Tensors.Exact, r.Target.Forms = nil, forms.Set{forms.FarRows: 0}
			r.Ask.Schedule = slices.DeleteFunc(append([]string{x.before}, commands...),
				func(s string) bool { return s == "" })
			if len(r.Ask.Schedule) == 0 {
				r.Ask.Schedule = []string{""}
			}
			u, err := codegen.Compile(r)
			if err != nil {
				t.Errorf("%s: -s=%q: %v", x.text, r.Ask.Schedule, err)
				return -1
			}
			n := len(regexp.MustCompile(x.pattern).FindAllString(ir.Print(u.Func), -1))
			if n != x.n && len(commands) > 0 {
				t.Errorf("%s: -s=%q: %s is there %d times, want %d, in\n%s", x.text, r.Ask.Schedule, x.pattern, n,
					x.n, ir.Print(u.Func))
			}
			return n
		}
		if with, without := count(x.command), count(); with == without {
			t.Errorf("%s: %s is there %d times with and without %s", x.text, x.pattern, with, x.command)
		}
	}
}

// TestTileOfDerivedLoop: a tile must be of a loop over the variable itself. A loop that earlier or
// later commands derive from the variable is refused.
func TestTileOfDerivedLoop(t *testing.T) {
	for _, schedule := range []string{"tile(k,4),split(k,k0,k1,2)", "tile(k,4),divide(k,k0,k1,5)",
		"tile(k,4),bound(k,k0,1000000,MaxExact)"} {
		r := large(t, "C(i,k)=A(i,j)*B(j,k)\nA:ds")
		r.Ask.Schedule = []string{schedule}
		if _, err := codegen.Compile(r); err == nil ||
			!strings.Contains(err.Error(), "with a loop over k itself") {
			t.Errorf("%s: got %v", schedule, err)
		}
	}
}

// TestTileOfAddedRows: rows that several threads add to cannot have tiles.
func TestTileOfAddedRows(t *testing.T) {
	for _, race := range []string{"Temporary", "Atomics"} {
		r := large(t, "A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:sss")
		r.Ask.Schedule = []string{"tile(l,4),parallelize(i,CPUThread," + race + ")"}
		if _, err := codegen.Compile(r); err == nil ||
			!strings.Contains(err.Error(), "l must be the last level, a dense one, of the result") {
			t.Errorf("%s: got %v", race, err)
		}
	}
}

// TestTilesOfFewTerms: rows that are accessed repeatedly are summed in tiles if several values are
// added to a row each time. If it is about one value, it is added in memory. Rows that are accessed
// once have tiles in both cases. The printed schedule makes the same leaf.
func TestTilesOfFewTerms(t *testing.T) {
	for _, x := range []struct {
		text   string
		counts []int64
		tiled  bool
	}{
		{"A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:sss\nl=32", []int64{1000, 100000, 100100}, false},
		{"A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:sss\nl=32", []int64{1000, 100000, 149000}, false},
		{"A(j,l)=B(i,j,k)*C(i,l)*D(k,l)\nB:sss\nl=32", []int64{1000, 100000, 151000}, true},
		{"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:sss\nl=32", []int64{1000, 1100, 1200}, true},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=32", []int64{1000000, 1000100}, true},
	} {
		r := large(t, x.text)
		sparse := "B"
		if len(x.counts) == 2 {
			sparse = "A"
		}
		op := r.Tensors.All[sparse]
		op.Counts, op.NNZ = x.counts, x.counts[len(x.counts)-1]
		r.Tensors.All[sparse] = op
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Fatal(err)
		}
		said := schedule.Text(lines)
		if got := strings.Contains(said, "tile("); got != x.tiled {
			t.Errorf("%s, counts %v: got\n%swant tiles: %v", x.text, x.counts, said, x.tiled)
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Ask.Schedule = []string{said}
		if v, err := codegen.Compile(r); err != nil {
			t.Errorf("%s: %v, of\n%s", x.text, err, said)
		} else if c.File(v.Func) != c.File(u.Func) {
			t.Errorf("%s: another leaf is made by\n%s", x.text, said)
		}
	}
}

// TestSizesAreArguments: a size is compiled into a leaf only if that was measured to pay. Otherwise
// the leaf serves any size.
func TestSizesAreArguments(t *testing.T) {
	for _, x := range []struct {
		statement string
		sizes     [2]int
		same      bool
	}{
		{"C(i,k)=A(i,k)+B(i,k)\nk=%d", [2]int{12, 20}, true},
		{"C(i,k)=A(i,k)+B(i,k)\nk=%d", [2]int{40, 200}, true},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=%d", [2]int{16, 24}, false},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=%d", [2]int{4, 6}, true},
		{"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=%d", [2]int{72, 200}, true},
		{"A(i,j)=B(i,j)*C(i,k)*D(j,k)\nA:ds\nB:ds\nk=%d", [2]int{72, 128}, false},
		{"A(i,j)=B(i,j)*C(i,k)*D(j,k)\nA:ds\nB:ds\nk=%d", [2]int{200, 208}, true},
	} {
		var texts [2]string
		for n, size := range x.sizes {
			u, err := codegen.Compile(large(t, fmt.Sprintf(x.statement, size)))
			if err != nil {
				t.Fatal(err)
			}
			texts[n] = c.Unnamed(u.Func)
		}
		if same := texts[0] == texts[1]; same != x.same {
			t.Errorf("%s, sizes %d: one leaf %v, want %v", x.statement, x.sizes, same, x.same)
		}
	}
}
