// Package tuned measures the machine that ranks run on, and keeps what it found in the cache of
// leaves: see package tune, which has the model, and messages.
package tuned

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
	"distaff/spmd/messages"
)

// Kept is the model of this machine that the cache has; nil where it was not measured. The error
// says why what the cache has is of no use.
func Kept() (*tune.Model, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	return tune.Kept(cfg.Cache)
}

// Machine measures this machine, with messages between ranks of a process, within some 3 seconds,
// and keeps the model in the cache. Nothing else is to run beside it.
func Machine(ctx context.Context) (*tune.Model, error) {
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

// Messages adds the messages between these ranks to the model that rank 0's cache has, which rank 0
// gets. Collective.
func Messages(c comm.Comm) (m *tune.Model, err error) {
	var cfg cc.Config
	if c.Rank() == 0 {
		if cfg, err = cc.FromEnv(os.Getenv); err == nil {
			m, err = tune.Kept(cfg.Cache)
		}
		if err == nil && m == nil {
			err = fault.Runf(
				"this machine was not measured: distaff doctor --tune, without a launcher, measures its processor, and then under one the messages between ranks")
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
		err = tune.Keep(cfg.Cache, m)
	}
	return m, comm.Agree(c, err)
}
