package libdistaff

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"runtime"
	"runtime/cgo"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/target"
	"distaff/spmd"
	"distaff/spmd/fault"
)

const (
	// longRun is the least expected time of a run that is made on another thread, so that it can be
	// interrupted.
	longRun = 20 * time.Millisecond
	// tinyWork is the largest number of values and entries of the operands for which the interpreter
	// makes the first runs, while the compiler works.
	tinyWork = 2000
	// hastyRuns is the number of runs for which a statement with little work is compiled with less
	// optimization at first.
	hastyRuns = 4
	// keptInstances is the number of idle instances that a statement keeps.
	keptInstances = 8
)

// statement is a prepared statement. Any number of threads may use it.
type statement struct {
	env      *environment
	text     string
	format   string  // of the result; "" if the layouts of the operands decide
	sizes    []int64 // of the result; nil, or -1 for sizes that follow from the operands
	stmt     *notation.Stmt
	operands []layout
	c        *C.distaff_layout // operands, for distaff_check
	result   tensor.Layout
	cType    *C.char // type, format and sizes of the result, for distaff_result
	cFormat  *C.char
	cSizes   *C.int64_t
	freeC    func()

	mu     sync.Mutex
	idle   []*instance
	closed bool

	// quality is the quality of new instances. Idle instances of lower quality are closed.
	quality   atomic.Int32
	spent     atomic.Int64 // nanoseconds of all runs
	improving atomic.Bool
}

// The qualities of the leaf of an instance, from the fastest to make to the fastest to run.
const (
	interpreted int32 = iota
	hasty
	optimized
)

// instance is a statement in a program of its own, for one run at a time.
type instance struct {
	s        *statement
	p        *spmd.Program
	k        *spmd.ProgramStatement
	close    func()
	cancel   context.CancelFunc
	group    *group // the ranks, if there are several; p is nil then
	quality  int32
	bound    []*tcs.Tensor
	took     time.Duration // of the last run
	size     int64         // values of the operands of the last run
	progress func() string
	layout   tensor.Layout // of the result
}

//export goPrepare
func goPrepare(env *C.distaff_env, statementText, format *C.char, sizes *C.int64_t, n C.int32_t,
	names **C.char, operands *C.distaff_tensor, e *C.distaff_error) *C.distaff_statement {
	var s *statement
	err := protect(func() (err error) {
		s, err = prepare(environmentOf(env), text(statementText), text(format), sizes,
			unsafe.Slice(names, n), unsafe.Slice(operands, n))
		return err
	})
	if err != nil {
		fail(e, err)
		return nil
	}
	c := (*C.distaff_statement)(C.malloc(C.size_t(unsafe.Sizeof(C.distaff_statement{}))))
	c.handle = C.uintptr_t(cgo.NewHandle(s))
	return c
}

// prepare prepares a statement: it makes its first instance.
func prepare(env *environment, src, format string, sizes *C.int64_t, names []*C.char,
	operands []C.distaff_tensor) (*statement, error) {
	stmt, err := notation.Parse(src)
	if err != nil {
		return nil, err
	}
	s := &statement{env: env, text: src, format: format, stmt: stmt, freeC: func() {}}
	if sizes != nil {
		for _, d := range unsafe.Slice(sizes, len(stmt.LHS.Vars)) {
			s.sizes = append(s.sizes, int64(d))
		}
	}
	work := int64(0)
	for k := range operands {
		l, err := layoutOf(text(names[k]), &operands[k])
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.operands, func(o layout) bool { return o.name == l.name }) {
			return nil, fault.Commandf("got two tensors with the name %s", tensor.Printable(l.name))
		}
		if err := l.check(&operands[k]); err != nil {
			return nil, err
		}
		work += int64(operands[k].nvals)
		s.operands = append(s.operands, l)
	}
	if err := s.checkNames(); err != nil {
		return nil, err
	}
	if s.format == "" {
		s.format = resultFormat(stmt, s.operands)
	}
	s.c, s.freeC = cLayouts(s.operands, operands)
	quality := optimized
	if env.options.Target == "" && env.options.Ranks <= 1 {
		if quality = hasty; work <= tinyWork {
			quality = interpreted
		}
	}
	s.quality.Store(quality)
	x, err := s.instance(quality, s.tensors(operands), true)
	if err != nil {
		s.freeC()
		return nil, err
	}
	if x.group == nil {
		x.layout = x.k.Layout()
	}
	s.describe(x.layout)
	s.put(x)
	if quality == interpreted {
		s.improve(hasty, s.tensors(operands))
	}
	return s, nil
}

// checkNames returns an error if the statement reads a tensor that is not among the operands, or if
// an operand is not in the statement.
func (s *statement) checkNames() error {
	names := []string{s.stmt.LHS.Name} // the left tensor may be given as the old value
	for _, a := range s.stmt.Accesses() {
		names = append(names, a.Name)
		if !slices.ContainsFunc(s.operands, func(o layout) bool { return o.name == a.Name }) {
			return &diag.Error{Code: diag.NoTensor, Src: s.text, Pos: a.At.Pos, End: a.At.End,
				Msg: "the statement reads " + a.Name + ", which is not among the operands"}
		}
	}
	for _, o := range s.operands {
		if !slices.Contains(names, o.name) {
			return &diag.Error{Code: diag.NoTensor, Src: s.text, Pos: 0, End: len(s.text),
				Msg: "the statement has no tensor " + tensor.Printable(o.name)}
		}
	}
	return nil
}

// tensors returns the operands of a call as tensors over the caller's memory.
func (s *statement) tensors(operands []C.distaff_tensor) (list []*tcs.Tensor) {
	for k := range s.operands {
		t := s.operands[k].new()
		s.operands[k].fill(t, &operands[k])
		list = append(list, t)
	}
	return list
}

// instance returns a new instance of the statement, prepared for the operands. If asked is true, a
// caller waits and may interrupt.
func (s *statement) instance(quality int32, operands []*tcs.Tensor,
	asked bool) (*instance, error) {
	x := &instance{s: s, quality: quality, bound: operands}
	o, how := s.env.options, spmd.How{}
	o.TrustInput = true // checked by layout.check
	switch quality {
	case interpreted:
		o.Target = target.Interpreter
	case hasty:
		how.Runs = hastyRuns
	}
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(context.Background())
	var err error
	if o.Ranks > 1 {
		x.group = startGroup(ctx, o)
		x.close = x.group.close
	} else if x.p, x.close, err = spmd.Open(ctx, o); err != nil {
		return nil, err
	}
	open := func() error {
		if x.group != nil {
			return x.openRanks(operands, how)
		}
		if s.env.c.progress != nil {
			x.progress = x.p.TrackLeaves()
		}
		x.k, err = s.open(x.p, operands, how)
		return err
	}
	run := func() error { return s.env.long(open, x.cancel, x.end, nil) }
	if !asked || s.env.c.interrupted == nil || quality == interpreted {
		run = func() error { return onCaller(open) }
	}
	if err := run(); err != nil {
		var stop *interrupted
		if !errors.As(err, &stop) { // else long ends x
			x.end()
		}
		if errors.Is(err, kernels.ErrNoCompiler) && quality != interpreted {
			s.quality.Store(interpreted)
			return s.instance(interpreted, operands, asked)
		}
		return nil, err
	}
	return x, nil
}

// open gives a program the operands and prepares the statement.
func (s *statement) open(p *spmd.Program, operands []*tcs.Tensor,
	how spmd.How) (*spmd.ProgramStatement, error) {
	reads := false
	for k, t := range operands {
		if err := p.Set(s.operands[k].name, spmd.InMemory(t), spmd.Storage{}); err != nil {
			return nil, err
		}
		reads = reads || s.operands[k].name == s.stmt.LHS.Name
	}
	if !reads {
		st := spmd.Storage{Format: s.format, Sizes: s.sizes}
		if err := p.Declare(s.stmt.LHS.Name, st); err != nil {
			return nil, err
		}
	}
	return p.Prepare(s.text, how)
}

// onCaller runs f on the calling thread.
func onCaller(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}

// end closes the instance.
func (x *instance) end() {
	x.cancel()
	x.close()
}

// get returns an instance that no other run uses.
func (s *statement) get(operands []C.distaff_tensor) (*instance, error) {
	for {
		s.mu.Lock()
		n := len(s.idle)
		if n == 0 {
			s.mu.Unlock()
			return s.instance(s.quality.Load(), s.tensors(operands), true)
		}
		x := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		if x.quality >= s.quality.Load() {
			return x, nil
		}
		x.end()
	}
}

// put takes back an instance.
func (s *statement) put(x *instance) {
	s.mu.Lock()
	keep := !s.closed && len(s.idle) < keptInstances
	if keep {
		s.idle = append(s.idle, x)
	}
	s.mu.Unlock()
	if !keep {
		x.end()
	}
}

// improve makes an instance of higher quality on another thread. Later runs use its leaf. operands
// are copied first, because the caller keeps their memory only during a call.
func (s *statement) improve(quality int32, operands []*tcs.Tensor) {
	if !s.improving.CompareAndSwap(false, true) {
		return
	}
	for k, t := range operands {
		operands[k] = copied(t)
	}
	onThread(func() {
		defer s.improving.Store(false)
		var x *instance
		err := protect(func() (err error) {
			x, err = s.instance(quality, operands, false)
			return err
		})
		if err != nil || x.quality < quality { // for example because there is no compiler
			s.spent.Store(-1 << 62)
			if x != nil {
				x.end()
			}
			return
		}
		s.quality.Store(quality)
		s.put(x)
	})
}

// copied returns a tensor with copies of the arrays of t.
func copied(t *tcs.Tensor) *tcs.Tensor {
	c := &tcs.Tensor{Header: t.Header, Levels: slices.Clone(t.Levels), Vals: clone(t.Vals)}
	for k := range c.Levels {
		c.Levels[k].Pos, c.Levels[k].Crd = clone(c.Levels[k].Pos), clone(c.Levels[k].Crd)
	}
	return c
}

// clone returns a copy of an array.
func clone(a tcs.Array) tcs.Array {
	if n := a.Len * int64(a.Width); n > 0 {
		words := make([]complex128, (n+15)/16) // aligned as every type of values
		to := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
		copy(to, unsafe.Slice((*byte)(a.Ptr), n))
		a.Ptr = unsafe.Pointer(&words[0])
	}
	return a
}
