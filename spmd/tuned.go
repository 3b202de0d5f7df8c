package spmd

import (
	"context"
	"os"

	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/tune"
	"distaff/spmd/build"
	"distaff/spmd/comm"
	"distaff/spmd/comm/local"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/launch"
	"distaff/spmd/messages"
)

// Machine is the model of a machine: see package tune.
type Machine = tune.Model

// MachinePair is a figure of a machine at one thread, and at all together.
type MachinePair = tune.Pair

// MeasuredMachine is the model of this machine that the cache has; nil where it was not measured. The error says why
// what the cache has is of no use.
func MeasuredMachine() (*Machine, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	return tune.Kept(cfg.Cache)
}

// MeasureMessages measures, in a process that mpirun or srun started as one of several ranks, the messages between
// these, at all of them, for the model that the cache has. The model is rank 0's, and nil at other ranks. In any
// other process it does nothing, and launched is false.
func MeasureMessages(ctx context.Context) (m *Machine, launched bool, err error) {
	l, launched, err := launch.Launched()
	if err != nil || !launched {
		return nil, launched, err
	}
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, true, err
	}
	err = Options{}.launched(ctx, l, func(c comm.Comm, _ Options, _ int) (err error) {
		m, err = measureMessages(c, cfg.Cache)
		return err
	})
	return m, true, err
}

// MeasureMachine measures this machine, with messages between ranks of a process, within some 3 seconds, and keeps the
// model in the cache. Nothing else is to run beside it.
func MeasureMachine(ctx context.Context) (*Machine, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.Run = build.Aside
	limit, _ := env.DefaultMemory(1)
	m, err := tune.Measure(ctx, tune.Options{Config: cfg, Threads: kernels.Cores(), Memory: limit})
	if err != nil {
		return nil, err
	}
	if m.Files, err = measureFiles(cfg.Tmp); err != nil {
		return nil, err
	}
	err = local.Run(ctx, 2, func(c comm.Comm) error {
		list, err := messages.Measure(c)
		if c.Rank() == 0 {
			m.Messages = list
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if old, err := tune.Kept(cfg.Cache); err == nil && old != nil {
		for _, x := range old.Messages {
			if m.Between(x.Between) == nil {
				m.Put(x)
			}
		}
	}
	return m, tune.Keep(cfg.Cache, m)
}

// measureMessages adds the messages between these ranks to the model that rank 0's cache has, which rank 0
// gets. Collective.
func measureMessages(c comm.Comm, cache string) (m *Machine, err error) {
	if c.Rank() == 0 {
		if m, err = tune.Kept(cache); err == nil && m == nil {
			err = fault.Runf("this machine was not measured: distaff doctor --tune, without a launcher, measures its processor, and then under one the messages between ranks")
		}
	}
	if err := comm.Agree(c, err); err != nil {
		return nil, err
	}
	list, err := messages.Measure(c)
	if err != nil {
		return nil, err
	}
	if c.Rank() == 0 {
		for _, x := range list {
			m.Put(x)
		}
		err = tune.Keep(cache, m)
	}
	return m, comm.Agree(c, err)
}
