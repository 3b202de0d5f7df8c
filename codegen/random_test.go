package codegen_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
)

var (
	cases = flag.Int("cases", 1000, "random statements to run")
	seed  = flag.Uint64("seed", 1, "seed of the first")
	show  = flag.Bool("show", false, "print the stages of each")
)

// problem is a drawn case, ready to run.
type problem struct {
	src     string
	stmt    *notation.Stmt
	normal  *notation.Normal
	sizes   map[string]int64
	formats map[string]format.Format
	data    map[string][]entry
	result  format.Format
	clip    clip
	threads int  // 0 for some number
	tune    bool // let all rows be long, and partial results pay
	finite  bool // no value is infinite: factors may be rearranged
}

// clip cuts a variable's range to [lo, hi); v is "" for none.
type clip struct {
	v      string
	lo, hi int64
}

func draw(seed uint64) *problem {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 7)), orders: map[string][]int64{}}
	for {
		g.integer = g.rng.IntN(2) == 0
		g.sizes, g.names, g.orders = map[string]int64{}, 0, map[string][]int64{}
		a, b := []int64{0, 1, 2, 3, 4, 5}[g.rng.IntN(6)], []int64{1, 2, 3, 4, 5, 6}[g.rng.IntN(6)]
		if a == 0 && g.rng.IntN(4) > 0 {
			a = 3
		}
		for _, v := range letters {
			g.sizes[v] = []int64{a, b, b}[g.rng.IntN(3)]
		}
		p := &problem{src: g.statement(), sizes: g.sizes, finite: g.integer, formats: map[string]format.Format{}, data: map[string][]entry{}}
		s, err := notation.Parse(p.src)
		if err != nil {
			panic(err)
		}
		if notation.Check(s) != nil {
			continue
		}
		p.stmt, p.normal, p.tune = s, notation.Normalize(s), g.rng.IntN(2) == 0
		if len(p.normal.Terms) > 24 || len(p.normal.Vars) > 7 {
			continue
		}
		for _, u := range s.Tensors()[1:] {
			f := g.format(u.Order, false)
			entries := fitting(f, g.entries(g.orders[u.Name]))
			if repeats(f) {
				for _, e := range slices.Clone(entries) {
					if g.rng.IntN(3) == 0 {
						entries = append(entries, entry{e.at, g.value()})
					}
				}
			}
			p.formats[u.Name], p.data[u.Name] = f, entries
		}
		p.result = g.format(len(s.LHS.Vars), true)
		if s.Accumulate {
			dims := make([]int64, len(s.LHS.Vars))
			for m, v := range s.LHS.Vars {
				dims[m] = p.size(v)
			}
			f := g.format(len(dims), false)
			p.formats["A"], p.data["A"] = f, fitting(f, g.entries(dims))
		}
		return p
	}
}

func (p *problem) size(v string) int64 {
	if s, ok := p.normal.Source[v]; ok {
		v = s
	}
	return p.sizes[v]
}

func (p *problem) dims(name string) []int64 {
	if name == p.stmt.LHS.Name {
		return p.dimsOf(p.stmt.LHS)
	}
	for _, a := range p.stmt.Accesses() {
		if a.Name == name {
			return p.dimsOf(a)
		}
	}
	panic("no tensor " + name)
}

func (p *problem) dimsOf(a *notation.Access) []int64 {
	dims := make([]int64, len(a.Vars))
	for m, v := range a.Vars {
		dims[m] = p.size(v)
	}
	return dims
}

// String says all that a failure needs.
func (p *problem) String() string {
	s := p.src + "  A:" + p.result.String()
	for _, u := range p.stmt.Tensors()[1:] {
		s += fmt.Sprintf(" %s:%s", u.Name, p.formats[u.Name])
	}
	if p.stmt.Accumulate {
		s += " A(old):" + p.formats[p.stmt.LHS.Name].String()
	}
	return s
}

// stored is how many entries of a format are present: dense levels fill up.
func (p *problem) reference(t *testing.T) (*reference.Tensor, []reference.Point, error) {
	r := reference.Problem{Normal: p.normal, Sizes: map[string]int64{}, Compute: dtype.Float64, Result: dtype.Float64, Tensors: map[string]*reference.Tensor{}}
	for _, v := range p.normal.Vars {
		r.Sizes[v] = p.size(v)
	}
	for name, f := range p.formats {
		dims := p.dims(name)
		arg := pack(f, dims, p.data[name], rand.New(rand.NewPCG(1, 1)))
		ten := reference.NewTensor(dtype.Float64, dims...)
		walkAll(f, dims, arg, func(at []int64, v float64) { ten.Append(at, reference.Float(v)) })
		r.Tensors[name] = ten.Finish()
	}
	return reference.New(r).All(context.Background())
}

// walkAll visits every stored value of any format.
func walkAll(f format.Format, dims []int64, arg interp.Arg, visit func(at []int64, v float64)) {
	at := make([]int64, len(dims))
	vals := arg.Vals.Data.([]float64)
	var walk func(l, p int)
	walk = func(l, p int) {
		if l == len(dims) {
			visit(at, vals[p])
			return
		}
		m := f.Order[l]
		caps := f.Levels[l].Caps()
		if caps.Locate {
			for c := range dims[m] {
				at[m] = c
				walk(l+1, p*int(dims[m])+int(c))
			}
			return
		}
		lo, hi := p, p+1
		crd := ints(arg.Levels[l].Crd)
		if caps.HasPos {
			pos := ints(arg.Levels[l].Pos)
			lo, hi = int(pos[p]), int(pos[p+1])
		}
		for q := lo; q < hi; q++ {
			if crd[q] < 0 {
				continue
			}
			at[m] = crd[q]
			walk(l+1, q)
		}
	}
	walk(0, 0)
}

func (p *problem) request() codegen.Request {
	r := codegen.Request{Stmt: p.stmt, Tensors: map[string]codegen.Tensor{}, Sizes: map[string]int64{}, ComputeType: ir.Float64}
	if p.clip.v != "" {
		r.Clip = []string{p.clip.v}
	}
	if p.tune {
		r.LongRow, r.TurnWork = 1, 1
	}
	for _, v := range p.normal.Vars {
		r.Sizes[v] = p.size(v)
	}
	for name, f := range p.formats {
		width := make([]uint8, len(f.Levels))
		for l := range width {
			width[l] = 4
		}
		ten := codegen.Tensor{Format: f, Type: ir.Float64, Dims: p.dims(name), PosWidth: width, CrdWidth: width, NNZ: int64(len(p.data[name]))}
		if p.tune {
			ten.NNZ *= 1000 // a bound that makes partial results pay
		}
		if p.finite {
			ten.Counts = p.counts(name)
		}
		if name == p.stmt.LHS.Name {
			r.Old = &ten
		} else {
			r.Tensors[name] = ten
		}
	}
	r.Tensors[p.stmt.LHS.Name] = codegen.Tensor{Format: p.result, Type: ir.Float64, Dims: p.dimsOf(p.stmt.LHS), NNZ: -1}
	return r
}

// counts are the positions of each level of a tensor.
func (p *problem) counts(name string) []int64 {
	f, dims := p.formats[name], p.dims(name)
	arg := pack(f, dims, slices.Clone(p.data[name]), rand.New(rand.NewPCG(1, 1)))
	var out []int64
	n := int64(1)
	for l, m := range f.Order {
		if f.Levels[l].Caps().HasCrd {
			n = int64(len(ints(arg.Levels[l].Crd)))
		} else {
			n *= dims[m]
		}
		out = append(out, n)
	}
	return out
}

// run compiles and interprets the case.
func (p *problem) run(u *codegen.Unit) ([]interp.Arg, error) {
	dims := p.dimsOf(p.stmt.LHS)
	args := make([]interp.Arg, len(u.Args))
	for k, a := range u.Args[1:] {
		entries := slices.Clone(p.data[a.Tensor])
		if a.Convert {
			f, dims := p.formats[a.Tensor], p.dims(a.Tensor)
			entries = nil
			walkAll(f, dims, pack(f, dims, slices.Clone(p.data[a.Tensor]), rand.New(rand.NewPCG(1, 1))), func(at []int64, v float64) {
				entries = append(entries, entry{slices.Clone(at), v})
			})
		}
		if !repeats(a.Format) {
			entries = summed(entries)
		}
		args[k+1] = pack(a.Format, p.dims(a.Tensor), entries, rand.New(rand.NewPCG(1, 1)))
		u.Func.Name = "leaf"
		widen(u, k+1, &args[k+1])
	}
	size := int64(1)
	for l, m := range u.Result.Format.Order {
		lev := interp.Level{}
		if u.Result.Format.Levels[l] == format.Dense {
			lev.Size = dims[m]
			if p.stmt.LHS.Vars[m] == p.clip.v {
				lev.Size, lev.Offset = p.clip.hi-p.clip.lo, p.clip.lo
			}
			size *= lev.Size
		}
		args[0].Levels = append(args[0].Levels, lev)
	}
	if u.Result.Shares >= 0 {
		size = share(u.Result.Format, dims, &args[0], args[u.Result.Shares])
	}
	if u.Result.Format.AllDense() || u.Result.Shares >= 0 {
		vals := make([]float64, size)
		for k := range vals {
			vals[k] = math.NaN()
		}
		args[0].Vals = interp.Array{Data: vals, Fresh: true}
	}
	var bounds [][2]int64
	for _, v := range u.Vars {
		if v == p.clip.v {
			bounds = append(bounds, [2]int64{p.clip.lo, p.clip.hi})
			continue
		}
		bounds = append(bounds, [2]int64{0, p.size(v)})
	}
	prog, err := interp.Compile(u.Func)
	if err != nil {
		return nil, err
	}
	fail, err := prog.Run(args, bounds, interp.Env{Threads: cmp.Or(p.threads, 1+int(size)%3), Seed: uint64(size), Steps: 5e6})
	if err != nil {
		return nil, err
	}
	if fail != nil {
		return nil, fail
	}
	return args, nil
}

// share gives a result the level arrays of an argument, and says how many
// values it has.
func share(f format.Format, dims []int64, result *interp.Arg, from interp.Arg) int64 {
	deep := len(f.Levels) - f.TrailingDense() - 1
	size := int64(len(ints(from.Levels[deep].Crd)))
	for l, m := range f.Order {
		if l <= deep {
			result.Levels[l] = from.Levels[l]
		} else {
			size *= dims[m]
		}
	}
	return size
}

// widen gives an argument's level arrays the widths that the leaf expects.
func widen(u *codegen.Unit, k int, arg *interp.Arg) {
	for _, q := range u.Func.Params {
		if q.Slot.Arg != k || q.A == nil || q.A.Elem != ir.Int64 || q.Slot.Part == ir.Vals {
			continue
		}
		lev := &arg.Levels[q.Slot.Level]
		if q.Slot.Part == ir.Pos {
			lev.Pos.Data = ints(lev.Pos)
		} else {
			lev.Crd.Data = ints(lev.Crd)
		}
	}
}

func summed(entries []entry) []entry {
	var out []entry
	for _, e := range entries {
		k := slices.IndexFunc(out, func(o entry) bool { return slices.Equal(o.at, e.at) })
		if k < 0 {
			out = append(out, e)
		} else {
			out[k].v += e.v
		}
	}
	return out
}

// check compares a leaf's result with what is right.
func (p *problem) check(u *codegen.Unit, args []interp.Arg, want *reference.Tensor, points []reference.Point) error {
	f := u.Result.Format
	deep := 0
	for l, k := range f.Levels {
		if k != format.Dense {
			deep = l + 1
		}
	}
	wanted := map[string]bool{}
	at := make([]int64, len(want.Dims))
	for k := range want.Len() {
		want.Coord(k, at)
		wanted[prefix(f, entry{at: at}, deep)] = true
	}
	vals := args[0].Vals.Data.([]float64)
	got, found := map[string]bool{}, 0
	var err error
	last := []int64{}
	unpack(f, want.Dims, args[0], func(at []int64, pos int) {
		key := prefix(f, entry{at: at}, deep)
		got[key] = true
		order := []int64{}
		for _, m := range f.Order {
			order = append(order, at[m])
		}
		if len(last) > 0 && slices.Compare(last, order) >= 0 && err == nil {
			err = fmt.Errorf("%v after %v: not in order", order, last)
		}
		last = order
		k, ok := want.Find(at)
		switch {
		case err != nil:
		case !ok && deep > 0 && !wanted[key]:
			err = fmt.Errorf("at %v: got an entry, want none", at)
		case !ok && vals[pos] != 0:
			err = fmt.Errorf("at %v: got %v, want 0 (absent)", at, vals[pos])
		case ok && strings.Contains(p.src, "/") && !finite(vals[pos]) && !finite(real(want.Value(k).C)):
			// The sign of a zero in a sum's denominator depends on the order of summation.
		case ok && !points[k].Agrees(reference.Float(vals[pos])):
			err = fmt.Errorf("at %v: got %v, want %v", at, vals[pos], want.Value(k).C)
		}
		if ok {
			found++
		}
	})
	if err == nil && found != want.Len() {
		err = fmt.Errorf("got %d of %d entries", found, want.Len())
	}
	return err
}

func TestRandom(t *testing.T) {
	var seen counts
	failures := 0
	for k := range *cases {
		s := *seed + uint64(k)
		p := draw(s)
		if err := p.try(t, &seen); err != nil {
			t.Errorf("seed %d: %s\n  sizes %v: %v", s, p, p.sizes, err)
			if failures++; failures > 5 {
				break
			}
		}
	}
	t.Logf("%d statements: %+v", *cases, seen)
	if *cases >= 1000 && (seen.Converted == 0 || seen.Shared == 0) {
		t.Errorf("got no case of some kind: %+v", seen)
	}
}

// counts says what the cases were.
type counts struct{ Converted, Shared int }

func (p *problem) try(t *testing.T, seen *counts) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
			if *show {
				panic(r)
			}
		}
	}()
	want, points, werr := p.reference(t)
	u, err := codegen.Compile(p.request())
	if err != nil {
		return err
	}
	if len(u.Notes) > 0 {
		seen.Converted++
	}
	if u.Result.Shares >= 0 {
		seen.Shared++
	}
	if *show {
		t.Logf("%s\norder %v\n%s\n%s", p, u.Order, cin.Pretty(u.CIN), ir.Print(u.Func))
	}
	args, err := p.run(u)
	var fail *interp.Failure
	if errors.As(err, &fail) && fail.Code == ir.FailDivide && werr != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if werr != nil {
		return fmt.Errorf("got a result, want %v", werr)
	}
	return p.check(u, args, want, points)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
