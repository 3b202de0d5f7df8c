// Package target has what leaves can run on, by the names that users give it.
package target

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/interpret"
)

// The targets. CPU is that of a job that names none. CUDA is an NVIDIA GPU. Interpreter runs leaves
// without a C compiler, very slowly, and checks every access, race and leak.
const (
	CPU         = "cpu"
	CUDA        = "cuda"
	Interpreter = "interpreter"
)

// stand, if not nil, makes the backend of CUDA in the place of a GPU's.
var stand atomic.Pointer[func(Config) (kernels.Backend, error)]

// StandIn has f make the backends of CUDA from here on, until restore is called: an emulated GPU,
// for the tests of what is above.
func StandIn(f func(Config) (kernels.Backend, error)) (restore func()) {
	stand.Store(&f)
	return func() { stand.Store(nil) }
}

// Config is how backends make leaves.
type Config struct {
	CC    cc.Config // how what is compiled on the CPU is; its cache is that of all leaves
	Local int       // the number of the rank among those of its machine, which share its GPUs
}

// targets makes the backend of each target.
var targets = map[string]func(cfg Config) (kernels.Backend, error){
	CPU: func(cfg Config) (kernels.Backend, error) {
		c, err := kernels.NewC(cfg.CC)
		if err != nil {
			return nil, err
		}
		return c, nil
	},
	CUDA: func(cfg Config) (kernels.Backend, error) {
		if f := stand.Load(); f != nil {
			return (*f)(cfg)
		}
		b, err := cuda.New(cuda.Config{Cache: cfg.CC.Cache, Device: cfg.Local, Log: cfg.CC.Note})
		if err != nil {
			return nil, fmt.Errorf("--target=%s: %w", CUDA, err)
		}
		return b, nil
	},
	Interpreter: func(Config) (kernels.Backend, error) { return interpret.Backend{}, nil },
}

// Names are the targets' names, in order.
func Names() []string { return slices.Sorted(maps.Keys(targets)) }

// Has tells whether leaves can run on the target of that name; "" is the default.
func Has(name string) bool { return name == "" || targets[name] != nil }

// Code is the kind of machine that leaves of the target of that name are compiled for.
func Code(name string) codegen.Target {
	if name == CUDA {
		return codegen.CUDA
	}
	return codegen.CPU
}

// Backend makes the leaves of the target of that name, which there must be (Has). Its
// errors are those of kernels.NewC and cuda.New.
func Backend(name string, cfg Config) (kernels.Backend, error) {
	if name == "" {
		name = CPU
	}
	made := targets[name]
	if made == nil {
		panic("BUG: target: no target " + name)
	}
	return made(cfg)
}
