package reference

import (
	"fmt"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// AddMade adds to p.Tensors each tensor that notation.Expand made for an index of the statement. It
// replaces tensors with the same names. p must have the sizes and the compute type.
func (p *Problem) AddMade() {
	for _, a := range p.Normal.Accesses() {
		if a.Made == nil {
			continue
		}
		var dims []int64
		for _, v := range a.Vars {
			dims = append(dims, p.Sizes[v])
		}
		p.Tensors[a.Name] = p.made(a, dims)
	}
}

// made returns the tensor of an access with the given sizes, by the definition of notation.Made.
// The type of ones is the compute type.
func (p *Problem) made(a *notation.Access, dims []int64) *Tensor {
	m, last := a.Made, len(dims)-1
	if m.Coordinates {
		t := NewTensor(tensor.Int64, dims...)
		for c := range dims[0] {
			t.Append([]int64{c}, Int(c))
		}
		return t.Finish()
	}
	t := NewTensor(p.Compute, dims...)
	from := m.From
	if !m.Rest {
		from = a.Vars[:last]
	}
	has := map[string]bool{} // the coordinates of the pick
	at, env := make([]int64, len(dims)), map[string]int64{}
	var visit func(k int, sum int64)
	visit = func(k int, sum int64) {
		if k < len(from) {
			for c := range p.Sizes[from[k]] {
				env[from[k]] = c
				visit(k+1, sum+m.Coef[k]*c)
			}
			return
		}
		for n, v := range a.Vars[:last] {
			at[n] = env[v]
		}
		if at[last] = sum; sum >= 0 && sum < dims[last] {
			if has[fmt.Sprint(at)] = true; !m.Rest {
				t.Append(at, Convert(Int(1), tensor.Int64, p.Compute))
			}
		}
	}
	visit(0, m.Const)
	var others func(mode int)
	others = func(mode int) {
		for at[mode] = 0; at[mode] < dims[mode]; at[mode]++ {
			if mode < last {
				others(mode + 1)
			} else if !has[fmt.Sprint(at)] {
				t.Append(at, Convert(Int(1), tensor.Int64, p.Compute))
			}
		}
	}
	if m.Rest {
		others(0)
	}
	return t.Finish()
}
