package kernels

import "distaff/kernels/cc"

// targets are what leaves can run on, by the names that users give them, each with what
// makes its backend: cfg says how what is compiled on the CPU is.
var targets = map[string]func(cfg cc.Config) (Portable, error){
	"cpu": func(cfg cc.Config) (Portable, error) {
		c, err := NewC(cfg)
		if err != nil {
			return nil, err
		}
		return c, nil
	},
}

// DefaultTarget is the target of a job that names none.
const DefaultTarget = "cpu"

// HasTarget tells whether leaves can run on the target of that name; "" is the default.
func HasTarget(name string) bool { return name == "" || targets[name] != nil }

// ForTarget is the backend of the target of that name, which there must be (HasTarget). Its
// errors are those of NewC.
func ForTarget(name string, cfg cc.Config) (Portable, error) {
	if name == "" {
		name = DefaultTarget
	}
	made := targets[name]
	if made == nil {
		panic("BUG: kernels: no target " + name)
	}
	return made(cfg)
}
