package spmd

import (
	"context"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/comm"
)

// env is where statements run at one rank: what outlives a statement and its tensors.
type env struct {
	*Options
	ctx      context.Context
	comm     comm.Comm
	threads  int
	limit    *tcs.Limit
	limitWhy string
	arena    *kernels.Arena  // where leaves get memory
	runner   *kernels.Runner // the thread that they run on; nil for the caller's
	backend  kernels.Backend // nil until a leaf is made
}

// newEnv is the environment of a rank of c; onNode of its ranks are on this machine,
// inProcess of them in this process.
func (o *Options) newEnv(c comm.Comm, onNode, inProcess int) *env {
	e := &env{Options: o, ctx: c.Context(), comm: c, threads: o.Threads}
	if e.threads == 0 {
		why := ""
		e.threads, why = kernels.DefaultThreads(onNode, inProcess)
		o.detail(plural(int64(e.threads), "thread") + " (" + why + ")")
	}
	bytes, why := o.MemoryLimit, "--memory-limit"
	if bytes == 0 {
		bytes, why = defaultMemory(onNode)
		why = "90% of " + why
	}
	e.limit, e.limitWhy = tcs.NewLimit(bytes), why
	e.arena = kernels.NewArena(e.limit)
	e.arena.Reuse(true)
	if e.threads > 1 && inProcess == 1 { // each of several ranks has a thread (comm/local)
		e.runner = kernels.NewRunner()
	}
	return e
}

func (e *env) close() {
	e.arena.Reuse(false)
	if e.runner != nil {
		e.runner.Close()
	}
}

// root tells whether this is the rank that speaks for all.
func (e *env) root() bool { return e.comm.Rank() == 0 }

// config is how entries are sorted and tensors assembled.
func (e *env) config() coo.Config {
	return coo.Config{Limit: e.limit, Tmp: e.Tmp, Threads: e.threads}
}
