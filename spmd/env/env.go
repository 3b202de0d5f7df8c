// Package env is where statements run at one rank: what outlives a statement and its
// tensors. The memory that a rank may take is found in memory.go.
//
//	env.go       Env, and what a job says of it
//	memory.go    how much memory a rank may take
//	progress.go  how far what takes long is
//	forms.go     the forms of code with which leaves are compiled
//	ahead.go     leaves that are compiled before statements ask for them
package env

import (
	"cmp"
	"context"
	"os"
	"sync"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/place"
	"distaff/codegen/strategy"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/target"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
	"distaff/spmd/usercode"
)

// Settings are what a job says of its environment.
type Settings struct {
	Threads     int   // a rank; 0 for the default
	MemoryLimit int64 // bytes a rank; 0 for the default
	Tmp         string
	Target      string // what leaves run on; "" for the default
	Compiled    string // the target that they are compiled for, where that is another one
	Local       int    // the rank's number among those of its machine, where some are on others
	CPU         string // what leaves are compiled for
	Untuned     bool   // leaves have the default forms, whatever was measured
	Locked      bool   // the caller's goroutine is locked to its thread, which runs the leaves
	// Compiler starts the C compiler (cc.Config.Run), where this process must not.
	Compiler func(ctx context.Context, c cc.Command) (string, error)
	// UserCode has the C files that schedules name; nil where there can be none.
	UserCode *usercode.Files
	// Note is told, in a line each, what a user should know, Detail more. Either may be nil.
	Note, Detail func(string)
	// Progress is told how far the reading of a file is, from another goroutine. It may be nil.
	Progress func(file string, done, total int64)
	// Working is told how far what takes long is, in no unit, from another goroutine; what is ""
	// when it is done. It may be nil.
	Working func(what string, done, total int64)
}

// Env is one rank's.
type Env struct {
	Ctx      context.Context
	Comm     comm.Comm
	Threads  int
	OneNode  bool // all ranks are on this machine
	Limit    *tcs.Limit
	LimitWhy string          // what sets the limit, in words
	Arena    *kernels.Arena  // where leaves get memory
	Runner   *kernels.Runner // the thread that they run on; nil for the caller's
	Tmp      string
	// Locate, if not nil, has errors say where they arose, before other ranks are told of them.
	Locate func(error) error

	set     Settings
	backend kernels.Backend // nil until a leaf is made
	// the same, where leaves run in memory of a device's own; nil for any other
	keeper kernels.Keeper
	kept   map[*tcs.Tensor]bool
	left   bool           // values of some tensor were left where leaves run
	forms  strategy.Forms // nil until they are asked for
}

// Located is an error with where it arose.
func (e *Env) Located(err error) error {
	if e.Locate == nil || err == nil {
		return err
	}
	return e.Locate(err)
}

// New is the environment of a rank of c; onNode of its ranks are on this machine,
// inProcess of them in this process. The caller closes it.
func New(c comm.Comm, s Settings, onNode, inProcess int) *Env {
	var said sync.Mutex // leaves are compiled on other threads, too
	s.Note, s.Detail = oneAtATime(&said, s.Note), oneAtATime(&said, s.Detail)
	e := &Env{Ctx: c.Context(), Comm: c, Threads: s.Threads, OneNode: onNode == c.Size(), Tmp: s.Tmp,
		set: s}
	if e.Threads == 0 {
		why := ""
		e.Threads, why = kernels.DefaultThreads(onNode, inProcess)
		e.Detail(tcs.Count(e.Threads, "thread") + " (" + why + ")")
	}
	bytes, why := s.MemoryLimit, "--memory-limit"
	if bytes == 0 {
		bytes, why = DefaultMemory(onNode)
		why = "90% of " + why
	}
	e.Limit, e.LimitWhy = tcs.NewLimit(bytes), why
	e.Arena = kernels.NewArena(e.Limit)
	e.Arena.Reuse(true)
	if e.OneNode {
		e.set.Local = c.Rank()
	}
	// each of several ranks has a thread (comm/local)
	if e.Threads > 1 && inProcess == 1 && !s.Locked {
		e.Runner = kernels.NewRunner()
	}
	return e
}

// oneAtATime returns a function that calls say while no other function of the same mutex does; nil
// if say is nil.
func oneAtATime(mu *sync.Mutex, say func(string)) func(string) {
	if say == nil {
		return nil
	}
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		say(line)
	}
}

// Close gives the memory and the thread back, and what is still kept.
func (e *Env) Close() {
	for t := range e.kept {
		e.Drop(t)
	}
	e.Arena.Reuse(false)
	if e.Runner != nil {
		e.Runner.Close()
	}
}

// Root tells whether this is the rank that speaks for all.
func (e *Env) Root() bool { return e.Comm.Rank() == 0 }

// Config is how entries are sorted and tensors assembled.
func (e *Env) Config() coo.Config {
	return coo.Config{Limit: e.Limit, Tmp: e.Tmp, Threads: e.Threads}
}

// Note tells the user what he should know, if he listens.
func (e *Env) Note(s string) { e.set.note(s) }

func (s *Settings) note(line string) {
	if s.Note != nil {
		s.Note(line)
	}
}

// Detail tells him more.
func (e *Env) Detail(s string) {
	if e.set.Detail != nil {
		e.set.Detail(s)
	}
}

// Extern is the C function of the user's called name that a file defines.
func (e *Env) Extern(file, name string) (*ir.Extern, error) {
	if e.set.UserCode == nil {
		return nil, fault.Commandf("there are no C functions of the user's here")
	}
	return e.set.UserCode.Extern(file, name)
}

// Allow refuses a leaf that calls functions of the user's which may not run.
func (e *Env) Allow(u *codegen.Unit) error {
	if e.set.UserCode == nil || e.set.Target == target.Interpreter {
		return nil
	}
	return e.set.UserCode.Allow(u)
}

// Ready makes sure that this machine has the target's hardware and libraries, where these are not a
// matter of course, before anything is read.
func (e *Env) Ready() error {
	if e.set.Target != target.CUDA {
		return nil
	}
	_, err := e.Backend()
	return err
}

// Code is the kind of target that leaves are compiled for.
func (e *Env) Code() codegen.Target { return e.set.Code() }

// Code is the kind of target that leaves are compiled for.
func (s *Settings) Code() codegen.Target { return target.Code(cmp.Or(s.Compiled, s.Target)) }

// Backend is what makes the leaves.
func (e *Env) Backend() (kernels.Backend, error) {
	if e.backend != nil {
		return e.backend, nil
	}
	b, err := e.set.Backend()
	if err != nil {
		return nil, err
	}
	e.keeper, _ = b.(kernels.Keeper)
	if p, ok := b.(kernels.Portable); ok && e.Comm.Size() > 1 {
		b = build.Shared(e.Comm, p)
	}
	e.backend = b
	return b, nil
}

// DeviceMemory is what a device has on which this rank's leaves run; 0 where they run on CPUs, or
// it is not known.
func (e *Env) DeviceMemory() (int64, error) {
	if _, err := e.Backend(); err != nil || e.keeper == nil {
		return 0, err
	}
	return e.keeper.Memory(), nil
}

// Keep has a tensor's arrays stay where leaves run, where that is memory of a device's own: until
// Forget nobody changes them but leaves of this rank, which may store to all of them, as to a
// result's. The memory is held meanwhile. Of a tensor that is kept already it does nothing.
func (e *Env) Keep(t *tcs.Tensor) {
	if e.keeper == nil || t == nil || e.kept[t] {
		return
	}
	if e.kept == nil {
		e.kept = map[*tcs.Tensor]bool{}
	}
	e.kept[t] = true
	e.keeper.Resident(t)
}

// KeepIn is Keep of a tensor whose placement names a memory: of the device, which it does not leave
// then, or of the host, where nothing is kept.
func (e *Env) KeepIn(t *tcs.Tensor, m place.Memory) {
	if m == place.Host {
		return
	}
	e.Keep(t)
	if m == place.Device && e.kept[t] {
		e.keeper.Pin(t)
	}
}

// Leave has the values that leaves store to a tensor that is kept stay where leaves run, until it
// is fetched: nothing else may read them before, through another tensor of the same memory neither.
func (e *Env) Leave(t *tcs.Tensor) {
	if e.kept[t] {
		e.left = true
		e.keeper.Leave(t)
	}
}

// Fetch comes before the host reads values of a tensor that may have been left, or sends them.
func (e *Env) Fetch(t *tcs.Tensor) error {
	if !e.left || t == nil {
		return nil
	}
	return e.keeper.Fetch(t)
}

// Forget comes before others read or write a tensor that was kept, and before it is closed. Of one
// that was not, it does nothing.
func (e *Env) Forget(t *tcs.Tensor) {
	if e.kept[t] {
		delete(e.kept, t)
		e.keeper.Forget(t)
	}
}

// Drop is Forget of a tensor whose values nobody reads any more.
func (e *Env) Drop(t *tcs.Tensor) {
	if e.kept[t] {
		delete(e.kept, t)
		e.keeper.Drop(t)
	}
}

// Changed comes after others wrote to a tensor's memory, which may be that of tensors that are
// kept, such as an operand to which a statement is still bound.
func (e *Env) Changed(t *tcs.Tensor) {
	if e.keeper != nil && len(e.kept) > 0 {
		e.keeper.Changed(t)
	}
}

// Backend is the target's, as the settings and the environment say.
func (s Settings) Backend() (kernels.Backend, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, fault.Commandf("%v", err)
	}
	cfg.CPU, cfg.Note, cfg.Detail, cfg.Run = s.CPU, s.note, s.Detail, s.Compiler
	if cfg.Run == nil {
		cfg.Run = build.Aside
	}
	if s.Tmp != "" {
		cfg.Tmp = s.Tmp
	}
	return target.Backend(s.Target, target.Config{CC: cfg, Local: s.Local})
}

// Portable is the same, for leaves that are kept.
func (s Settings) Portable() (kernels.Portable, error) {
	b, err := s.Backend()
	if err != nil {
		return nil, err
	}
	p, ok := b.(kernels.Portable)
	if !ok {
		return nil, fault.Commandf(
			"--target=%s: nothing is compiled for it that could be kept; leaves of --target=%s are",
			s.Target, target.CPU)
	}
	return p, nil
}
