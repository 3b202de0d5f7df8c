package cuda

import (
	"fmt"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
)

// program is a leaf prepared for calls: its host part and its kernels.
type program struct {
	f       *ir.Func
	kernels map[*ir.Launch]*emitcuda.Kernel
	fresh   bool   // the values of argument 0 are undefined when a call starts
	what    string // the statement
}

// newProgram prepares the leaf f for calls. fresh is true if the values of argument 0 are undefined
// when a call starts. The string what is the statement, which error messages show. newProgram
// returns an error if f was not made for a GPU.
func newProgram(f *ir.Func, fresh bool, what string) (*program, error) {
	p := &program{f: f, kernels: map[*ir.Launch]*emitcuda.Kernel{}, fresh: fresh, what: what}
	if err := p.host(f.Body); err != nil {
		return nil, err
	}
	for _, k := range emitcuda.Kernels(f) {
		p.kernels[k.Launch] = &k
	}
	return p, nil
}

// host returns an error if s, or a statement inside s, can run only in a kernel. s must be a
// statement of the leaf's host part. The host executes such statements itself, or starts them on
// the device, for example a kernel or a copy.
func (p *program) host(s ir.Stmt) error {
	switch s := s.(type) {
	case *ir.Launch:
		return nil
	case *ir.For:
		if s.Kind != ir.Serial && s.Kind != ir.Unrolled {
			return p.refuse(fmt.Sprintf("a %s loop over %s is outside the kernels", s.Kind,
				s.V.Name))
		}
	default:
		if ir.RowOf(s).Traits&ir.OnHost == 0 {
			return p.refuse(fmt.Sprintf("a statement of kind %T is outside the kernels", s))
		}
	}
	for _, t := range ir.Inside(s) {
		if err := p.host(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) refuse(why string) error {
	return &SetupError{fmt.Sprintf("the leaf of %s cannot run on a GPU: %s", p.what, why)}
}

// usesPrelude reports whether the leaf fills or scans arrays, for which it may need the shared
// kernels.
func usesPrelude(f *ir.Func) bool {
	uses := false
	ir.Walk(f.Body, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Fill, *ir.Scan:
			uses = true
		}
	})
	return uses
}
