package oracle

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// fileGen generates job files.
type fileGen struct {
	*programGen
	c    *fileProgram
	open []*fileItem // items so far of the blocks that are being drawn
	// flow draws ifs, breaks and continues, so that files without them stay as they are.
	flow *rand.Rand
	// only has the tensors that the items being drawn may write, because a condition decides
	// whether the items run. It is nil if they may write any tensor.
	only map[string]bool
}

// randomFile generates job file number k of a seed. It has 2 to 8 statements, some in repeats.
func randomFile(seed, k uint64) *fileProgram {
	r := rand.New(rand.NewPCG(seed, k^1<<63))
	g := &fileGen{programGen: &programGen{
		generator: &generator{rand: r, o: Options{Exact: true}.withDefaults()}}, c: &fileProgram{},
		flow: rand.New(rand.NewPCG(seed^1<<62, k))}
	g.c.ranks, g.c.repeat = 1+g.pick(40, 25, 20, 15), 1+g.pick(85, 15)
	g.c.compile, g.c.check, g.c.machine = g.chance(0.1), g.chance(0.15), g.chance(0.2)
	g.types = g.generator.types()
	g.sizes = []int64{int64(2 + g.rand.IntN(5)), int64(g.rand.IntN(8))}
	if g.chance(0.5) {
		g.sizes = g.sizes[:1]
	}
	g.declare()
	g.w = g.c.world()
	most := 2 + g.rand.IntN(7)
	for tries := 0; most > 0 && tries < 200; tries++ {
		if it := g.item(0, &most); it != nil {
			g.c.items = append(g.c.items, it)
		}
	}
	for name := range g.w.tensors {
		if t := g.c.declared(name); t != nil && g.w.tensors[name].Input {
			t.to = g.chance(0.5)
		}
	}
	return g.c
}

// declare draws the declarations.
func (g *fileGen) declare() {
	for _, names := range programNames {
		for _, name := range names {
			if !g.chance(0.75) {
				continue
			}
			t := &fileTensor{Tensor: g.drawn(name, g.chance(0.7))}
			if t.Input = g.chance(0.85); t.Input {
				g.entries(t.Tensor, style{})
				g.source(t)
			} else {
				t.Format = g.drawn(name, true).Format
				g.result(t)
			}
			for _, n := range t.Dims {
				t.sizes = append(t.sizes, fmt.Sprint(n))
			}
			if g.chance(0.1) {
				modes := modeNames(len(t.Dims))
				t.place = placementText(modes, g.rand.IntN(len(modes)+1)-1)
			}
			g.c.tensors = append(g.c.tensors, t)
		}
	}
	g.sizeNames()
	g.param()
}

// source draws the input of a tensor and the format in its declaration.
func (g *fileGen) source(t *fileTensor) {
	if len(t.Dims) == 0 {
		t.file, t.text = "number", " type "+t.Type.String()
		if t.Type == tensor.Float64 && g.chance(0.5) {
			t.text = ""
		}
		return
	}
	for t.file == "" {
		if t.file = inputKind(g.rand, t.Tensor); t.file == "" && g.chance(0.3) {
			t.file = ".tcs"
		}
	}
	t.as, t.text = t.Format, ": "+t.Format.String()
	switch {
	case t.file == ".tcs" && g.chance(0.3):
		t.text, t.own = "", true
	case t.file == ".tcs" && g.chance(0.3) && !t.hasRepeats():
		t.as = g.format(len(t.Dims), "s", false)
	case t.file == ".npy":
		t.as = tensor.DenseOf(len(t.Dims))
	}
	if t.file != ".tcs" && t.file != ".npy" || g.chance(0.5) {
		t.text += " type " + t.Type.String()
	}
}

// result draws the format in the declaration of a tensor without an input.
func (g *fileGen) result(t *fileTensor) {
	if len(t.Dims) > 0 && !(t.Format.Equal(tensor.DenseOf(len(t.Dims))) && g.chance(0.5)) {
		t.text = ": " + t.Format.String()
	}
	if g.chance(0.7) {
		t.Type = tensor.None
	} else {
		t.text += " type " + t.Type.String()
	}
}

// sizeNames replaces some sizes in declarations by names, if a file determines the size exactly.
func (g *fileGen) sizeNames() {
	for k, name := range []string{"n", "i", "m"} {
		if k >= len(g.sizes) || g.chance(0.4) {
			continue
		}
		bound := func(t *fileTensor, m int) bool {
			return t.Dims[m] == g.sizes[k] && t.sizes[m] == fmt.Sprint(g.sizes[k]) &&
				slices.Contains([]string{".tcs", ".npy", ".mtx", ".rb"}, t.file)
		}
		if !slices.ContainsFunc(g.c.tensors,
			func(t *fileTensor) bool { return len(t.Dims) > 0 && bound(t, 0) }) {
			continue
		}
		for _, t := range g.c.tensors {
			for m, n := range t.Dims {
				switch {
				case t.sizes[m] != fmt.Sprint(n):
				case n == g.sizes[k] && (m == 0 && bound(t, 0) || g.chance(0.5)):
					t.sizes[m] = name
				case n == 2*g.sizes[k] && g.chance(0.5):
					t.sizes[m] = "2*" + name
				case n == g.sizes[k]+1 && g.chance(0.5):
					t.sizes[m] = name + "+1"
				}
			}
		}
	}
}

// param draws params that replace numbers in statements and counts of repeats. -D changes some of
// them.
func (g *fileGen) param() {
	for n := range 4 {
		if !g.chance(0.3) {
			continue
		}
		p := [3]string{fmt.Sprint("p", n), fmt.Sprint(n), ""}
		if g.chance(0.3) {
			p[1], p[2] = "7", fmt.Sprint(n)
		}
		g.c.params = append(g.c.params, p)
	}
}

var literal = regexp.MustCompile(`\b[0-3]\b`)

// written returns a text after params replaced some of its numbers.
func (g *fileGen) written(text string) string {
	return literal.ReplaceAllStringFunc(text, func(n string) string {
		if slices.ContainsFunc(g.c.params, func(p [3]string) bool { return p[0] == "p"+n }) &&
			g.chance(0.7) {
			return "p" + n
		}
		return n
	})
}

// item draws an item that is valid in the current world, and applies it to the world. It returns
// nil if it finds none.
func (g *fileGen) item(depth int, most *int) *fileItem {
	var it *fileItem
	switch {
	case depth < 3 && g.flow.Float64() < 0.1:
		return g.branch(depth, most)
	case depth < 2 && g.chance(0.2):
		return g.repeated(depth, most)
	case g.chance(0.12):
		it = &fileItem{op: "print", name: g.name()}
	case g.chance(0.08):
		it = &fileItem{op: "place", name: g.name()}
		if t := g.w.tensors[it.name]; t != nil {
			it.splits = modeNames(len(t.Dims))
			it.mode = g.rand.IntN(len(t.Dims)+1) - 1
		}
	default:
		text, ok := g.statement()
		if !ok {
			return nil
		}
		it = &fileItem{op: "do", stmt: text, text: g.written(text)}
		if s, err := notation.Parse(text); err != nil || g.only != nil && !g.only[s.LHS.Name] {
			return nil
		}
		if left, _, _ := strings.Cut(text, "("); slices.ContainsFunc(g.c.tensors,
			func(t *fileTensor) bool { return t.own && t.Name == left }) {
			return nil // the result's format would depend on whether its file was read
		}
		if g.chance(0.2) {
			it.splits = g.splits(text)
		}
	}
	w := g.w.clone()
	if on, err := g.c.item(w, it); err != nil || !on || !g.checks(it) {
		return nil
	}
	g.w = w
	if it.op == "do" {
		*most--
	}
	return it
}

// repeated draws a repeat.
func (g *fileGen) repeated(depth int, most *int) *fileItem {
	before, mark := g.w, len(g.open)
	g.w = before.clone()
	it := &fileItem{op: "repeat"}
	only := g.only
	for tries := 0; tries < 30 && *most > 0 && (len(it.body) == 0 || g.chance(0.6)); tries++ {
		if x := g.item(depth+1, most); x != nil {
			it.body, g.open = append(it.body, x), append(g.open, x)
		}
		if x := g.leave(); x != nil && len(it.body) > 0 {
			it.body = append(it.body, x)
		}
	}
	g.only = only
	if g.chance(0.5) {
		it.until = g.condition()
	}
	g.w, g.open = before, g.open[:mark]
	if len(it.body) == 0 {
		return nil
	}
	it.fail = it.until != nil && g.chance(0.2)
	for it.n = 1 + g.pick(10, 30, 30, 20, 10); it.n > 0; it.n-- { // values grow
		it.count = g.written(fmt.Sprint(it.n))
		w := before.clone()
		on, err := g.c.item(w, it)
		if err != nil || !g.checks(it) {
			continue
		}
		if g.w = w; !on {
			*most = 0
		}
		return it
	}
	return nil
}

// branch draws an if. Its items write only tensors that have values before it. It returns nil if it
// finds none.
func (g *fileGen) branch(depth int, most *int) *fileItem {
	it := &fileItem{op: "if", until: g.condition()}
	if it.until == nil {
		return nil
	}
	before, mark, only := g.w, len(g.open), g.only
	g.restrict()
	for _, block := range []*[]*fileItem{&it.body, &it.other} {
		g.w = before.clone()
		for range 1 + g.flow.IntN(4) {
			if x := g.item(depth+1, most); x != nil {
				*block, g.open = append(*block, x), append(g.open, x)
			}
		}
		g.open = g.open[:mark]
	}
	g.w, g.only = before, only
	w := before.clone()
	on, err := g.c.item(w, it)
	if err != nil || !on || len(it.body) == 0 || !g.checks(it) {
		return nil
	}
	g.w = w
	return it
}

// restrict lets the next items write only tensors that have values now.
func (g *fileGen) restrict() {
	only := map[string]bool{}
	for _, name := range g.w.valued() {
		only[name] = g.only == nil || g.only[name]
	}
	g.only = only
}

// leave sometimes draws a break or a continue, and restricts the items after it.
func (g *fileGen) leave() *fileItem {
	if g.flow.Float64() > 0.1 {
		return nil
	}
	it := &fileItem{op: []string{"break", "continue"}[g.flow.IntN(2)], until: g.condition()}
	if it.until == nil {
		return nil
	}
	if _, err := it.until.holds(g.w); err != nil {
		return nil
	}
	g.restrict()
	return it
}

// condition draws a condition over scalars. It returns nil if the file has none.
func (g *fileGen) condition() *fileCond {
	var scalars []string
	for _, name := range g.w.valued() {
		if len(g.w.tensors[name].Dims) == 0 {
			scalars = append(scalars, name)
		}
	}
	if len(scalars) == 0 {
		return nil
	}
	side := func() string {
		x := scalars[g.rand.IntN(len(scalars))]
		switch g.pick(40, 30, 20, 10) {
		case 1:
			return fmt.Sprint(g.rand.IntN(20) - 3)
		case 2:
			return x + " + " + fmt.Sprint(g.rand.IntN(4))
		case 3:
			return x + " * " + scalars[g.rand.IntN(len(scalars))]
		}
		return x
	}
	return &fileCond{scalars[g.rand.IntN(len(scalars))],
		[]string{"<", "<=", ">", ">=", "==", "!="}[g.rand.IntN(6)], side()}
}

// checks reports whether the file with one more item passes all checks that do not need a run. For
// example, types may not fit.
func (g *fileGen) checks(it *fileItem) bool {
	c := *g.c
	c.items = slices.Concat(c.items, g.open, []*fileItem{it})
	_, err := c.parse("job.dst")
	var d *diag.Error
	if err == nil {
		return true
	}
	if errors.As(err, &d) && refusals[d.Code] {
		return false
	}
	panic(fmt.Sprintf("a job file is refused: %v\n%s", err, indent(c.String())))
}

// refusals contains the error codes for which a statement is omitted from a file.
var refusals = map[diag.Code]bool{diag.LossyType: true}

// parse parses the file with its params, and sets the types of its inputs.
func (c *fileProgram) parse(name string) (*jobfile.File, error) {
	f, err := jobfile.Parse(name, c.String())
	if err != nil {
		return nil, err
	}
	params := map[string]string{}
	for _, p := range c.params {
		if p[2] != "" {
			params[p[0]] = p[2]
		}
	}
	if err := f.Bind(params); err != nil {
		return nil, err
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	_, err = f.CheckTypes(c.types())
	return f, err
}

// kinds returns the extensions of the files that the program reads.
func (c *fileProgram) kinds() string {
	var list []string
	for _, t := range c.tensors {
		list = append(list, t.Name+" "+t.file+" "+t.as.String())
	}
	return strings.Join(list, ", ")
}
