package forecast

import (
	"slices"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/kernels/cuda"
	"distaff/spmd/estimate"
	"distaff/spmd/exec"
	"distaff/spmd/plan"
)

// gpuMemory returns, for each rank, the largest GPU memory in bytes that a call of a leaf needs. It
// counts three things: the largest blocks that a step reads and makes, in the formats of the leaf;
// workspaces of known size; and the tensors that are placed in GPU memory. It returns nil if leaves
// run on CPUs, or if no units are compiled.
func (x *Forecast) gpuMemory(cost *exec.Cost) []int64 {
	if x.k.Target.Kind != codegen.CUDA || len(x.units) == 0 {
		return nil
	}
	list, pinned := make([]int64, x.p.Ranks), x.pinned()
	for rank := range list {
		result, made := cost.LargestMade(rank)
		if !made {
			continue // it runs no step
		}
		for _, u := range x.units {
			list[rank] = max(list[rank], x.gpuCall(u, cost.Needs(rank), result))
		}
		for _, t := range pinned {
			used := result
			if t.operand >= 0 {
				used = cost.Needs(rank)[t.operand]
			}
			if list[rank] += t.owned[rank]; used >= 0 && !t.parts && t.s.Partition.OwnerOf(used) == rank {
				list[rank] -= t.s.Block(used).Bytes // the call counts it already
			}
		}
	}
	return list
}

// gpuCall returns the GPU memory in bytes that a call of unit u needs. needs[k] is the block of
// operand k that the call reads, or -1 if the call reads no block of operand k. result is the block
// that the call makes.
func (x *Forecast) gpuCall(u *codegen.Unit, needs []plan.Block, result plan.Block) int64 {
	args := make([]*estimate.Tensor, len(u.Args))
	blocks := make([]plan.Block, len(u.Args))
	args[0], blocks[0] = x.inFormat(len(x.tensors)-1, u.Result.Format), result
	bytes := args[0].Block(result).Bytes
	for i, a := range u.Args[1:] {
		n := slices.IndexFunc(x.p.Operands, func(o plan.Operand) bool { return o.Name == a.Tensor })
		if n < 0 || needs[n] < 0 {
			continue
		}
		s := x.tensors[n]
		if a.Convert {
			s = x.inFormat(n, a.Format)
		}
		args[i+1], blocks[i+1] = s, needs[n]
		tensor.Add(&bytes, s.Block(needs[n]).Bytes)
	}
	size := func(s ir.Slot) int64 {
		t := args[s.Arg]
		if t == nil {
			return 0
		}
		if !s.Field.HasLevel() {
			return t.Block(blocks[s.Arg]).Entries
		}
		r := t.Box(blocks[s.Arg])[t.Layout.Format.Order[s.Level]]
		if s.Field == ir.Offset {
			return r[0]
		}
		return r[1] - r[0]
	}
	sizes := cuda.Sizes{Elements: func(ir.Slot) int64 { return 0 }, Size: size}
	for _, v := range u.Vars {
		sizes.Bounds = append(sizes.Bounds, [2]int64{0, x.k.Reader.Sizes.Vars[v]})
	}
	return bytes + cuda.Memory(u.Func, sizes).Peak
}

// pinned is a tensor that is placed in GPU memory.
type pinned struct {
	s       *estimate.Tensor
	operand int     // number of the operand; -1 for the result
	owned   []int64 // bytes of its blocks, by rank
	parts   bool    // whether the blocks are parts of the blocks that steps read
}

// pinned lists the tensors of the statement that are placed in GPU memory, each one once. It leaves
// out tensors whose partition is not plain (partition.Partition.IsPlain).
func (x *Forecast) pinned() (list []pinned) {
	seen := map[string]bool{}
	add := func(name string, s *estimate.Tensor, operand int, parts bool) {
		if seen[name] || x.k.Parsed.Memory(name) != place.Device || !s.Partition.IsPlain() {
			return
		}
		seen[name] = true
		t := pinned{s, operand, make([]int64, x.p.Ranks), parts}
		for b := range plan.Block(s.Partition.Pieces()) {
			tensor.Add(&t.owned[s.Partition.OwnerOf(b)], s.Block(b).Bytes)
		}
		list = append(list, t)
	}
	for n, o := range x.p.Operands {
		if o.Parts != nil {
			add(o.Tensor, x.homes[n], n, true)
		} else {
			add(o.Tensor, x.tensors[n], n, false)
		}
	}
	add(x.Result(), x.result(), -1, false)
	return list
}
