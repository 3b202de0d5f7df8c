// Package irtest has hand-written leaves that together contain every node of the IR except Call and
// SpMM, with inputs. Tests of the packages that print, parse, run and compile leaves use them.
package irtest

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"

	"distaff/codegen/interp"
	"distaff/codegen/ir"
)

//go:embed testdata
var files embed.FS

// A Case is a leaf with the inputs to run it on.
type Case struct {
	Name   string
	Text   string
	Bounds [][2]int64
	Args   func() []interp.Arg // returns new arguments at each call
	// Fail is the failure code that the leaf must return, or 0 if it must succeed.
	Fail ir.FailCode
}

// Func parses the leaf.
func (c Case) Func() *ir.Func {
	f, err := ir.Parse(c.Text)
	if err != nil {
		panic(fmt.Sprintf("BUG: irtest: %s: %v", c.Name, err))
	}
	return f
}

// Cases returns the leaves for a CPU.
func Cases() []Case { return cases("testdata") }

// Units returns the test leaves that loop over blocks and threads of a GPU, before these loops are
// made into kernels.
func Units() []Case { return cases("testdata/units") }

// Launches returns the test leaves that launch kernels on a GPU.
func Launches() []Case { return cases("testdata/launches") }

// All returns the leaves of Cases, Units and Launches.
func All() []Case { return slices.Concat(Cases(), Units(), Launches()) }

func cases(dir string) []Case {
	var list []Case
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic(fmt.Sprintf("BUG: irtest: %v", err))
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := files.ReadFile(path.Join(dir, e.Name()))
		if err != nil {
			panic(fmt.Sprintf("BUG: irtest: %v", err))
		}
		name := strings.TrimSuffix(e.Name(), ".ir")
		in, ok := inputs[name]
		if !ok {
			panic("BUG: irtest: no input for " + name)
		}
		list = append(list, Case{Name: name, Text: string(text), Args: in.args, Bounds: in.bounds,
			Fail: in.fail})
	}
	return list
}

type input struct {
	args   func() []interp.Arg
	bounds [][2]int64
	fail   ir.FailCode
}

func data(x any) interp.Array              { return interp.Array{Data: x} }
func fresh(x any) interp.Array             { return interp.Array{Data: x, Fresh: true} }
func view(x any, first int64) interp.Array { return interp.Array{Data: x, First: first} }
func vals(x any) interp.Arg                { return interp.Arg{Vals: data(x)} }
func result(levels int) interp.Arg {
	return interp.Arg{
		Levels: make([]interp.Level, levels)}
}
func level(pos, crd any) interp.Level       { return interp.Level{Pos: data(pos), Crd: data(crd)} }
func dense(size, offset int64) interp.Level { return interp.Level{Size: size, Offset: offset} }

// integers returns n random small whole numbers, whose sums are exact.
func integers[T int32 | int64 | float32 | float64](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 7))
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.IntN(19) - 9)
	}
	return s
}

// spread returns n random integers from the whole range of the type.
func spread[T int32 | int64](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 9))
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.Uint64()) >> (r.Uint32() % 24)
	}
	return s
}

// sparse returns a random matrix of n rows and m columns in compressed rows.
func sparse[I int32 | int64](n, m, perRow int, seed uint64) (pos, crd []I, vals []float64) {
	r := rand.New(rand.NewPCG(seed, 11))
	pos = []I{0}
	for i := 0; i < n; i++ {
		want := r.IntN(2*perRow + 1)
		for j := 0; j < m; j++ {
			if r.IntN(m) < want {
				crd = append(crd, I(j))
				vals = append(vals, float64(r.IntN(9)+1))
			}
		}
		pos = append(pos, I(len(crd)))
	}
	return pos, crd, vals
}
