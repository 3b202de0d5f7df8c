// Package irtest holds leaves written by hand that cover every node of the IR,
// with inputs, for the tests of what prints, reads, runs and compiles them.
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

// A Case is a leaf and what to run it on.
type Case struct {
	Name   string
	Text   string
	Bounds [][2]int64
	Args   func() []interp.Arg // fresh ones at each call
	// Fail is what the leaf is to return.
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

// Cases are the leaves for a CPU, with their inputs.
func Cases() []Case { return cases("testdata") }

// Units are leaves with the loops of a GPU, before any Launch is made of them.
func Units() []Case { return cases("testdata/units") }

// Launches are leaves with launches.
func Launches() []Case { return cases("testdata/launches") }

// All are the leaves of Cases, Units and Launches.
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

// integers fills a slice with small whole numbers, of which sums are exact.
func integers[T int32 | int64 | float32 | float64](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 7))
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.IntN(19) - 9)
	}
	return s
}

// spread fills a slice with integers of the whole range.
func spread[T int32 | int64](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 9))
	s := make([]T, n)
	for i := range s {
		s[i] = T(r.Uint64()) >> (r.Uint32() % 24)
	}
	return s
}

// sparse is a matrix of n rows and m columns in compressed rows.
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
