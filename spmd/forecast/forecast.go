package forecast

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/tune"
	"distaff/spmd/estimate"
	"distaff/spmd/exec"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/output"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Wanted is what a job asks of its memory.
type Wanted struct {
	Outputs     []output.Output
	Whole       bool        // rank 0 wants the whole result
	Check       bool        // and the whole of each operand, to compare it
	Given       bool        // the result is computed into a tensor of the caller's
	MemoryLimit int64       // that is given, 0 for none
	Machine     *tune.Model // by which times are predicted; nil where there is none
}

// Forecast is what a planned statement would take. Each part of the way says its own cost:
// load, exec and store.
type Forecast struct {
	k       *prepared.Statement
	p       *plan.Problem
	want    Wanted
	units   []*codegen.Unit    // of the statement's groups, as far as is known
	sum     *codegen.Unit      // that adds two blocks of the result, nil where none are added
	refused error              // why there are no more: a run is refused with it too
	tensors []*estimate.Tensor // operands, then the result
	homes   []*estimate.Tensor // the same, as they lie before the steps
	bcast   []bool
	// of computing, where no operand is replicated; nil: not yet known
	cost *exec.Cost
	// operands as leaves read them that are stored otherwise, by number and format
	copies map[string]*estimate.Tensor
}

// New estimates the tensors of a statement that was planned.
func New(k *prepared.Statement, want Wanted) *Forecast {
	x := &Forecast{k: k, p: k.Problem, want: want, bcast: k.Problem.Broadcasts(),
		copies: map[string]*estimate.Tensor{}}
	for _, o := range k.Problem.Operands {
		x.tensors = append(x.tensors, x.estimated(o.Tensor, o.Partition))
		x.homes = append(x.homes, x.tensors[len(x.tensors)-1])
		lies := k.Lies(o.Home)
		if before := o.Before(); before != o.Partition {
			lies = before
		}
		if lies != nil {
			x.homes[len(x.homes)-1] = x.estimated(o.Tensor, lies)
		}
	}
	name := k.Problem.Norm.LHS.Name
	s := &estimate.Tensor{Partition: x.p.Result,
		Layout: tensor.Layout{Dims: k.Reader.Sizes.Dims[name], Type: k.Reader.ResultType,
			Format: k.Reader.Formats[name]}}
	if s.Entries = estimate.Space(s.Layout.Dims); s.Sparse() {
		d := estimate.Densities{Of: x.sparse, Size: k.Reader.Sizes.Vars}
		s.Pattern = d.Pattern(k.Problem.Norm.LHS.Vars, k.Problem.Summed().Terms)
		s.Entries *= d.Sum(k.Problem.Summed().Terms, nil)
	}
	x.widen(s)
	x.tensors, x.homes = append(x.tensors, s), append(x.homes, s)
	if rests := k.ResultPartition(); rests != s.Partition {
		resting := s.Over(rests)
		if k.Lies(k.Problem.ResultHome) != nil { // brought there as it is wanted in the end
			resting.Layout.Type = k.Reader.Types[name]
		}
		x.homes[len(x.homes)-1] = resting
	}
	return x
}

// widen gives the result the widths that leaves make it with, which are those of an operand's
// arrays at times.
func (x *Forecast) widen(result *estimate.Tensor) {
	if !result.Sparse() || !slices.ContainsFunc(x.tensors, (*estimate.Tensor).Wide) {
		return
	}
	units, _, err := x.k.Units(x.like(), false)
	if err == nil && !units[0].Result.Repack {
		result.SetMinWidths(units[0].Result.PosWidth, units[0].Result.CrdWidth)
	}
}

// result is the result in the blocks that steps make, and resting as it lies in the end.
func (x *Forecast) result() *estimate.Tensor  { return x.tensors[len(x.tensors)-1] }
func (x *Forecast) resting() *estimate.Tensor { return x.homes[len(x.homes)-1] }

// assembled is the result as the steps' sums leave it, before it is brought to a placement that its
// blocks span.
func (x *Forecast) assembled() *estimate.Tensor {
	if x.p.Assembled != nil {
		return x.result().Over(x.p.FinalPartition())
	}
	return x.result()
}

// Access is an access of an operand, as the blocks that the statement wants of it.
type Access struct {
	Operand    string
	Blocks     *load.Target
	Replicated bool // every rank has the whole, once it was sent
	Number     bool // a scalar that is given as a number, which every rank knows
	Counted    bool // it is known how many values the operand stores
}

// Accesses lists those of the statement.
func (x *Forecast) Accesses() (list []Access) {
	for n, o := range x.p.Operands {
		list = append(list, Access{o.Tensor, x.k.Reader.Target(o.Before(), o.Tensor), x.k.Replicated()[n],
			x.k.Reader.Sources[o.Tensor].Scalar != nil, x.counted(n)})
	}
	return list
}

// counted reports whether it is known how many values operand n stores. Nobody knows that of a
// sparse result, and of dense levels below lists of coordinates.
func (x *Forecast) counted(n int) bool {
	s, name := x.tensors[n], x.p.Operands[n].Tensor
	src := x.k.Reader.Sources[name]
	if !s.Sparse() {
		return true
	}
	made := src.Held() && src.Generated() == nil && x.k.Reader.Everywhere(name) == nil
	return src.CountKnown() && !made && s.Layout.Format.TrailingDense() == 0
}

// Running is what one run of the statement in a program moves, whose operands are where it wants
// them. known tells whether every rank has the result then. From then on Accesses are those of a
// program.
func (x *Forecast) Running(ctx context.Context) (c stats.Comm, known bool, err error) {
	if x.p.Ranks > 1 {
		x.k.SettleReplicas()
	}
	n := x.p.Ranks
	c = stats.Comm{BytesSent: make([]int64, n), BytesReceived: make([]int64, n),
		MessagesSent: make([]int64, n)}
	if x.k.NearSum() {
		z := x.result().Block(0)
		for rank := 1; rank < n; rank++ { // to its parent in the binomial tree
			parent := rank & (rank - 1)
			c.BytesSent[rank], c.MessagesSent[rank] = z.Bytes, z.Arrays
			tensor.Add(&c.BytesReceived[parent], z.Bytes)
			tensor.Add(&c.BytesReceived[rank], z.Bytes) // of the broadcast
		}
		c.BytesSent[0], c.MessagesSent[0] = z.Bytes, z.Arrays
	}
	if x.k.Near() {
		return c, x.k.NearKnown(), nil
	}
	cost := x.cost
	if cost == nil || slices.Contains(x.k.Replicated(), true) {
		f := x.exec()
		f.Replicated = x.k.Replicated()
		if cost, err = f.Cost(ctx); err != nil {
			return c, false, err
		}
	}
	return stats.Comm{BytesSent: cost.Sent, BytesReceived: cost.Received, MessagesSent: cost.Messages},
		false, nil
}

// Result is the name of the result.
func (x *Forecast) Result() string { return x.p.Norm.LHS.Name }

// Left says where a program has an operand or the result when the statement has run, and about
// how many entries it has. It comes after Plan.
func (x *Forecast) Left(name string) *input.Held {
	if name == x.Result() {
		return &input.Held{Blocks: x.k.ResultBlocks(nil), Entries: estimate.Round(x.result().Entries),
			AsIs: len(x.units) == 0 || !x.units[0].Result.Repack}
	}
	n := slices.IndexFunc(x.p.Operands, func(o plan.Operand) bool { return o.Tensor == name })
	return &input.Held{Blocks: x.k.Where(name), Entries: estimate.Round(x.tensors[n].Entries),
		AsIs: true, Kind: x.k.Reader.Sources[name].Generated(), File: x.k.Reader.Lasting(name)}
}

// sparse is an operand that may have entries at some coordinates alone, by its name in the normal
// form; nil of another.
func (x *Forecast) sparse(name string) *estimate.Tensor {
	n := slices.IndexFunc(x.k.Problem.Operands, func(o plan.Operand) bool { return o.Name == name })
	if n < 0 || !x.tensors[n].Sparse() {
		return nil
	}
	return x.tensors[n]
}

// estimated sizes an operand from what its input's head says.
func (x *Forecast) estimated(name string, part *partition.Partition) *estimate.Tensor {
	f, src := x.k.Reader.Formats[name], x.k.Reader.Sources[name]
	s := &estimate.Tensor{Partition: part,
		Layout: tensor.Layout{Dims: x.k.Reader.Sizes.Dims[name], Type: x.k.Reader.Types[name], Format: f}}
	if s.Entries, s.Counted = src.EntryCount(s.Layout.Dims), src.CountKnown(); !s.Sparse() {
		s.Entries, s.Counted = estimate.Space(s.Layout.Dims), true
	}
	if t := src.Tensor; t != nil && x.k.Reader.AsStored(src) {
		s.SetLevels(t)
		if x.k.Reader.Target(part, name).Viewable(t) && part.Pieces() == 1 {
			s.SetWhole(t)
		}
	}
	if t := x.k.Reader.Everywhere(name); t != nil && part.Ordered() != nil && part.Located() &&
		x.k.Reader.Target(part, name).ViewableBetween(t) {
		s.SetSource(t)
	}
	return s
}

// exec is what exec is asked of computing.
func (x *Forecast) exec() *exec.Forecast {
	pos, crd := x.result().Widths()
	f := &exec.Forecast{PosWidth: pos, CrdWidth: crd, Drift: drift(x.result()), Plan: x.p,
		Result: x.result().Block, Sparse: x.result().Sparse(), Rows: x.rows,
		Like:        transfer.Like{Name: x.Result(), Layout: x.result().Layout},
		FinalPieces: x.assembled().Block,
		Part:        x.result().In}
	for n, s := range x.tensors[:len(x.tensors)-1] {
		f.Operands, f.Parts = append(f.Operands, s.Block), append(f.Parts, x.homes[n].Block)
	}
	return f
}

// memory is the most that each rank takes while it loads, computes and stores.
func (x *Forecast) memory(cost *exec.Cost) []int64 {
	own, peak := x.loading()
	making := x.making(cost)
	spaces := x.workspaces()
	most, blocks := make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
	for rank := range own {
		copies, beside := x.converted(cost.Needs(rank))
		begun, pieces := x.begun(cost.Needs(rank))
		largest, runs := cost.LargestMade(rank)
		making.Begun, making.Adding = begun, x.adding(largest, runs)
		making.CopiedBytes = copies
		most[rank], blocks[rank] = cost.Memory(rank, making, copies, beside)
		if runs {
			most[rank] += spaces + pieces
		}
	}
	x.finishing(most, blocks)
	placing, kept := x.placing(blocks)
	completing := x.completing()
	for rank := range own {
		most[rank] = own[rank] + max(most[rank], placing[rank], blocks[rank]+completing[rank])
		kept[rank] += own[rank]
	}
	f := x.store()
	storing := x.storing(f, kept)
	if !x.p.Whole {
		if !x.written() {
			for rank, bytes := range f.SummaryCost() {
				storing[rank] = max(storing[rank], bytes)
			}
		}
		if x.want.Whole { // the whole result, beside what brings it
			for rank, bytes := range f.GatherCost() {
				storing[rank] = max(storing[rank], bytes)
			}
			for b := range plan.Block(x.resting().Partition.Pieces()) {
				storing[0] += x.resting().Block(b).Memory()
			}
		}
	}
	storing[0] += x.wholes()
	for rank := range peak {
		peak[rank] = max(peak[rank], most[rank], kept[rank]+storing[rank])
	}
	return peak
}

// finishing counts what it takes to bring blocks that are computed, which take so much at each
// rank, into the result's format, on one rank, or its type, where it is narrower: one block after
// another.
func (x *Forecast) finishing(most, blocks []int64) {
	s, name := x.result(), x.k.Problem.Norm.LHS.Name
	narrow := int64(0)
	if typ := x.k.Reader.Types[name]; typ != s.Layout.Type {
		narrow = int64(typ.Size())
	}
	repacks := x.p.Whole && len(x.units) > 0 && x.units[0].Result.Repack
	largest := make([]int64, len(most))
	for b := range plan.Block(s.Partition.Pieces()) {
		rank, z := s.Partition.OwnerOf(b), s.Block(b)
		n := z.Most()*narrow + tcs.Align
		if repacks {
			n += z.Memory()
		}
		largest[rank] = max(largest[rank], n)
	}
	if narrow == 0 && !repacks {
		return
	}
	for rank := range most {
		most[rank] = max(most[rank], blocks[rank]+largest[rank])
		if !repacks { // narrow ones may be there with wide ones
			blocks[rank] += largest[rank]
		}
	}
}

// workspaces is what those of a leaf, and partial results of its chunks, take at most on the
// threads of a rank. A GPU's are in its own memory.
func (x *Forecast) workspaces() (most int64) {
	if x.k.Reader.Env.Code() == codegen.CUDA {
		return 0
	}
	for _, u := range x.units {
		most = max(most, u.Workspaces(x.k.Reader.Env.Threads))
	}
	return most
}

// loading asks load what the operands' blocks take at each rank, and the most while they
// are made, one operand after another.
func (x *Forecast) loading() (own, peak []int64) {
	own, peak = make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
	for n, o := range x.k.Problem.Operands {
		cost := x.loaded(n, x.foretold(n, x.homes[n]))
		there, kept := cost.Kept, cost.Kept
		for rank := range own {
			peak[rank] = max(peak[rank], own[rank]+cost.Peak[rank])
		}
		if moving, moved := x.moving(n); moved {
			kept = moving.Kept
			for rank := range own {
				peak[rank] = max(peak[rank], own[rank]+there[rank]+moving.Peak[rank])
			}
		}
		for rank := range own {
			own[rank] += kept[rank]
		}
		part, pieces := o.Before(), x.tensors[n]
		if part != o.Partition {
			pieces = x.homes[n]
		}
		for b := range plan.Block(part.Pieces()) {
			for _, rank := range part.Ranks(b)[1:] {
				own[rank] += pieces.Block(b).Memory()
				peak[rank] = max(peak[rank], own[rank])
			}
		}
	}
	return own, peak
}

// foretold is what load is told of an operand, of which s has the sizes.
func (x *Forecast) foretold(operand int, s *estimate.Tensor) load.Input {
	name := x.k.Problem.Operands[operand].Tensor
	src := x.k.Reader.Sources[name]
	listed := src.Listed(src.EntryCount(s.Layout.Dims))
	in := x.k.Reader.Foretold(name, estimate.Round(listed))
	in.Records = func(b plan.Block, roomed bool) int64 { return s.Records(b, listed, roomed) }
	return in
}

// making asks the compiler how leaves make blocks of the result, of operands as large as
// they are taken to be.
func (x *Forecast) making(cost *exec.Cost) exec.Making {
	k, s := x.k, x.result()
	m := exec.Making{Dense: !s.Sparse(), Value: int64(s.Layout.Type.Size()), Ahead: codegen.MapAhead}
	units, inPlace, err := k.Units(x.like(), cost.Several())
	x.units, x.refused = units, err
	if m.InPlace = inPlace; err != nil {
		return m
	}
	if x.refused = k.Refused(x.counts()); x.refused != nil || m.Dense {
		return m
	}
	if x.sum, x.refused = k.SumUnit(); x.refused != nil {
		return m
	}
	m.PosWidth, m.CrdWidth = units[0].Result.PosWidth, units[0].Result.CrdWidth
	if units[0].Result.Repack {
		m.Made = x.as(len(x.tensors)-1, units[0].Result.Format).Block
	}
	m.Shared = true
	for _, u := range units {
		shares := u.Result.Shares
		if m.Shared = m.Shared && shares >= 0; m.Shared && u.Args[shares].Convert {
			a := u.Args[shares]
			m.Copied = true
			if n := x.operand(a); n >= 0 {
				m.Widened = m.Widened || widened(x.as(n, a.Format), a)
			}
		}
	}
	m.Copied = m.Copied && m.Shared
	return m
}

// counts returns the number of positions of each level of the operands whose sizes are exact.
func (x *Forecast) counts() map[string][]int64 {
	out := map[string][]int64{}
	for n, o := range x.k.Problem.Operands {
		if s := x.tensors[n]; s.Exact() {
			out[o.Name] = s.Positions()
		}
	}
	return out
}

// begun is what a leaf that reads such blocks takes at most for a result that grows before there is
// anything of it: what stays, and beside.
func (x *Forecast) begun(needs []plan.Block) (kept, beside int64) {
	entries := int64(0)
	for n, b := range needs {
		if b >= 0 && !x.tensors[n].Layout.Format.AllDense() {
			entries += x.tensors[n].Block(b).Most()
		}
	}
	for _, u := range x.units {
		k, b := u.Begun(entries, x.k.Reader.Env.Threads, false)
		kept, beside = max(kept, k), max(beside, b)
	}
	return kept, beside
}

// adding is what the leaf that adds two blocks of the result takes beside these and their sum, at a
// rank that runs some steps, of which that is the largest.
func (x *Forecast) adding(largest plan.Block, runs bool) int64 {
	if x.sum == nil || !runs {
		return 0
	}
	_, beside := x.sum.Begun(2*x.result().Block(largest).Most(), x.k.Reader.Env.Threads, true)
	return beside
}

// Leaves returns the units of the leaves that a run is expected to call: those of operands as they
// are estimated.
func (x *Forecast) Leaves() ([]*codegen.Unit, error) { return x.k.Leaves(x.like()) }

// like is prepared.like before there are blocks.
func (x *Forecast) like() map[string]codegen.Tensor {
	out := map[string]codegen.Tensor{}
	for n, o := range x.k.Problem.Operands {
		s, f := x.tensors[n], x.k.Reader.Formats[o.Tensor]
		spec := codegen.Tensor{Format: f, Type: x.k.Reader.Types[o.Tensor], Dims: s.Layout.Dims,
			NNZ: estimate.Round(s.Entries), Counts: s.Positions()}
		spec.PosWidth, spec.CrdWidth = s.Widths()
		out[o.Name] = spec
	}
	return out
}

// converted is what the copies take that a rank's leaf reads in place of operands
// stored otherwise, and what making one takes more. needs is the largest block of each
// operand that a step reads.
func (x *Forecast) converted(needs []plan.Block) (held, beside int64) {
	for _, u := range x.units {
		sum, most := int64(0), int64(0)
		for _, a := range u.Args[1:] {
			n := slices.IndexFunc(x.k.Problem.Operands,
				func(o plan.Operand) bool { return o.Name == a.Tensor })
			if !a.Convert || n < 0 || needs[n] < 0 {
				continue
			}
			s := x.as(n, a.Format)
			z := s.Block(needs[n])
			if sum += z.Memory(); widened(s, a) { // to arrays beside those that it has
				w := *x.tensors[n].As(a.Format)
				w.SetMinWidths(a.PosWidth, a.CrdWidth)
				sum += 2*(w.Block(needs[n]).Memory()-z.Memory()) + int64(2*len(s.Layout.Format.Order))*tcs.Align
			}
			most = max(most, x.assembling(s, z))
		}
		held, beside = max(held, sum), max(beside, most)
	}
	return held, beside
}

// widened tells whether a copy is made with wider level arrays than a tensor has that is assembled.
func widened(s *estimate.Tensor, a codegen.Arg) bool {
	pos, crd := s.Widths()
	for l := range pos {
		if pos[l] > 0 && a.PosWidth[l] > pos[l] || crd[l] > 0 && a.CrdWidth[l] > crd[l] {
			return true
		}
	}
	return false
}

// assembling is what it takes beside a block of such a size to assemble it of another, whose
// entries come in any order.
func (x *Forecast) assembling(s *estimate.Tensor, z plan.Size) int64 {
	if !s.Sparse() { // each entry goes to its place
		return 0
	}
	return coo.NewSortCost(s.LevelSizes(), s.Layout.Type,
		x.k.Reader.Env.Config().Threads).AssembleBytes(z.Most(), z.Memory(), x.want.MemoryLimit)
}

// as is an operand, or the result, in the format that a leaf has it in.
func (x *Forecast) as(operand int, f tensor.Format) *estimate.Tensor {
	key := fmt.Sprint(operand, f.Letters(), f.Order)
	if x.copies[key] == nil {
		x.copies[key] = x.tensors[operand].As(f)
	}
	return x.copies[key]
}

// store is the result as store is asked about it.
func (x *Forecast) store() *store.Forecast {
	s := x.resting()
	f := &store.Forecast{Blocks: store.Blocks{Layout: s.Layout},
		BlockFormat: s.Layout.Format, Sizes: s.Block, Ranks: x.p.Ranks,
		Limit: x.want.MemoryLimit, Threads: x.k.Reader.Env.Config().Threads}
	if len(x.units) > 0 && !x.p.Whole { // else it is repacked
		f.BlockFormat = x.units[0].Result.Format
	}
	for b := range plan.Block(s.Partition.Pieces()) {
		f.Blocks.Owners, f.Blocks.Boxes = append(f.Blocks.Owners, s.Partition.OwnerOf(b)),
			append(f.Blocks.Boxes, s.Box(b))
	}
	return f
}

// written tells whether the result goes to a file.
func (x *Forecast) written() bool {
	return slices.ContainsFunc(x.want.Outputs,
		func(o output.Output) bool { return o.Tensor == x.k.Problem.Norm.LHS.Name })
}

// wholes is what it takes at rank 0 to have the whole of each operand that is checked with, or
// written.
func (x *Forecast) wholes() (bytes int64) {
	seen, most := map[string]bool{}, int64(0)
	for n, o := range x.k.Problem.Operands {
		written := o.Tensor != x.Result() &&
			slices.ContainsFunc(x.want.Outputs,
				func(out output.Output) bool { return out.Tensor == o.Tensor })
		if seen[o.Tensor] || !x.want.Check && !written {
			continue
		}
		seen[o.Tensor] = true
		s := x.estimated(o.Tensor, partition.Whole(len(x.tensors[n].Layout.Dims)))
		if !x.p.Whole { // else it is there
			c := x.k.Reader.Target(s.Partition, o.Tensor).Cost(x.foretold(n, s), s.Block, 1,
				x.want.MemoryLimit)
			most = max(most, bytes+c.Peak[0])
			bytes += c.Kept[0]
		}
		if written {
			most = max(most, bytes+x.writing(s, o.Tensor))
		}
	}
	return most
}

// writing is what writing a tensor that rank 0 has whole takes.
func (x *Forecast) writing(s *estimate.Tensor, name string) (most int64) {
	f := &store.Forecast{Blocks: store.Blocks{Layout: s.Layout,
		Owners: []int{0}},
		BlockFormat: s.Layout.Format, Sizes: s.Block, Ranks: 1, Limit: x.want.MemoryLimit,
		Threads: x.k.Reader.Env.Config().Threads}
	for _, o := range x.want.Outputs {
		if o.Tensor == name {
			most = max(most, f.Cost(o.File, []int64{0})[0])
		}
	}
	return most
}

// storing asks store what each rank takes beside its blocks, of which it holds used, while
// the result is written.
func (x *Forecast) storing(f *store.Forecast, used []int64) []int64 {
	most := make([]int64, x.p.Ranks)
	for _, o := range x.want.Outputs {
		if o.Tensor != x.k.Problem.Norm.LHS.Name {
			continue
		}
		for rank, n := range f.Cost(o.File, used) {
			most[rank] = max(most[rank], n)
		}
	}
	return most
}
