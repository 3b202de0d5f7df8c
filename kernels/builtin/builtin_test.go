package builtin

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/builtin/spec"
	_ "distaff/kernels/verified"
)

// sparse is a tensor: a set of coordinates (printed) with integer values.
type sparse struct {
	dims []int64
	vals map[string]float64
}

func random(r *rand.Rand, dims []int64, density float64) sparse {
	s := sparse{dims, map[string]float64{}}
	each(dims, func(at []int64) {
		if r.Float64() < density {
			s.vals[fmt.Sprint(at)] = float64(r.IntN(9) - 4) // a stored zero, now and then
		}
	})
	return s
}

// each calls f for every coordinate, in order.
func each(dims []int64, f func(at []int64)) {
	at := make([]int64, len(dims))
	var level func(l int)
	level = func(l int) {
		if l == len(dims) {
			f(at)
			return
		}
		for at[l] = 0; at[l] < dims[l]; at[l]++ {
			level(l + 1)
		}
	}
	level(0)
}

// pack stores a tensor in levels d and s, in the order of its modes.
func (s sparse) pack(f tensor.Format, width uint8) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: s.dims, Type: tensor.Float64}}
	nodes := [][]int64{{}} // the coordinates that lead to each position
	for l, kind := range f.Levels {
		lev := tcs.Level{Kind: kind, Mode: l, Size: s.dims[l]}
		var next [][]int64
		pos, crd := []int64{0}, []int64{}
		for _, n := range nodes {
			for i := range s.dims[l] {
				child := append(append([]int64(nil), n...), i)
				if kind == tensor.Dense || s.below(child) {
					next, crd = append(next, child), append(crd, i)
				}
			}
			pos = append(pos, int64(len(crd)))
		}
		if kind != tensor.Dense {
			lev.Pos, lev.Crd = array(pos, width), array(crd, width)
		}
		nodes = next
		t.Levels = append(t.Levels, lev)
	}
	vals := make([]float64, len(nodes))
	for p, n := range nodes {
		vals[p] = s.vals[fmt.Sprint(n)]
	}
	t.Vals = tcs.Of(vals)
	return t
}

// below reports whether an entry's coordinates start with the given ones.
func (s sparse) below(prefix []int64) bool {
	found := false
	each(s.dims[len(prefix):], func(rest []int64) {
		_, ok := s.vals[fmt.Sprint(append(append([]int64(nil), prefix...), rest...))]
		found = found || ok
	})
	return found
}

func array(v []int64, width uint8) tcs.Array {
	if width == 8 {
		return tcs.Of(v)
	}
	n := make([]int32, len(v))
	for i, x := range v {
		n[i] = int32(x)
	}
	return tcs.Of(n)
}

// unpack is the reverse of pack: every position is an entry.
func unpack(t *tcs.Tensor) sparse {
	s := sparse{t.Header.Dims, map[string]float64{}}
	vals := tcs.Slice[float64](t.Vals)
	var level func(l int, p int64, at []int64)
	level = func(l int, p int64, at []int64) {
		if l == len(t.Levels) {
			s.vals[fmt.Sprint(at)] = vals[p]
			return
		}
		lev := t.Levels[l]
		if lev.Kind == 'd' {
			for i := range lev.Size {
				level(l+1, p*lev.Size+i, append(at, i))
			}
			return
		}
		for q := lev.Pos.Int(p); q < lev.Pos.Int(p+1); q++ {
			level(l+1, q, append(at, lev.Crd.Int(q)))
		}
	}
	level(0, 0, nil)
	return s
}

// evaluate returns the value of an expression at a point, and whether the value is present.
func evaluate(e notation.Expr, tensors map[string]sparse, point map[string]int64) (float64, bool) {
	switch e := e.(type) {
	case *notation.Access:
		at := make([]int64, len(e.Vars))
		for i, v := range e.Vars {
			at[i] = point[v]
		}
		v, ok := tensors[e.Name].vals[fmt.Sprint(at)]
		return v, ok
	case *notation.Binary:
		x, inX := evaluate(e.X, tensors, point)
		y, inY := evaluate(e.Y, tensors, point)
		if e.Op == '*' {
			return x * y, inX && inY
		}
		return x + y, inX || inY
	}
	panic("BUG: a kernel with another operation")
}

// define evaluates a kernel by its definition, over all points of all variables.
func define(stmt *notation.Stmt, tensors map[string]sparse, sizes map[string]int64,
	dims []int64) sparse {
	var vars []string
	var ranges []int64
	for v, n := range sizes {
		vars, ranges = append(vars, v), append(ranges, n)
	}
	out := sparse{dims, map[string]float64{}}
	each(ranges, func(at []int64) {
		point := map[string]int64{}
		for i, v := range vars {
			point[v] = at[i]
		}
		x, ok := evaluate(stmt.RHS, tensors, point)
		if !ok {
			return
		}
		to := make([]int64, len(stmt.LHS.Vars))
		for i, v := range stmt.LHS.Vars {
			to[i] = point[v]
		}
		out.vals[fmt.Sprint(to)] += x
	})
	return out
}

// frame returns a result before the leaf runs, as codegen.Result describes it.
func frame(u *codegen.Unit, dims []int64, args []*tcs.Tensor) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: dims, Type: tensor.Float64}, Vals: tcs.Array{Width: 8}}
	n := int64(1)
	for l, kind := range u.Result.Format.Levels {
		lev := tcs.Level{Kind: kind, Mode: l, Size: dims[l]}
		n *= dims[l]
		if kind != tensor.Dense {
			lev.Pos.Width, lev.Crd.Width = u.Result.PosWidth[l], u.Result.CrdWidth[l]
		}
		t.Levels = append(t.Levels, lev)
	}
	if k := u.Result.Shares; k >= 0 {
		for l := range u.Result.Format.Levels[:len(t.Levels)-u.Result.Format.TrailingDense()] {
			t.Levels[l].Pos, t.Levels[l].Crd = args[k].Levels[l].Pos, args[k].Levels[l].Crd
		}
		n = t.Positions(len(t.Levels) - 1)
	}
	if u.Result.Format.AllDense() || u.Result.Shares >= 0 {
		vals := make([]float64, n)
		for i := range vals {
			vals[i] = 1e99 // uninitialized memory
		}
		t.Vals = tcs.Of(vals)
	}
	return t
}

// request returns a kernel as a job requests it, with the user's names.
func request(t *testing.T, k spec.Kernel) codegen.Request {
	t.Helper()
	r, err := k.Request()
	if err != nil {
		t.Fatal(err)
	}
	stmt, err := notation.Parse(k.Statement)
	if err != nil {
		t.Fatal(err)
	}
	_, names := spec.Canonical(codegen.Request{Statement: codegen.Statement{Stmt: stmt}})
	tensors, sizes := map[string]codegen.Tensor{}, map[string]int64{}
	for from, to := range names.Tensors {
		tensors[from] = r.Tensors.All[to]
	}
	for from, to := range names.Vars {
		sizes[from] = r.Tensors.Sizes[to]
	}
	r.Statement.Stmt, r.Tensors.All, r.Tensors.Sizes, r.Ask.Name, r.Target.Threads = stmt, tensors, sizes, "users_leaf", 0
	return r
}

// dims returns the sizes of an access's modes.
func dims(stmt *notation.Stmt, tensor string, sizes map[string]int64) []int64 {
	var out []int64
	take := func(a *notation.Access) {
		if a.Name == tensor && out == nil {
			for _, v := range a.Vars {
				out = append(out, sizes[v])
			}
		}
	}
	take(stmt.LHS)
	notation.Walk(stmt.RHS, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok {
			take(a)
		}
		return true
	})
	return out
}

func TestKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var stale []string
	for _, k := range spec.Kernels() {
		r := request(t, k)
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		leaf := Find(u)
		if leaf == nil {
			stale = append(stale, k.Name)
			continue
		}
		for _, density := range []float64{0, 0.3, 1} {
			// Compiled for the kernel's sizes, and called with small ones.
			sizes := map[string]int64{}
			for v := range r.Tensors.Sizes {
				sizes[v] = 1 + rng.Int64N(5)
			}
			tensors := map[string]sparse{}
			args := make([]*tcs.Tensor, len(u.Args))
			for i, a := range u.Args[1:] {
				d := density
				if a.Format.AllDense() {
					d = 1
				}
				tensors[a.Tensor] = random(rng, dims(r.Statement.Stmt, a.Tensor, sizes), d)
				args[i+1] = tensors[a.Tensor].pack(a.Format, k.Width)
			}
			args[0] = frame(u, dims(r.Statement.Stmt, u.Args[0].Tensor, sizes), args)
			var bounds [][2]int64
			for _, v := range u.Vars {
				bounds = append(bounds, [2]int64{0, sizes[v]})
			}
			arena := kernels.NewArena(nil)
			if err := leaf.Call(context.Background(), args, bounds,
				kernels.Env{Threads: 2, Arena: arena}); err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			compare(t, k.Name, unpack(args[0]), define(r.Statement.Stmt, tensors, sizes, args[0].Header.Dims),
				u.Result.Format)
			args[0].Close()
			if arena.Live() != 0 || arena.Leaks() != 0 {
				t.Errorf("%s: %d blocks live, %d leaks", k.Name, arena.Live(), arena.Leaks())
			}
		}
	}
	if stale != nil {
		t.Skipf("without a leaf, for `go generate ./kernels/builtin` is due: %v", stale)
	}
}

// compare checks that values are equal, and that coordinates are equal except for zeros that dense
// levels add.
func compare(t *testing.T, name string, got, want sparse, f tensor.Format) {
	t.Helper()
	dense := false
	for _, kind := range f.Levels {
		dense = dense || kind == tensor.Dense
	}
	for at, v := range want.vals {
		if g, ok := got.vals[at]; !ok || g != v {
			t.Fatalf("%s: at %s: %v (%v), want %v", name, at, g, ok, v)
		}
	}
	for at, v := range got.vals {
		if _, ok := want.vals[at]; !ok && (!dense || v != 0) {
			t.Fatalf("%s: at %s: %v, want nothing", name, at, v)
		}
	}
}

// Another operation, format or width makes another statement.
func TestFindOnlyEquals(t *testing.T) {
	k := spec.Kernels()[0]
	parse := func(src string) func(*codegen.Request) {
		return func(r *codegen.Request) {
			stmt, err := notation.Parse(src)
			if err != nil {
				t.Fatal(err)
			}
			r.Statement.Stmt = stmt
		}
	}
	for what, change := range map[string]func(*codegen.Request){
		"an operation": parse("y(i) = A(i,j) / x(j)"),
		"a sign":       parse("y(i) = -A(i,j) * x(j)"),
		"a transpose":  parse("y(j) = A(i,j) * x(i)"),
		"a format": func(r *codegen.Request) {
			c := r.Tensors.All["x"]
			c.Format, c.PosWidth, c.CrdWidth = tensor.SparseOf(1), []uint8{4}, []uint8{4}
			r.Tensors.All["x"] = c
		},
		"a width": func(r *codegen.Request) {
			c := r.Tensors.All["A"]
			c.PosWidth, c.CrdWidth = []uint8{0, 8}, []uint8{0, 4}
			r.Tensors.All["A"] = c
		},
		"a type": func(r *codegen.Request) {
			for name, c := range r.Tensors.All {
				c.Type = tensor.Float32
				r.Tensors.All[name] = c
			}
		},
	} {
		r := request(t, k)
		change(&r)
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if Find(u) != nil {
			t.Errorf("%s: found", what)
		}
	}
}
