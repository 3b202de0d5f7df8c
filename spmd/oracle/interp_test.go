package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/codegen/interp"
	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
)

// Interp is an engine that compiles a case and interprets its leaf. The interpreter checks every
// access to memory, and finds races between iterations.
type Interp struct{}

func (Interp) Name() string { return "interp" }

// Run compiles and interprets the case.
func (Interp) Run(_ context.Context, p *Prepared) (*Output, error) {
	c, err := compile(p, "leaf")
	if err != nil {
		return nil, err
	}
	return runInterpreted(c)
}

// runInterpreted interprets the leaf of a compiled case, and closes the case. It also compares the
// leaf's steps and workspaces with the compiler's predictions.
func runInterpreted(c *compiled) (*Output, error) {
	p := c.p
	defer c.close()
	prog, err := interp.Compile(c.unit.Func)
	if err != nil {
		return nil, err
	}
	spaces := newSpaceWatch(c.unit)
	out, err := c.execute(func(args []*tcs.Tensor, bounds [][2]int64) error {
		ran := int64(0)
		env := interp.Env{Threads: c.threads, Seed: p.Case.Variant, Steps: 2e7, Watch: spaces.watch,
			Ran: &ran}
		seen := c.unit.Foresee(bounds, positions(args), c.threads)
		err := interpret(prog, args, bounds, env, c.unit.Result.Format.AllDense() ||
			c.unit.Result.Shares >= 0)
		// Foresee assumes that each chunk of a parallel loop enters every inner loop once. It
		// predicts too many steps if there are more chunks than entries.
		if err == nil && seen.Steps > 100*float64(ran)+2000 {
			err = fmt.Errorf("the leaf takes %d steps, and %v were foreseen", ran, seen.Steps)
		}
		return err
	})
	if err == nil {
		err = spaces.check()
	}
	if err == nil && c.values != nil {
		if prog, err = interp.Compile(c.values.Func); err != nil {
			return nil, err
		}
		err = c.revalue(false, func(args []*tcs.Tensor, bounds [][2]int64) error {
			return interpret(prog, args, bounds,
				interp.Env{Threads: c.threads, Seed: p.Case.Variant, Steps: 2e7}, !c.values.Result.Accumulate)
		})
	}
	if err != nil && exitCode(err) == 1 {
		err = fmt.Errorf("%w\n%s", err, c.stages())
	}
	return out, err
}

// positions returns the number of positions of each level of a leaf's arguments.
func positions(args []*tcs.Tensor) [][]int64 {
	out := make([][]int64, len(args))
	for n, t := range args[1:] {
		for l := range t.Levels {
			out[n+1] = append(out[n+1], t.Positions(l))
		}
	}
	return out
}

// spaceWatch measures the memory of a leaf's workspaces. For each of their arrays it records the
// largest size. Arrays that different chunks or passes allocate under the same name count once.
type spaceWatch struct {
	unit  *codegen.Unit
	names []string         // the workspaces
	most  map[string]int64 // the largest size of each array in bytes
}

func newSpaceWatch(u *codegen.Unit) *spaceWatch {
	return &spaceWatch{u, spaceNames(u), map[string]int64{}}
}

// spaceNames returns the names of a leaf's workspaces, without scalars.
func spaceNames(u *codegen.Unit) (names []string) {
	cin.Walk(cin.Body(u.CIN), func(s cin.Stmt) {
		if w, ok := s.(*cin.Where); ok && len(cin.Target(w.Producer).Vars) > 0 {
			names = append(names, cin.Target(w.Producer).Name)
		}
	})
	return names
}

func (w *spaceWatch) watch(array string, bytes int64) {
	if slices.ContainsFunc(w.names,
		func(name string) bool { return strings.HasPrefix(array, name+"_") }) {
		if k := strings.LastIndexByte(array, '_'); strings.Trim(array[k+1:], "0123456789") == "" {
			array = array[:k] // the number distinguishes arrays with the same name
		}
		w.most[array] = max(w.most[array], bytes)
	}
}

// check returns an error if the workspaces needed more memory than the compiler predicts.
func (w *spaceWatch) check() error {
	took := int64(0)
	for _, n := range w.most {
		took += n
	}
	if most := w.unit.Workspaces(1); took > most {
		return fmt.Errorf("the workspaces %v took %d bytes, predicted were %d", w.names, took, most)
	}
	return nil
}

// interpret runs a leaf on tensors; args[0] is the result. If fresh is true, the leaf must write
// each value of the result before it reads the value.
func interpret(prog *interp.Program, args []*tcs.Tensor, bounds [][2]int64, env interp.Env,
	fresh bool) error {
	in := interpArgs(args)
	in[0].Vals.Fresh = fresh
	fail, err := prog.Run(in, bounds, env)
	if err != nil {
		return err
	}
	if fail != nil {
		return failed(fail.Code, fail.Coord, fail.Error())
	}
	takeResult(args[0], in[0])
	return nil
}

// failed returns the error that jobs return when a leaf fails with this code.
func failed(code ir.FailCode, coord []int64, msg string) error {
	if code == ir.FailPattern {
		return &kernels.PatternError{What: msg, Coord: coord}
	}
	e := &diag.Error{Msg: msg, Exit: diag.ExitRun}
	if code == ir.FailDivide {
		e.Exit = diag.ExitData
	}
	return e
}

// interpArgs returns arguments of an interpreted leaf for tensors. The arguments share the tensors'
// arrays.
func interpArgs(args []*tcs.Tensor) []interp.Arg {
	in := make([]interp.Arg, len(args))
	for k, t := range args {
		for _, lev := range t.Levels {
			l := interp.Level{Pos: intArray(lev.Pos), Crd: intArray(lev.Crd)}
			if lev.Form() == tensor.Full {
				l.Size, l.Offset = lev.Size, lev.Offset
			}
			in[k].Levels = append(in[k].Levels, l)
		}
		in[k].Vals = valArray(t)
	}
	return in
}

// takeResult sets the arrays of the result t to the arrays that the leaf left in a.
func takeResult(t *tcs.Tensor, a interp.Arg) {
	for l := range t.Levels {
		setArray(&t.Levels[l].Pos, a.Levels[l].Pos)
		setArray(&t.Levels[l].Crd, a.Levels[l].Crd)
	}
	setArray(&t.Vals, a.Vals)
}

func intArray(a tcs.Array) interp.Array {
	switch {
	case a.Width == 0:
		return interp.Array{}
	case a.Width == 4:
		return interp.Array{Data: orEmpty(tcs.Slice[int32](a)), First: a.First}
	}
	return interp.Array{Data: orEmpty(tcs.Slice[int64](a)), First: a.First}
}

// orEmpty returns s, or an empty slice if s is nil.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func valArray(t *tcs.Tensor) interp.Array {
	var data any
	switch t.Header.Type {
	case tensor.Int32:
		data = orEmpty(tcs.Slice[int32](t.Vals))
	case tensor.Int64:
		data = orEmpty(tcs.Slice[int64](t.Vals))
	case tensor.Float32:
		data = orEmpty(tcs.Slice[float32](t.Vals))
	case tensor.Float64:
		data = orEmpty(tcs.Slice[float64](t.Vals))
	case tensor.Complex64:
		data = orEmpty(tcs.Slice[complex64](t.Vals))
	case tensor.Complex128:
		data = orEmpty(tcs.Slice[complex128](t.Vals))
	case tensor.Bool:
		data = orEmpty(tcs.Slice[bool](t.Vals))
	case tensor.Int8:
		data = orEmpty(tcs.Slice[int8](t.Vals))
	case tensor.Int16:
		data = orEmpty(tcs.Slice[int16](t.Vals))
	case tensor.Uint8:
		data = orEmpty(tcs.Slice[uint8](t.Vals))
	case tensor.Uint16:
		data = orEmpty(tcs.Slice[uint16](t.Vals))
	case tensor.Uint32:
		data = orEmpty(tcs.Slice[uint32](t.Vals))
	case tensor.Uint64:
		data = orEmpty(tcs.Slice[uint64](t.Vals))
	}
	return interp.Array{Data: data, First: t.Vals.First}
}

// setArray sets a tensor's array to the data of an interpreted array.
func setArray(a *tcs.Array, x interp.Array) {
	switch d := x.Data.(type) {
	case []int32:
		*a = tcs.Of(d)
	case []int64:
		*a = tcs.Of(d)
	case []float32:
		*a = tcs.Of(d)
	case []float64:
		*a = tcs.Of(d)
	case []complex64:
		*a = tcs.Of(d)
	case []complex128:
		*a = tcs.Of(d)
	case []bool:
		*a = tcs.Of(d)
	case []int8:
		*a = tcs.Of(d)
	case []int16:
		*a = tcs.Of(d)
	case []uint8:
		*a = tcs.Of(d)
	case []uint16:
		*a = tcs.Of(d)
	case []uint32:
		*a = tcs.Of(d)
	case []uint64:
		*a = tcs.Of(d)
	}
}
