package codegen

import (
	"slices"
	"strings"
	"testing"
	"time"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// TestPassOrder: a table is refused if a pass comes before a pass whose facts it needs, or if it
// breaks a constraint. Each fact that a pass gives is needed by some pass.
func TestPassOrder(t *testing.T) {
	giver := map[fact]int{}
	needed := map[fact]bool{finalCode: true}
	for k, p := range passes {
		for _, f := range p.needs {
			needed[f] = true
			if err := checkPasses(moved(giver[f], k)); err == nil {
				t.Errorf("pass %s may come behind %s, which needs %s", passes[giver[f]].name, p.name, f)
			}
		}
		for _, f := range p.gives {
			giver[f] = k
		}
	}
	for f, k := range giver {
		if !needed[f] {
			t.Errorf("no pass needs %s, which %s gives", f, passes[k].name)
		}
	}
	at := func(name string) int {
		return slices.IndexFunc(passes,
			func(p pass) bool { return p.name == name })
	}
	for _, o := range passOrder {
		err := checkPasses(moved(at(o.before), at(o.after)))
		if err == nil {
			t.Errorf("pass %s may come behind %s", o.before, o.after)
		}
		if o.why == "" {
			t.Errorf("no reason for %s before %s", o.before, o.after)
		}
	}
	if err := checkPasses(append(slices.Clone(passes), passes[0])); err == nil {
		t.Error("one pass twice is accepted")
	}
}

// moved returns the passes with pass k moved to the place directly after pass to.
func moved(k, to int) []pass {
	list := slices.Clone(passes)
	p := list[k]
	return slices.Insert(slices.Delete(list, k, k+1), to, p)
}

// smallRequest returns a request for a product of a sparse matrix and a dense one, with a sparse
// result.
func smallRequest(t *testing.T, src string) Request {
	s, err := notation.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Statement: Statement{Stmt: s, ComputeType: tensor.Int64},
		Tensors: Tensors{All: map[string]Tensor{}, Sizes: map[string]int64{}, Exact: []string{"k"}},
		Ask:     Ask{Verify: true}}
	for _, v := range notation.Normalize(s).Vars {
		r.Tensors.Sizes[v] = 100
	}
	for _, u := range s.Tensors() {
		x := Tensor{Format: tensor.DenseOf(u.Order), Type: tensor.Int64,
			Dims: slices.Repeat([]int64{100}, u.Order), PosWidth: slices.Repeat([]uint8{4}, u.Order),
			CrdWidth: slices.Repeat([]uint8{4}, u.Order), NNZ: 1000}
		if u.Name == "A" || u.Name == "B" {
			x.Format.Levels[len(x.Format.Levels)-1] = tensor.Compressed
		}
		r.Tensors.All[u.Name] = x
	}
	return r
}

// TestPassTraced: each pass is traced in order, with its outcome and its duration.
func TestPassTraced(t *testing.T) {
	r := smallRequest(t, "A(i,j) = B(i,j)*C(i,k)*D(j,k)")
	var names []string
	texts := map[string]string{}
	r.Ask.Trace = func(pass string, _ time.Duration, text func() string) {
		names = append(names, pass)
		texts[pass] = text()
	}
	u, err := Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(names, PassNames()) {
		t.Errorf("got %v, want %v", names, PassNames())
	}
	for pass, want := range map[string]string{
		"normal": "A(i,j) = sum(k, B(i,j)*C(i,k)*D(j,k))\n", "types": "int64\n", "order": "i j k\n",
		"uses": "B(i,j): ds, 1000 entries", "operands": "D: dd int64\n",
		"terms":    "sum(k, B(i,j) * C(i,k) * D(j,k))\n",
		"contract": "B(i,j) * t{sum(k, C(i,k) * D(j,k))}\n", "network": "loops  i j {t: k}\n",
		"nest": "t += C(i,k) * D(j,k)", "shared": "B(i,j)\n", "schedule": "t += ", "arrays": "those of B",
		"into": "A(i,j) = ", "threads": "CPUThread", "strategy": "parallelize(i,CPUThread,",
		"chunks": "blocks", "positions": "t += ", "lower": "func leaf", "vectorize": "vector", "simplify": "vector",
		"result": "format ds, level arrays: its own",
	} {
		if !strings.Contains(texts[pass], want) {
			t.Errorf("%s: got\n%s\nwant %s in it", pass, texts[pass], want)
		}
	}
	if strings.Contains(texts["lower"], "vector") {
		t.Error("lower makes vector loops")
	}
	if line := u.TimesText(); !strings.HasPrefix(line, "passes ") ||
		!strings.Contains(line, "normal ") || !strings.Contains(line, ", simplify ") {
		t.Errorf("got %q", line)
	}
}

// TestVerifiers: each verifier finds a mistake that is made after its pass.
func TestVerifiers(t *testing.T) {
	broken := map[string]func(c *compilation){
		"normal":   func(c *compilation) { c.stmt.normal.Terms[0].Sum = nil },
		"types":    func(c *compilation) { c.unit.Compute = tensor.None },
		"result":   func(c *compilation) { c.unit.Result.PosWidth = []uint8{0, 0} },
		"uses":     func(c *compilation) { c.uses.List[1].Tensor = "X" },
		"order":    func(c *compilation) { slices.Reverse(c.unit.Order) },
		"layouts":  func(c *compilation) { c.uses.List[2].Format.Order = []int{0, 0} },
		"operands": func(c *compilation) { c.ops[1].Name = c.ops[2].Name },
		"terms":    func(c *compilation) { c.stmt.normal.Terms[0].Sum = nil },
		"network":  func(c *compilation) { slices.Reverse(c.contractions.Terms[0].Plan.Root.Loops) },
		"contract": func(c *compilation) { c.stmt.normal.Terms[0].Factors = c.stmt.normal.Terms[0].Factors[:2] },
		"nest":     func(c *compilation) { c.unit.CIN = &cin.Forall{Var: "i", Body: c.unit.CIN} },
		"shared":   func(c *compilation) { c.sharedWith = &cin.Access{Name: "B", Vars: []string{"j", "i"}} },
		"schedule": func(c *compilation) { c.unit.CIN = &cin.Seq{} },
		"lookups":  func(c *compilation) { c.unit.CIN = &cin.Seq{} },
		"arrays":   func(c *compilation) { c.unit.Result.CrdWidth = []uint8{0, 0} },
		"into": func(c *compilation) {
			c.unit.CIN = cin.Map(c.unit.CIN, func(s cin.Stmt) cin.Stmt {
				if f, ok := s.(*cin.Forall); ok && f.Var == "j" {
					return f.Body
				}
				return s
			})
		},
		"flat":      func(c *compilation) { c.unit.CIN = &cin.Forall{Var: "j", Body: c.unit.CIN} },
		"threads":   func(c *compilation) { c.unit.CIN = &cin.Forall{Var: "j", Body: c.unit.CIN} },
		"strategy":  func(c *compilation) { c.strategy.Trips["k"] = 99 },
		"chunks":    func(c *compilation) { c.explicit = &cin.Forall{Var: "j", Body: c.explicit} },
		"positions": func(c *compilation) { c.explicit = &cin.Forall{Var: "j", Body: c.explicit} },
		"lower":     func(c *compilation) { c.unit.Func.Params = nil },
		"vectorize": func(c *compilation) { c.unit.Func.Bounds = nil },
		"simplify":  func(c *compilation) { c.unit.Func.Threads = nil },
		"simt": func(c *compilation) {
			c.request.Target.Kind = CUDA
			c.unit.Func.Body.Append(
				&ir.For{V: ir.NewVar("none", tensor.Int64), Lo: ir.Int(0), Hi: ir.Int(1), Step: 1,
					Kind: ir.Blocks,
					Body: ir.Seq()})
		},
		"inplace": func(c *compilation) { c.unit.Result.InPlace = 1 },
		"carry":   func(c *compilation) { c.unit.Func.Bounds = nil },
	}
	for k, p := range passes {
		c := newCompilation(smallRequest(t, "A(i,j) = B(i,j)*C(i,k)*D(j,k)"))
		for _, q := range passes[:k+1] {
			if err := q.run(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.verify(c); err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if broken[p.name] == nil {
			t.Errorf("nothing breaks what %s makes", p.name)
			continue
		}
		broken[p.name](c)
		if err := p.verify(c); err == nil {
			t.Errorf("%s: what is broken is verified:\n%s", p.name, p.text(c))
		}
	}
}
