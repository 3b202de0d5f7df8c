package spmd

import (
	"math"

	"distaff/codegen/reference"
	"distaff/io/tcs"
)

// problem is the job as the reference evaluator takes it: every operand as
// coordinates in memory.
func (r *run) problem() (reference.Problem, error) {
	p := reference.Problem{
		Normal: r.p.norm, Sizes: r.sizes.Vars, Compute: r.compute, Result: r.types[r.p.result],
		Tensors: map[string]*reference.Tensor{},
	}
	for name := range r.sources {
		t, err := r.whole(name)
		if err != nil {
			return p, err
		}
		if t.Vals.Len > math.MaxInt32 {
			return p, runErrorf("%s has %s: the reference evaluator takes at most %d", name, plural(t.Vals.Len, "value"), math.MaxInt32)
		}
		// The evaluator keeps its own copy outside the limit's allocator.
		need := t.Vals.Len * int64(8*t.Order()+16)
		if max := r.limit.Max(); max > 0 && need > max-r.limit.Used() {
			return p, memoryErrorf("the reference evaluator's copy of %s takes %s; with %s in use that passes the memory limit of %s (--memory-limit)",
				name, tcs.Size(need), tcs.Size(r.limit.Used()), tcs.Size(max))
		}
		p.Tensors[name] = referenceTensor(t)
	}
	return p, nil
}

func referenceTensor(t *tcs.Tensor) *reference.Tensor {
	out := reference.NewTensor(dataType(t.Type), t.Dims...)
	t.Entries(func(coord []int64, i int64) bool {
		v := t.Value(i)
		out.Append(coord, reference.Value{I: v.I, C: v.C})
		return true
	})
	return out.Finish()
}

func tcsValue(t tcs.Type, v reference.Value) tcs.Value { return tcs.Value{Type: t, I: v.I, C: v.C} }
