// Package target maps the names of targets to the backends that make their leaves.
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

// The targets. CPU is the default. CUDA is an NVIDIA GPU. Interpreter runs leaves without a C
// compiler, very slowly, and checks every access, race and leak.
const (
	CPU         = "cpu"
	CUDA        = "cuda"
	Interpreter = "interpreter"
)

// standIn, if not nil, makes the backends of CUDA instead of package cuda.
var standIn atomic.Pointer[func(Config) (kernels.Backend, error)]

// ReplaceCUDA sets f as the function that makes CUDA backends. Tests use it for an emulated GPU.
// restore sets the default function again.
func ReplaceCUDA(f func(Config) (kernels.Backend, error)) (restore func()) {
	standIn.Store(&f)
	return func() { standIn.Store(nil) }
}

// Config describes how backends make leaves.
type Config struct {
	CC    cc.Config // how code for CPUs is compiled; CUDA uses its cache too
	Local int       // number of the rank on its machine, whose ranks share the GPUs
}

// targets maps a target to the function that makes its backend.
var targets = map[string]func(cfg Config) (kernels.Backend, error){
	CPU: func(cfg Config) (kernels.Backend, error) {
		c, err := kernels.NewC(cfg.CC)
		if err != nil {
			return nil, err
		}
		return c, nil
	},
	CUDA: func(cfg Config) (kernels.Backend, error) {
		if f := standIn.Load(); f != nil {
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

// Names returns the names of the targets in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(targets)) }

// Has reports whether there is a target with the given name; "" is the default target.
func Has(name string) bool { return name == "" || targets[name] != nil }

// Code returns the kind of machine that leaves of the named target are compiled for.
func Code(name string) codegen.Kind {
	if name == CUDA {
		return codegen.CUDA
	}
	return codegen.CPU
}

// Backend returns the backend of the named target, which must exist (Has). Its errors are the
// errors of kernels.NewC and cuda.New.
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
