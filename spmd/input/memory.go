package input

import "distaff/io/memory"

// checkMemory checks the tensors that the caller gives in memory. Ranks that are threads of one
// process share the arrays of these tensors. Rank 0 must call checkMemory before the other ranks
// do, so that one rank checks the shared arrays for all ranks.
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
