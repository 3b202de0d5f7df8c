package spmd

import (
	"distaff/codegen"
	"distaff/spmd/plan"
)

// partialBlock is what the plan counts of one block of partial results of a rank.
type partialBlock struct {
	steps   int64
	block   blockSize
	sources int64 // entries of the largest block that each step reads: at least those whose pattern it follows
}

// memory adds what a rank holds beside its own blocks: its partial results with
// what adding to them takes, and while it computes two blocks of each operand at most,
// those that a leaf wants otherwise, and the largest block that comes to be added; while
// it stores the result, what that takes.
func (x *planner) memory() {
	results := x.resultMemory()
	job := x.k.r.job
	whole := x.out.Tensors[len(x.out.Tensors)-1].Bytes
	for rank := range x.out.Memory {
		computing, partials, largest, shared := x.extra[rank], int64(0), int64(0), int64(0)
		for _, in := range x.incoming[rank] {
			computing += in.most * min(in.count, 2)
		}
		for _, p := range x.partials[rank] {
			n := results.bytes(p)
			partials, largest = partials+n, max(largest, n)
			if results.copied { // the levels are there already
				shared = p.block.memory() - p.block.entries*results.value
			}
		}
		held, beside := x.converted(rank)
		computing += held + max(beside+partials-largest, partials-shared)
		storing := partials
		if x.p.Ranks > 1 {
			storing += x.storing(rank, x.out.Memory[rank]+partials)
			if rank == 0 && (job.Check || job.Keep) {
				storing += whole
			}
		}
		x.out.Memory[rank] += max(computing, storing)
	}
}

// resultMemory is how leaves make blocks of the result.
type resultMemory struct {
	dense    bool
	shared   bool  // they have the level arrays of an operand, and values of a known number
	copied   bool  // that is a copy of an operand
	inPlace  bool  // steps add over the union of patterns, which comes from an operand's arrays
	value    int64 // bytes of one
	position int64 // and of a position
}

// resultMemory asks the compiler how leaves make results, of operands as large as
// they are taken to be.
func (x *planner) resultMemory() (m resultMemory) {
	k, s := x.k, x.sizers[len(x.sizers)-1]
	m.dense, m.value, m.position = sparseLevels(s.kinds) == 0, int64(s.typ.Size()), 8
	several := false
	for _, list := range x.partials {
		for _, p := range list {
			several = several || p.steps > 1 && !m.dense
		}
	}
	if err := k.compileUnits(x.like(), several); err != nil {
		return m // as if they grew: the run will say what is wrong
	}
	if m.dense {
		return m
	}
	m.shared, m.inPlace = true, several && !k.r.job.Interpret && k.inPlace()
	for _, st := range k.statements {
		shares := st.unit.Result.Shares
		m.shared = m.shared && shares >= 0
		m.copied = m.shared && st.unit.Args[shares].Convert
	}
	return m
}

// like is prepared.like before there are blocks.
func (x *planner) like() map[string]codegen.Tensor {
	out := map[string]codegen.Tensor{}
	for n, o := range x.k.operands {
		s, f := x.sizers[n], x.k.r.formats[o.tensor]
		spec := codegen.Tensor{Format: f, Type: irTypes[x.k.r.types[o.tensor]], Dims: s.dims, NNZ: round(s.entries)}
		for l := range f.Levels {
			var pos, crd uint8
			switch s.kinds[l] {
			case 'd':
			case 's', 'u':
				pos, crd = uint8(width(s.entries)), uint8(width(float64(s.dims[s.order[l]])))
			default:
				crd = uint8(width(float64(s.dims[s.order[l]])))
			}
			spec.PosWidth, spec.CrdWidth = append(spec.PosWidth, pos), append(spec.CrdWidth, crd)
		}
		out[o.name] = spec
	}
	return out
}

// bytes is what one block of partial results takes while its steps add to it.
// Arrays of unknown length grow to twice what they need; while the union of patterns
// grows, its old arrays are there as well.
func (m *resultMemory) bytes(p *partialBlock) int64 {
	values, all := p.block.entries*m.value, p.block.memory()
	levels := all - values
	grown := 2 * all
	if m.shared {
		grown = all
	}
	switch {
	case m.dense:
		return all
	case p.steps == 1:
		return grown
	case m.inPlace:
		return 3*levels + values + m.position*p.sources
	}
	// The blocks of all steps, where memory allows, beside their union and a map for each.
	return p.steps*(grown+m.position*p.block.entries) + 3*levels + values
}

// partial counts a step of a rank's partial block.
func (x *planner) partial(rank int, s plan.Step, block blockSize) {
	if x.partials[rank] == nil {
		x.partials[rank] = map[plan.Partial]*partialBlock{}
	}
	p := x.partials[rank][s.Partial]
	if p == nil {
		p = &partialBlock{block: block}
		x.partials[rank][s.Partial] = p
	}
	p.steps++
	most := int64(0)
	for _, need := range s.Need {
		n := x.sizers[need.Operand].block(need.Block).entries
		most = max(most, n)
		if at := &x.needs[rank][need.Operand]; *at < 0 || n > x.sizers[need.Operand].block(*at).entries {
			*at = need.Block
		}
	}
	p.sources += most
}
