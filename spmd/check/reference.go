package check

import (
	"math"

	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// reference returns the input of the reference evaluator: a copy of every operand as a list of
// coordinates.
func (p *Problem) reference() (reference.Problem, error) {
	out := reference.Problem{
		Normal: p.Norm, Sizes: p.Sizes.Vars, Compute: p.Compute, Result: p.Types[p.Norm.LHS.Name],
		Tensors: map[string]*reference.Tensor{},
	}
	for name, t := range p.Tensors {
		if t.Vals.Len > math.MaxInt32 {
			return out, fault.Runf(
				"%s has %s, but the reference evaluator can compare at most %d", name,
				tensor.Count(t.Vals.Len, "value"), math.MaxInt32)
		}
		// The evaluator keeps its own copy outside the limit's allocator.
		need := t.Vals.Len * int64(8*t.Order()+16)
		limit := p.Env.Limit
		if max := limit.Max(); max > 0 && need > max-limit.Used() {
			return out, fault.Memoryf(
				"the reference evaluator's copy of %s needs %s; %s are in use already, and "+
					"the memory limit is %s (--memory-limit)",
				name, tensor.Bytes(need), tensor.Bytes(limit.Used()), tensor.Bytes(max))
		}
		out.Tensors[name] = referenceTensor(t)
	}
	out.AddMade()
	return out, nil
}

func referenceTensor(t *tcs.Tensor) *reference.Tensor {
	out := reference.NewTensor(t.Header.Type, t.Header.Dims...)
	t.Entries(func(coord []int64, i int64) bool {
		out.Append(coord, t.Value(i))
		return true
	})
	return out.Finish()
}
