// Package env is the environment of the statements of one rank: the communicator, the memory
// limit, the thread and the backend that leaves use. It outlives statements and their tensors.
//
//	env.go       Env, and the settings of a job that concern it
//	memory.go    how much memory a rank may use
//	progress.go  reports the progress of long work
//	target.go    the target of the job and of a statement
//	forms.go     the forms of code that leaves are compiled with
//	ahead.go     compiles leaves before statements ask for them
package env

import (
	"cmp"
	"context"
	"os"
	"sync"

	"distaff/codegen"
	"distaff/codegen/forms"
	"distaff/codegen/ir"
	"distaff/codegen/place"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/target"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
	"distaff/spmd/usercode"
)

// Settings are the settings of a job that concern its environment.
type Settings struct {
	Threads     int   // of each rank; 0 for the default
	MemoryLimit int64 // bytes for each rank; 0 for the default
	Tmp         string
	Target      string // what leaves run on; "" for the default
	Compiled    string // the target that leaves are compiled for; "" means Target
	// GPU names the statement that must run on a GPU, whatever Target says, for errors; or ""
	GPU string
	// the rank's number among the ranks of its machine, if some ranks are on other machines
	Local   int
	CPU     string // the CPU that leaves are compiled for
	Untuned bool   // do not use measured forms of code, but the default forms
	// the caller's goroutine is locked to its thread, and leaves run on that thread
	Locked bool
	// Compiler, if not nil, starts the C compiler (cc.Config.Run). If it is nil,
	// build.CompileInChild starts the compiler.
	Compiler func(ctx context.Context, c cc.Command) (string, error)
	// UserCode holds the C files that schedules name. If it is nil, C functions cannot be used.
	UserCode *usercode.Files
	// Note is called with lines that a user should read, Detail with further lines. Either may be
	// nil.
	Note, Detail func(string)
	// Progress, if not nil, is called from another goroutine with the progress of reading a file.
	Progress func(file string, done, total int64)
	// Working, if not nil, is called from another goroutine with the progress of long work, as two
	// numbers without a unit. When the work is done, Working is called with "" for what, from the
	// goroutine that ends the work.
	Working func(what string, done, total int64)
}

// Env is the environment of one rank.
type Env struct {
	Ctx      context.Context
	Comm     comm.Comm
	Threads  int
	OneNode  bool // all ranks are on this machine
	Limit    *tcs.Limit
	LimitWhy string          // which limit of the machine or the user Limit is, in words
	Arena    *kernels.Arena  // allocates the memory of leaves
	Runner   *kernels.Runner // the thread that leaves run on; nil if it is the caller's thread
	Tmp      string
	// Leaf holds the progress of the running leaf. It is nil until Track is called.
	Leaf *kernels.Progress
	// Locate, if not nil, adds to an error the place where it arose. It is called before other
	// ranks receive the error.
	Locate func(error) error

	set      Settings
	find     func() error // target.Found, except in tests
	auto     string       // why Settle chose the target; "" if the user named it
	backends map[codegen.Kind]kernels.Backend
	// keeper is the backend whose leaves run in a device's own memory, or nil if there is none.
	keeper kernels.Keeper
	kept   map[*tcs.Tensor]bool
	left   bool            // some values may be on the device only, because of Leave
	forms  forms.Set       // nil until Forms is called
	noted  map[string]bool // lines that NoteOnce has passed on
}

// Located adds to err the position where the error arose, by calling e.Locate. It returns err
// unchanged if Locate is not set.
func (e *Env) Located(err error) error {
	if e.Locate == nil || err == nil {
		return err
	}
	return e.Locate(err)
}

// New returns the environment of this rank of c. onNode is the number of c's ranks on this machine,
// and inProcess is the number of c's ranks in this process. The caller must close the environment.
func New(c comm.Comm, s Settings, onNode, inProcess int) *Env {
	var mu sync.Mutex // leaves are compiled on other threads, too
	s.Note, s.Detail = oneAtATime(&mu, s.Note), oneAtATime(&mu, s.Detail)
	e := &Env{Ctx: c.Context(), Comm: c, Threads: s.Threads, OneNode: onNode == c.Size(), Tmp: s.Tmp,
		set: s, find: target.Found}
	if e.Threads == 0 {
		why := ""
		e.Threads, why = kernels.DefaultThreads(onNode, inProcess)
		e.Detail(tensor.Count(e.Threads, "thread") + " (" + why + ")")
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
	// with several ranks in a process each rank has its own thread already (comm/local)
	if e.Threads > 1 && inProcess == 1 && !s.Locked {
		e.Runner = kernels.NewRunner()
	}
	return e
}

// oneAtATime returns a function that calls printLine, but never from two goroutines at the same
// time. It holds mu during each call. oneAtATime returns nil if printLine is nil.
func oneAtATime(mu *sync.Mutex, printLine func(string)) func(string) {
	if printLine == nil {
		return nil
	}
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		printLine(line)
	}
}

// Close drops all tensors that are still kept, frees the memory that is kept for reuse, and ends
// the thread that leaves run on.
func (e *Env) Close() {
	for t := range e.kept {
		e.Drop(t)
	}
	e.Arena.Reuse(false)
	if e.Runner != nil {
		e.Runner.Close()
	}
}

// Root reports whether this is rank 0, the rank that reports for all.
func (e *Env) Root() bool { return e.Comm.Rank() == 0 }

// Config returns the memory limit, folder and threads that sorting entries and assembling tensors
// use.
func (e *Env) Config() coo.Config {
	return coo.Config{Limit: e.Limit, Tmp: e.Tmp, Threads: e.Threads}
}

// Note passes s, a line that the user should read, to the function Settings.Note. It does nothing
// if this function is nil.
func (e *Env) Note(s string) { e.set.note(s) }

// NoteOnce is like Note, but does nothing if s was passed to NoteOnce before.
func (e *Env) NoteOnce(s string) {
	if e.noted[s] {
		return
	}
	if e.noted == nil {
		e.noted = map[string]bool{}
	}
	e.noted[s] = true
	e.Note(s)
}

func (s *Settings) note(line string) {
	if s.Note != nil {
		s.Note(line)
	}
}

// Detail passes s, a line with further information, to the function Settings.Detail. It does
// nothing if this function is nil.
func (e *Env) Detail(s string) {
	if e.set.Detail != nil {
		e.set.Detail(s)
	}
}

// Extern returns the user's C function that is called name and defined in file.
func (e *Env) Extern(file, name string) (*ir.Extern, error) {
	if e.set.UserCode == nil {
		return nil, fault.Commandf("C functions cannot be used here")
	}
	return e.set.UserCode.Extern(file, name)
}

// Allow refuses a unit that calls the user's C functions if these may not run.
func (e *Env) Allow(u *codegen.Unit) error {
	if e.set.UserCode == nil || e.set.Target == target.Interpreter {
		return nil
	}
	return e.set.UserCode.Allow(u)
}

// DeviceMemory returns the memory in bytes of the device that this rank's GPU leaves run on. It
// returns 0 if the size is not known.
func (e *Env) DeviceMemory() (int64, error) {
	if _, err := e.Backend(codegen.CUDA); err != nil || e.keeper == nil {
		return 0, err
	}
	return e.keeper.Memory(), nil
}

// Keep keeps a tensor's arrays in the device's memory until Forget or Drop. If the device's memory
// is short, arrays that are not pinned may be evicted. Keep does nothing if leaves run on CPUs or
// if t is already kept.
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

// KeepIn keeps tensor t on the device as its placement demands. m is the memory that the placement
// names. If m is the device's memory, KeepIn also pins t, so that it is never evicted. If the
// placement names no memory, KeepIn keeps t without pinning it. If m is the host's memory, KeepIn
// does nothing.
func (e *Env) KeepIn(t *tcs.Tensor, m place.Memory) {
	if m == place.Host {
		return
	}
	e.Keep(t)
	if m == place.Device && e.kept[t] {
		e.keeper.Pin(t)
	}
}

// Leave makes leaves store the values of a kept tensor in the device's memory only, until Fetch
// copies them to the host. Nothing else may read the values before that, not even through another
// tensor over the same memory. Leave does nothing if t is not kept.
func (e *Env) Leave(t *tcs.Tensor) {
	if e.kept[t] {
		e.left = true
		e.keeper.Leave(t)
	}
}

// Fetch copies values that Leave left on the device back to the host. It must be called before the
// host reads or sends the tensor's values.
func (e *Env) Fetch(t *tcs.Tensor) error {
	if !e.left || t == nil {
		return nil
	}
	return e.keeper.Fetch(t)
}

// Forget ends what Keep began, and copies newer values back to the host. A kept tensor must be
// forgotten or dropped before it is closed. Forget does nothing if t is not kept.
func (e *Env) Forget(t *tcs.Tensor) {
	if e.kept[t] {
		delete(e.kept, t)
		e.keeper.Forget(t)
	}
}

// Drop ends the keeping of t that Keep began. It does not copy the values back to the host, because
// nobody reads them any more.
func (e *Env) Drop(t *tcs.Tensor) {
	if e.kept[t] {
		delete(e.kept, t)
		e.keeper.Drop(t)
	}
}

// Changed must be called after anything except a leaf has written to the memory of t, because the
// device may have a copy of this memory. It must be called even if t is not kept: a kept tensor may
// use the same memory, for example an operand that a statement is still bound to.
func (e *Env) Changed(t *tcs.Tensor) {
	if e.keeper != nil && len(e.kept) > 0 {
		e.keeper.Changed(t)
	}
}

// Backend returns the backend that the settings and the environment variables select for leaves of
// the given kind.
func (s Settings) Backend(k codegen.Kind) (kernels.Backend, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, fault.Commandf("%v", err)
	}
	cfg.CPU, cfg.Note, cfg.Detail, cfg.Run = s.CPU, s.note, s.Detail, s.Compiler
	if cfg.Run == nil {
		cfg.Run = build.CompileInChild
	}
	if s.Tmp != "" {
		cfg.Tmp = s.Tmp
	}
	t := target.Config{CC: cfg, Local: s.Local}
	if k == codegen.CUDA && target.Code(s.Target) == codegen.CPU {
		t.Asked = cmp.Or(s.GPU, "on "+OnGPU)
	}
	return target.Backend(target.Of(s.Target, k), t)
}

// Portable returns the same backend as Backend. It returns an error if the backend makes no leaves
// that a cache can keep.
func (s Settings) Portable(k codegen.Kind) (kernels.Portable, error) {
	b, err := s.Backend(k)
	if err != nil {
		return nil, err
	}
	p, ok := b.(kernels.Portable)
	if !ok {
		return nil, fault.Commandf(
			"got --target=%s, for which no leaves can be kept; want --target=%s",
			s.Target, target.CPU)
	}
	return p, nil
}
