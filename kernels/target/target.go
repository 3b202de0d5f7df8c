// Package target maps the names of targets to the backends that make their leaves.
package target

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"distaff/codegen"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/kernels/interpret"
)

// The targets. CPU is the default. CUDA is an NVIDIA GPU; a statement that a GPU cannot run is run
// on the CPU. CUDAOnly refuses this statement. Auto is CUDA if there is a GPU, and otherwise CPU.
// Interpreter runs leaves without a C compiler, very slowly, and checks every access, race and
// leak.
const (
	CPU         = "cpu"
	CUDA        = "cuda"
	CUDAOnly    = "cuda!"
	Auto        = "auto"
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
	// Asked names, for errors, the text that demands the target. "" means the flag --target.
	Asked string
}

// targets maps a target to the function that makes its backend. The targets Auto and CUDAOnly use
// the backends of other targets.
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
		if err != nil && cfg.Asked != "" {
			err = fmt.Errorf("%s: %w", cfg.Asked, cuda.WithoutAdvice(err))
		} else if err != nil {
			err = fmt.Errorf("--target=%s: %w", CUDA, err)
		}
		if err != nil {
			return nil, err
		}
		return b, nil
	},
	Interpreter: func(Config) (kernels.Backend, error) { return interpret.Backend{}, nil },
}

// Names returns the names of the targets in alphabetical order.
func Names() []string {
	list := append(slices.Collect(maps.Keys(targets)), Auto, CUDAOnly)
	slices.Sort(list)
	return list
}

// Has reports whether there is a target with the given name; "" is the default target.
func Has(name string) bool { return name == "" || slices.Contains(Names(), name) }

// Code returns the kind of machine that leaves of the named target are compiled for. For Auto it
// returns codegen.CPU.
func Code(name string) codegen.Kind {
	if name == CUDA || name == CUDAOnly {
		return codegen.CUDA
	}
	return codegen.CPU
}

// Found returns nil if this machine has a driver, a GPU, and a compiler for GPUs. Otherwise the
// error names the missing part.
func Found() error {
	if standIn.Load() != nil {
		return nil
	}
	return found()
}

// found asks the machine once.
var found = sync.OnceValue(func() error { return cuda.WithoutAdvice(cuda.Ready()) })

// Of returns the name of the target whose backend makes the leaves of the given kind in a job with
// the named target. If the target is for another kind, Of returns the default target of the kind.
// The interpreter runs leaves of each kind.
func Of(name string, k codegen.Kind) string {
	if name == Interpreter || targets[name] != nil && Code(name) == k {
		return name
	}
	return k.String()
}

// Backend returns the backend of the named target, which must be in the table targets. Its errors
// are the errors of kernels.NewC and cuda.New.
func Backend(name string, cfg Config) (kernels.Backend, error) {
	made := targets[name]
	if made == nil {
		panic("BUG: target: no target " + name)
	}
	return made(cfg)
}
