package spmd

import (
	"context"
	"slices"

	"distaff/codegen"
	"distaff/io/coo"
	"distaff/spmd/estimate"
	"distaff/spmd/exec"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// forecast is what a planned job would take. Each part of the way says its own cost:
// load, exec and store.
type forecast struct {
	k       *prepared
	p       *plan.Problem
	tensors []*estimate.Tensor // operands, then the result
	bcast   []bool
}

// forecast estimates the tensors of a job that was planned.
func (r *run) forecast() *forecast {
	k := r.prepared
	x := &forecast{k: k, p: k.problem, bcast: k.problem.Broadcasts()}
	for n, o := range k.operands {
		x.tensors = append(x.tensors, r.estimated(o.tensor, x.p.Operands[n].Modes))
	}
	s := &estimate.Tensor{Plan: x.p, Cuts: x.p.Result, Dims: r.sizes.Dims[r.p.result], Type: tcsType(r.types[r.p.result])}
	f := r.formats[r.p.result]
	s.Kinds, s.Modes = f.Letters(), f.Order
	if s.Entries = estimate.Space(s.Dims); s.Sparse() {
		d := estimate.Densities{Of: x.density, Size: r.sizes.Vars}
		s.Entries *= d.Sum(k.norm.Terms, nil)
	}
	x.tensors = append(x.tensors, s)
	return x
}

func (x *forecast) result() *estimate.Tensor { return x.tensors[len(x.tensors)-1] }

// density is the share of coordinates at which an operand has an entry.
func (x *forecast) density(name string) float64 {
	n := slices.IndexFunc(x.k.operands, func(o operand) bool { return o.name == name })
	if n < 0 {
		return 1
	}
	s := x.tensors[n]
	if all := estimate.Space(s.Dims); s.Sparse() && all > 0 {
		return min(1, s.Entries/all)
	}
	return 1
}

// estimated sizes an operand from what its input's head says.
func (r *run) estimated(name string, cuts []int) *estimate.Tensor {
	f, src := r.formats[name], r.sources[name]
	s := &estimate.Tensor{Plan: r.prepared.problem, Cuts: cuts, Dims: r.sizes.Dims[name], Kinds: f.Letters(), Modes: f.Order, Type: tcsType(r.types[name])}
	if s.Entries = src.entryCount(s.Dims); !s.Sparse() {
		s.Entries = estimate.Space(s.Dims)
	}
	if t := src.tensor; t != nil && r.asStored(src) {
		s.Stored(t)
		if r.target(name, cuts).Viewable(t) && r.prepared.problem.SpaceOf(cuts).Size() == 1 {
			s.Uncut(t)
		}
	}
	return s
}

// entryCount is how many entries a source has, as far as can be told without
// reading it.
func (s *source) entryCount(dims []int64) float64 {
	all := estimate.Space(dims)
	switch {
	case s == nil || s.scalar != nil:
		return all
	case s.tensor != nil:
		if st, ok := s.tensor.FileStats(); ok {
			return float64(st.Entries)
		}
		return float64(s.tensor.Vals.Len)
	case s.gen != nil:
		return s.gen.Entries(dims)
	case s.dense:
		return all
	case s.stream != nil:
		if n, ok := s.stream.(interface{ NNZ() int64 }); ok {
			return min(all, float64(n.NNZ()))
		}
	}
	if s.counted > 0 {
		return min(all, float64(s.counted))
	}
	bytes := s.bytes
	if p, ok := s.stream.(coo.Progressed); ok && bytes == 0 {
		_, bytes = p.Progress()
	}
	if bytes > 0 { // of a text file: a short number for each coordinate, and a value
		return min(all, float64(bytes)/float64(4*len(dims)+6))
	}
	return all
}

// countKnown tells whether entryCount is no estimate.
func (s *source) countKnown() bool {
	switch {
	case s == nil:
		return false
	case s.gen != nil:
		return true
	case s.tensor != nil:
		_, ok := s.tensor.FileStats()
		return ok || s.tensor.Whole()
	}
	return s.dense || s.scalar != nil
}

// computing asks exec what computing takes.
func (x *forecast) computing(ctx context.Context, watch exec.Watcher) (*exec.Cost, error) {
	f := &exec.Forecast{Plan: x.p, Result: x.result().Block, Watch: watch}
	for _, s := range x.tensors[:len(x.tensors)-1] {
		f.Operands = append(f.Operands, s.Block)
	}
	return f.Cost(ctx)
}

// memory is the most that each rank takes while it loads, computes and stores.
func (x *forecast) memory(cost *exec.Cost) []int64 {
	r := x.k.r
	own, peak := x.loading()
	making := x.making(cost)
	for rank := range own {
		copies, beside := x.converted(cost.Needs(rank))
		most, kept := cost.Memory(rank, making, copies, beside)
		storing := kept
		if x.p.Ranks > 1 {
			storing += x.storing(rank, own[rank]+kept)
			if rank == 0 && (r.Check || r.job.Keep) { // the whole result
				for b := range plan.Block(x.p.SpaceOf(x.p.Result).Size()) {
					storing += x.result().Block(b).Bytes
				}
			}
		}
		peak[rank] = max(peak[rank], own[rank]+max(most, storing))
	}
	return peak
}

// loading asks load what the operands' blocks take at each rank, and the most while they
// are made, one operand after another.
func (x *forecast) loading() (own, peak []int64) {
	r := x.k.r
	own, peak = make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
	for n, o := range x.k.operands {
		s, src := x.tensors[n], r.sources[o.tensor]
		in := load.Input{Entries: estimate.Round(s.Entries)}
		switch {
		case src.scalar != nil || src.gen != nil && src.gen.Dense() && !s.Sparse():
			in.InPlace = true
		case src.tensor != nil:
			in.Tensor, in.AsIs, in.Alone = src.tensor, r.asStored(src), src.alone
			in.Mapped = src.in.File != "" && !src.tensor.Compressed()
		default:
			in.Distinct = src.dense || src.gen != nil
		}
		cost := r.target(o.tensor, s.Cuts).Cost(in, s.Block, r.MemoryLimit)
		for rank := range own {
			peak[rank] = max(peak[rank], own[rank]+cost.Peak[rank])
			own[rank] += cost.Kept[rank]
		}
	}
	return own, peak
}

// making asks the compiler how leaves make blocks of the result, of operands as large as
// they are taken to be.
func (x *forecast) making(cost *exec.Cost) exec.Making {
	k, s := x.k, x.result()
	m := exec.Making{Dense: !s.Sparse(), Value: int64(s.Type.Size())}
	several := !m.Dense && cost.Several()
	if err := k.compileUnits(x.like(), several); err != nil || m.Dense {
		return m // as if they grew: the run will say what is wrong
	}
	m.Shared, m.InPlace = true, several && !k.r.Interpret && k.inPlace()
	for _, st := range k.statements {
		shares := st.unit.Result.Shares
		m.Shared = m.Shared && shares >= 0
		m.Copied = m.Shared && st.unit.Args[shares].Convert
	}
	return m
}

// like is prepared.like before there are blocks.
func (x *forecast) like() map[string]codegen.Tensor {
	out := map[string]codegen.Tensor{}
	for n, o := range x.k.operands {
		s, f := x.tensors[n], x.k.r.formats[o.tensor]
		spec := codegen.Tensor{Format: f, Type: irTypes[x.k.r.types[o.tensor]], Dims: s.Dims, NNZ: estimate.Round(s.Entries)}
		for l, kind := range f.Levels {
			var pos, crd uint8
			if kind.Caps().HasPos {
				pos = uint8(estimate.Width(s.Entries))
			}
			if kind.Caps().HasCrd {
				crd = uint8(estimate.Width(float64(s.Dims[s.Modes[l]])))
			}
			spec.PosWidth, spec.CrdWidth = append(spec.PosWidth, pos), append(spec.CrdWidth, crd)
		}
		out[o.name] = spec
	}
	return out
}

// converted is what the copies take that a rank's leaf reads in place of operands
// stored otherwise, and what making one takes more. needs is the largest block of each
// operand that a step reads.
func (x *forecast) converted(needs []plan.Block) (held, beside int64) {
	for _, st := range x.k.statements {
		if st.unit == nil {
			continue
		}
		sum, most := int64(0), int64(0)
		for _, a := range st.unit.Args[1:] {
			n := slices.IndexFunc(x.k.operands, func(o operand) bool { return o.name == a.Tensor })
			if !a.Convert || n < 0 || needs[n] < 0 {
				continue
			}
			s := x.tensors[n].As(a.Format.Letters(), a.Format.Order)
			z := s.Block(needs[n])
			sum += z.Memory()
			most = max(most, coo.AssemblyBytes(s.LevelSizes(), s.Type, z.Entries, z.Memory(), x.k.r.MemoryLimit))
		}
		held, beside = max(held, sum), max(beside, most)
	}
	return held, beside
}

// storing asks store what a rank takes beside its blocks, of which it holds used, while
// the result is written.
func (x *forecast) storing(rank int, used int64) int64 {
	k, s := x.k, x.result()
	f := &store.Forecast{Blocks: store.Blocks{Dims: s.Dims, Type: s.Type, Kinds: s.Kinds, Modes: s.Modes},
		BlockKinds: s.Kinds, BlockModes: s.Modes, Sizes: s.Block, Ranks: x.p.Ranks, Limit: k.r.MemoryLimit}
	if len(k.statements) > 0 && k.statements[0].unit != nil {
		made := k.statements[0].unit.Result.Format
		f.BlockKinds, f.BlockModes = made.Letters(), made.Order
	}
	for b := range plan.Block(x.p.SpaceOf(s.Cuts).Size()) {
		f.Owners, f.Boxes = append(f.Owners, x.p.Owner(s.Cuts, b)), append(f.Boxes, s.Box(b))
	}
	most := int64(0)
	for _, o := range k.r.job.Outputs {
		if o.Tensor == k.r.p.result {
			most = max(most, f.Cost(rank, o.File, used))
		}
	}
	return most
}
