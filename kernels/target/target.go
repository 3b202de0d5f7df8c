// Package target has what leaves can run on, by the names that users give it.
package target

import (
	"maps"
	"slices"

	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/interpret"
)

// The targets. CPU is that of a job that names none. Interpreter runs leaves without a C
// compiler, very slowly, and checks every access, race and leak.
const (
	CPU         = "cpu"
	Interpreter = "interpreter"
)

// targets makes the backend of each target: cfg says how what is compiled on the CPU is.
var targets = map[string]func(cfg cc.Config) (kernels.Backend, error){
	CPU: func(cfg cc.Config) (kernels.Backend, error) {
		c, err := kernels.NewC(cfg)
		if err != nil {
			return nil, err
		}
		return c, nil
	},
	Interpreter: func(cc.Config) (kernels.Backend, error) { return interpret.Backend{}, nil },
}

// Names are the targets' names, in order.
func Names() []string { return slices.Sorted(maps.Keys(targets)) }

// Has tells whether leaves can run on the target of that name; "" is the default.
func Has(name string) bool { return name == "" || targets[name] != nil }

// Backend makes the leaves of the target of that name, which there must be (Has). Its
// errors are those of kernels.NewC.
func Backend(name string, cfg cc.Config) (kernels.Backend, error) {
	if name == "" {
		name = CPU
	}
	made := targets[name]
	if made == nil {
		panic("BUG: target: no target " + name)
	}
	return made(cfg)
}
