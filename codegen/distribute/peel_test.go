package distribute_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/distribute"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// problem is the input of a peeling: a statement's loops with their sizes ("i:8 j:8 k:8"), its
// tensors, and accesses with their formats. A term next to an access follows a plus sign
// ("B(i,j):ds C(j,k):dd+D(i,k)").
type problem struct{ machine, loops, tensors, accesses string }

func (p problem) peel(t *testing.T, commands string) (*place.Nest, error) {
	t.Helper()
	m, err := place.ParseMachine(p.machine)
	if err != nil {
		t.Fatal(err)
	}
	list, err := schedule.Parse([]string{commands})
	if err != nil {
		t.Fatalf("%s: %v", commands, err)
	}
	s := distribute.Statement{Sizes: map[string]int64{}, Tensors: strings.Fields(p.tensors)}
	for _, l := range strings.Fields(p.loops) {
		v, size, _ := strings.Cut(l, ":")
		s.Loops = append(s.Loops, v)
		var n int64
		fmt.Sscan(size, &n)
		s.Sizes[v] = n
	}
	for _, text := range strings.Fields(p.accesses) {
		key, levels, _ := strings.Cut(text, ":")
		levels, beside, _ := strings.Cut(levels, "+")
		f, err := notation.ParseFormat(levels)
		if err != nil {
			t.Fatal(err)
		}
		name, vars, _ := strings.Cut(strings.TrimSuffix(key, ")"), "(")
		s.Accesses = append(s.Accesses,
			distribute.Access{Tensor: name, Vars: strings.Split(vars, ","), Format: f, Beside: beside})
	}
	return distribute.Peel(list, m, s)
}

// text prints a nest: its loops, the chunks, and the schedule of the leaf.
func text(n *place.Nest) string {
	var b strings.Builder
	for k, l := range n.Loops {
		if k > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "%s:%d", l.Var, l.N)
		if l.Dim >= 0 {
			fmt.Fprintf(&b, "@%d", l.Dim)
		}
		if l.Communicate != nil {
			fmt.Fprintf(&b, "[%s]", strings.Join(l.Communicate, ","))
		}
	}
	for _, c := range n.Chunks {
		if x := c.Positions; x != nil {
			fmt.Fprintf(&b, "; %s(%s)=", x.Tensor, strings.Join(x.Vars, ","))
		} else {
			fmt.Fprintf(&b, "; %s=", c.Var)
		}
		for k, d := range c.Digits {
			if k > 0 {
				b.WriteString(".")
			}
			b.WriteString(n.Loops[d.Loop].Var)
			for _, p := range d.Plus {
				b.WriteString("+" + n.Loops[p].Var)
			}
			fmt.Fprintf(&b, "%%%d", d.N)
		}
		if c.Positions != nil {
			fmt.Fprint(&b, c.Positions.Cuts)
			continue
		}
		fmt.Fprint(&b, c.Cuts)
	}
	if n.Scheduled != (len(n.Leaf) > 0) {
		fmt.Fprintf(&b, "; scheduled %v", n.Scheduled)
	}
	if n.Scheduled {
		fmt.Fprintf(&b, "; %s", strings.Join(n.Leaf, " "))
	}
	return b.String()
}

const (
	square = "i:8 j:8 k:8"
	matrix = "A B C"
	tiles  = "distribute({i,j}, {io,jo}, {ii,ji}, M), "
	stored = "B(i,j):ds D(i,j,k):sss"
)

// algorithms are the algorithms of DISTAL (2022), figure 12.
var algorithms = []struct{ name, machine, commands, want string }{
	{"Cannon", "2x2", tiles +
		"divide(k, ko, ki, M.x), reorder(ko, ii, ji, ki), rotate(ko, {io, jo}, kos), communicate(A, jo), communicate({B, C}, kos)",
		"io:2@0 jo:2@1[A] kos:2[B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=kos+io+jo%2[0 4 8]"},
	{"PUMMA", "2x2", tiles +
		"divide(k, ko, ki, M.x), reorder(ko, ii, ji, ki), rotate(ko, {io}, kos), communicate(A, jo), communicate({B, C}, kos)",
		"io:2@0 jo:2@1[A] kos:2[B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=kos+io%2[0 4 8]"},
	{"SUMMA", "2x2", tiles +
		"split(k, ko, ki, 3), reorder(ko, ii, ji, ki), communicate(A, jo), communicate({B, C}, ko)",
		"io:2@0 jo:2@1[A] ko:3[B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=ko%3[0 3 6 8]"},
	{"Johnson", "2x2x2", "distribute({i,j,k}, {io,jo,ko}, {ii,ji,ki}, M), communicate({A,B,C}, ko)",
		"io:2@0 jo:2@1 ko:2@2[A,B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=ko%2[0 4 8]"},
	{"2.5D", "2x2x2",
		"distribute({i,j,k}, {io,jo,ko}, {ii,ji,ki}, M), divide(ki, kio, kii, 2), reorder(kio, ii, ji, kii), rotate(kio, {io,jo}, kios), communicate(A, jo), communicate({B,C}, kios)",
		"io:2@0 jo:2@1[A] ko:2@2 kios:2[B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=ko%2.kios+io+jo%2[0 2 4 6 8]"},
	{"COSMA", "2x2x2",
		"distribute({i,j,k}, {io,jo,ko}, {ii,ji,ki}, M), divide(ki, kio, kii, 3), reorder(kio, ii, ji, kii), communicate(A, ko), communicate({B,C}, kio)",
		"io:2@0 jo:2@1 ko:2@2[A] kio:3[B,C]; i=io%2[0 4 8]; j=jo%2[0 4 8]; k=ko%2.kio%3[0 1 2 4 5 6 8]"},
}

func TestAlgorithms(t *testing.T) {
	for _, c := range algorithms {
		n, err := problem{c.machine, square, matrix, ""}.peel(t, c.commands)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := text(n); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestPeel(t *testing.T) {
	for _, c := range []struct {
		problem
		commands, want string
	}{
		// Hierarchies: the loops of the inner grid are inside the loops of the outer grid, and
		// outside other loops.
		{problem{"nodes=2;gpus=2", "i:9", "A", ""},
			"distribute({i},{io},{ii},M.nodes), distribute({ii},{im},{il},M.gpus)",
			"io:2@0 im:2@1; i=io%2.im%2[0 2 4 6 9]"},
		{problem{"nodes=2;gpus=3", square, matrix, ""},
			"distribute(i,io,ii,M.nodes), divide(k,ko,ki,2), reorder(ko,ii,j,ki), communicate(B,ko), distribute(ii,im,il,M.gpus)",
			"io:2@0 im:3@1 ko:2[B]; i=io%2.im%3[0 1 2 4 5 6 8]; k=ko%2[0 4 8]"},
		{problem{"nodes=2;gpus=2", "i:4 j:4", "", ""}, "distribute({i,j},{io,jo},{ii,ji},M)",
			"io:2@0 jo:2@1; i=io%2[0 2 4]; j=jo%2[0 2 4]"},
		{problem{"nodes=2;gpus=2", "i:4", "", ""}, "distribute(i,io,ii,M.gpus)", "io:2@1; i=io%2[0 2 4]"},
		{problem{"nodes=3", "i:4", "", ""}, "distribute(i,io,ii,M.nodes)", "io:3@0; i=io%3[0 1 2 4]"},
		// Machines with more dimensions than loops, and with fewer points than iterations.
		{problem{"2x2", "i:4 j:4", "", ""}, "distribute(i,io,ii,M)", "io:2@0; i=io%2[0 2 4]"},
		{problem{"2", "i:4 j:4", "", ""}, "divide(i,io,ii,3), distribute(io)", "io:3@0; i=io%3[0 1 2 4]"},
		// Sizes that are not multiples of the number of chunks, or are smaller than it.
		{problem{"3", "i:10", "", ""}, "divide(i,io,ii,M.x), distribute(io)", "io:3@0; i=io%3[0 3 6 10]"},
		{problem{"4", "i:2", "", ""}, "divide(i,io,ii,M.0), distribute(io)", "io:4@0; i=io%4[0 0 1 1 2]"},
		{problem{"2", "i:0", "", ""}, "split(i,io,ii,3), distribute(io)", "io:1@0; i=io%1[0 0]"},
		{problem{"2", "i:0", "", ""}, "divide(i,io,ii,2), distribute(io)", "io:2@0; i=io%2[0 0 0]"},
		// Cuts of cuts: the largest chunk determines the number of tiles, and the last tile is
		// shorter.
		{problem{"2", "i:9", "", ""},
			"divide(i,io,ii,2), split(ii,a,b,2), distribute(io), communicate(B,a)",
			"io:2@0 a:3[B]; i=io%2.a%3[0 2 4 4 6 8 9]"},
		{problem{"2", "i:9", "", ""},
			"split(i,io,ii,4), divide(ii,a,b,2), distribute(a), communicate(B,io), reorder(a,io)",
			"a:2@0 io:3[B]; i=io%3.a%2[0 2 4 6 8 8 9]"},
		// Single coordinates.
		{problem{"2", "i:3 j:2", "x", ""}, "distribute(i)", "i:3@0; i=i%3[0 1 2 3]"},
		{problem{"2x2", "i:3 j:2", "x", ""}, "distribute({i,j})",
			"i:3@0 j:2@1; i=i%3[0 1 2 3]; j=j%2[0 1 2]"},
		{problem{"2", "i:5 j:2", "B", ""}, "divide(i,io,ii,2), distribute(io), communicate(B,ii)",
			"io:2@0 ii:3[B]; i=io%2.ii%3[0 1 2 2 3 4 5]"},
		// A loop around a distributed one runs in order.
		{problem{"2", "i:4 j:4", "", ""},
			"divide(i,io,ii,2), divide(j,jo,ji,2), reorder(io,jo,ii,ji), distribute(jo)",
			"io:2 jo:2@0; i=io%2[0 2 4]; j=jo%2[0 2 4]"},
		{problem{"2", square, "", ""}, "distribute({j},{jo},{ji},M)", "jo:2@0; j=jo%2[0 4 8]"},
		// A distributed loop that is rotated, and a loop that is rotated by a rotated loop.
		{problem{"2x2", "i:4 j:4", "", ""},
			"distribute({i,j},{io,jo},{ii,ji},M), rotate(jo,{io},r), communicate(B,r)",
			"io:2@0 r:2@1[B]; i=io%2[0 2 4]; j=r+io%2[0 2 4]"},
		{problem{"2", "i:4 j:4", "", ""},
			"divide(j,jo,ji,2), distribute(i,io,ii,M), divide(ii,a,b,2), reorder(a,jo,b,ji), rotate(a,{io},r), rotate(jo,{r},s)",
			"io:2@0 r:2 s:2; i=io%2.r+io%2[0 1 2 3 4]; j=s+r%2[0 2 4]"},
		{problem{"2", "i:4 j:4", "B", ""},
			"divide(j,jo,ji,2), communicate(B,jo), reorder(jo,i), distribute(i,io,ii,M), rotate(jo,{io},r)",
			"io:2@0 r:2[B]; i=io%2[0 2 4]; j=r+io%2[0 2 4]"},
		// Positions: the leaf has loops over coordinates if its commands do not refer to positions.
		{problem{"4", "i:8 j:8", "", stored},
			"fuse(i,j,f), pos(f,p,B), divide(p,po,pi,M.x), distribute(po), communicate({A,B},po)",
			"po:4@0[A,B]; B(i,j)=po%4[{4 1}]"},
		{problem{"4", "i:8 j:8", "", stored},
			"fuse(i,j,f), pos(f,p,B), distribute({p},{po},{pi},M), parallelize(pi,CPUThread,Atomics)",
			"po:4@0; B(i,j)=po%4[{4 1}]; fuse(i,j,f) pos(f,p,B) parallelize(p,CPUThread,Atomics)"},
		{problem{"4", "i:8 j:8", "", stored},
			"fuse(i,j,f), pos(f,p,B), divide(p,po,pi,M.x), distribute(po), split(pi,pa,pb,16), parallelize(pa,CPUThread,Atomics)",
			"po:4@0; B(i,j)=po%4[{4 1}]; fuse(i,j,f) pos(f,p,B) split(p,pa,pb,16) parallelize(pa,CPUThread,Atomics)"},
		{problem{"4", "i:8 j:8 k:4", "", stored},
			"fuse(i,j,f), pos(f,p,B), divide(p,po,pi,M.x), distribute(po), parallelize(k,CPUVector,IgnoreRaces)",
			"po:4@0; B(i,j)=po%4[{4 1}]; parallelize(k,CPUVector,IgnoreRaces)"},
		{problem{"2x2", "i:8 j:8", "", stored},
			"divide(i,io,ii,M.x), pos(j,p,B), divide(p,po,pi,M.y), distribute({io,po})",
			"io:2@0 po:2@1; B(i,j)=io%2.po%2[{2 -1} {2 1}]"},
		{problem{"2x2", "i:8 j:8", "", stored},
			"divide(i,io,ii,M.x), fuse(ii,j,f), pos(f,p,B(i, j)), divide(p,po,pi,M.y), distribute({io,po})",
			"io:2@0 po:2@1; B(i,j)=io%2.po%2[{2 -1} {2 1}]"},
		{problem{"nodes=2;gpus=3", "i:8 j:8", "", stored},
			"fuse(i,j,f), pos(f,p,B), distribute(p,po,pi,M.nodes), distribute(pi,pm,pl,M.gpus)",
			"po:2@0 pm:3@1; B(i,j)=po%2.pm%3[{2 1} {3 1}]"},
		{problem{"4", "i:8 j:8 k:4", "", stored}, "pos(i,p,D), divide(p,po,pi,M.x), distribute(po)",
			"po:4@0; D(i)=po%4[{4 0}]"},
		{problem{"2x2", "i:8 j:8 k:4", "", stored},
			"fuse(i,j,f), pos(f,p,D), divide(p,po,pi,M.x), divide(k,ko,ki,M.y), reorder(po,ko,pi,ki), distribute({po,ko}), rotate(ko,{po},r)",
			"po:2@0 r:2@1; k=r+po%2[0 2 4]; D(i,j)=po%2[{2 1}]"},
	} {
		c.problem.tensors = "A B"
		n, err := c.problem.peel(t, c.commands)
		if err != nil {
			t.Errorf("%s: %v", c.commands, err)
			continue
		}
		if got := text(n); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.commands, got, c.want)
		}
	}
}

func TestUndistributed(t *testing.T) {
	for _, commands := range []string{"", "split(i,i0,i1,4), parallelize(i0,CPUThread,NoRaces)",
		"communicate(A,i)"} {
		if n, err := (problem{"2", square, matrix, ""}).peel(t, commands); n != nil || err != nil {
			t.Errorf("%s: got %v, %v, want nothing", commands, n, err)
		}
	}
}

func TestLeaf(t *testing.T) {
	for _, c := range []struct{ commands, want string }{
		{"parallelize(ii,CPUThread,NoRaces)", "parallelize(i,CPUThread,NoRaces)"},
		{"reorder(ii,k,ji)", "reorder(i,k,j)"},
		{"reorder(ii,ji,k)", "reorder(i,j,k)"}, // the existing order, because the user asked for it
		{"reorder(jo,io)", ""},                 // peeled loops only
		{"reorder(jo,io,ii,ji)", ""},           // the order of the leaf's loops does not change
		{"reorder(io,jo,k,ii,ji)", "reorder(k,i,j)"},
		{"divide(k,ko,ki,4), reorder(ko,ii,ji,ki), reorder(ii,ki,ji), communicate(B,ko)",
			"reorder(i,k,j)"},
		// ko is swapped with ii. This does not change the order of the leaf's loops, even if later
		// commands name them.
		{"divide(k,ko,ki,4), reorder(ko,ii), communicate(B,ko)", ""},
		{"divide(k,ko,ki,4), reorder(ko,ii), reorder(io,ii,ji), communicate(B,ko)", ""},
		{"divide(k,ko,ki,4), reorder(ko,ki,ii), communicate(B,ko)", "reorder(k,i)"},
		{"divide(k,ko,ki,4), reorder(ko,ki,ii), reorder(jo,io,ki,ji), communicate(B,ko)", "reorder(k,i)"},
		{"divide(k,ko,ki,4), reorder(ki,ji), reorder(ko,ii), reorder(io,ki,ii), communicate(B,ko)",
			"reorder(k,j) reorder(k,i)"},
		{
			"divide(k,ko,ki,4), split(ki,a,b,2), reorder(ko,ii), reorder(io,ii,a), fuse(a,b,f), reorder(jo,ji,f), communicate(B,ko)", "split(k,a,b,2) fuse(a,b,f)"},
		{"split(ii,i0,i1,M.y), unroll(i1,3), parallelize(i0,CPUThread,NoRaces)",
			"split(i,i0,i1,3) unroll(i1,3) parallelize(i0,CPUThread,NoRaces)"},
		{"fuse(ii,ji,f), split(f,f0,f1,32)", "fuse(i,j,f) split(f,f0,f1,32)"},
		{"pos(k,kp,B(i,k)), split(kp,p0,p1,8)", "pos(k,kp,B(i,k)) split(kp,p0,p1,8)"},
		{"precompute(B(i,k)*C(k,j), {ji}, {ji}, w), vectorize(ji)",
			"precompute(B(i,k)*C(k,j),{j},{j},w) vectorize(j)"},
		{"precompute(2.5*ji_1(ji)*1e3ji, ji, jw, w), split(jw,a,b,2), reorder(a,b)",
			"precompute(2.5*ji_1(j)*1e3ji,j,jw,w) split(jw,a,b,2) reorder(a,b)"},
		{"precompute(B(i,k)*C(k,j), {}, {}), unroll(ji[2],M.x)",
			"precompute(B(i,k)*C(k,j),{},{}) unroll(j[2],2)"},
		{"bound(ii,ib,M.x,MaxExact), longrows(ib,B,9)", "bound(i,ib,2,MaxExact) longrows(ib,B,9)"},
		{"split(k,ko,ki,2), coord(ko,kc), assemble(A,Insert)",
			"split(k,ko,ki,2) coord(ko,kc) assemble(A,Insert)"},
	} {
		n, err := problem{"2x3", square, matrix, ""}.peel(t, tiles+c.commands)
		if err != nil {
			t.Errorf("%s: %v", c.commands, err)
			continue
		}
		if got := strings.Join(n.Leaf, " "); got != c.want || n.Scheduled != (got != "") {
			t.Errorf("%s: got %s, scheduled %v, want %s", c.commands, got, n.Scheduled, c.want)
			continue
		}
		// the place of the command, with arguments if the user wrote any
		for k, w := range n.Written {
			name, args, _ := strings.Cut(n.Leaf[k], "(")
			if !strings.HasPrefix(w.Text[w.Pos:w.End], name+"(") ||
				!strings.HasSuffix(w.Text[w.Pos:w.End], ")") || w.Args != nil && args == "" {
				t.Errorf("%s: %s was written as %s", c.commands, n.Leaf[k], w.Text[w.Pos:w.End])
			}
		}
		if len(n.Written) != len(n.Leaf) {
			t.Errorf("%s: %d commands of the leaf, and %d places", c.commands, len(n.Leaf), len(n.Written))
		}
		if list, err := schedule.Parse(n.Leaf); err != nil ||
			slices.ContainsFunc(list, func(c *schedule.Command) bool { return c.Check() != nil }) {
			t.Errorf("%s: the leaf's schedule %s is none: %v", c.commands, n.Leaf, err)
		}
	}
}

// TestLeafWords checks that words of the language and names in quotes are unchanged, even if
// variables have the same name.
func TestLeafWords(t *testing.T) {
	const cut = "distribute({i,j}, {io,jo}, {CPUThread,Hash}, M), "
	for commands, want := range map[string]string{
		"parallelize(CPUThread,CPUThread,NoRaces)":                        "parallelize(i,CPUThread,NoRaces)",
		"precompute(B(i,k)*C(k,j), {Hash}, {Hash}, w), workspace(w,Hash)": "precompute(B(i,k)*C(k,j),{j},{j},w) workspace(w,Hash)",
		"substitute({CPUThread,Hash,k}, \"Hash.c:CPUThread\")":            "substitute({i,j,k},\"Hash.c:CPUThread\")",
	} {
		n, err := problem{"2x3", square, matrix, ""}.peel(t, cut+commands)
		if err != nil {
			t.Errorf("%s: %v", commands, err)
		} else if got := strings.Join(n.Leaf, " "); got != want {
			t.Errorf("%s: got %s, want %s", commands, got, want)
		}
	}
}
