package forecast

import (
	"slices"

	"distaff/spmd/estimate"
	"distaff/spmd/output"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// store describes the result for package store, which predicts the cost of writing it to a file.
func (x *Forecast) store() *store.Forecast {
	s := x.finalResult()
	f := &store.Forecast{Blocks: store.Blocks{Layout: s.Layout},
		BlockFormat: s.Layout.Format, Sizes: s.Block, Ranks: x.p.Ranks,
		Limit: x.want.MemoryLimit, Threads: x.k.Reader.Env.Config().Threads}
	if len(x.units) > 0 && !x.p.Whole { // otherwise the result is repacked before it is stored
		f.BlockFormat = x.units[0].Result.Format
	}
	for b := range plan.Block(s.Partition.Pieces()) {
		f.Blocks.Owners, f.Blocks.Boxes = append(f.Blocks.Owners, s.Partition.OwnerOf(b)),
			append(f.Blocks.Boxes, s.Box(b))
	}
	return f
}

// isWritten reports whether a tensor is written to a file.
func (x *Forecast) isWritten(name string) bool {
	return slices.ContainsFunc(x.want.Outputs,
		func(o output.Output) bool { return o.Tensor == name })
}

// wholeOperands returns the number of bytes that rank 0 needs for whole operands. Rank 0 gathers
// whole operands for the check, and for the output files of operands.
func (x *Forecast) wholeOperands() (bytes int64) {
	seen, most := map[string]bool{}, int64(0)
	for n, o := range x.k.Problem.Operands {
		written := o.Tensor != x.Result() && x.isWritten(o.Tensor)
		if seen[o.Tensor] || !x.want.Check && !written {
			continue
		}
		seen[o.Tensor] = true
		s := x.estimateOf(o.Tensor, partition.Whole(len(x.tensors[n].Layout.Dims)))
		if !x.p.Whole { // otherwise rank 0 has it already
			c := x.k.Reader.Target(s.Partition, o.Tensor).Cost(x.loadInput(n, s), s.Block, 1,
				x.want.MemoryLimit)
			most = max(most, bytes+c.Peak[0])
			bytes += c.Kept[0]
		}
		if written {
			most = max(most, bytes+x.writingMemory(s, o.Tensor))
		}
	}
	return most
}

// writingMemory returns the largest number of bytes that rank 0 needs to write a tensor to one of
// its output files. name is the name of the tensor. s describes the tensor when rank 0 holds all of
// its entries.
func (x *Forecast) writingMemory(s *estimate.Tensor, name string) int64 {
	f := &store.Forecast{Blocks: store.Blocks{Layout: s.Layout,
		Owners: []int{0}},
		BlockFormat: s.Layout.Format, Sizes: s.Block, Ranks: 1, Limit: x.want.MemoryLimit,
		Threads: x.k.Reader.Env.Config().Threads}
	return x.storingMemory(f, name, []int64{0})[0]
}

// storingMemory returns the memory, in bytes, that each rank needs to write a tensor to its output
// files, in addition to its blocks. f describes the tensor, and name is its name. used[r] is the
// memory of the blocks of rank r. The more memory they use, the less is left for buffers.
func (x *Forecast) storingMemory(f *store.Forecast, name string, used []int64) []int64 {
	most := make([]int64, f.Ranks)
	for _, o := range x.want.Outputs {
		if o.Tensor != name {
			continue
		}
		for rank, n := range f.Cost(o.File, used) {
			most[rank] = max(most[rank], n)
		}
	}
	return most
}
