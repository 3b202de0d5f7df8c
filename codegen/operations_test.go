package codegen_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/notation"
	"distaff/codegen/workload"
	"distaff/io/tensor"
)

// pattern is the set of coordinates, as text, where a tensor stores values.
type pattern map[string]bool

func at(coords []int64) string { return fmt.Sprint(coords) }

// everywhere calls f with every coordinate.
func everywhere(dims []int64, f func(coords []int64)) {
	coords, all := make([]int64, len(dims)), int64(1)
	for _, d := range dims {
		all *= d
	}
	for n := range all {
		for m, d := range dims {
			coords[m], n = n%d, n/d
		}
		f(coords)
	}
}

// inFormat returns the coordinates that a tensor with a format stores if it must store the pattern
// p, and the number of positions of each level.
func inFormat(p pattern, f tensor.Format, dims []int64) (stored pattern, counts []int64) {
	prefix := func(coords []int64, n int) string {
		var list []int64
		for _, m := range f.Order[:n] {
			list = append(list, coords[m])
		}
		return at(list)
	}
	prefixes, last, parents := map[string]bool{}, 0, int64(1)
	everywhere(dims, func(coords []int64) {
		for n := range len(dims) + 1 {
			if p[at(coords)] {
				prefixes[prefix(coords, n)] = true
			}
		}
	})
	for l, kind := range f.Levels {
		if kind == tensor.Dense {
			parents *= dims[f.Order[l]]
		} else {
			last, parents = l+1, 0
			for x := range prefixes {
				if len(strings.Fields(x)) == l+1 && x != "[]" {
					parents++
				}
			}
		}
		counts = append(counts, parents)
	}
	stored = pattern{}
	everywhere(dims, func(coords []int64) {
		if last == 0 || prefixes[prefix(coords, last)] {
			stored[at(coords)] = true
		}
	})
	return stored, counts
}

// walker runs concrete index notation over patterns, and counts operations.
type walker struct {
	size                       map[string]int64
	stored                     map[string]pattern // by name in the notation, with temporaries
	temporary                  map[string]bool
	env                        map[string]int64
	multiplications, additions float64
	reads                      map[string]float64
}

func (w *walker) present(x cin.Expr) bool {
	switch x := x.(type) {
	case *cin.Access:
		p, ok := w.stored[x.Name]
		return !ok || p[at(w.coords(x))]
	case *cin.Neg:
		return w.present(x.X)
	case *cin.Binary:
		switch x.Op {
		case '*':
			return w.present(x.X) && w.present(x.Y)
		case '/':
			return w.present(x.X)
		}
		return w.present(x.X) || w.present(x.Y)
	}
	return true
}

func (w *walker) coords(a *cin.Access) []int64 {
	list := []int64{}
	for _, v := range a.Vars {
		list = append(list, w.env[v])
	}
	return list
}

// eval counts the operations of evaluating x. It counts nothing if x has no value.
func (w *walker) eval(x cin.Expr) {
	if !w.present(x) {
		return
	}
	switch x := x.(type) {
	case *cin.Access:
		w.reads[x.Name]++
	case *cin.Neg:
		w.eval(x.X)
	case *cin.Binary:
		switch {
		case x.Op == '*' || x.Op == '/':
			w.multiplications++
		case w.present(x.X) && w.present(x.Y):
			w.additions++
		}
		w.eval(x.X)
		w.eval(x.Y)
	}
}

func (w *walker) run(s cin.Stmt) {
	switch s := s.(type) {
	case *cin.Forall:
		for c := range w.size[s.Var] {
			w.env[s.Var] = c
			w.run(s.Body)
		}
		delete(w.env, s.Var)
	case *cin.Seq:
		for _, t := range s.List {
			w.run(t)
		}
	case *cin.Where:
		name := cin.Target(s.Producer).Name
		w.stored[name], w.temporary[name] = pattern{}, true
		if w.wants(s.Consumer, name) {
			w.run(s.Producer)
		}
		w.run(s.Consumer)
	case *cin.Assign:
		if !w.present(s.RHS) {
			return
		}
		if w.eval(s.RHS); s.Accumulate {
			w.additions++
		}
		if w.temporary[s.LHS.Name] {
			w.stored[s.LHS.Name][at(w.coords(s.LHS))] = true
		}
	}
}

// wants reports whether some consumer may multiply the temporary by values: no other factor is
// known to be absent.
func (w *walker) wants(consumer cin.Stmt, name string) bool {
	wants := false
	cin.Paths(consumer, func(_ []*cin.Forall, a *cin.Assign) {
		reads, all := false, true
		var each func(x cin.Expr)
		each = func(x cin.Expr) {
			if b, ok := x.(*cin.Binary); ok && b.Op == '*' {
				each(b.X)
				each(b.Y)
				return
			}
			known := true
			cin.ExprAccesses(x, func(a *cin.Access) {
				reads = reads || a.Name == name
				for _, v := range a.Vars {
					_, bound := w.env[v]
					known = known && bound
				}
				known = known && a.Name != name
			})
			all = all && (!known || w.present(x))
		}
		each(a.RHS)
		wants = wants || reads && all
	})
	return wants
}

// TestOperations compares the counts for random operands with the counts of a walk over all
// coordinates. Counts that are marked as exact must be equal.
func TestOperations(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sure, total := 0, 0
	for _, c := range []string{
		"y(i)=A(i,j)*x(j) A:ds", "y(i)=A(i,j)*x(j) A:ss x:s", "y(i)=2*A(i,j)*x(j)+z(i) A:ds",
		"a=A(i,j)*A(i,j) A:ss", "a=A(i,j)*A(j,i) A:ds",
		"A(i,l)=B(i,j,k)*C(j,l)*D(k,l) B:sss", "A(i,l)=B(i,j,k)*C(j,l)*D(k,l) B:dss",
		"A(i,j)=B(i,j)*C(i,k)*D(k,j) A:ds B:ds", "A(i,j)=B(i,j)*C(i,k)*D(k,j) A:ss B:ss C:ds",
		"A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds", "A(i,j)=B(i,k)*C(k,j) B:ds", "A(i,j)=B(i,k)*C(k,j)",
		"A(i,j)=B(i,j)+C(i,j) A:ds B:ds C:ds", "A(i,j)=B(i,j)+C(i,j) B:ds",
		"A(i,j)=B(i,j,k)*c(k) A:ss B:sss", "A(i,j,l)=B(i,j,k)*C(k,l) A:ssd B:sss",
		"A(i,j)=B(i,j)/c(i) A:ds B:ds", "A(i,j)=B(j,i) A:ds B:ds", "A(i,l)=B(i,j)*C(j,k)*D(k,l)",
		"y(i)=A(i,j)*x(j)-B(i,j)*z(j) A:ds B:ss", "A(i,j)=(B(i,j)+C(i,j))*D(i,j) D:sd",
		"y(i)=A(i,j)*B(j,k)*x(k) A:ds",
	} {
		for range 12 {
			r := goldenRequest(t, strings.ReplaceAll(c, " ", "\n"))
			sizes, normal := map[string]int64{}, notation.Normalize(r.Statement.Stmt)
			one := 1 + random.Int64N(6)
			for v := range r.Tensors.Sizes {
				source := cmp.Or(normal.Source[v], v)
				switch {
				case strings.Contains(c, "A(j,i)"): // modes of one tensor
					sizes[source] = one
				case sizes[source] == 0:
					sizes[source] = 1 + random.Int64N(6)
				}
				r.Tensors.Sizes[v], sizes[v] = sizes[source], sizes[source]
			}
			given := map[string]pattern{}
			for _, name := range slices.Sorted(maps.Keys(r.Tensors.All)) {
				x := r.Tensors.All[name]
				for _, a := range append(r.Statement.Stmt.Accesses(), r.Statement.Stmt.LHS) {
					for m, v := range a.Vars {
						if a.Name == name {
							x.Dims[m] = sizes[v]
						}
					}
				}
				p := pattern{}
				share := random.Float64()
				everywhere(x.Dims, func(coords []int64) {
					if random.Float64() < share {
						p[at(coords)] = true
					}
				})
				given[name], x.Counts = inFormat(p, x.Format, x.Dims)
				x.NNZ = int64(len(given[name]))
				r.Tensors.All[name] = x
			}
			u, err := codegen.Compile(r)
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			w := &walker{size: sizes, stored: map[string]pattern{}, temporary: map[string]bool{},
				env: map[string]int64{}, reads: map[string]float64{}}
			e := workload.Extents{Size: func(v string) int64 { return sizes[v] },
				Counts: make([][]int64, len(u.Args))}
			for n, a := range u.Args[1:] {
				w.stored[a.Name], e.Counts[n+1] = inFormat(given[a.Tensor], a.Format, r.Tensors.All[a.Tensor].Dims)
			}
			w.run(cin.Body(u.CIN))
			got := u.Workload.Operations(e)
			if total++; !got.Exact {
				continue
			}
			sure++
			same := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
			if !same(got.Multiplications, w.multiplications) || !same(got.Additions, w.additions) {
				t.Errorf("%s of sizes %v, %s: got %v multiplications and %v additions, want %v and %v", c,
					sizes, cin.String(u.CIN), got.Multiplications, got.Additions, w.multiplications, w.additions)
			}
			for n, a := range u.Args[1:] {
				if !same(got.Reads[n+1], w.reads[a.Name]) {
					t.Errorf("%s of sizes %v, %s: got %v reads of %s, want %v", c, sizes, cin.String(u.CIN),
						got.Reads[n+1], a.Name, w.reads[a.Name])
				}
			}
		}
	}
	if sure < total/2 {
		t.Errorf("%d of %d counts are sure, want half of them", sure, total)
	}
	t.Logf("%d of %d counts are sure", sure, total)
}
