package jobs_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"distaff/spmd"
	"distaff/spmd/stats"
)

// algorithm is a job file of testdata/jobs that distributes one statement like a published
// algorithm. theory computes the communication that the publication predicts.
type algorithm struct {
	name   string
	theory theory
	cases  []sized
}

// sized is a test case of a job file: a number of ranks, and values for params. A nil map leaves
// the values in the file.
type sized struct {
	ranks  int
	params map[string]string
}

var algorithms = []algorithm{
	{"summa", summa, append(squares(), sized{4, with("g", 2, "n", 24, "chunk", 12)})},
	{"pumma", pumma, squares()},
	{"cannon", cannon, squares()},
	{"johnson", johnson, cubes()},
	{"solomonik", solomonik, []sized{
		{8, nil}, {32, with("n", 16, "g", 4, "c", 2, "steps", 2)},
		{64, with("n", 16, "g", 4, "c", 4, "steps", 1)}, {4, with("n", 12, "g", 2, "c", 1, "steps", 2)},
	}},
	{"cosma", cosma, []sized{
		{4, nil}, {6, grid(1, 2, 3)}, {6, grid(3, 2, 1)}, {8, grid(2, 2, 2)}, {9, grid(1, 9, 1)},
		{12, grid(2, 2, 3)}, {48, grid(3, 4, 4)},
	}},
	{"ttv", nothing, []sized{{4, nil}, {6, with("gx", 3, "gy", 2)}, {64, with("gx", 8, "gy", 8)}}},
	{"innerprod", innerprod, lines()},
	{"ttm", nothing, lines()},
	{"mttkrp", mttkrp, cubes()},
	{"spmv-rows", nothing, lines()},
	{"spmv-gather", halo, append(lines(), sized{3, with("n", 10, "width", 2)},
		sized{7, with("n", 100, "width", 0)})},
	{"spmm-rows", nothing, lines()},
	{"spmm-memory", rounds, []sized{{4, nil},
		{6, with("n", 48, "gx", 3, "gy", 2, "rounds", 6, "entries", 400)},
		{16, with("n", 64, "gx", 4, "gy", 4, "entries", 400)}}},
	{"spadd3-rows", nothing, lines()},
	{"sddmm-rows", nothing, lines()},
	{"spttv-rows", nothing, lines()},
	{"spmttkrp-rows", nothing, lines()},
}

// cutEntries lists the job files whose loops run over chunks of a tensor's entries. Their theory is
// an upper bound. A plan that did not read the entries must count exactly this bound.
var cutEntries = []algorithm{
	{"spmv-nonzeros", cutRows, lines()},
	{"spmm-nonzeros", cutRows, lines()},
	{"sddmm-nonzeros", nothing, lines()},
	{"spttv-nonzeros", cutFibers, lines()},
	{"spmttkrp-nonzeros", cutRows, lines()},
}

// mostRun is the largest number of ranks of a case that is run. Larger cases are only planned.
const mostRun = 9

// with returns values for params. list alternates names and numbers.
func with(list ...any) map[string]string {
	out := map[string]string{}
	for k := 0; k < len(list); k += 2 {
		out[list[k].(string)] = strconv.Itoa(list[k+1].(int))
	}
	return out
}

// squares returns cases on square grids. A tile has 4 x 4 elements, which is two chunks. In one
// case the tiles have different sizes.
func squares() []sized {
	list := []sized{{4, nil}, {9, with("g", 3, "n", 25, "chunk", 4)}}
	for _, g := range []int{3, 4, 5, 8} {
		list = append(list, sized{g * g, with("g", g, "n", 4*g, "chunk", 2)})
	}
	return list
}

// cubes returns cases on cubes of ranks. One of them cuts a size that is not a multiple of its
// side.
func cubes() []sized {
	return []sized{{8, nil}, {27, with("g", 3, "n", 13)}, {64, with("g", 4, "n", 12)}}
}

// lines returns cases on machines of one dimension.
func lines() []sized { return []sized{{4, nil}, {5, nil}, {64, nil}} }

// grid returns params for cosma.dst on a grid of x * y * z points.
func grid(x, y, z int) map[string]string {
	return with("gx", x, "gy", y, "gz", z, "rows", 12, "columns", 36, "inner", 24, "steps", 2)
}

// job returns the job of a case, and the values of the file's params.
func (a algorithm) job(t *testing.T, c sized) (*told, figures) {
	t.Helper()
	path := filepath.Join(folder, a.name+".dst")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]string{}
	for name, value := range c.params {
		// only one of the files for square grids has the param chunk
		if strings.Contains(string(text), "\nparam "+name+" ") {
			params[name] = value
		}
	}
	x, err := file(path, string(text), params)
	if err != nil {
		t.Fatal(err)
	}
	x.Ranks, x.Threads, x.Target = c.ranks, 1, spmd.Interpreter
	v := figures{"ranks": float64(c.ranks)}
	for _, name := range strings.Fields(
		"n r g c steps chunk rows columns inner gx gy gz rounds entries width") {
		if p := x.File.Param(name); p != nil {
			v[name] = float64(p.Value.Int)
		}
	}
	return &told{FileJob: x}, v
}

// planned returns the plan of a job with one statement.
func (w *told) planned(t *testing.T, detail int) spmd.PlannedItem {
	t.Helper()
	p, err := w.Plan(context.Background(), detail)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Items) != 1 || p.Items[0].Plan == nil {
		t.Fatalf("got %d items, want one statement", len(p.Items))
	}
	return p.Items[0]
}

// each calls test with every case of every algorithm.
func each(t *testing.T, test func(t *testing.T, a algorithm, c sized)) {
	for _, a := range algorithms {
		for k, c := range a.cases {
			t.Run(fmt.Sprintf("%s-%d-%d", a.name, k, c.ranks), func(t *testing.T) { test(t, a, c) })
		}
	}
}

// TestAlgorithmVolumes checks that a plan counts the words that the theory predicts.
func TestAlgorithmVolumes(t *testing.T) {
	each(t, func(t *testing.T, a algorithm, c sized) {
		j, v := a.job(t, c)
		a.theory.of(v).compare(t, j.planned(t, 0).Comm)
	})
}

// TestVolumesByEntries checks that a plan that did not read the entries counts the upper bound.
func TestVolumesByEntries(t *testing.T) {
	for _, a := range cutEntries {
		for _, c := range a.cases {
			t.Run(fmt.Sprintf("%s-%d", a.name, c.ranks), func(t *testing.T) {
				j, v := a.job(t, c)
				p := j.planned(t, 0)
				a.theory.of(v).compare(t, p.Comm)
				if !p.Plan.Estimated {
					t.Error("the plan does not say that it is an estimate")
				}
			})
		}
	}
}

// compare compares the counts of all ranks with a volume.
func (w volume) compare(t *testing.T, c stats.Comm) {
	t.Helper()
	const word = 8
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(want, 1) }
	if got := mean(c.BytesReceived) / word; !math.IsNaN(w.received) && !near(got, w.received) {
		t.Errorf("a rank receives %g words in the mean, want %g", got, w.received)
	}
	if w.even && slices.Min(c.BytesReceived) != slices.Max(c.BytesReceived) {
		t.Errorf("ranks receive %d to %d bytes, want one number", slices.Min(c.BytesReceived),
			slices.Max(c.BytesReceived))
	}
	if got := mean(c.BytesSent) / word; !math.IsNaN(w.sent) && !near(got, w.sent) {
		t.Errorf("a rank sends %g words in the mean, want %g", got, w.sent)
	}
	if got := mean(c.BytesSent); got > mean(c.BytesReceived) {
		t.Errorf("a rank sends %g bytes in the mean, more than are received", got)
	}
	if got := mean(c.MessagesSent); !math.IsNaN(w.messages) && !near(got, w.messages) {
		t.Errorf("a rank sends %g messages in the mean, want %g", got, w.messages)
	}
}

// mean returns the mean of a count over all ranks.
func mean(list []int64) float64 {
	sum := 0.0
	for _, n := range list {
		sum += float64(n)
	}
	return sum / float64(len(list))
}

// TestAlgorithmsRun checks that a run of each algorithm computes the reference's result, and that
// each rank sends and receives the planned bytes and messages.
func TestAlgorithmsRun(t *testing.T) {
	each(t, func(t *testing.T, a algorithm, c sized) {
		if c.ranks > mostRun {
			t.Skipf("%d ranks are planned only", c.ranks)
		}
		j, _ := a.job(t, c)
		want := j.planned(t, 0).Comm
		if got := j.checked(t); !reflect.DeepEqual(got, want) {
			t.Errorf("a run counts %+v, a plan %+v", got, want)
		}
	})
}

// TestAlgorithmsFolded checks machines with more or fewer points than ranks, and sizes that are cut
// unevenly or into empty pieces. The result must be right, and the plan must count what a run does.
func TestAlgorithmsFolded(t *testing.T) {
	for name, c := range map[string]sized{
		"summa":     {4, with("g", 3, "n", 25, "chunk", 4)},
		"pumma":     {2, with("g", 3, "n", 10)},
		"cannon":    {5, with("g", 3, "n", 2)},
		"johnson":   {3, with("g", 2, "n", 7)},
		"solomonik": {7, with("g", 4, "c", 2, "steps", 2, "n", 16)},
		"cosma": {5, with("gx", 3, "gy", 2, "gz", 2, "rows", 5, "columns", 7, "inner", 11,
			"steps", 3)},
		"mttkrp":        {9, with("g", 2, "n", 5)},
		"ttv":           {4, with("gx", 3, "gy", 2, "n", 5)},
		"spmm-memory":   {4, with("gx", 3, "n", 50, "entries", 200)},
		"spadd3-rows":   {7, with("n", 3, "entries", 2)},
		"spttv-rows":    {5, with("n", 3, "entries", 9)},
		"innerprod":     {5, with("n", 3)},
		"spmttkrp-rows": {1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := algorithm{name: name}.job(t, c)
			want := j.planned(t, 0)
			if got := j.checked(t); !want.Plan.Estimated && !reflect.DeepEqual(got, want.Comm) {
				t.Errorf("a run counts %+v, a plan %+v", got, want.Comm)
			}
		})
	}
}

// checked runs a job with one statement, compares it with the reference, and returns the traffic of
// its ranks.
func (w *told) checked(t *testing.T) stats.Comm {
	t.Helper()
	w.Check, w.StatsFile = true, filepath.Join(t.TempDir(), "stats.json")
	report := w.run(t)
	if !slices.ContainsFunc(report.Lines,
		func(line string) bool { return strings.Contains(line, "check: ") }) {
		t.Errorf("got %q, want a check", report.Lines)
	}
	if len(report.Statements) != 1 {
		t.Fatalf("got %d statements, want one", len(report.Statements))
	}
	return report.Statements[0].Comm
}

// TestInnerprodCopied checks that a sum is sent once more to the other ranks if every rank needs
// it.
func TestInnerprodCopied(t *testing.T) {
	const ranks = 5
	j := job(t, t.TempDir(), `machine M(p)
tensor a place () -> M(*)
tensor B(20): d place (x) -> M(x) from dense:int
tensor C(20): d place (x) -> M(x) from dense:int
a = B(i) * C(i)
  divide(i, io, ii, M.x)
  distribute(io)
  communicate({a, B, C}, io)
`, nil)
	j.Ranks = ranks
	want, got := j.planned(t, 0).Comm, j.checked(t)
	words := int64(0)
	for _, n := range got.BytesReceived {
		words += n / 8
	}
	if words != 2*(ranks-1) || !reflect.DeepEqual(got, want) {
		t.Errorf("a run counts %+v, a plan %+v, want %d words received in all", got, want, 2*(ranks-1))
	}
}

// TestCannonNeighbours checks that after the first step of Cannon's algorithm, tiles come from a
// neighbour in the grid: tiles of B from the right, and tiles of C from below. In the first step
// each tile comes from its owner.
func TestCannonNeighbours(t *testing.T) {
	const g = 4
	k := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == "cannon" })
	j, _ := algorithms[k].job(t, sized{g * g, with("g", g, "n", 4*g)})
	for _, rank := range j.planned(t, -1).Plan.PerRank {
		row, column := rank.Rank/g, rank.Rank%g
		right, below := row*g+(column+1)%g, (row+1)%g*g+column
		if len(rank.Steps) != g {
			t.Fatalf("rank %d has %d steps, want %d", rank.Rank, len(rank.Steps), g)
		}
		fetches := 0
		for n, step := range rank.Steps {
			tile := (n + row + column) % g
			for _, f := range step.Fetches {
				want := map[string]int{"B": right, "C": below}[f.Tensor]
				if n == 0 {
					want = map[string]int{"B": row*g + tile, "C": tile*g + column}[f.Tensor]
				}
				if f.From == rank.Rank {
					continue // the rank owns the tile
				}
				if fetches++; f.From != want {
					t.Errorf("rank %d, step %d: %s comes from rank %d, want %d", rank.Rank, n, f.Tensor, f.From,
						want)
				}
			}
		}
		if want := 2 * (g - 1); fetches != want {
			t.Errorf("rank %d fetches %d tiles, want %d", rank.Rank, fetches, want)
		}
	}
}
