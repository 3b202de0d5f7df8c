package jobs_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/place"
	"distaff/io/tensor"
)

// growth describes the weak scaling of an algorithm: sizes grow with the number of ranks so that
// the part of the distributed tensors at each rank has a constant size.
type growth struct {
	algorithm string // the name of its job file
	title     string
	sizes     string // how sizes grow, for the page's table
	says      string // how sizes grow, and what follows, for the algorithm's own section
	shown     string // names of the params that have columns in the section's table
	ranks     []int
	params    func(ranks int) map[string]string
}

// mostScaled is the largest number of ranks in a table.
const mostScaled = 4096

// The sizes at one rank: rows and columns of a tile of a dense matrix, coordinates of a mode of a
// tensor of order 3, rows of a sparse matrix or tensor, entries in each row, and columns of a dense
// matrix that is multiplied with a tensor.
const (
	tile    = 4096
	edge    = 512
	rows    = 1 << 16
	perRow  = 64
	columns = 32
)

// Formulas for the page's table, by the number p of ranks.
var (
	byTile = fmt.Sprintf("n = %d √p", tile)
	byCube = fmt.Sprintf("n = %d p^(1/3)", tile)
	byEdge = fmt.Sprintf("n = %d p^(1/3)", edge)
	byRows = fmt.Sprintf("n = %d p", rows)
)

var growths = []growth{
	{"summa", "SUMMA", byTile, fmt.Sprintf("A tile has %d² elements: n = %[1]d √p. "+
		"Chunks have 256 columns. What a rank receives grows as √p.", tile), "n", powers(4), tiles},
	{"pumma", "PUMMA", byTile, "Sizes are those of SUMMA. What is received is the same. " +
		"Messages grow as √p, since chunks are tiles.", "n", powers(4), tiles},
	{"cannon", "Cannon's algorithm", byTile, "Sizes are those of SUMMA. Nothing is broadcast: " +
		"messages are twice as many as those of PUMMA.", "n", powers(4), tiles},
	{"johnson", "Johnson's algorithm", byCube,
		fmt.Sprintf("A tile has %d² elements: n = %[1]d p^(1/3). "+
			"A rank receives three tiles at most in the mean, however many ranks there are.", tile),
		"n", powers(8), cube},
	layers(1), layers(2), layers(4),
	{"cosma", "COSMA", byCube,
		fmt.Sprintf("The matrices are square, with n = %d p^(1/3), rounded to a multiple of 64. "+
			"Grid and steps are those that `-m=cosma` chooses where a rank has memory for eight tiles "+
			"of %[1]d² elements. Where a grid has fewer points than there are ranks, the others have "+
			"nothing to do.", tile), "n steps", powers(2), chosen},
	{"ttv", "TTV", byEdge,
		fmt.Sprintf("n = %d p^(1/3), rounded to a multiple of √p: %[1]d³ elements of the tensor a rank.",
			edge), "n", powers(4), square3},
	{"innerprod", "Inner product", byEdge, fmt.Sprintf("n = %d p^(1/3).", edge), "n", powers(8),
		cube3},
	{"ttm", "TTM", byEdge, fmt.Sprintf("n = %d p^(1/3), r = %d.", edge, columns), "n",
		powers(8), cube3},
	{"mttkrp", "MTTKRP", byEdge, fmt.Sprintf("n = %d p^(1/3), r = %d. "+
		"A rank receives less than three pieces of factors in the mean, however many ranks there are.",
		edge, columns), "n", powers(8), cube3},
	{"spmv-rows", "SpMV by rows", byRows,
		says("The vector, which every rank has, grows with p."), "n", powers(2), lined},
	{"spmv-gather", "SpMV of a banded matrix by exact gather", byRows,
		fmt.Sprintf("n = %d p, with three entries to each side of the diagonal. "+
			"A rank gets three from each neighbour, however many ranks there are.", rows),
		"n", powers(2), lined},
	{"spmm-rows", "SpMM by rows", byRows,
		says("r = 32. The dense matrix, which every rank has, grows with p."), "n", powers(2), lined},
	{"spmm-memory", "SpMM by tiles", fmt.Sprintf("n = %d √p", rows),
		fmt.Sprintf("n = %d √p with %d entries a row, and r = %d √p: a tile of the dense matrices has "+
			"%[1]d x %[3]d elements, and its chunks a fourth of the rows. What a rank receives grows as √p.",
			rows, perRow, columns), "n r", powers(4), chunked},
	{"spadd3-rows", "SpAdd3 by rows", byRows, says(""), "n", powers(2), lined},
	{"sddmm-rows", "SDDMM by rows", byRows,
		says("r = 32. One of the dense matrices, which every rank has, grows with p."), "n", powers(2),
		lined},
	{"spttv-rows", "SpTTV by rows", byRows, says("The vector grows with p."), "n", powers(2), lined},
	{"spmttkrp-rows", "SpMTTKRP by rows", byRows,
		says("r = 32. The factors, which every rank has, grow with p."), "n", powers(2), lined},
	{"spmv-nonzeros", "SpMV by non-zeros", byRows,
		says("The vector, which every rank has, grows with p. " + unread), "n", powers(4), lined},
	{"spmm-nonzeros", "SpMM by non-zeros", byRows,
		says("r = 32. The dense matrix, which every rank has, grows with p. " + unread), "n", powers(4),
		lined},
	{"sddmm-nonzeros", "SDDMM by non-zeros", byRows,
		says("r = 32. The dense matrices, which every rank has, grow with p."), "n", powers(4), lined},
	{"spttv-nonzeros", "SpTTV by non-zeros", byRows,
		says("The vector grows with p. A rank sends one entry of the result at most."), "n", powers(4),
		lined},
	{"spmttkrp-nonzeros", "SpMTTKRP by non-zeros", byRows,
		says("r = 32. The factors, which every rank has, grow with p. " + unread), "n", powers(4), lined},
}

// unread is a sentence about plans by non-zeros that did not read the entries.
const unread = "What is counted is the most: every cut between two ranks lies within a row."

// says returns a sentence about the sizes of tensors that are cut by rows.
func says(more string) string {
	return strings.TrimSpace(fmt.Sprintf("n = %d p with %d entries a row. ", rows, perRow) + more)
}

// powers returns the powers of a number from 1 to mostScaled.
func powers(of int) (list []int) {
	for p := 1; p <= mostScaled; p *= of {
		list = append(list, p)
	}
	return list
}

// side returns the extent of a machine of ranks points with the given number of equal dimensions.
func side(ranks, dims int) int {
	return int(math.Round(math.Pow(float64(ranks), 1/float64(dims))))
}

// multiple returns the multiple of unit that is nearest to x.
func multiple(x float64, unit int) int { return unit * int(math.Round(x/float64(unit))) }

// tiles returns params for tiles of matrices on a square of p ranks.
func tiles(p int) map[string]string {
	g := side(p, 2)
	return with("g", g, "n", tile*g, "chunk", 256)
}

// cube returns params for matrices on the faces of a cube.
func cube(p int) map[string]string {
	g := side(p, 3)
	return with("g", g, "n", tile*g)
}

// cube3 returns params for tensors of order 3 on a cube, or on a line with the same number of
// ranks.
func cube3(p int) map[string]string {
	g := side(p, 3)
	return with("g", g, "n", edge*g, "r", columns)
}

// square3 returns params for tensors of order 3 on a square.
func square3(p int) map[string]string {
	g := side(p, 2)
	return with("gx", g, "gy", g, "n", multiple(edge*math.Cbrt(float64(p)), g))
}

// lined returns params for sparse tensors on a line.
func lined(p int) map[string]string {
	return with("n", rows*p, "entries", rows*perRow*p, "width", 3, "r", columns)
}

// chunked returns params for tiles of dense matrices and a sparse matrix that is cut by rows.
func chunked(p int) map[string]string {
	g := side(p, 2)
	return with("gx", g, "gy", g, "n", rows*g, "entries", rows*perRow*g, "r", columns*g, "rounds", 4*g)
}

// chosen returns params for the grid that COSMA's model computes.
func chosen(p int) map[string]string {
	n := multiple(tile*math.Cbrt(float64(p)), 64)
	m, err := place.Cosma(int64(n), int64(n), int64(n), int64(p), 8*tile*tile)
	if err != nil {
		panic(err)
	}
	x := m.Grids[0].Extents
	return with("rows", n, "columns", n, "inner", n, "n", n, "gx", int(x[0]), "gy", int(x[1]), "gz",
		int(x[2]), "steps", int(m.Steps))
}

// layers returns the growth of the 2.5D algorithm with c layers.
func layers(c int) growth {
	g := growth{algorithm: "solomonik", title: fmt.Sprintf("The 2.5D algorithm with c = %d", c),
		sizes: fmt.Sprintf("n = %d √(p/c)", tile), shown: "n",
		says: fmt.Sprintf("A tile has %d² elements: n = %[1]d √(p/c).", tile)}
	for side := c; side*side*c <= mostScaled; side *= 2 {
		g.ranks = append(g.ranks, side*side*c)
	}
	g.params = func(p int) map[string]string {
		g := side(p/c, 2)
		return with("g", g, "c", c, "steps", g/c, "n", tile*g)
	}
	return g
}

var updateScaling = flag.Bool("update", false,
	"rewrite the tables of docs/scaling.md and testdata/scaling.md")

// listed lists the numbers of ranks in the table of docs/scaling.md. An algorithm whose machine
// cannot have the largest of these numbers is not in the table.
var listed = []int{1, 64, mostScaled}

// TestScaling compares plans with theory, the tables of testdata/scaling.md with all plans, and the
// table of docs/scaling.md with the plans for the listed numbers of ranks. -update writes the
// tables.
func TestScaling(t *testing.T) {
	if testing.Short() {
		t.Skip("plans for thousands of ranks")
	}
	const page, begin, end = "../../docs/scaling.md", "<!-- table -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	var tables, table strings.Builder
	fmt.Fprint(&table, "| algorithm | sizes | received, 64 ranks | 4096 | largest, 4096 | "+
		"messages, 64 | 4096 | memory, 1 | 64 | 4096 |\n| --- | --- |",
		strings.Repeat(" ---: |", 8), "\n")
	for _, g := range growths {
		list := g.plans(t)
		tables.WriteString(g.section(list))
		table.WriteString(g.line(list))
	}
	for _, a := range slices.Concat(algorithms, cutEntries) {
		if !slices.ContainsFunc(growths, func(g growth) bool { return g.algorithm == a.name }) {
			t.Errorf("%s has no table", a.name)
		}
	}
	if t.Failed() {
		return
	}
	held(t, page, before+begin+table.String()+end+after)
	held(t, "testdata/scaling.md", tables.String())
}

// held compares a file with what it should hold, or writes it if -update is set.
func held(t *testing.T, path, want string) {
	t.Helper()
	if *updateScaling {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: the tables differ from the plans: go test ./spmd/jobs -run Scaling -update, %v",
			path, err)
	}
}

// scaledPlan holds the figures of a plan: the mean and largest number of bytes that a rank
// receives, the mean number of messages that a rank sends, and the largest memory of a rank in
// bytes.
type scaledPlan struct {
	ranks             int
	machine           string
	params            map[string]string
	received, largest float64
	messages, memory  float64
	theory            volume
}

// plans returns a plan for each number of ranks, after a comparison with theory.
func (g growth) plans(t *testing.T) (list []scaledPlan) {
	all := slices.Concat(algorithms, cutEntries)
	a := all[slices.IndexFunc(all, func(a algorithm) bool { return a.name == g.algorithm })]
	for _, p := range g.ranks {
		params := g.params(p)
		j, v := a.job(t, sized{p, params})
		item, theory := j.planned(t, 0), a.theory.of(v)
		theory.compare(t, item.Comm)
		machine := strings.ReplaceAll(fmt.Sprint(item.Plan.Machine), " ", " x ")
		list = append(list, scaledPlan{ranks: p, machine: strings.Trim(machine, "[]"), params: params,
			received: mean(item.Comm.BytesReceived),
			largest:  float64(slices.Max(item.Comm.BytesReceived)),
			messages: mean(item.Comm.MessagesSent),
			memory:   float64(slices.Max(item.Plan.Memory)), theory: theory})
	}
	return list
}

// section returns a heading, a sentence about sizes, and a table of all plans.
func (g growth) section(list []scaledPlan) string {
	shown := strings.Fields(g.shown)
	header := slices.Concat([]string{"ranks", "machine"}, shown,
		[]string{"received a rank", "largest", "theory, words", "received : theory", "messages", "theory",
			"memory"})
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n`%s.dst`. %s\n\n", g.title, g.algorithm, g.says)
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(header, " | "),
		strings.Repeat(" ---: |", len(header)))
	for _, x := range list {
		cells := []string{fmt.Sprint(x.ranks), x.machine}
		for _, name := range shown {
			cells = append(cells, x.params[name])
		}
		cells = append(cells, bytesText(x.received), bytesText(x.largest),
			countText(x.theory.received), ratioText(x.received/8, x.theory.received),
			countText(x.messages), countText(x.theory.messages), bytesText(x.memory))
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// line returns the algorithm's line in the page's table, or "" if its machine cannot have the
// largest number of ranks.
func (g growth) line(list []scaledPlan) string {
	at := func(ranks int, text func(x scaledPlan) string) string {
		k := slices.IndexFunc(list, func(x scaledPlan) bool { return x.ranks == ranks })
		if k < 0 {
			return "–"
		}
		return text(list[k])
	}
	received := func(x scaledPlan) string { return bytesText(x.received) }
	largest := func(x scaledPlan) string { return bytesText(x.largest) }
	messages := func(x scaledPlan) string { return countText(x.messages) }
	memory := func(x scaledPlan) string { return bytesText(x.memory) }
	few, some, many := listed[0], listed[1], listed[2]
	if !slices.Contains(g.ranks, many) {
		return ""
	}
	cells := []string{g.title, g.sizes, at(some, received), at(many, received), at(many, largest),
		at(some, messages), at(many, messages), at(few, memory), at(some, memory), at(many, memory)}
	return fmt.Sprintf("| %s |\n", strings.Join(cells, " | "))
}

// bytesText formats a number of bytes, which may be a mean.
func bytesText(n float64) string {
	if n < 1024 {
		return countText(n)
	}
	return tensor.Bytes(int64(n))
}

// countText formats a count, which may be a mean. Large means are rounded to whole numbers.
func countText(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x < 1e4:
		return fmt.Sprintf("%.4g", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// ratioText formats the ratio of a plan to theory, if the theory predicts the received words.
func ratioText(got, want float64) string {
	if want == 0 || math.IsNaN(want) {
		return "–"
	}
	return fmt.Sprintf("%.3f", got/want)
}
