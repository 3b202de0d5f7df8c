package spmd

import (
	"context"
	"runtime"

	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/launch"
	"distaff/spmd/program"
)

// A Program holds tensors by name, which stay in memory, over its ranks, and statements that
// were prepared once. Start makes one.
type Program = program.Program

// A ProgramStatement is a statement of a program, made by Program.Prepare.
type ProgramStatement = program.Statement

// Storage is how a tensor of a program is stored, and How how a statement of one is scheduled.
type (
	Storage = program.Storage
	How     = program.How
)

// Start runs f with a new program, at every rank: on the calling goroutine, which is locked to its
// thread meanwhile; on o.Ranks goroutines of this process, each its rank's; or, in a process
// that mpirun or srun started, as the rank that the process is. All ranks make the same calls of
// the program's methods in the same order, since most are collective. When f has returned, all that
// the program holds is given back.
//
// Of the options, those that say how one statement is scheduled or stored do not count: see
// How. The limit of memory is for all tensors and statements together. The error is f's, or that
// of the rank that failed first. An error of f at one rank ends the program at all.
func Start(ctx context.Context, o Options, f func(p *Program) error) error {
	told := launch.Told{{"version", Version()}}
	o.tell(&told)
	return o.start(ctx, told, f)
}

// start is Start, once the ranks of a launcher know that they were told the same.
func (o Options) start(ctx context.Context, told launch.Told, f func(p *Program) error) error {
	if err := o.refuse(); err != nil {
		return err
	}
	if l, ok, err := launch.Launched(); err != nil {
		return err
	} else if ok {
		return o.launched(ctx, l, func(c comm.Comm, set Options, here int) error {
			if err := told.Same(c); err != nil {
				return err
			}
			return set.program(c, here, 1, f)
		})
	}
	if o.Ranks > mostEmbedded {
		return fault.Commandf("got %d ranks, want at most %d in one process", o.Ranks, mostEmbedded)
	}
	if o.Ranks > 1 {
		return local.RunWith(ctx, o.Ranks, local.Options{Unlocked: o.Target == Interpreter},
			func(c comm.Comm) error { return o.program(c, c.Size(), c.Size(), f) })
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, end := local.Alone(ctx)
	defer end()
	return o.program(c, 1, 1, f)
}

// program runs f at one rank.
func (o Options) program(c comm.Comm, onNode, inProcess int, f func(p *Program) error) error {
	if c.Rank() != 0 {
		o.Note, o.Detail, o.Progress, o.Working = nil, nil, nil, nil
	}
	e := env.New(c, o.settings(true), onNode, inProcess)
	defer e.Close()
	if err := e.Ready(); err != nil {
		return err
	}
	p := program.New(e, program.Options{Seed: o.Seed, MemoryLimit: o.MemoryLimit,
		TrustInput: o.TrustInput, Write: o.Write, Verify: o.verifies(), Fresh: o.Check})
	defer p.Close()
	return f(p)
}
