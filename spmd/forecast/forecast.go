package forecast

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
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
	"distaff/spmd/transfer"
)

// Wanted holds the requests of a job that affect its forecast.
type Wanted struct {
	Outputs     []output.Output
	Whole       bool        // whether rank 0 gathers the whole result
	Check       bool        // whether rank 0 also gathers each operand, to check the result
	Given       bool        // whether the result is computed into a tensor of the caller
	MemoryLimit int64       // limit in bytes of each rank; 0 means none was given
	Machine     *tune.Model // model that predicts times; may be nil
}

// Forecast holds the estimates of a planned statement.
type Forecast struct {
	k       *prepared.Planned
	code    *prepared.Code
	p       *plan.Problem
	want    Wanted
	units   []*codegen.Unit    // units of the statement's groups; empty until compiled
	sum     *codegen.Unit      // unit that adds two sparse blocks of the result; nil if none are added
	refused error              // the error of a run that would be refused; nil if none was found
	tensors []*estimate.Tensor // the operands in the blocks of the steps, followed by the result
	// the same tensors in the blocks that they have before the first step or after the last one
	homes []*estimate.Tensor
	bcast []bool // by operand: whether one broadcast brings it to every rank
	// cost of computing without replicated operands; nil until Plan computes it
	cost *exec.Cost
	// operands and the result in other formats that leaves use, by number and format
	copies map[string]*estimate.Tensor
}

// New returns a Forecast with the estimates of a planned statement's tensors. It compiles units
// with code, which must belong to the statement.
func New(k *prepared.Planned, code *prepared.Code, want Wanted) *Forecast {
	x := &Forecast{k: k, code: code, p: k.Problem, want: want, bcast: k.Problem.Broadcasts(),
		copies: map[string]*estimate.Tensor{}}
	for _, o := range k.Problem.Operands {
		x.tensors = append(x.tensors, x.estimateOf(o.Tensor, o.Partition))
		x.homes = append(x.homes, x.tensors[len(x.tensors)-1])
		home := k.PlacementPieces(o.Home)
		if before := o.Before(); before != o.Partition {
			home = before
		}
		if home != nil {
			x.homes[len(x.homes)-1] = x.estimateOf(o.Tensor, home)
		}
	}
	name := k.Problem.Norm.LHS.Name
	s := &estimate.Tensor{Partition: x.p.Result,
		Layout: tensor.Layout{Dims: k.Reader.Sizes.Dims[name], Type: k.Reader.ResultType,
			Format: k.Reader.Formats[name]}}
	if s.Entries = estimate.Space(s.Layout.Dims); s.Sparse() {
		d := estimate.Densities{Of: x.sparse, Size: k.Reader.Sizes.Vars}
		terms := k.Problem.Summed().Terms
		if lhs := k.Problem.Norm.LHS; k.Problem.Norm.Accumulate && x.reads(lhs.Name) {
			terms = append([]*notation.Term{{Factors: []notation.Factor{lhs}}}, terms...)
		}
		s.Pattern = d.Pattern(k.Problem.Norm.LHS.Vars, terms)
		s.Entries *= d.Sum(terms, nil)
	}
	x.widen(s)
	x.tensors, x.homes = append(x.tensors, s), append(x.homes, s)
	if final := k.ResultPartition(); final != s.Partition {
		last := s.Over(final)
		if k.PlacementPieces(k.Problem.ResultHome) != nil { // it moves there with its final type
			last.Layout.Type = k.Reader.Types[name]
		}
		x.homes[len(x.homes)-1] = last
	}
	return x
}

// reads reports whether the statement reads an operand of the given name.
func (x *Forecast) reads(name string) bool {
	return slices.ContainsFunc(x.k.Problem.Operands,
		func(o plan.Operand) bool { return o.Name == name })
}

// widen sets the minimum integer widths of the result's level arrays to the widths that leaves
// make. A leaf may return an operand's level arrays as the result's arrays, and the operand's
// arrays may be wider than the result needs.
func (x *Forecast) widen(result *estimate.Tensor) {
	if !result.Sparse() || !slices.ContainsFunc(x.tensors, (*estimate.Tensor).Wide) {
		return
	}
	units, _, err := x.code.Units(x.like(), false)
	if err == nil && !units[0].Result.Repack {
		result.SetMinWidths(units[0].Result.PosWidth, units[0].Result.CrdWidth)
	}
}

// result returns the estimate of the result, divided into the blocks that steps make. finalResult
// returns the estimate of the result, divided into the final blocks.
func (x *Forecast) result() *estimate.Tensor      { return x.tensors[len(x.tensors)-1] }
func (x *Forecast) finalResult() *estimate.Tensor { return x.homes[len(x.homes)-1] }

// assembled returns the estimate of the result after its overlapping blocks are assembled, and
// before it moves to its placement.
func (x *Forecast) assembled() *estimate.Tensor {
	if x.p.Assembled != nil {
		return x.result().Over(x.p.FinalPartition())
	}
	return x.result()
}

// Access is an access of an operand, with the blocks of the operand that the statement needs.
type Access struct {
	Operand    string
	Blocks     *load.Target
	Replicated bool // whether every rank receives the whole operand
	Number     bool // whether it is a scalar given as a number, which every rank knows
	Counted    bool // whether the number of stored values is known
}

// Accesses lists the accesses of the statement.
func (x *Forecast) Accesses() (list []Access) {
	for n, o := range x.p.Operands {
		list = append(list, Access{o.Tensor, x.k.Reader.Target(o.Before(), o.Tensor),
			x.k.Replicated[n],
			x.k.Reader.Sources[o.Tensor].Scalar != nil, x.isCounted(n)})
	}
	return list
}

// isCounted reports whether the number of stored values of operand n is known. The number is known
// for a tensor that is not sparse. For a sparse tensor, it is unknown in each of these cases:
//
//   - The source must be read to count the values.
//   - The innermost level is dense.
//   - A program holds the tensor, and the tensor was neither generated nor is a mapped file (see
//     input.Reader.Everywhere).
func (x *Forecast) isCounted(n int) bool {
	s, name := x.tensors[n], x.p.Operands[n].Tensor
	src := x.k.Reader.Sources[name]
	if !s.Sparse() {
		return true
	}
	made := src.Held() && src.Generated() == nil && x.k.Reader.Everywhere(name) == nil
	return src.CountKnown() && !made && s.Layout.Format.TrailingDense() == 0
}

// Running predicts the messages of one run of the statement in a program. The operands are assumed
// to be in the blocks that the statement needs already. known is true if three conditions hold:
// several ranks run the statement, each rank runs one step on blocks that it has already, and every
// rank has the whole result afterwards.
//
// Running also decides which operands are replicated. A later call of Accesses returns this
// decision.
func (x *Forecast) Running(ctx context.Context) (c stats.Comm, known bool, err error) {
	if x.p.Ranks > 1 {
		x.k.SettleReplicas()
	}
	n := x.p.Ranks
	c = stats.Comm{BytesSent: make([]int64, n), BytesReceived: make([]int64, n),
		MessagesSent: make([]int64, n)}
	if x.k.OneStep.IsSum() {
		z := x.result().Block(0)
		for rank := 1; rank < n; rank++ { // to its parent in the binomial tree
			parent := rank & (rank - 1)
			c.BytesSent[rank], c.MessagesSent[rank] = z.Bytes, z.Arrays
			tensor.Add(&c.BytesReceived[parent], z.Bytes)
			tensor.Add(&c.BytesReceived[rank], z.Bytes) // of the broadcast
		}
		c.BytesSent[0], c.MessagesSent[0] = z.Bytes, z.Arrays
	}
	if x.k.OneStep.IsNear() {
		return c, x.k.OneStep.IsKnown(), nil
	}
	cost := x.cost
	if cost == nil || slices.Contains(x.k.Replicated, true) {
		f := x.exec()
		f.Replicated = x.k.Replicated
		if cost, err = f.Cost(ctx); err != nil {
			return c, false, err
		}
	}
	return stats.Comm{BytesSent: cost.Sent, BytesReceived: cost.Received, MessagesSent: cost.Messages},
		false, nil
}

// Result returns the name of the result.
func (x *Forecast) Result() string { return x.p.Norm.LHS.Name }

// Left describes the blocks that store the named operand or the result after a run of the statement
// in a program. The number of entries in this description is an estimate. Plan must be called
// before Left.
func (x *Forecast) Left(name string) *input.Held {
	if name == x.Result() {
		return &input.Held{Blocks: x.k.ResultBlocks(), Entries: estimate.Round(x.result().Entries),
			AsIs: len(x.units) == 0 || !x.units[0].Result.Repack}
	}
	n := slices.IndexFunc(x.p.Operands, func(o plan.Operand) bool { return o.Tensor == name })
	return &input.Held{Blocks: x.k.EntryBlocks(name), Entries: estimate.Round(x.tensors[n].Entries),
		AsIs: true, Kind: x.k.Reader.Sources[name].Generated(), File: x.k.Reader.Lasting(name)}
}

// sparse returns the estimate of the operand that has the given name in the normal form. It returns
// nil if no operand has this name, or if the operand is not sparse.
func (x *Forecast) sparse(name string) *estimate.Tensor {
	n := slices.IndexFunc(x.k.Problem.Operands, func(o plan.Operand) bool { return o.Name == name })
	if n < 0 || !x.tensors[n].Sparse() {
		return nil
	}
	return x.tensors[n]
}

// estimateOf returns the estimate of the named tensor, divided into the blocks of part. The
// estimate follows from the known properties of the tensor's input.
func (x *Forecast) estimateOf(name string, part *partition.Partition) *estimate.Tensor {
	f, src := x.k.Reader.Formats[name], x.k.Reader.Sources[name]
	s := &estimate.Tensor{Partition: part,
		Layout: tensor.Layout{Dims: x.k.Reader.Sizes.Dims[name], Type: x.k.Reader.Types[name],
			Format: f}}
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

// exec describes the statement for package exec, which predicts the cost of computing it.
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

// peakMemory returns each rank's peak memory in bytes while it loads, computes and stores.
func (x *Forecast) peakMemory(cost *exec.Cost) []int64 {
	own, peak := x.loadingMemory()
	making := x.making(cost)
	spaces := x.workspaceMemory()
	most, blocks := make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
	for rank := range own {
		copies, beside := x.copyMemory(cost.Needs(rank))
		begun, pieces := x.initialMemory(cost.Needs(rank))
		largest, runs := cost.LargestMade(rank)
		making.Begun, making.Adding = begun, x.addingMemory(largest, runs)
		making.CopiedBytes = copies
		most[rank], blocks[rank] = cost.Memory(rank, making, copies, beside)
		if runs {
			most[rank] += spaces + pieces
		}
	}
	x.addFinishing(most, blocks)
	placing, kept := x.placingMemory(blocks)
	completing := x.completingMemory()
	for rank := range own {
		most[rank] = own[rank] + max(most[rank], placing[rank], blocks[rank]+completing[rank])
		kept[rank] += own[rank]
	}
	f := x.store()
	storing := x.storingMemory(f, x.Result(), kept)
	if !x.p.Whole {
		if !x.isWritten(x.Result()) {
			for rank, bytes := range f.SummaryCost() {
				storing[rank] = max(storing[rank], bytes)
			}
		}
		if x.want.Whole { // the whole result, besides the memory of gathering it
			for rank, bytes := range f.GatherCost() {
				storing[rank] = max(storing[rank], bytes)
			}
			for b := range plan.Block(x.finalResult().Partition.Pieces()) {
				storing[0] += x.finalResult().Block(b).Memory()
			}
		}
	}
	storing[0] += x.wholeOperands()
	for rank := range peak {
		peak[rank] = max(peak[rank], most[rank], kept[rank]+storing[rank])
	}
	return peak
}

// addFinishing adds the memory for converting the computed blocks, one after another, to the type
// and format of the result. The format is converted only on one rank without blocks. most[r] is the
// peak memory of rank r so far, and blocks[r] is the memory of its computed blocks. addFinishing
// updates most. If only the type is converted, it also updates blocks, because a block may then
// exist before and after the conversion at the same time.
func (x *Forecast) addFinishing(most, blocks []int64) {
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
		if !repacks { // narrow and wide blocks may exist at the same time
			blocks[rank] += largest[rank]
		}
	}
}

// workspaceMemory returns an upper bound, in bytes, of the memory of a leaf's workspaces and
// partial results on all threads of a rank. It returns 0 for CUDA.
func (x *Forecast) workspaceMemory() (most int64) {
	if x.k.Target.Kind == codegen.CUDA {
		return 0
	}
	for _, u := range x.units {
		most = max(most, u.Workspaces(x.k.Reader.Env.Threads))
	}
	return most
}

// loadingMemory returns two figures in bytes for each rank. own is the memory of the rank's blocks
// of all operands. peak is the largest memory that the rank needs while the operands are loaded one
// after another, including the blocks that are already loaded.
func (x *Forecast) loadingMemory() (own, peak []int64) {
	own, peak = make([]int64, x.p.Ranks), make([]int64, x.p.Ranks)
	for n, o := range x.k.Problem.Operands {
		cost := x.loadCost(n, x.loadInput(n, x.homes[n]))
		there, kept := cost.Kept, cost.Kept
		for rank := range own {
			peak[rank] = max(peak[rank], own[rank]+cost.Peak[rank])
		}
		if moving, moved := x.moveCost(n); moved {
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

// loadInput returns the estimates that package load needs about an operand. s has its size.
func (x *Forecast) loadInput(operand int, s *estimate.Tensor) load.Input {
	name := x.k.Problem.Operands[operand].Tensor
	src := x.k.Reader.Sources[name]
	listed := src.Listed(src.EntryCount(s.Layout.Dims))
	in := x.k.Reader.LoadInput(name, estimate.Round(listed))
	in.Records = func(b plan.Block, roomed bool) int64 { return s.Records(b, listed, roomed) }
	return in
}

// making compiles the units of the leaves for the estimated operands. It returns how the leaves
// make blocks of the result. If the units cannot be compiled, or if a run would refuse them, making
// stores the error in x.refused.
func (x *Forecast) making(cost *exec.Cost) exec.Making {
	s := x.result()
	m := exec.Making{Dense: !s.Sparse(), Value: int64(s.Layout.Type.Size()), Ahead: codegen.MapAhead}
	x.refused = x.code.OnTarget(func() (err error) {
		x.units, m.InPlace, err = x.code.Units(x.like(), cost.Several())
		if err == nil && x.k.Target.Kind == codegen.CUDA {
			err = x.code.OtherUnits()
		}
		return err
	})
	units := x.units
	if x.refused != nil {
		return m
	}
	if x.refused = x.code.Refused(x.counts()); x.refused != nil || m.Dense {
		return m
	}
	if x.sum, x.refused = x.code.SumUnit(); x.refused != nil {
		return m
	}
	m.PosWidth, m.CrdWidth = units[0].Result.PosWidth, units[0].Result.CrdWidth
	if units[0].Result.Repack {
		m.Made = x.inFormat(len(x.tensors)-1, units[0].Result.Format).Block
	}
	m.Shared = true
	for _, u := range units {
		shares := u.Result.Shares
		if m.Shared = m.Shared && shares >= 0; m.Shared && u.Args[shares].Convert {
			a := u.Args[shares]
			m.Copied = true
			if n := x.operand(a); n >= 0 {
				m.Widened = m.Widened || isWidened(x.inFormat(n, a.Format), a)
			}
		}
	}
	m.Copied = m.Copied && m.Shared
	return m
}

// counts returns the number of positions of each level, for the operands whose sizes are exact.
func (x *Forecast) counts() map[string][]int64 {
	out := map[string][]int64{}
	for n, o := range x.k.Problem.Operands {
		if s := x.tensors[n]; s.Exact() {
			out[o.Name] = s.Positions()
		}
	}
	return out
}

// initialMemory returns the number of bytes that a leaf allocates before its first entry, for a
// result that grows. kept is the part that stays allocated after the call, and temporary is the
// part that the call frees. needs[k] is the block of operand k that the leaf reads, or -1 if the
// leaf reads no block of operand k.
func (x *Forecast) initialMemory(needs []plan.Block) (kept, temporary int64) {
	entries := int64(0)
	for n, b := range needs {
		if b >= 0 && !x.tensors[n].Layout.Format.AllDense() {
			entries += x.tensors[n].Block(b).Most()
		}
	}
	for _, u := range x.units {
		k, b := u.Begun(entries, x.k.Reader.Env.Threads, false)
		kept, temporary = max(kept, k), max(temporary, b)
	}
	return kept, temporary
}

// addingMemory returns the number of bytes that a leaf needs to add two sparse blocks of the
// result, in addition to the two blocks and their sum. largest is the rank's largest block. runs is
// true if the rank runs steps. addingMemory returns 0 if the rank runs no steps, or if no sparse
// blocks are added.
func (x *Forecast) addingMemory(largest plan.Block, runs bool) int64 {
	if x.sum == nil || !runs {
		return 0
	}
	_, beside := x.sum.Begun(2*x.result().Block(largest).Most(), x.k.Reader.Env.Threads, true)
	return beside
}

// Leaves returns the units of the leaves that a run is expected to call, for the estimated
// operands.
func (x *Forecast) Leaves() ([]*codegen.Unit, error) { return x.code.Leaves(x.like()) }

// like returns the specification of each operand for the compiler. It makes the specifications from
// estimates. prepared.Operands.Specs makes specifications from the real blocks.
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

// copyMemory returns the memory, in bytes, of the copies that a rank's leaf reads instead of
// operands that are stored in another format. copies is the size of all copies. temporary is the
// additional memory while one copy is made. needs[k] is the largest block of operand k that a step
// reads, or -1 if no step reads a block of operand k.
func (x *Forecast) copyMemory(needs []plan.Block) (copies, temporary int64) {
	for _, u := range x.units {
		sum, most := int64(0), int64(0)
		for _, a := range u.Args[1:] {
			n := slices.IndexFunc(x.k.Problem.Operands,
				func(o plan.Operand) bool { return o.Name == a.Tensor })
			if !a.Convert || n < 0 || needs[n] < 0 {
				continue
			}
			s := x.inFormat(n, a.Format)
			z := s.Block(needs[n])
			if sum += z.Memory(); isWidened(s, a) { // copied into wider arrays
				w := *x.tensors[n].As(a.Format)
				w.SetMinWidths(a.PosWidth, a.CrdWidth)
				sum += 2*(w.Block(needs[n]).Memory()-z.Memory()) +
					int64(2*len(s.Layout.Format.Order))*tcs.Align
			}
			most = max(most, x.assemblyMemory(s, z))
		}
		copies, temporary = max(copies, sum), max(temporary, most)
	}
	return copies, temporary
}

// isWidened reports whether leaf argument a needs wider integers in its level arrays than the
// stored tensor has. s is the estimate of this tensor in the format of the argument.
func isWidened(s *estimate.Tensor, a codegen.Arg) bool {
	pos, crd := s.Widths()
	for l := range pos {
		if pos[l] > 0 && a.PosWidth[l] > pos[l] || crd[l] > 0 && a.CrdWidth[l] > crd[l] {
			return true
		}
	}
	return false
}

// assemblyMemory returns the temporary memory, in bytes, that is needed to make a block of tensor s
// from entries in any order. z is the size of the block.
func (x *Forecast) assemblyMemory(s *estimate.Tensor, z plan.Size) int64 {
	if !s.Sparse() { // entries are written to their places at once
		return 0
	}
	return coo.NewSortCost(s.LevelSizes(), s.Layout.Type,
		x.k.Reader.Env.Config().Threads).AssembleBytes(z.Most(), z.Memory(), x.want.MemoryLimit)
}

// inFormat returns the estimate of an operand, or of the result, in format f.
func (x *Forecast) inFormat(operand int, f tensor.Format) *estimate.Tensor {
	key := fmt.Sprint(operand, f.Letters(), f.Order)
	if x.copies[key] == nil {
		x.copies[key] = x.tensors[operand].As(f)
	}
	return x.copies[key]
}
