package prepared

import (
	"distaff/codegen"
	"distaff/spmd/comm"
	"distaff/spmd/fault"
)

// Specs returns the specification of each operand for the compiler, by the operand's name. The
// result is the same at every rank. It returns an error if the arrays of an operand's blocks have
// different widths. The numbers of entries and positions are sums over all blocks, in which copies
// of a block count once. If compiles is true, the specifications also have what only the compiler
// asks for, and what takes a pass over an operand's positions. Every rank must call it.
func (x *Operands) Specs(compiles bool) (map[string]codegen.Tensor, error) {
	out := map[string]codegen.Tensor{}
	for i, o := range x.p.Problem.Operands {
		f := x.p.Reader.Formats[o.Tensor]
		n := len(f.Levels)
		// The last count is the number of entries. The last width is the longest segment.
		widths, counts := make([]int64, 2*n+1), make([]int64, n+1)
		part := o.Before()
		if x.p.Replicated[i] {
			part = o.Partition
		}
		for b, t := range x.rank.Own[i] {
			once := int64(1)
			if part.OwnerOf(b) != x.p.Reader.Env.Comm.Rank() {
				once = 0
			}
			counts[n] += once * t.Vals.Len
			for l, lev := range t.Levels {
				counts[l] += once * t.Positions(l)
				widths[2*l] = max(widths[2*l], int64(lev.Pos.Width))
				widths[2*l+1] = max(widths[2*l+1], int64(lev.Crd.Width))
			}
			if compiles && x.p.Target.Kind == codegen.CUDA {
				widths[2*n] = max(widths[2*n], t.LongestSegment())
			}
		}
		c := x.p.Reader.Env.Comm.Uncounted()
		if err := c.Allreduce(comm.Of(widths), comm.Max); err != nil {
			return nil, err
		}
		for _, t := range x.rank.Own[i] {
			for l, lev := range t.Levels {
				if int64(lev.Pos.Width) != widths[2*l] || int64(lev.Crd.Width) != widths[2*l+1] {
					return nil,
						fault.Runf(
							"%s: some ranks have blocks with 32-bit positions and others with "+
								"64-bit ones; use fewer entries in a block", o.Tensor)
				}
			}
		}
		if err := c.Allreduce(comm.Of(counts), comm.Sum); err != nil {
			return nil, err
		}
		spec := codegen.Tensor{Format: f, Type: x.p.Reader.Types[o.Tensor],
			Dims: x.p.Reader.Sizes.Dims[o.Tensor], NNZ: counts[n], Counts: counts[:n],
			Longest: widths[2*n]}
		for l := range n {
			spec.PosWidth = append(spec.PosWidth, uint8(widths[2*l]))
			spec.CrdWidth = append(spec.CrdWidth, uint8(widths[2*l+1]))
		}
		out[o.Name] = spec
	}
	return out, nil
}

// haveWidths reports whether the arrays of this rank's blocks have the widths of the given
// specifications, by operand.
func (x *Operands) haveWidths(specs map[string]codegen.Tensor) bool {
	for i, o := range x.p.Problem.Operands {
		like := specs[o.Name]
		for _, t := range x.rank.Own[i] {
			for l, lev := range t.Levels {
				if lev.Pos.Width != like.PosWidth[l] || lev.Crd.Width != like.CrdWidth[l] {
					return false
				}
			}
		}
	}
	return true
}
