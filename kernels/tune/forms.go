package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// formRounds is how often each form is timed, in turn with the others, and leastRounds how often
// where there is no time.
const formRounds, leastRounds = 11, 5

// gain is how many times as fast as the default a form is at least that takes its place.
const gain = 1.05

// measured are the choices that are measured.
func measured() []strategy.Choice {
	return slices.DeleteFunc(slices.Clone(strategy.Choices),
		func(c strategy.Choice) bool { return c.Shipped })
}

// A former times forms.
type former interface {
	// form is the seconds that a form takes.
	form(choice string, form int64) (float64, error)
	// elapsed is the seconds since measuring began.
	elapsed() float64
}

// fastest times the forms of each choice in turn, in rounds while Time lasts, and returns those
// that take the place of the default: they are faster in the best of their times, and in most
// rounds, so that one lucky time of a form, or one of the default that was slowed down, decides
// nothing.
func fastest(ctx context.Context, choices []strategy.Choice, by former) (strategy.Forms, error) {
	times := map[string]map[int64][]float64{}
	for _, c := range choices {
		times[c.Name] = map[int64][]float64{}
	}
	begun, last := by.elapsed(), 0.0
	for round := 0; round < formRounds && (round < leastRounds || begun+last < Time); round++ {
		for _, c := range choices {
			forms := slices.Clone(c.Forms)
			if round%2 == 1 { // the form that comes last finds more of its data in the caches
				slices.Reverse(forms)
			}
			for _, form := range forms {
				if ctx.Err() != nil {
					return nil, context.Cause(ctx)
				}
				s, err := by.form(c.Name, form)
				if err != nil {
					return nil, err
				}
				times[c.Name][form] = append(times[c.Name][form], s)
			}
		}
		now := by.elapsed()
		begun, last = now, now-begun
	}
	out := strategy.Forms{}
	for _, c := range choices {
		of, chosen := times[c.Name], c.Default
		for _, form := range c.Forms { // of equals the plainer one
			if slices.Min(of[form]) < slices.Min(of[chosen]) && gains(of[c.Default], of[form]) {
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

// A formCase is what the forms of a choice are timed on: a product of a sparse matrix, of so many
// rows of formEntries entries, and a dense one with rows of so many values, or a vector; or the sum
// of two such matrices.
type formCase struct {
	stmt           string
	rows           int64
	picked, values int64
	// the values of the sparse matrix are the data of memory, else those of the dense one
	streamed bool
	sum      bool
}

// The rows that are picked are as many as the data of memory have room for; entries that are gone
// through are those, streamedEntries at most, and pick from a vector of 2 MiB.
const formEntries, streamedEntries = 8, 3 << 20

func (l *leaves) formCase(choice string) formCase {
	switch choice {
	case strategy.Streams:
		return formCase{"y(i) = A(i,j)*x(j)", min(l.data.Vals.Len, streamedEntries) / formEntries,
			1 << 18, 1, true, false}
	case strategy.Merges:
		return formCase{"y(i,j) = A(i,j) + x(i,j)", 16384, 1 << 18, 1, false, true}
	}
	return formCase{"y(i,k) = A(i,j)*x(j,k)", 16384, l.data.Vals.Len / 32, 32, false, false}
}

// order is that of the dense tensors.
func (c formCase) order() int {
	if c.values == 1 {
		return 1
	}
	return 2
}

// formed are leaves of each choice that differ in a form alone, with their data.
type formed struct {
	libraries map[string]*kernels.Library // by choice
	units     map[string]*codegen.Unit    // by formKey
	data      map[string][]*tcs.Tensor    // by choice: y, A and x, and what holds them
}

func formKey(choice string, form int64) string { return fmt.Sprintf("%s_%d", choice, form) }

// leaf is that of a form. The caller closes it.
func (x *formed) leaf(choice string, form int64) (*codegen.Unit, kernels.Leaf, error) {
	u := x.units[formKey(choice, form)]
	leaf, err := x.libraries[choice].Leaf(c.Symbol(u.Func.Name))
	return u, leaf, err
}

// makeForms makes a leaf for each form of each choice that is measured, and their data. The leaves
// of all choices are compiled at once.
func (l *leaves) makeForms(cfg cc.Config) error {
	l.formed = &formed{libraries: map[string]*kernels.Library{}, units: map[string]*codegen.Unit{},
		data: map[string][]*tcs.Tensor{}}
	cfg.Ours, cfg.Cache = true, ""
	b, err := cc.New(cfg)
	if err != nil {
		return err
	}
	choices := measured()
	funcs := make([][]*ir.Func, len(choices))
	for n, x := range choices {
		for _, form := range x.Forms {
			u, err := l.formUnit(x.Name, form)
			if err != nil {
				return err
			}
			l.formed.units[formKey(x.Name, form)] = u
			funcs[n] = append(funcs[n], u.Func)
		}
	}
	var running sync.WaitGroup
	libraries, errs := make([]*kernels.Library, len(funcs)), make([]error, len(funcs))
	for n := range funcs {
		running.Go(func() {
			o, err := b.Build(l.ctx, cc.Source{Text: c.File(funcs[n]...), Label: "times forms of leaves"})
			if err == nil {
				libraries[n], err = kernels.Open(o)
			}
			errs[n] = err
		})
	}
	running.Wait()
	for n, x := range choices {
		if libraries[n] != nil {
			l.formed.libraries[x.Name] = libraries[n]
		}
	}
	err = errors.Join(errs...)
	for _, x := range choices {
		if err == nil {
			l.formed.data[x.Name], err = l.formData(x.Name)
		}
	}
	return err
}

func (x *formed) close() error {
	for _, args := range x.data {
		closeAll(args)
	}
	var err error
	for _, library := range x.libraries {
		err = errors.Join(err, library.Close())
	}
	return err
}

// form is the seconds that a form takes.
func (l *leaves) form(choice string, form int64) (float64, error) {
	u, leaf, err := l.formed.leaf(choice, form)
	if err != nil {
		return 0, err
	}
	defer leaf.Close()
	return l.timeForm(leaf, u, l.formCase(choice), l.formed.data[choice])
}

// formUnit is the leaf of a form.
func (l *leaves) formUnit(choice string, form int64) (*codegen.Unit, error) {
	x := l.formCase(choice)
	s, err := notation.Parse(x.stmt)
	if err != nil {
		return nil, err
	}
	dense := func(rows int64) codegen.Tensor {
		t := codegen.Tensor{Format: format.DenseOf(x.order()), Type: ir.Float64,
			Dims: []int64{rows, x.values}[:x.order()], PosWidth: make([]uint8, x.order()),
			CrdWidth: make([]uint8, x.order()), NNZ: rows * x.values}
		t.Counts = []int64{rows, t.NNZ}[:x.order()]
		return t
	}
	_, csr, err := format.ParseFlag("A:ds")
	if err != nil {
		return nil, err
	}
	entries := x.rows * formEntries
	sparse := codegen.Tensor{Format: csr, Type: ir.Float64, Dims: []int64{x.rows, x.picked},
		PosWidth: []uint8{0, 4}, CrdWidth: []uint8{0, 4}, NNZ: entries, Counts: []int64{x.rows, entries}}
	tensors := map[string]codegen.Tensor{"y": dense(x.rows), "A": sparse, "x": dense(x.picked)}
	if x.sum {
		tensors["x"] = sparse
		sparse.NNZ, sparse.Counts = -1, nil
		tensors["y"] = sparse
	}
	return codegen.Compile(codegen.Request{Name: formKey(choice, form), Stmt: s,
		ComputeType: ir.Float64, Forms: strategy.Forms{choice: form}, FarBytes: 1,
		Sizes: map[string]int64{"i": x.rows, "j": x.picked, "k": x.values}, Tensors: tensors})
}

// formData are y, A and x of a choice, and what holds their values. The caller closes them.
func (l *leaves) formData(choice string) (args []*tcs.Tensor, err error) {
	x := l.formCase(choice)
	// of the result, and of what are not the data of memory
	lengths := []int64{x.rows * x.values, x.rows * formEntries}
	if x.streamed {
		lengths[1] = x.picked
	}
	held := make([]*tcs.Tensor, 2)
	for n, length := range lengths {
		if held[n], err = l.array(length, tcs.Float64, 8); err != nil {
			closeAll(held[:n])
			return nil, err
		}
		for k := range length {
			*(*float64)(unsafe.Add(held[n].Vals.Ptr, 8*k)) = 1
		}
	}
	switch {
	case x.sum:
		args = []*tcs.Tensor{x.appended(), l.sparse(x, held[1].Vals, 0), l.sparse(x, l.data.Vals, 1)}
	case x.streamed:
		args = []*tcs.Tensor{x.dense(x.rows, held[0].Vals), l.sparse(x, l.data.Vals, 0),
			x.dense(x.picked, held[1].Vals)}
	default:
		args = []*tcs.Tensor{x.dense(x.rows, held[0].Vals), l.sparse(x, held[1].Vals, 0),
			x.dense(x.picked, l.data.Vals)}
	}
	return append(args, held...), nil
}

// dense is a dense tensor with so many rows of values.
func (c formCase) dense(rows int64, vals tcs.Array) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Type: tcs.Float64, Dims: []int64{rows, c.values}[:c.order()]},
		Vals: vals}
	for m, n := range t.Header.Dims {
		t.Levels = append(t.Levels, tcs.Level{Kind: 'd', Mode: m, Size: n})
	}
	t.Vals.Len = rows * c.values
	return t
}

// appended is a sparse matrix whose entries a leaf makes.
func (c formCase) appended() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Type: tcs.Float64, Dims: []int64{c.rows, c.picked}},
		Levels: []tcs.Level{
			{Kind: 'd', Mode: 0, Size: c.rows},
			{Kind: 's', Mode: 1, Size: c.picked, Pos: tcs.Array{Width: 4}, Crd: tcs.Array{Width: 4}},
		}, Vals: tcs.Array{Width: 8}}
}

// sparse is a sparse matrix, whose coordinates the random numbers from shift on give: one for each
// part of a row.
func (l *leaves) sparse(x formCase, vals tcs.Array, shift int) *tcs.Tensor {
	t := x.appended()
	entries := x.rows * formEntries
	t.Vals = vals
	t.Vals.Len = entries
	pos, crd, random := make([]int32, x.rows+1), make([]int32, entries),
		tcs.Slice[uint32](l.random.Vals)
	for n := range pos {
		pos[n] = int32(n * formEntries)
	}
	for n := range crd { // in order within a row
		part := x.picked / formEntries
		crd[n] = int32(int64(n%formEntries)*part + int64(random[(n+shift)%len(random)])%part)
	}
	t.Levels[1].Pos, t.Levels[1].Crd = tcs.Of(pos), tcs.Of(crd)
	return t
}

func closeAll(list []*tcs.Tensor) {
	for _, t := range list {
		t.Close()
	}
}

// timeForm is the seconds that a leaf takes.
// A result that it makes is the first of args then, and the one there before is closed.
func (l *leaves) timeForm(leaf kernels.Leaf, u *codegen.Unit, x formCase,
	args []*tcs.Tensor) (float64, error) {
	var bounds [][2]int64
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, u.Request.Sizes[v]})
	}
	l.arena.Reuse(true) // as repeats do
	defer l.arena.Reuse(false)
	took := 0.0
	for range 2 { // the first run of a form finds other data in the caches, and fresh memory
		if x.sum {
			if err := args[0].Close(); err != nil {
				return 0, err
			}
			args[0] = x.appended()
		}
		begun := l.processorTime()
		if err := leaf.Call(l.ctx, args[:3], bounds,
			kernels.Env{Threads: 1, Arena: l.arena, What: "a measurement of the machine",
				Runner: l.runner}); err != nil {
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
