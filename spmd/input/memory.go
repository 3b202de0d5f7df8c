package input

import "distaff/io/memory"

// checkMemory checks the tensors that the program gives. Ranks of one process have the same
// ones, whose arrays rank 0 looks at: it comes here before the others do.
func (r *Reader) checkMemory() error {
	for _, name := range r.p.Names {
		if in, ok := r.o.Inputs[name]; ok && in.Tensor != nil {
			if err := memory.Check(in.Tensor, name+" in memory", r.o.TrustInput); err != nil {
				return err
			}
		}
	}
	if r.o.FixedPattern != nil {
		return memory.Check(r.o.FixedPattern, "FixedPattern", r.o.TrustInput)
	}
	return nil
}
