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
	"distaff/codegen/forms"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
)

// Each form is timed maxRounds times, in alternation with the other forms. If there is not enough
// time for that, each form is timed at least minRounds times.
const maxRounds, minRounds = 11, 5

// minGain is the smallest speedup for which a form replaces the default form: the default's time
// divided by the form's time must be at least minGain.
const minGain = 1.05

// measured returns the choices among forms of code whose fastest form is measured on this machine.
// It omits the other choices, for which the program contains the fastest forms for some models of
// CPU.
func measured() []forms.Measured {
	return slices.DeleteFunc(slices.Clone(forms.Measurements),
		func(c forms.Measured) bool { return c.Shipped })
}

// A formTimer times forms.
type formTimer interface {
	// form returns the seconds that a form takes.
	form(name string, form int64) (float64, error)
	// elapsed returns the seconds since the measurement began.
	elapsed() float64
}

// fastest times the forms of each choice and returns the fastest form of each. It times all forms
// in rounds. There are at least minRounds rounds, and at most maxRounds. After minRounds, another
// round starts only if there is enough of Time left. A form replaces the default only if its best
// time and most of its rounds are faster by the factor minGain. So one lucky run of a form, or one
// slow run of the default, decides nothing.
func fastest(ctx context.Context, choices []forms.Measured, by formTimer) (forms.Set, error) {
	times := map[string]map[int64][]float64{}
	for _, c := range choices {
		times[c.Name] = map[int64][]float64{}
	}
	begun, last := by.elapsed(), 0.0
	for round := 0; round < maxRounds && (round < minRounds || begun+last < Time); round++ {
		for _, c := range choices {
			forms := slices.Clone(c.Forms)
			if round%2 == 1 { // the form that runs last finds more of its data in the caches
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
	out := forms.Set{}
	for _, c := range choices {
		of, chosen := times[c.Name], c.Default
		for _, form := range c.Forms { // of equally fast forms, the one listed first
			if slices.Min(of[form]) < slices.Min(of[chosen]) &&
				replacesDefault(of[c.Default], of[form]) {
				chosen = form
			}
		}
		out[c.Name] = chosen
	}
	return out, nil
}

// replacesDefault reports whether a form is fast enough to replace the default. The times of both
// are listed by round.
func replacesDefault(standard, form []float64) bool {
	rounds := 0
	for n, s := range standard {
		if s >= minGain*form[n] {
			rounds++
		}
	}
	return slices.Min(standard) >= minGain*slices.Min(form) && 2*rounds > len(standard)
}

// formCase describes the computation that times the forms of one choice. If sum is set, the
// computation adds two sparse matrices. Otherwise it multiplies a sparse matrix by a dense matrix
// or vector. A sparse matrix has "rows" rows, "picked" columns and formEntries entries in each row.
// A dense matrix has "values" columns.
type formCase struct {
	stmt           string
	rows           int64
	picked, values int64
	// streamed is set if leaves.data holds the values of the sparse matrix. Otherwise it holds the
	// values of the second operand.
	streamed bool
	sum      bool
}

// formEntries is the number of entries in each row of the sparse matrices that forms are timed
// with. streamedEntries is the largest number of entries of the matrix for forms.Streams, whose
// forms change how the matrix's own values are read. This matrix is multiplied by a vector of 2
// MiB. For forms.FarRows, the second operand is larger than the caches, and the entries of the
// matrix select rows from the whole operand.
const formEntries, streamedEntries = 8, 3 << 20

func (l *leaves) formCase(name string) formCase {
	switch name {
	case forms.Streams:
		return formCase{"y(i) = A(i,j)*x(j)", min(l.data.Vals.Len, streamedEntries) / formEntries,
			1 << 18, 1, true, false}
	case forms.Merges:
		return formCase{"y(i,j) = A(i,j) + x(i,j)", 16384, 1 << 18, 1, false, true}
	}
	return formCase{"y(i,k) = A(i,j)*x(j,k)", 16384, l.data.Vals.Len / 32, 32, false, false}
}

// order returns the number of modes of the dense tensors: 1 for vectors and 2 for matrices.
func (c formCase) order() int {
	if c.values == 1 {
		return 1
	}
	return 2
}

// formLeaves holds one leaf for each form of each choice, and the arguments of the leaves. The
// leaves of a choice differ only in the form.
type formLeaves struct {
	libraries map[string]*kernels.Library // by choice
	units     map[string]*codegen.Unit    // by formKey
	// by choice: y, A and x, and then the tensors that own their values
	data map[string][]*tcs.Tensor
}

func formKey(name string, form int64) string { return fmt.Sprintf("%s_%d", name, form) }

// leaf returns the leaf of a form. The caller closes it.
func (x *formLeaves) leaf(name string, form int64) (*codegen.Unit, kernels.Leaf, error) {
	u := x.units[formKey(name, form)]
	leaf, err := x.libraries[name].Leaf(c.Symbol(u.Func.Name), nil)
	return u, leaf, err
}

// makeForms compiles one leaf for each form of each measured choice, and makes the arguments of
// these leaves. It compiles the choices in parallel.
func (l *leaves) makeForms(cfg cc.Config) error {
	l.formed = &formLeaves{libraries: map[string]*kernels.Library{},
		units: map[string]*codegen.Unit{}, data: map[string][]*tcs.Tensor{}}
	cfg.Internal, cfg.Cache = true, ""
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
			o, err := b.Build(l.ctx, cc.Source{Text: c.File(funcs[n]...),
				Label: "times forms of leaves"})
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

func (x *formLeaves) close() error {
	for _, args := range x.data {
		closeAll(args)
	}
	var err error
	for _, library := range x.libraries {
		err = errors.Join(err, library.Close())
	}
	return err
}

// form returns the seconds that a form takes.
func (l *leaves) form(name string, form int64) (float64, error) {
	u, leaf, err := l.formed.leaf(name, form)
	if err != nil {
		return 0, err
	}
	defer leaf.Close()
	return l.timeForm(leaf, u, l.formCase(name), l.formed.data[name])
}

// formUnit compiles the leaf of a form to a unit.
func (l *leaves) formUnit(name string, form int64) (*codegen.Unit, error) {
	x := l.formCase(name)
	s, err := notation.Parse(x.stmt)
	if err != nil {
		return nil, err
	}
	dense := func(rows int64) codegen.Tensor {
		t := codegen.Tensor{Format: tensor.DenseOf(x.order()), Type: tensor.Float64,
			Dims: []int64{rows, x.values}[:x.order()], PosWidth: make([]uint8, x.order()),
			CrdWidth: make([]uint8, x.order()), NNZ: rows * x.values}
		t.Counts = []int64{rows, t.NNZ}[:x.order()]
		return t
	}
	_, csr, err := notation.ParseFormatFlag("A:ds")
	if err != nil {
		return nil, err
	}
	entries := x.rows * formEntries
	sparse := codegen.Tensor{Format: csr, Type: tensor.Float64, Dims: []int64{x.rows, x.picked},
		PosWidth: []uint8{0, 4}, CrdWidth: []uint8{0, 4}, NNZ: entries,
		Counts: []int64{x.rows, entries}}
	tensors := map[string]codegen.Tensor{"y": dense(x.rows), "A": sparse, "x": dense(x.picked)}
	if x.sum {
		tensors["x"] = sparse
		sparse.NNZ, sparse.Counts = -1, nil
		tensors["y"] = sparse
	}
	return codegen.Compile(codegen.Request{Ask: codegen.Ask{Name: formKey(name, form)},
		Statement: codegen.Statement{Stmt: s, ComputeType: tensor.Float64},
		Target:    codegen.Target{Forms: forms.Set{name: form}, FarBytes: 1},
		Tensors: codegen.Tensors{All: tensors,
			Sizes: map[string]int64{"i": x.rows, "j": x.picked, "k": x.values}}})
}

// formData makes the arguments of the leaves that time the forms of the named choice. A leaf
// computes a result y from a sparse matrix A and an operand x. formData returns y, A and x. After
// them, it returns two tensors that own memory of their values. The values of A or x are the array
// l.data, which formData does not return. The caller closes every returned tensor.
func (l *leaves) formData(name string) (args []*tcs.Tensor, err error) {
	x := l.formCase(name)
	// of the result, and of the operand whose values are not the data of memory
	lengths := []int64{x.rows * x.values, x.rows * formEntries}
	if x.streamed {
		lengths[1] = x.picked
	}
	values := make([]*tcs.Tensor, 2)
	for n, length := range lengths {
		if values[n], err = l.array(length, tensor.Float64, 8); err != nil {
			closeAll(values[:n])
			return nil, err
		}
		for k := range length {
			*(*float64)(unsafe.Add(values[n].Vals.Ptr, 8*k)) = 1
		}
	}
	switch {
	case x.sum:
		args = []*tcs.Tensor{x.appended(), l.sparse(x, values[1].Vals, 0),
			l.sparse(x, l.data.Vals, 1)}
	case x.streamed:
		args = []*tcs.Tensor{x.dense(x.rows, values[0].Vals), l.sparse(x, l.data.Vals, 0),
			x.dense(x.picked, values[1].Vals)}
	default:
		args = []*tcs.Tensor{x.dense(x.rows, values[0].Vals), l.sparse(x, values[1].Vals, 0),
			x.dense(x.picked, l.data.Vals)}
	}
	return append(args, values...), nil
}

// dense returns a dense tensor with the given number of rows.
func (c formCase) dense(rows int64, vals tcs.Array) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Type: tensor.Float64,
		Dims: []int64{rows, c.values}[:c.order()]}, Vals: vals}
	for m, n := range t.Header.Dims {
		t.Levels = append(t.Levels, tcs.Level{Kind: 'd', Mode: m, Size: n})
	}
	t.Vals.Len = rows * c.values
	return t
}

// appended returns a sparse matrix without entries. A leaf appends the entries.
func (c formCase) appended() *tcs.Tensor {
	return &tcs.Tensor{Header: tcs.Header{Type: tensor.Float64, Dims: []int64{c.rows, c.picked}},
		Levels: []tcs.Level{
			{Kind: 'd', Mode: 0, Size: c.rows},
			{Kind: 's', Mode: 1, Size: c.picked,
				Pos: tcs.Array{Width: 4}, Crd: tcs.Array{Width: 4}},
		}, Vals: tcs.Array{Width: 8}}
}

// sparse returns a sparse matrix with the values vals. Each row is divided into formEntries parts
// of equal width and has one entry in each part, in a random column. shift is the index of the
// first random number to use.
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
	for n := range crd { // columns ascend within a row
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

// timeForm returns the seconds of processor time that a leaf takes. If the leaf makes its result,
// the result becomes args[0], and the earlier result is closed.
func (l *leaves) timeForm(leaf kernels.Leaf, u *codegen.Unit, x formCase,
	args []*tcs.Tensor) (float64, error) {
	var bounds [][2]int64
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, u.Request.Tensors.Sizes[v]})
	}
	l.arena.Reuse(true) // as jobs with repeats do
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

// processorTime returns the processor time, in seconds, of the thread that calls the leaves.
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
