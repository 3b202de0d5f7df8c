package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/interp"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
)

// This file tests a table of commands by level kinds. Each line is a schedule of a statement, and
// each column is a format of the statement's operand A. A cell is '.' if the schedule is accepted
// and gives the right result. Otherwise it is the letter of the reason for the refusal.

// reasons maps the letters of refusals to a part of their messages.
var reasons = map[byte]string{
	'g': "also visits coordinates that not all of",
	'h': "keeps repeated coordinates there",
	'q': "is padded there",
	'o': "must be outside the one over j",
	'd': "is dense and has no positions",
	'v': "stores repeated coordinates, which must be visited in order: the loop over tiles must be outside the loop inside a tile",
	'k': "the loops that fill a workspace must be divided like the loops that read it, except over a tile of positions: A(i,j) stores repeated coordinates",
	'p': "is padded, so its positions are not in order",
	'w': "is padded, so its positions cannot be visited together with the levels below",
	'n': "must be directly inside the loop over",
	'r': "steps over repeated coordinates of",
	'b': "and all coordinates at once, so it cannot be parallel",
	'm': "steps through several operands at once",
	'f': ") is appended to in order, so the fused loop over i, j cannot be split into tiles",
	'e': "must be inside the loops over these variables",
	'a': ") is appended to in order; want CPUThread with NoRaces, where each thread builds its own part",
	't': "use Temporary, where each thread has its own workspace",
}

// kindTables has a table for each statement: the formats of its tensors other than A, the formats
// of A (columns), and the cells and the schedule of each line.
var kindTables = []struct{ stmt, formats, columns, lines string }{
	{"y(i) = A(i,j) * x(j)", "y:d x:d", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
.................... split(i,i0,i1,3)
.................... split(j,j0,j1,3)
.................... split(i,i0,i1,3),split(j,j0,j1,2),reorder(i0,j0,i1,j1)
.................... divide(i,i0,i1,3)
.................... divide(j,j0,j1,3)
.................... fuse(i,j,f)
.................... fuse(i,j,f),split(f,f0,f1,7)
.................... fuse(i,j,f),divide(f,f0,f1,4)
.................... fuse(i,j,f),split(f,f0,f1,7),reorder(f1,f0)
.ooo.ooooo.ooooo.ooo reorder(j,i)
.................... bound(i,ib,9,MaxExact),split(ib,i0,i1,3)
.................... bound(j,jb,20,MaxConstraint)
.................... unroll(i,2)
.................... unroll(j,2)
.................... mergeby(j,Gallop)
.................... assemble(y,Insert)
dddd............pppp pos(i,p,A)
dddd............pppp pos(i,p,A),split(p,p0,p1,2)
dddd............pppp pos(i,p,A),split(p,p0,p1,2),coord(p1,c),split(c,c0,c1,2)
d..pd....pd....pd..p pos(j,p,A)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,2)
d.vpd.v.vpd.v.vpd.vp pos(j,p,A),divide(p,p0,p1,2),reorder(p1,p0)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,3),coord(p1,c),split(c,c0,c1,2)
d..pd....pd....pd..p split(j,j0,j1,4),pos(j1,p,A),split(p,p0,p1,2)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),divide(p,p0,p1,3),unroll(p1,2)
d..pd....pd....pdwwp fuse(i,j,f),split(f,f0,f1,11),pos(f1,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp split(i,i0,i1,4),fuse(i1,j,f),pos(f,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp split(i,i0,i1,4),fuse(i1,j,f),split(f,f0,f1,17),pos(f1,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Atomics)
d..pd....pd....pdwwp split(i,i0,i1,4),fuse(i1,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(i0,CPUThread,NoRaces)
ddddd....pd....ppppp pos(i,p,A),split(p,p0,p1,2),coord(p1,c),fuse(c,j,f),pos(f,q,A),split(q,q0,q1,3)
.................... split(i,i0,i1,4),fuse(i1,j,f),split(f,f0,f1,17)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,4),coord(p1,c),split(c,c0,c1,5)
.................... precompute(A(i,j)*x(j),j,jw,W)
.................... precompute(A(i,j)*x(j),{},{},W)
.................... precompute(x(j),j,j,W)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),precompute(A(i,j)*x(j),p1,pw,W)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),precompute(A(i,j)*x(j),p1,pw,W),unroll(pw,3),parallelize(p0,CPUThread,Atomics)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,7),divide(p1,p2,p3,3),precompute(A(i,j),p3,p3,W),unroll(p3)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),precompute(A(i,j)*x(j),p1,pw,W),unroll(p1),parallelize(p0,CPUThread,Atomics)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,5),precompute(A(i,j),p1,pw,W),unroll(p1),parallelize(p0,CPUThread,Temporary)
d.kpd.k.kpd.k.kpdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,7),precompute(A(i,j)*x(j),p1,pw,W),split(pw,q0,q1,2),split(p1,p2,p3,3),parallelize(p0,CPUThread,Atomics)
d.kpd.k.kpd.k.kpd.kp pos(j,p,A),split(p,p0,p1,9),precompute(A(i,j)*x(j),p1,pw,W),split(pw,q0,q1,4),reorder(q1,q0),parallelize(q0,CPUVector,NoRaces)
d.kpd.k.kpd.k.kpd.kp pos(j,p,A),split(p,p0,p1,9),precompute(A(i,j)*x(j),p1,pw,W),divide(p1,p2,p3,4),unroll(p3)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,2),precompute(A(i,j)*x(j),p1,pw,W),unroll(p1,2)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,2),precompute(A(i,j)*x(j),p1,pw,W),unroll(pw,2)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,100),precompute(A(i,j)*x(j),p1,pw,W),parallelize(p1,CPUVector,ParallelReduction)
.............rrr.... parallelize(i,CPUThread,NoRaces)
.................... split(i,i0,i1,3),parallelize(i0,CPUThread,NoRaces,2)
..r...r.r...r.r...r. parallelize(j,CPUThread,ParallelReduction)
..r...r.r...r.r...r. parallelize(j,CPUThread,Atomics)
..r...r.r...r.r...r. parallelize(j,CPUThread,Temporary)
..r...r.r...r.r...r. parallelize(j,CPUVector,ParallelReduction)
d.rpd.r.rpd.r.rpd.rp pos(j,p,A),split(p,p0,p1,2),parallelize(p1,CPUVector,ParallelReduction)
.................... fuse(i,j,f),split(f,f0,f1,7),parallelize(f0,CPUThread,Atomics)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Atomics)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Temporary)
d..pd....pd....pdwwp fuse(i,j,f),split(f,f0,f1,11),pos(f1,p,A),split(p,p0,p1,3),parallelize(f0,CPUThread,Atomics)
..r...r.r...rrrr..r. parallelize(i,CPUThread,NoRaces),parallelize(j,CPUVector,ParallelReduction)
`},
	{"y(i) = A(i,j) + B(i,j)", "y:d B:ds", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
.................... split(i,i0,i1,3)
.................... split(j,j0,j1,3)
.................... fuse(i,j,f),split(f,f0,f1,7)
dddd............pppp pos(i,p,A),split(p,p0,p1,2)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,2)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,3),coord(p1,c),split(c,c0,c1,2)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp fuse(i,j,f),split(f,f0,f1,11),pos(f1,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp split(i,i0,i1,4),fuse(i1,j,f),pos(f,p,A),split(p,p0,p1,3)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,B),split(p,p0,p1,4),coord(p1,c),pos(c,q,A),split(q,q0,q1,2)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Atomics)
bmmmbmmmmmbmmmmmbmmm parallelize(j,CPUThread,ParallelReduction)
.................... split(j,j0,j1,3),parallelize(j0,CPUThread,ParallelReduction)
....bbbbbbbbbbbbbbbb parallelize(i,CPUThread,NoRaces)
.................... precompute(A(i,j),j,j,W)
`},
	{"y(i) += A(i,j) * x(j) - z(i)", "y:d x:d z:d", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
.................... fuse(i,j,f),split(f,f0,f1,7)
.................... split(i,i0,i1,4),fuse(i1,j,f),parallelize(i0,CPUThread,NoRaces),parallelize(i,CPUThread,NoRaces)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Atomics),parallelize(i,CPUVector,NoRaces)
d..pd....pd....pdwwp split(i,i0,i1,4),fuse(i1,j,f),pos(f,p,A),split(p,p0,p1,3)
`},
	{"C(i,j) = A(i,j) + B(i,j)", "C:ss B:ss", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
.................... split(i,i0,i1,3)
.................... split(j,j0,j1,3)
.................... fuse(i,j,f)
d..pd....pd....pdwwp fuse(i,j,f),pos(f,p,A)
dffpdffffpdffffpdwwp fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3)
dddd............pppp pos(i,p,A),split(p,p0,p1,2)
d..pd....pd....pd..p pos(j,p,A),split(p,p0,p1,2)
eeeeeeeeeeeeeeeeeeee split(j,j0,j1,3),reorder(j0,i,j1)
.................... assemble(C,Insert)
.................... parallelize(i,CPUThread,NoRaces)
.................... split(i,i0,i1,3),parallelize(i0,CPUThread,NoRaces)
aaaaaaaaaaaaaaaaaaaa split(i,i0,i1,3),parallelize(i0,CPUThread,Temporary)
dddd............pppp pos(i,p,A),split(p,p0,p1,2),parallelize(p0,CPUThread,NoRaces)
.................... unroll(j,2)
gggggggggggggggggggg mergeby(i,Gallop)
`},
	{"C(i,j) = A(i,j) * B(i,j)", "C:dd B:ss", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
..hq..h.hq..hhhhqqqq mergeby(i,Gallop),mergeby(j,Gallop)
..hq..h.hq..h.hq..hq mergeby(j,Gallop),split(j,j0,j1,3)
..hq..h.hq..hhhhqqqq mergeby(i,Gallop),split(i,i0,i1,2),mergeby(j,Gallop),split(j,j0,j1,3),reorder(i0,j0,i1,j1)
d.hpd.h.hpd.h.hpd.hp mergeby(j,Gallop),pos(j,p,A),split(p,p0,p1,3)
....mmmmmmmmmmmmmmmm parallelize(i,CPUThread,NoRaces),split(j,j0,j1,3)
`},
	{"y(j) = A(i,j) * z(i)", "y:s z:d", "dd ds du dp sd ss su sq sc sp ud us uu uq uc up pd ps pu pp", `
.................... split(i,i0,i1,3)
dddd............pppp pos(i,p,A),split(p,p0,p1,2)
.................... parallelize(i,CPUThread,Temporary)
tttttttttttttttttttt parallelize(i,CPUThread,Atomics)
.................... split(i,i0,i1,3),parallelize(i0,CPUThread,Temporary)
dddd............pppp pos(i,p,A),split(p,p0,p1,2),parallelize(p0,CPUThread,Temporary)
`},
	{"y(i) = A(i,j,k) * x(k)", "y:d x:d", "ddd dds dss dsd sds sss ssd suq usq uqq ucq dsp dps pss uus", `
dddd.......ddp. pos(i,p,A),split(p,p0,p1,2)
dd..d.......p.. pos(j,p,A),split(p,p0,p1,2)
d..d..d....p... pos(k,p,A),split(p,p0,p1,2)
nd..d.......pw. fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3)
n..d..d....pw.. fuse(j,k,f),pos(f,p,A),split(p,p0,p1,3)
n.............. fuse(i,j,f),fuse(f,k,g)
nd..d.......pw. split(i,i0,i1,2),fuse(i1,j,f),pos(f,p,A),split(p,p0,p1,3)
n..d..d....pww. fuse(i,j,f),split(f,f0,f1,7),fuse(f1,k,g),pos(g,p,A),split(p,p0,p1,5)
n.............. fuse(i,j,f),fuse(f,k,g),split(g,g0,g1,25)
n..d..d....pww. fuse(i,j,f),fuse(f,k,g),pos(g,p,A),split(p,p0,p1,5)
n..d..d....pww. fuse(i,j,f),fuse(f,k,g),split(g,g0,g1,50),pos(g1,p,A),split(p,p0,p1,5)
n..d..d....pww. fuse(i,j,f),fuse(f,k,g),pos(g,p,A),split(p,p0,p1,9),coord(p1,c),split(c,c0,c1,20)
n..d..d....pww. fuse(i,j,f),fuse(f,k,g),pos(g,p,A),split(p,p0,p1,5),parallelize(p0,CPUThread,Atomics)
nd..d.......pw. fuse(i,j,f),pos(f,p,A),split(p,p0,p1,3),parallelize(p0,CPUThread,Temporary)
............... precompute(A(i,j,k)*x(k),k,k,W)
n..d..d....pw.. fuse(j,k,f),pos(f,p,A),split(p,p0,p1,3),precompute(A(i,j,k)*x(k),p1,pw,W)
............... split(i,i0,i1,2),split(k,k0,k1,3),parallelize(i0,CPUThread,NoRaces)
`},
	{"C(j,k) = A(i,j,k)", "C:ss", "ddd dds dss dsd sds sss ssd suq usq uqq ucq dsp dps pss uus", `
............... split(i,i0,i1,2)
............... parallelize(i,CPUThread,Temporary)
ttttttttttttttt parallelize(i,CPUThread,Atomics)
............... split(i,i0,i1,2),parallelize(i0,CPUThread,Temporary)
dddd.......ddp. pos(i,p,A),split(p,p0,p1,2),parallelize(p0,CPUThread,Temporary)
`},
}

// kindCase returns the case of a cell.
func kindCase(stmt, formats, a string, seed uint64) (*Case, error) {
	s, err := notation.Parse(stmt)
	if err != nil {
		return nil, err
	}
	form := map[string]string{"A": a}
	for _, f := range strings.Fields(formats) {
		name, levels, _ := strings.Cut(f, ":")
		form[name] = levels
	}
	g := &generator{rand: Rand(11, seed), o: Options{Exact: true}.withDefaults()}
	sizes := map[string]int64{"i": 9, "j": 12, "k": 7}
	c := &Case{Stmt: stmt, Variant: g.rand.Uint64N(1 << 20)}
	n := notation.Normalize(s)
	for k, u := range append([]*notation.Access{n.LHS}, n.Accesses()...) {
		f, err := notation.ParseFormat(form[u.Name])
		if err != nil {
			return nil, err
		}
		t := &Tensor{Name: u.Name, Format: f, Type: tensor.Float64, Input: k > 0}
		for _, v := range u.Vars {
			t.Dims = append(t.Dims, sizes[v])
		}
		if t.Input {
			g.entries(t, style{})
		}
		c.Tensors = append(c.Tensors, t)
	}
	return c, nil
}

// eachKind calls f with each cell of the table: its case, a description, and its letter.
func eachKind(t *testing.T, f func(c *Case, what string, cell byte)) {
	for _, tab := range kindTables {
		columns := strings.Fields(tab.columns)
		for _, line := range strings.Split(strings.TrimSpace(tab.lines), "\n") {
			cells, schedule, _ := strings.Cut(line, " ")
			if len(cells) != len(columns) {
				t.Fatalf("%s: %d cells for %d formats", line, len(cells), len(columns))
			}
			for k, a := range columns {
				c, err := kindCase(tab.stmt, tab.formats, a, uint64(k))
				if err != nil {
					t.Fatal(err)
				}
				c.Schedule = []string{schedule}
				f(c, fmt.Sprintf("%s -f=A:%s -s=%s", tab.stmt, a, schedule), cells[k])
			}
		}
	}
}

// TestKinds tests the table with the interpreter, which also finds races.
func TestKinds(t *testing.T) {
	t.Parallel()
	n := 0
	eachKind(t, func(c *Case, what string, cell byte) {
		n++
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		out, err := runKind(p, 1+n%3)
		if cell != '.' {
			if !isRefusal(err) || reasons[cell] == "" || !strings.Contains(err.Error(), reasons[cell]) {
				t.Errorf("%s: got %v, want a refusal with %q", what, err, reasons[cell])
			}
			return
		}
		w, werr := p.Expect(context.Background())
		if werr != nil {
			t.Fatal(werr)
		}
		if err := w.Compare(out, err); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	})
}

// kindsInC sets how many accepted cells are compiled if -oracle.n is not set: one of kindsInC
// cells.
const kindsInC = 48

// TestKindsInC compiles some cells of the table, or all with -oracle.n, and calls the leaves on 1,
// 2 and 4 threads.
func TestKindsInC(t *testing.T) {
	t.Parallel()
	c, err := NewC(os.Getenv, "-O1")
	if errors.Is(err, cc.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := scheduledC{c, drawer{}}
	n := 0
	var batch []*Prepared
	run := func() {
		for k, f := range e.batch(context.Background(), batch) {
			out, err := f(context.Background())
			w, werr := batch[k].Expect(context.Background())
			if werr != nil {
				t.Fatal(werr)
			}
			if err := w.Compare(out, err); err != nil {
				t.Errorf("%s -f=A:%s: %v", batch[k].Case.Stmt, batch[k].Case.Tensor("A").Format, err)
			}
		}
		batch = nil
	}
	eachKind(t, func(c *Case, what string, cell byte) {
		if n++; cell != '.' || *nFlag == 0 && n%kindsInC != 0 {
			return
		}
		p, err := c.Prepare()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if batch = append(batch, p); len(batch) == 64 {
			run()
		}
	})
	run()
}

// runKind compiles a case with its schedule and interprets it.
func runKind(p *Prepared, threads int) (*Output, error) {
	c, err := compileAs(p, "leaf", func(r *codegen.Request) error {
		r.Ask.Schedule = p.Case.Schedule
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer c.close()
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		return interpret(prog, args, bounds,
			interp.Env{Threads: threads, Seed: p.Case.Variant, Steps: 2e7},
			c.unit.Result.Format.AllDense() || c.unit.Result.Shares >= 0)
	})
	return out, err
}
