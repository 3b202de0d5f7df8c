package input

import "distaff/io/memory"

// checkMemory checks the tensors that the caller gives in memory. If ranks are threads of one
// process, they share the arrays of these tensors; rank 0 then checks the arrays before the other
// ranks call this function.
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
