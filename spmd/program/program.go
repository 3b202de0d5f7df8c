// Package program keeps tensors in memory, over the ranks, and statements over them that are
// prepared once: parsed, planned, compiled, their operands' blocks at their ranks. Running one
// again opens no file and compiles nothing.
//
// Every rank has a Program, and makes the same calls in the same order: those that are
// collective say so.
//
// # Files
//
//	program.go    Program: its tensors by name
//	tensor.go     one tensor, and where it lies
//	statement.go  Statement: prepared, run, prepared again where a tensor no longer fits
//	result.go     what becomes of a result
//	check.go      a run against the reference evaluator
//	read.go       values, whole tensors and files of what a program holds
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
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/output"
)

// Options are how all statements of a program are prepared and run; see spmd.Options.
type Options struct {
	Seed        int64
	MemoryLimit int64 // that is given, 0 for none
	TrustInput  bool
	Write       string
	Verify      bool // the compiler checks what its passes make
	Fresh       bool // results are never written over what their names held
}

// Program is one rank's part of a program. Its methods are for one goroutine.
type Program struct {
	env        *env.Env
	o          Options
	tensors    map[string]*tensor
	statements map[*Statement]bool
	done       map[string]*Statement // of Do, by text
	versions   int64
	ended      error // nothing runs any more
	spent      Spent
}

// Spent is the time that a rank has taken beside runs of statements, all so far.
type Spent struct {
	// reading, and bringing tensors to where statements want them as they are prepared
	Load    time.Duration
	Compile time.Duration
}

// Spent is the time that this rank has taken beside runs of statements.
func (p *Program) Spent() Spent { return p.spent }

// since adds the time from at on to one of what is spent, and returns the time it is now.
func since(at time.Time, to *time.Duration) time.Time {
	now := time.Now()
	*to += now.Sub(at)
	return now
}

// New is a program without tensors. The caller closes it, and then e.
func New(e *env.Env, o Options) *Program {
	return &Program{env: e, o: o, tensors: map[string]*tensor{}, statements: map[*Statement]bool{},
		done: map[string]*Statement{}}
}

// Rank is this rank's number, from 0, and Ranks how many there are.
func (p *Program) Rank() int  { return p.env.Comm.Rank() }
func (p *Program) Ranks() int { return p.env.Comm.Size() }

// MemoryLimit is the bytes that a rank may take, as they were given; 0 where nothing was said.
func (p *Program) MemoryLimit() int64 { return p.o.MemoryLimit }

// Context is the program's: it ends with that of Start, or when a rank fails.
func (p *Program) Context() context.Context { return p.env.Ctx }

// Ahead compiles leaves on other threads, before statements ask for them: see env.Env.Ahead.
func (p *Program) Ahead(units func(ctx context.Context) iter.Seq[*codegen.Unit]) (stop func(),
	err error) {
	return p.env.Ahead(units)
}

// Close gives back the memory of all tensors and statements.
func (p *Program) Close() {
	for s := range p.statements {
		s.close()
	}
	for _, t := range p.tensors {
		t.drop()
	}
	p.statements, p.tensors = nil, nil
}

// Storage is how a tensor is stored, as -f, -t and -d say it. The zero value leaves all to
// where it comes from.
type Storage struct {
	Format string  // "ds", "ss:1,0"
	Type   string  // "float32"
	Sizes  []int64 // of its modes; -1 for one that is not given; of a scalar, none, but not nil
	// SizesFrom says for messages what gave each of Sizes, "" for what is not known. It may be nil.
	SizesFrom []string
}

// Set gives the name a tensor, in the place of the one that it had. Files are opened, and generated
// data is made, when a statement first reads it. A tensor in memory must be the same at every rank.
// Memory of the caller's is read and not written, and stays as it is, values too, as long as the
// name has it: to change values, set the tensor again, which compiles nothing.
func (p *Program) Set(name string, in input.Input, how Storage) error {
	if err := p.may(); err != nil {
		return err
	}
	if !notation.IsName(name) {
		return fault.Commandf(
			"got %q for a tensor's name, want a letter, and letters, digits and _ behind it",
			tcs.Printable(name))
	}
	if in.File == "" && in.Generate == "" && in.Scalar == nil && in.Tensor == nil {
		return fault.Commandf(
			"the input of %s is empty: none of File, Generate, Scalar and Tensor is set, or the tensor is nil; want one (Declare is for what statements write)", name)
	}
	t, err := p.newTensor(name, in, how)
	if err != nil {
		return err
	}
	p.put(name, t)
	return nil
}

// Declare says how the tensor that statements will write is stored.
func (p *Program) Declare(name string, how Storage) error {
	if err := p.may(); err != nil {
		return err
	}
	if !notation.IsName(name) {
		return fault.Commandf(
			"got %q for a tensor's name, want a letter, and letters, digits and _ behind it",
			tcs.Printable(name))
	}
	t, err := p.newTensor(name, input.Input{}, how)
	if err != nil {
		return err
	}
	p.put(name, t)
	return nil
}

// Drop forgets a tensor, and gives its memory back.
func (p *Program) Drop(name string) {
	if t := p.tensors[name]; t != nil {
		p.release(name)
		t.drop()
		delete(p.tensors, name)
	}
}

// put gives the name a tensor.
func (p *Program) put(name string, t *tensor) {
	p.Drop(name)
	p.tensors[name] = t
}

// release has statements let go of a tensor's memory.
func (p *Program) release(name string) {
	for s := range p.statements {
		s.release(name)
	}
}

// Names lists the tensors that have a value, in order.
func (p *Program) Names() []string {
	var list []string
	for name, t := range p.tensors {
		if t.valued() {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// version is a new number for what a tensor holds.
func (p *Program) version() int64 {
	p.versions++
	return p.versions
}

// may is an error where nothing can run any more.
func (p *Program) may() error {
	if p.ended != nil {
		return fmt.Errorf("the program has ended: %w", p.ended)
	}
	if p.tensors == nil {
		return fault.Commandf("the program is closed")
	}
	return context.Cause(p.env.Ctx)
}

// Locate has errors say where they arose, by f, before other ranks are told of them; nil for no
// more.
func (p *Program) Locate(f func(error) error) { p.env.Locate = f }

// failed ends a program of several ranks with an error of what they do together: the other
// ranks stop too. A program of one rank goes on.
func (p *Program) failed(err error) error {
	err = p.env.Located(err)
	if p.env.Comm.Size() > 1 && p.ended == nil {
		p.ended = err
		p.env.Comm.Abort(comm.ExitCode(err), err.Error())
	}
	return err
}

// tensor is the tensor of a name that has a value.
func (p *Program) tensor(name string) (*tensor, error) {
	t := p.tensors[name]
	switch {
	case t == nil:
		known := "none has a value yet"
		if list := p.Names(); len(list) > 0 {
			known = "those that have one: " + strings.Join(list, ", ")
		}
		return nil, fault.Commandf("%s has no value; %s", tcs.Printable(name), known)
	case t.broken != "":
		return nil, fault.Commandf("%s has no value: %s failed while it wrote it", name, t.broken)
	case !t.valued():
		return nil, fault.Commandf("%s has no value: nothing was assigned to it, and it has no input",
			name)
	}
	return t, nil
}

// result is a tensor over the ranks as files and rank 0 want it.
func (p *Program) result(t *tensor) *output.Result {
	return t.result(p.env)
}

// Shared sets a value at every rank to what rank 0 finds. Collective.
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
