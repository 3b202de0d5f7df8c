package tune

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/codegen/strategy"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// formRounds is how often each form is timed, in turn with the others.
const formRounds = 11

// gain is how many times as fast as the default a form is at least that takes its place.
const gain = 1.05

// fastest times the forms of each choice in turn, and returns those that take the place of the default: they are faster
// in the best of their times, and in most rounds, so that one lucky time of a form, or one of the default that was slowed
// down, decides nothing.
func fastest(choices []strategy.Choice, seconds func(choice string, form int64) (float64, error)) (strategy.Forms, error) {
	out := strategy.Forms{}
	for _, c := range choices {
		times := map[int64][]float64{}
		for range formRounds {
			for _, form := range c.Forms {
				s, err := seconds(c.Name, form)
				if err != nil {
					return nil, err
				}
				times[form] = append(times[form], s)
			}
		}
		chosen := c.Default
		for _, form := range c.Forms { // of equals the plainer one
			if slices.Min(times[form]) < slices.Min(times[chosen]) && gains(times[c.Default], times[form]) {
				chosen = form
			}
		}
		out[c.Name] = chosen
	}
	return out, nil
}

// gains tells whether a form takes the place of the default, by their times in the same rounds.
func gains(standard, form []float64) bool {
	rounds := 0
	for n, s := range standard {
		if s >= gain*form[n] {
			rounds++
		}
	}
	return slices.Min(standard) >= gain*slices.Min(form) && 2*rounds > len(standard)
}

// The matrix by which rows are picked has formRows rows of formEntries entries, and the rows have formColumns values. There
// are as many of these as the data of memory have room for.
const formRows, formEntries, formColumns = 16384, 8, 32

// formed are leaves of one statement that differ in a form alone.
type formed struct {
	library *kernels.Library
	units   map[string]*codegen.Unit // by formKey
}

func formKey(choice string, form int64) string { return fmt.Sprintf("%s_%d", choice, form) }

// leaf is that of a form. The caller closes it.
func (x *formed) leaf(choice string, form int64) (*codegen.Unit, kernels.Leaf, error) {
	u := x.units[formKey(choice, form)]
	leaf, err := x.library.Leaf(c.Symbol(u.Func.Name))
	return u, leaf, err
}

// compileForms makes a leaf for each form of each choice: a product of a sparse matrix and a dense one, of which
// coordinates pick rows.
func (l *leaves) compileForms(cfg cc.Config) (*formed, error) {
	units, funcs := map[string]*codegen.Unit{}, []*ir.Func{}
	for _, x := range strategy.Choices {
		for _, form := range x.Forms {
			u, err := l.formUnit(x.Name, form)
			if err != nil {
				return nil, err
			}
			units[formKey(x.Name, form)] = u
			funcs = append(funcs, u.Func)
		}
	}
	cfg.Ours, cfg.Cache = true, ""
	b, err := cc.New(cfg)
	if err != nil {
		return nil, err
	}
	o, err := b.Build(l.ctx, cc.Source{Text: c.File(funcs...), Label: "times forms of leaves"})
	if err != nil {
		return nil, err
	}
	library, err := kernels.Open(o)
	return &formed{library, units}, err
}

// forms are the fastest forms of this processor.
func (l *leaves) forms(cfg cc.Config) (strategy.Forms, error) {
	x, err := l.compileForms(cfg)
	if err != nil {
		return nil, err
	}
	defer x.library.Close()
	args, err := l.formData()
	if err != nil {
		return nil, err
	}
	defer args[0].Close()
	defer args[1].Close()
	return fastest(strategy.Choices, func(choice string, form int64) (float64, error) {
		u, leaf, err := x.leaf(choice, form)
		if err != nil {
			return 0, err
		}
		defer leaf.Close()
		return l.timeForm(leaf, u, args)
	})
}

// formUnit is the leaf of a form.
func (l *leaves) formUnit(choice string, form int64) (*codegen.Unit, error) {
	rows := l.data.Vals.Len / formColumns
	s, err := notation.Parse("Y(i,k) = A(i,j)*X(j,k)")
	if err != nil {
		return nil, err
	}
	dense := func(m, n int64) codegen.Tensor {
		return codegen.Tensor{Format: format.DenseOf(2), Type: ir.Float64, Dims: []int64{m, n}, PosWidth: []uint8{0, 0}, CrdWidth: []uint8{0, 0}, NNZ: m * n, Counts: []int64{m, m * n}}
	}
	_, csr, err := format.ParseFlag("A:ds")
	if err != nil {
		return nil, err
	}
	entries := int64(formRows * formEntries)
	return codegen.Compile(codegen.Request{Name: formKey(choice, form), Stmt: s, ComputeType: ir.Float64, Forms: strategy.Forms{choice: form}, Sizes: map[string]int64{"i": formRows, "j": rows, "k": formColumns},
		Tensors: map[string]codegen.Tensor{"Y": dense(formRows, formColumns), "X": dense(rows, formColumns),
			"A": {Format: csr, Type: ir.Float64, Dims: []int64{formRows, rows}, PosWidth: []uint8{0, 4}, CrdWidth: []uint8{0, 4}, NNZ: entries, Counts: []int64{formRows, entries}}}})
}

// formData are Y, A, and X, whose values are those of the data of memory. A has its coordinates once it is timed.
func (l *leaves) formData() (args []*tcs.Tensor, err error) {
	level := func(kind byte, mode int, size int64) tcs.Level { return tcs.Level{Kind: kind, Mode: mode, Size: size} }
	y, err := l.array(formRows*formColumns, tcs.Float64, 8)
	if err != nil {
		return nil, err
	}
	y.Dims, y.Levels = []int64{formRows, formColumns}, []tcs.Level{level('d', 0, formRows), level('d', 1, formColumns)}
	entries := int64(formRows * formEntries)
	a, err := l.array(entries, tcs.Float64, 8)
	if err != nil {
		y.Close()
		return nil, err
	}
	for n := range entries {
		*(*float64)(unsafe.Add(a.Vals.Ptr, 8*n)) = 1
	}
	pos := make([]int32, formRows+1)
	for n := range pos {
		pos[n] = int32(n * formEntries)
	}
	a.Levels = []tcs.Level{level('d', 0, formRows), level('s', 1, 0)}
	a.Levels[1].Pos, a.Levels[1].Crd = tcs.Of(pos), tcs.Of(make([]int32, entries))
	x := &tcs.Tensor{Header: tcs.Header{Type: tcs.Float64}, Levels: []tcs.Level{level('d', 0, 0), level('d', 1, formColumns)}, Vals: l.data.Vals}
	return []*tcs.Tensor{y, a, x}, nil
}

// timeForm is the seconds that a leaf takes.
func (l *leaves) timeForm(leaf kernels.Leaf, u *codegen.Unit, args []*tcs.Tensor) (float64, error) {
	a, x, sizes := args[1], args[2], u.Request.Sizes
	rows := sizes["j"]
	a.Dims, a.Levels[1].Size = []int64{formRows, rows}, rows
	x.Dims, x.Levels[0].Size, x.Vals.Len = []int64{rows, formColumns}, rows, rows*formColumns
	crd, random := tcs.Slice[int32](a.Levels[1].Crd), tcs.Slice[uint32](l.random.Vals)
	for n := range crd {
		part := rows / formEntries
		crd[n] = int32(int64(n%formEntries)*part + int64(random[n])%part)
	}
	var bounds [][2]int64
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, sizes[v]})
	}
	took := 0.0
	for range 2 { // the first run of a form finds other data in the caches
		begun := l.processorTime()
		if err := leaf.Call(l.ctx, args, bounds, kernels.Env{Threads: 1, Arena: l.arena, What: "a measurement of the machine", Runner: l.runner}); err != nil {
			return 0, fmt.Errorf("measuring the machine (forms): %w", err)
		}
		took = l.processorTime() - begun
	}
	return took, nil
}

// processorTime is the seconds that the thread on which leaves are called has run.
func (l *leaves) processorTime() (seconds float64) {
	l.runner.Do(func() {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic("BUG: tune: no clock of a thread: " + err.Error())
		}
		seconds = float64(t.Nano()) / 1e9
	})
	return seconds
}

// measureForms adds the fastest forms to a model.
func measureForms(ctx context.Context, l *leaves, cfg cc.Config, m *Model) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.Forms, err = l.forms(cfg)
	return err
}
