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

// A Program holds named tensors in memory, distributed over its ranks, and prepared statements.
// Start creates it.
type Program = program.Program

// A ProgramStatement is a statement that Program.Prepare prepared.
type ProgramStatement = program.Statement

// Storage says how a tensor of a program is stored. How says how a statement of a program is
// scheduled.
type (
	Storage = program.Storage
	How     = program.How
)

// Start calls f with a new program at every rank. When f has returned, it frees everything that the
// program holds.
//
//   - In a process that mpirun or srun started as one of several ranks, f runs once, as the rank of
//     this process.
//   - Otherwise, if o.Ranks is more than 1, f runs in one goroutine for each rank.
//   - Otherwise f runs on the calling goroutine, which is locked to its thread until f returns.
//
// All ranks must make the same calls of the program's methods in the same order, because most of
// the methods communicate. The memory limit holds for all tensors and statements together. Options
// that schedule or store a single statement have no effect, although wrong ones may be refused; How
// and Storage take their place.
//
// Start returns the error of f, or the error of the rank that failed first. If f fails at one rank,
// the program ends at all ranks.
func Start(ctx context.Context, o Options, f func(p *Program) error) error {
	same := launch.Description{{"version", Version()}}
	o.describe(&same)
	return o.start(ctx, same, f)
}

// start starts the program. In a process of a launcher it first checks that all ranks were given
// the same job.
func (o Options) start(ctx context.Context, same launch.Description,
	f func(p *Program) error) error {
	if err := o.refuse(); err != nil {
		return err
	}
	if l, ok, err := launch.Launched(); err != nil {
		return err
	} else if ok {
		return o.launched(ctx, l, func(c comm.Comm, set Options, here int) error {
			if err := same.CheckSame(c); err != nil {
				return err
			}
			return set.program(c, here, 1, f)
		})
	}
	if o.Ranks > maxEmbeddedRanks {
		return fault.Commandf("got %d ranks, want at most %d in one process", o.Ranks, maxEmbeddedRanks)
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

// Open returns a new program of one rank. A caller that cannot run inside of Start uses it, such as
// a library for other languages. One goroutine at a time may use the program, and it must be locked
// to its thread (runtime.LockOSThread); leaves run on this thread. close frees what the program
// holds. Open must not be called in a process that mpirun or srun started.
func Open(ctx context.Context, o Options) (p *Program, close func(), err error) {
	if err := o.refuse(); err != nil {
		return nil, nil, err
	}
	if o.Ranks > 1 {
		return nil, nil, fault.Commandf("got %d ranks, want one: Start runs several", o.Ranks)
	}
	c, end := local.Alone(ctx)
	e := env.New(c, o.settings(true), 1, 1)
	if err := e.Ready(); err != nil {
		e.Close()
		end()
		return nil, nil, err
	}
	p = program.New(e, o.programOptions())
	return p, func() {
		p.Close()
		e.Close()
		end()
	}, nil
}

// program runs f at one rank of c.
func (o Options) program(c comm.Comm, onNode, inProcess int, f func(p *Program) error) error {
	if c.Rank() != 0 {
		o.silence()
	}
	e := env.New(c, o.settings(true), onNode, inProcess)
	defer e.Close()
	if err := e.Ready(); err != nil {
		return err
	}
	p := program.New(e, o.programOptions())
	defer p.Close()
	return f(p)
}

// programOptions returns the options of a program.
func (o *Options) programOptions() program.Options {
	return program.Options{Seed: o.Seed, MemoryLimit: o.MemoryLimit, TrustInput: o.TrustInput,
		Write: o.Write, Verify: o.verifies(), Fresh: o.Check}
}
