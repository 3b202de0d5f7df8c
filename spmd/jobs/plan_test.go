package jobs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"distaff/spmd"
	"distaff/spmd/comm"
	"distaff/spmd/stats"
)

// fileStats is the part of a job file's statistics that tests read.
type fileStats struct {
	spmd.Stats
	Statements []struct {
		Line               int
		Runs               int64
		Schedule, Compiler string
		Comm               stats.Comm
	}
}

// TestPlannedRows checks that a plan calls its counts estimates if it cannot know where pieces of
// rows begin in a compressed level.
func TestPlannedRows(t *testing.T) {
	j := job(t, t.TempDir(), `machine M(3)
tensor A(9, 4): ss
tensor B(9, 4): ss from uniform:9:int
A(i,j) = B(i,j) * 2
place A (x,y) -> M(~x)
`, nil)
	j.Ranks = 3
	p, err := j.Plan(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	last := p.Items[len(p.Items)-1]
	if s := j.stats(t); slices.Max(s.Comm.BytesSent) == 0 {
		t.Fatal("nothing is sent")
	}
	if !p.Estimated || len(last.Moves) != 1 || last.Moves[0].Exact {
		t.Errorf("got moves %+v (estimated: %v), want them to be estimates", last.Moves, p.Estimated)
	}
}

// stats runs a job and reads its statistics.
func (w *told) stats(t *testing.T) *fileStats {
	t.Helper()
	w.StatsFile = filepath.Join(t.TempDir(), "stats.json")
	w.run(t)
	text, err := os.ReadFile(w.StatsFile)
	if err != nil {
		t.Fatal(err)
	}
	s := &fileStats{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPlanned checks that a plan counts the bytes and messages of a run, for each statement and in
// all, including the transfers between statements.
func TestPlanned(t *testing.T) {
	for name, text := range map[string]string{
		"moved between": `tensor A(12, 10): dd from dense:int
tensor x(10): d from dense:int
y(i) = A(i,j) * x(j)
z(j) = A(i,j) * y(i)
w(j) = z(j) * x(j)
s = w(j)
`,
		"placed": `tensor B(10, 12): dd place (i,j) -> M(j) from dense:int
tensor C(12, 10): dd place (i,j) -> M(j)
tensor E(12, 10): dd place (i,j) -> M(*) from dense:int
C(i,j) = E(i,k) * B(k,l) * E(l,j)
place C (i,j) -> M(j)
place C (i,j) -> M(*)
D(i,j) = C(i,j) + E(i,j)
place B (i,j) -> M(i)
print B
`,
		"in repeats": `tensor A(12, 10): dd from dense:int
tensor x(10): d type float64 from dense:int
repeat 5 {
  y(i) = A(i,j) * x(j)
  z(j) = A(i,j) * y(i)
  x(j) = z(j) / 2
  repeat 3 {
    y(i) = y(i) + A(i,j) * x(j)
    s += y(i)
  }
}
`,
		"scheduled": `tensor A(8, 8): dd from dense:int
y(i) = A(i,j)
  split j:4
  extend j
  map j
B(i,j) = A(j,i) * y(i)
`,
		"fewer pieces than ranks": `tensor C(2, 2, 2): ddd:1,2,0 from dense:int
tensor A(2, 2, 2): ddd
B(k) = C(i,k,j)
repeat 3 {
  A(k,j,i) = B(j) * C(j,k,i)
}
`,
		"dense entries placed": `machine N(3)
tensor A(2, 3): dd from dense:int
place A (x,y) -> N(~(x,y))
place A (x,y) -> N(x)
s = A(i,j)
`,
		"read twice, at every rank": `tensor B(9, 9, 9): ddd from dense:int
tensor C(9, 9): dd from dense:int
tensor D(9, 9): dd from dense:int
B(j,i,k) = B(j,k,i) * C(i,k) * C(j,i)
D(j,k) = D(i,k) * C(k,j)
`,
		"once placed": `tensor A(12, 12): dd from dense:int
repeat 4 {
  place A (i,j) -> M(j)
  A(i,j) = A(i,j) / 2
}
`,
		"printed before": `tensor A(9, 7): dd from dense:int
tensor c(7): d from dense:int
print c
y(i) = A(i,j) * c(j)
`,
	} {
		t.Run(name, func(t *testing.T) {
			onRanks(t, func(t *testing.T, ranks int) {
				j := job(t, t.TempDir(), text, nil)
				j.Ranks = ranks
				p, err := j.Plan(context.Background(), 0)
				if err != nil {
					t.Fatal(err)
				}
				s := j.stats(t)
				if p.Estimated || p.AtMost || !reflect.DeepEqual(p.Comm, s.Comm) {
					t.Errorf("a plan counts %+v (estimated: %v, at most: %v), a run %+v", p.Comm, p.Estimated,
						p.AtMost, s.Comm)
				}
				for _, x := range s.Statements {
					k := slices.IndexFunc(p.Items, func(it spmd.PlannedItem) bool { return it.Line == x.Line })
					if it := p.Items[k]; it.Runs != x.Runs || !reflect.DeepEqual(it.Comm, x.Comm) {
						t.Errorf("line %d: a plan counts %+v in %d runs, a run %+v in %d", x.Line, it.Comm, it.Runs,
							x.Comm, x.Runs)
					}
				}
				if ranks > 1 && slices.Max(s.Comm.BytesSent) == 0 {
					t.Error("nothing is sent")
				}
			}, 1, 2, 3)
		})
	}
}

// TestPlannedExamples checks that every example has a plan with a line for each statement.
func TestPlannedExamples(t *testing.T) {
	for _, x := range examples {
		j, _ := example(t, x.name)
		j.Ranks = 3
		p, err := j.Plan(context.Background(), 0)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		for _, it := range p.Items {
			if it.Runs == 0 || it.Plan == nil {
				t.Errorf("%s:%d: got %d runs, plan %v", x.name, it.Line, it.Runs, it.Plan)
			}
		}
	}
}

// TestDeeplyNested checks that nested repeats are followed once for each state in which they begin.
func TestDeeplyNested(t *testing.T) {
	const depth = 60
	j := job(t, t.TempDir(),
		"tensor A(6, 6): dd from dense:int\n"+strings.Repeat("repeat 2 {\nA(i,j) = A(j,i) / 2\n",
			depth)+strings.Repeat("}\n", depth), nil)
	j.Ranks = 2
	p, err := j.Plan(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for k, it := range p.Items {
		if want := int64(1) << (k + 1); it.Runs != want {
			t.Errorf("the statement in %d repeats has %d runs, want %d", k+1, it.Runs, want)
		}
	}
}

// TestPlaced checks that a tensor is where its declaration places it, both at the beginning and
// after it was written.
func TestPlaced(t *testing.T) {
	// bytes are the bytes that the statements of a file send on two ranks.
	bytes := func(text string) (list []int64) {
		j := job(t, t.TempDir(), text, nil)
		j.Ranks = 2
		for _, s := range j.stats(t).Statements {
			list = append(list, s.Comm.BytesSent[0]+s.Comm.BytesSent[1])
		}
		return list
	}
	const use = "C(i,j) = 2 * B(i,j)\nD(i,j) = 2 * C(i,j)\n"
	// Statements cut rows. If a tensor is cut by columns, half of it must go to the other rank. If
	// it is whole at rank 0, half of it must also go to the other rank.
	for _, c := range []struct {
		b, c string
		want []int64
	}{
		{"", "", []int64{0, 0}},
		{"place (i,j) -> M(i)", "place (i,j) -> M(i)", []int64{0, 0}},
		{"place (i,j) -> M(j)", "", []int64{2 * 4 * 8, 0}},
		{"place (i,j) -> M(*)", "", []int64{8 * 8, 0}},
		{"", "place (i,j) -> M(j)", []int64{2 * 4 * 8, 2 * 4 * 8}},
	} {
		text := "tensor B(4, 4): dd " + c.b + " from dense:int\ntensor C(4, 4): dd " + c.c + "\n" + use
		if got := bytes(text); !slices.Equal(got, c.want) {
			t.Errorf("%s\nstatements send %v bytes, want %v", text, got, c.want)
		}
	}
}

// TestPlacedWrong checks that an error of a tensor that is read into its placement has the position
// of the declaration.
func TestPlacedWrong(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.tns", "1 1 2\n5 2 4\n")
	j := job(t, dir,
		"param n = 4\ntensor A(n, n): ds place (i,j) -> M(j) from \"a.tns\"\ns = A(i,j)\n", nil)
	j.Ranks = 2
	_, err := j.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "job.dst:2:1: ") ||
		!strings.Contains(err.Error(), "a.tns:2") || comm.ExitCode(err) != 3 {
		t.Errorf("got %v, exit %d", err, comm.ExitCode(err))
	}
}

// TestStats checks that the statistics of a job file contain the compiler and the schedule of each
// statement and the checksum of each input, as for a single statement.
func TestStats(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "a.tns", "1 1 2\n3 2 4\n")
	tcs := filepath.Join(dir, "a.tcs")
	one := &spmd.Job{Statement: "B(i,j) = A(i,j)", Formats: map[string]string{"A": "ds", "B": "ds"},
		Inputs:  map[string]spmd.Input{"A": spmd.File(file)},
		Outputs: []spmd.Output{{Tensor: "B", File: tcs}}}
	one.Target, one.Checksums = spmd.Interpreter, true
	want, err := one.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, dir, `tensor A(n, m): ds from "a.tns"
tensor B(n, m): ds from "a.tcs" to "a.tcs"
tensor c from 2
s = c * A(i,j)
B(i,j) = 2 * B(i,j)
  split i:2
`, nil)
		j.Ranks = ranks
		s := j.stats(t)
		if s.Compiler == "" || s.Compiler != want.Stats.Compiler || s.Schedule != "default; --split=i:2" {
			t.Errorf("got compiler %q and schedule %q", s.Compiler, s.Schedule)
		}
		for k, schedule := range []string{"default", "--split=i:2"} {
			if x := s.Statements[k]; x.Compiler != s.Compiler || x.Schedule != schedule || x.Runs != 1 ||
				len(x.Comm.BytesSent) != ranks {
				t.Errorf("got %+v, want schedule %s", x, schedule)
			}
		}
		if got := s.Inputs["A"].Checksum; len(s.Inputs) != 2 || got == "" ||
			got != want.Stats.Inputs["A"].Checksum || s.Inputs["B"].Checksum == "" {
			t.Errorf("got inputs %v, want A as in %v", s.Inputs, want.Stats.Inputs)
		}
	}, 1, 2)
}

// TestKinds checks that an unknown kind of generated data is refused at its position, before
// anything runs.
func TestKinds(t *testing.T) {
	for _, c := range []struct{ from, want string }{
		{"unifrom:10", `job.dst:2:25: from unifrom:10: got the kind "unifrom"`},
		{"uniform", "job.dst:2:25: from uniform: got 0 parameters, want 1"},
		{"zipf:10", "job.dst:2:25: from zipf:10: got 1 parameter, want 2"},
		{"uniform:k", `job.dst:2:25: from uniform:-1: got "-1" for NNZ`},
	} {
		onRanks(t, func(t *testing.T, ranks int) {
			j := job(t, t.TempDir(),
				"param k = -1\ntensor A(3, 3): ss from "+c.from+"\ns = 1\nprint s\nt = A(i,j)\n", nil)
			j.Ranks = ranks
			_, err := j.Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) || comm.ExitCode(err) != 2 ||
				j.said != nil {
				t.Errorf("got %v, exit %d, said %q, want %s", err, comm.ExitCode(err), j.said, c.want)
			}
			if _, err := j.Plan(context.Background(), 0); err == nil || comm.ExitCode(err) != 2 {
				t.Errorf("a plan: got %v", err)
			}
		}, 1, 2)
	}
}

// TestPlaceMovesTheFewestBytes checks that a dense matrix moves between placements without extra
// traffic: each rank receives only the elements that it lacks.
func TestPlaceMovesTheFewestBytes(t *testing.T) {
	const n = 12
	for _, c := range []struct {
		machine, from, to string
		ranks             int
		received          []int64 // elements by rank
	}{
		{"M(p)", "M(x)", "M(y)", 2, []int64{36, 36}},
		{"M(p)", "M(x)", "M(y)", 3, []int64{32, 32, 32}},
		{"M(p)", "M(x)", "M(y)", 4, []int64{27, 27, 27, 27}},
		{"M(2, 2)", "M(x,y)", "M(y,x)", 4, []int64{0, 36, 36, 0}},
		{"M(2, 2)", "M(x,y)", "M(0,x)", 4, []int64{36, 72, 0, 0}},
		{"M(p)", "M(x)", "M(0)", 3, []int64{96, 0, 0}},
		{"M(5)", "M(x)", "M(y)", 3, nil}, // more points than ranks
	} {
		text := strings.NewReplacer("MACHINE", c.machine, "FROM", c.from, "TO", c.to).Replace(`machine MACHINE
tensor A(12, 12): dd place (x,y) -> FROM to "A.npy" from dense:int
place A (x,y) -> TO
`)
		dir := t.TempDir()
		w := job(t, dir, text, nil)
		w.Ranks = c.ranks
		s := w.stats(t)
		got := s.Comm.BytesReceived
		if want := slices.Clone(c.received); want != nil {
			for k := range want {
				want[k] *= 8
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s to %s on %d ranks: %v bytes came, want %v", c.from, c.to, c.ranks, got, want)
			}
		}
		p, err := w.Plan(context.Background(), 0)
		if err != nil || !reflect.DeepEqual(p.Comm, s.Comm) {
			t.Errorf("%s to %s on %d ranks: a plan counts %+v, a run %+v (%v)", c.from, c.to, c.ranks,
				p.Comm, s.Comm, err)
		}
		alone := job(t, t.TempDir(), text, nil)
		alone.Ranks = 1
		alone.run(t)
		_, moved := values(t, filepath.Join(dir, "A.npy"))
		if _, want := values(t, filepath.Join(filepath.Dir(alone.File.Name), "A.npy")); len(want) !=
			n*n || !slices.Equal(moved, want) {
			t.Errorf("%s to %s on %d ranks: got %v, want %v", c.from, c.to, c.ranks, moved, want)
		}
	}
}
