// Package tuned measures the machine that ranks run on, and stores the model in the cache of
// leaves. Package tune has the model; package messages measures messages.
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

// MachineModel returns the model of this machine from the cache, or nil if the machine was not
// measured. The error says why a model in the cache cannot be used.
func MachineModel() (*tune.Model, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	return tune.LoadModel(cfg.Cache)
}

// Machine measures this machine and the messages between ranks of one process, in about 3 seconds,
// and stores the model in the cache. Nothing else should run on the machine meanwhile.
func Machine(ctx context.Context) (*tune.Model, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg.Run = build.CompileInChild
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
	if old, err := tune.LoadModel(cfg.Cache); err == nil && old != nil {
		for _, x := range old.Messages {
			if m.Between(x.Between) == nil {
				m.Put(x)
			}
		}
	}
	return m, tune.Keep(cfg.Cache, m)
}

// Messages measures the messages between the ranks of c and adds them to the model in rank 0's
// cache. It returns the model at rank 0, and nil at other ranks. Every rank must call it.
func Messages(c comm.Comm) (m *tune.Model, err error) {
	var cfg cc.Config
	if c.Rank() == 0 {
		if cfg, err = cc.FromEnv(os.Getenv); err == nil {
			m, err = tune.LoadModel(cfg.Cache)
		}
		if err == nil && m == nil {
			err = fault.Runf(
				"this machine has not been measured: run distaff doctor --tune without a " +
					"launcher for its processor, and then with a launcher for the messages " +
					"between ranks")
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
