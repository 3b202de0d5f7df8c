// Package program stores tensors in memory, distributed over the ranks, and statements that are
// prepared once. A prepared statement is parsed, planned and compiled, and the blocks of its
// operands are at the ranks that need them. Running it again opens no file and compiles nothing.
//
// Every rank has a Program. All ranks must make the same calls in the same order, at least of the
// methods that every rank must call.
//
// # Files
//
//	program.go    Program: its tensors by name
//	tensor.go     one tensor, and where its values are
//	statement.go  Statement: it is prepared, run, and prepared again if a tensor no longer fits
//	given.go      what a program knows of the tensors of a statement
//	result.go     results of statements, and new placements of tensors
//	linalg.go     functions of whole matrices
//	check.go      comparison of a run with the reference evaluator
//	job.go        Job: a program of one statement that reads its own inputs, from files to files
//	notes.go      notes about choices of a job that the user may not have intended
//	bind.go       operands and results in other memory, for callers that run a statement often
//	read.go       values, whole tensors and files of a program's tensors
package program

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/output"
)

// Options determine how all statements of a program are prepared and run; see spmd.Options.
type Options struct {
	Seed        int64
	MemoryLimit int64 // the given limit; 0 if none is given
	TrustInput  bool
	Write       string
	Verify      bool // the compiler checks the output of its passes
	Fresh       bool // results never overwrite the old values of their tensors
}

// Program is one rank's part of a program. Only one goroutine may use it.
type Program struct {
	env        *env.Env
	o          Options
	tensors    map[string]*programTensor
	statements map[*Statement]bool
	done       map[string]*Statement // statements of Do, by text
	versions   int64
	ended      error // the error that ended the program; nil while it can run
	single     bool  // the program has one statement, of a Job, and ends with an error of it
	spent      Spent
}

// Spent is the time that a rank has spent so far on preparing statements.
type Spent struct {
	// reading tensors, and moving them to the ranks that need them while statements are prepared
	Load    time.Duration
	Compile time.Duration
}

// Spent returns the time that this rank has spent so far on preparing statements: on loading
// tensors and on compiling leaves.
func (p *Program) Spent() Spent { return p.spent }

// since adds the time that has passed since the moment start to *total, and returns the current
// time.
func since(start time.Time, total *time.Duration) time.Time {
	now := time.Now()
	*total += now.Sub(start)
	return now
}

// New returns a program without tensors. The caller closes it, and then e.
func New(e *env.Env, o Options) *Program {
	return &Program{env: e, o: o, tensors: map[string]*programTensor{},
		statements: map[*Statement]bool{},
		done:       map[string]*Statement{}}
}

// Rank returns this rank's number, from 0. Ranks returns the number of ranks.
func (p *Program) Rank() int  { return p.env.Comm.Rank() }
func (p *Program) Ranks() int { return p.env.Comm.Size() }

// Target returns the name of the target that statements run on by default. why is the reason, or ""
// if the user named the target.
func (p *Program) Target() (name, why string) {
	t := p.env.TargetOf("")
	return t.Name, t.Why
}

// MemoryLimit returns the given memory limit of a rank in bytes, or 0 if none is given.
func (p *Program) MemoryLimit() int64 { return p.o.MemoryLimit }

// Context returns the context of the program. It is canceled when the context of Start is, or when
// a rank fails.
func (p *Program) Context() context.Context { return p.env.Ctx }

// TrackLeaves starts to track the progress of this rank's leaves. It returns a function that
// describes the progress of the running leaf in a few words, or returns "" if no leaf runs or its
// progress is unknown (see env.Env.LeafAt). Any goroutine may call the function.
func (p *Program) TrackLeaves() func() string {
	p.env.Track()
	return p.env.LeafAt
}

// CompileAhead starts to compile the leaves that units yields, before statements need the leaves.
// stop cancels the compilations. See env.Env.CompileAhead.
func (p *Program) CompileAhead(units func(ctx context.Context) iter.Seq[*codegen.Unit]) (
	stop func(), err error) {
	return p.env.CompileAhead(units)
}

// Close releases the memory of all tensors and statements.
func (p *Program) Close() {
	for s := range p.statements {
		s.close()
	}
	for _, t := range p.tensors {
		t.drop()
	}
	p.statements, p.tensors = nil, nil
}

// Storage describes how a tensor is stored, in the words of -f, -t and -d. The zero value leaves
// everything to the tensor's input.
type Storage struct {
	Format string // "ds", "ss:1,0"
	Type   string // "float32"
	// by mode; -1 if a size is not given; a scalar has an empty slice that is not nil
	Sizes []int64
	// SizesFrom lists the source of each of Sizes for messages, or "" if it is unknown. It may be
	// nil.
	SizesFrom []string
}

// Set assigns a tensor to a name. The name's former tensor is dropped. Files are opened, and data
// are generated, when the tensor is first read.
//
// A tensor in memory must be the same at every rank. The program only reads its memory. While the
// name refers to the tensor, the caller must not change its memory, with one exception. The caller
// may change the values, and must then call Set again before any other method.
func (p *Program) Set(name string, in input.Input, how Storage) error {
	if err := p.usable(); err != nil {
		return err
	}
	if !notation.IsName(name) {
		return fault.Commandf(
			"got %q for a tensor's name, want a letter, followed by letters, digits and _",
			tensor.Printable(name))
	}
	if in.File == "" && in.Generate == "" && in.Scalar == nil && in.Tensor == nil {
		return fault.Commandf(
			"%s has no input: set one of File, Generate, Scalar and Tensor (a nil Tensor does "+
				"not count), or use Declare for a tensor that statements write", name)
	}
	t, err := p.newTensor(name, in, how)
	if err != nil {
		return err
	}
	p.put(name, t)
	return nil
}

// Declare sets the storage of a tensor that statements will write.
func (p *Program) Declare(name string, how Storage) error {
	if err := p.usable(); err != nil {
		return err
	}
	if !notation.IsName(name) {
		return fault.Commandf(
			"got %q for a tensor's name, want a letter, followed by letters, digits and _",
			tensor.Printable(name))
	}
	t, err := p.newTensor(name, input.Input{}, how)
	if err != nil {
		return err
	}
	p.put(name, t)
	return nil
}

// Drop removes a tensor and releases its memory.
func (p *Program) Drop(name string) {
	if t := p.tensors[name]; t != nil {
		p.release(name)
		t.drop()
		delete(p.tensors, name)
	}
}

// put assigns a tensor to a name.
func (p *Program) put(name string, t *programTensor) {
	p.Drop(name)
	p.tensors[name] = t
}

// release makes every statement release its blocks of the tensor called name.
func (p *Program) release(name string) {
	for s := range p.statements {
		s.release(name)
	}
}

// Names returns the sorted names of the tensors that have a value.
func (p *Program) Names() []string {
	var list []string
	for name, t := range p.tensors {
		if t.hasValue() {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// version returns a new version number for a tensor's values.
func (p *Program) version() int64 {
	p.versions++
	return p.versions
}

// usable returns an error if the program can no longer run anything.
func (p *Program) usable() error {
	if p.ended != nil {
		return fmt.Errorf("the program has ended: %w", p.ended)
	}
	if p.tensors == nil {
		return fault.Commandf("the program is closed")
	}
	return context.Cause(p.env.Ctx)
}

// Locate sets a function that adds a position to an error: the place in the user's input that
// caused the error. The program calls f before it sends an error to other ranks. If f is nil,
// errors stay as they are.
func (p *Program) Locate(f func(error) error) { p.env.Locate = f }

// failed handles an error of an operation that all ranks perform together, and returns the error.
// If there are several ranks, it ends the program at all ranks. A program of one rank can continue.
// A Job is not ended here: its caller does that.
func (p *Program) failed(err error) error {
	err = p.env.Located(err)
	if p.env.Comm.Size() > 1 && p.ended == nil && !p.single {
		p.ended = err
		p.env.Comm.Abort(err)
	}
	return err
}

// tensor returns the tensor with that name. It returns an error if the name has no value.
func (p *Program) tensor(name string) (*programTensor, error) {
	t := p.tensors[name]
	switch {
	case t == nil:
		known := "none has a value yet"
		if list := p.Names(); len(list) > 0 {
			known = "tensors with a value: " + strings.Join(list, ", ")
		}
		return nil, fault.Commandf("%s has no value; %s", tensor.Printable(name), known)
	case t.broken != "":
		return nil, fault.Commandf(
			"%s has no value, because %s failed while writing it", name, t.broken)
	case !t.hasValue():
		return nil, fault.Commandf(
			"%s has no value: it has no input, and no statement has computed it",
			name)
	}
	return t, nil
}

// result returns a distributed tensor in the form that package output needs.
func (p *Program) result(t *programTensor) *output.Result {
	return t.result(p.env)
}

// Shared sets *value at every rank to the value that find stores in it at rank 0. Every rank must
// call it.
func Shared[T any](p *Program, value *T, find func() error) error {
	if p.env.Root() {
		if err := find(); err != nil {
			return p.failed(err)
		}
	}
	if p.env.Comm.Size() == 1 {
		return nil
	}
	if err := comm.BcastValue(p.env.Comm.Uncounted(), value, 0); err != nil {
		return p.failed(err)
	}
	return nil
}
