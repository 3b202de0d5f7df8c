package prepared

import (
	"cmp"
	"math"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd/assemble"
	"distaff/spmd/env"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// Planned is a statement with its plan: everything that is known before operands are loaded.
type Planned struct {
	Reader  *input.Reader
	Parsed  *input.Statement
	Options Options
	Problem *plan.Problem
	// Target says what leaves run on. OnTarget may change it.
	Target env.Target
	// Sums says that the statement adds values. The sign of a zero may then depend on the plan and
	// on how leaves are compiled.
	Sums       bool
	Replicated []bool   // by operand: whether every rank has all of it (exec.Rank.Replicas)
	OneStep    *OneStep // nil if package exec runs the steps of the plan
}

// Options determine how a statement is compiled and run; see spmd.Options.
type Options struct {
	// limit of each rank in bytes; 0 means none was given. It is equal at every rank, so that all
	// compile the same leaf.
	MemoryLimit  int64
	FixedPattern *tcs.Tensor // tensor that gets the values; nil makes a new result
	Several      bool        // the statement will run more than once
	Locked       bool        // all runs are in one thread, the caller's
	Over         bool        // ask for leaves that can write over the result's old value
	Places       bool        // move operands from, and the result to, their placements
	Replicas     bool        // keep a replica of a small dense operand that every rank reads whole
	Alone        bool        // only the statement uses its operands' blocks
	// Leaves says that values of results may stay on the device. The caller then calls
	// env.Env.Fetch before it reads the values.
	Leaves  bool
	On      string // what the statement runs on, as env.Env.TargetOf takes it
	Network string // how products are contracted; see codegen.Request
	Order   int    // the most variables of an intermediate tensor; 0 means any number
	// upper bound of the number of runs; 0 if it is unknown or if runs are timed
	Runs   int64
	Verify bool // the compiler checks the output of its passes
	Trace  func(pass string, text func() string)
}

// addsValues reports whether a statement sums over a variable, adds or subtracts, or is a +=.
func addsValues(n *notation.Normal) bool {
	return n.Accumulate || len(n.Terms) > 1 ||
		slices.ContainsFunc(n.Terms, func(t *notation.Term) bool {
			adds := len(t.Sum) > 0
			notation.WalkTerm(t, func(e notation.Expr) bool {
				switch e := e.(type) {
				case *notation.ReductionExpr:
					adds = true
				case *notation.Binary:
					adds = adds || e.Op == '+' || e.Op == '-'
				}
				return !adds
			})
			return adds
		})
}

// needsNarrowing reports whether the statement computes in int64 and has an int32 result. Leaves
// and sums then make int64 blocks, because a partial sum may exceed int32 although the whole sum
// does not.
func (p *Planned) needsNarrowing() bool {
	return p.Reader.Types[p.Parsed.Result] != p.Reader.ResultType
}

// oldOperand returns the name of the operand that is the result's old value. It returns "" if no
// leaf may write over this operand. A leaf may write over it if all of these conditions hold:
//   - The caller has asked for it (Options.Over).
//   - The result is not narrowed and has no fixed pattern.
//   - All terms are one group, and only one access reads the old value.
//   - One rank has everything, or the result is dense and each block is made by a single step, at
//     the rank that owns the old block.
func (p *Planned) oldOperand() string {
	if !p.Options.Over || p.needsNarrowing() || p.Options.FixedPattern != nil ||
		len(p.Problem.Blocking.Groups) != 1 {
		return ""
	}
	old := slices.Concat(p.accesses(p.Parsed.Old), p.accesses(p.Parsed.Result))
	if len(old) != 1 || !p.Problem.Whole && !(p.Reader.Formats[p.Parsed.Result].AllDense() &&
		p.Problem.HasOneStepPerBlock(old[0])) {
		return ""
	}
	return p.Problem.Operands[old[0]].Name
}

// accesses lists the operands that are accesses of a tensor, by their indices.
func (p *Planned) accesses(tensor string) (list []int) {
	for i, o := range p.Problem.Operands {
		if o.Tensor == tensor {
			list = append(list, i)
		}
	}
	return list
}

// userNames maps each operand's name in the normal form to the name that the user wrote.
func (p *Planned) userNames() map[string]string {
	names := map[string]string{}
	for _, o := range p.Problem.Operands {
		if names[o.Name] = o.Tensor; o.Tensor == p.Parsed.Old {
			names[o.Name] = p.Parsed.Result
		}
	}
	return names
}

// UserVars returns the user's names of variables of the normal form.
func (p *Planned) UserVars(vars []string) []string {
	out := make([]string, len(vars))
	for n, v := range vars {
		out[n] = cmp.Or(p.Parsed.Norm.Source[v], v)
	}
	return out
}

// ranges returns the range of each variable that step s restricts, by the variable's name. A step
// restricts the split variables. If it reads a chunk of a tensor's entries, it also restricts the
// variables of the levels that are cut into chunks.
func (p *Planned) ranges(s plan.Step) map[string][2]int64 {
	ranges := map[string][2]int64{}
	for v, b := range p.Problem.Blocking.Vars {
		at := s.Tuple[v]
		if b.Positions != nil {
			p.Problem.Bounds(at, ranges)
			continue
		}
		ranges[b.Name] = [2]int64{b.Cuts[at], b.Cuts[at+1]}
	}
	return ranges
}

// cuts lists the variables that are cut, and the number of ranges of each.
func (p *Planned) cuts() (list []codegen.Cut) {
	for _, v := range p.Problem.Blocking.Vars {
		vars := []string{v.Name}
		if v.Positions != nil {
			vars = v.Positions.Vars
		}
		list = append(list, codegen.Cut{Vars: vars, N: v.Ranges()})
	}
	return list
}

// byName returns the operand blocks by the operands' names. Blocks that are nil are left out.
func (p *Planned) byName(operands []*tcs.Tensor) map[string]*tcs.Tensor {
	out := map[string]*tcs.Tensor{}
	for i, t := range operands {
		if t != nil {
			out[p.Problem.Operands[i].Name] = t
		}
	}
	return out
}

// Largest returns the index of the operand with the most entries, or -1 if there is none. entries
// holds the number of entries of each operand. If several operands have the most entries, Largest
// returns the first sparse one, or the first one if none is sparse. The old value of a += does not
// count.
func Largest[N int64 | float64](p *Planned, entries []N) int {
	largest := -1
	dense := func(n int) bool { return p.Reader.Formats[p.Problem.Operands[n].Tensor].AllDense() }
	for n, o := range p.Problem.Operands {
		if o.Tensor == p.Parsed.Result {
			continue
		}
		if largest < 0 || entries[n] > entries[largest] ||
			entries[n] == entries[largest] && dense(largest) && !dense(n) {
			largest = n
		}
	}
	return largest
}

// likeOf describes the blocks of a tensor in its format.
func (p *Planned) likeOf(name string) transfer.Like {
	return transfer.Like{Name: name, Layout: tensor.Layout{Dims: p.Reader.Sizes.Dims[name],
		Type: p.Reader.Types[name], Format: p.Reader.Formats[name]}}
}

// blocksOf describes the blocks into which part divides a tensor. The given tensors become this
// rank's blocks in the description, except for copies of blocks that another rank owns.
func (p *Planned) blocksOf(name string, part *partition.Partition,
	tensors map[plan.Block]*tcs.Tensor) *store.Blocks {
	return p.withTensors(load.Blocks(part, p.likeOf(name)), tensors)
}

// withTensors returns a copy of b that includes the given tensors, by block number, as this rank's
// blocks. A tensor is left out if another rank owns the block, because the tensor is then a copy.
func (p *Planned) withTensors(b *store.Blocks, tensors map[plan.Block]*tcs.Tensor) *store.Blocks {
	c := *b
	c.Own = make(map[int]*tcs.Tensor, len(tensors))
	for n, t := range tensors {
		if b.Owners[n] == p.Reader.Env.Comm.Rank() { // other blocks are copies
			c.Own[int(n)] = t
		}
	}
	return &c
}

// PlacementPieces returns the partition that placement h gives to a tensor, if the statement itself
// moves the tensor. The statement moves an operand from this partition before the first step, and
// the result to this partition after the last step. The function returns nil if the tensor is not
// moved. In a program it always returns nil, because the program moves its tensors itself.
func (p *Planned) PlacementPieces(h plan.Home) *partition.Partition {
	if !p.Options.Places {
		return nil
	}
	return h.Pieces
}

// ResultPartition returns the final partition of the result: after the last step, and after the
// move to its placement if the statement moves it (see PlacementPieces).
func (p *Planned) ResultPartition() *partition.Partition {
	if home := p.PlacementPieces(p.Problem.ResultHome); home != nil {
		return home
	}
	return p.Problem.FinalPartition()
}

// ResultBlocks returns a description of all blocks of the result, without tensors.
func (p *Planned) ResultBlocks() *store.Blocks {
	b := p.blocksOf(p.Parsed.Result, p.ResultPartition(), nil)
	b.Sums = p.Sums
	return b
}

// ToPlacement describes how the blocks that steps make are combined into the pieces of the result's
// placement.
func (p *Planned) ToPlacement() *assemble.Sum {
	dims := p.Reader.Sizes.Dims[p.Parsed.Result]
	return &assemble.Sum{Like: p.likeOf(p.Parsed.Result),
		Parts:  assemble.PiecesOf(p.Problem.Result, dims),
		Pieces: assemble.PiecesOf(p.ResultPartition(), dims)}
}

// EntryBlocks describes the blocks that Operands.AllEntries returns, without making them.
func (p *Planned) EntryBlocks(name string) *store.Blocks {
	_, part := p.cutForAll(name)
	return p.blocksOf(name, part, nil)
}

// cutForAll returns the access whose blocks Operands.AllEntries returns, and their partition.
// access is -1 if AllEntries loads the whole tensor.
func (p *Planned) cutForAll(name string) (access int, part *partition.Partition) {
	order := 0
	for i, o := range p.Problem.Operands {
		if o.Tensor != name {
			continue
		}
		if order = o.Partition.Order; !o.Partition.Diagonal() {
			return i, o.Before()
		}
	}
	return -1, partition.Whole(order)
}

// LocateChunks tells a plan where the chunks of a tensor's entries begin, before the tensor is
// loaded. It guesses unless Reader.Keys can compute the keys.
func (p *Planned) LocateChunks() error {
	at := p.Problem.Stored()
	if at < 0 {
		return nil
	}
	o := &p.Problem.Operands[at]
	keys, err := p.Reader.Keys(o.Tensor, o.Partition.Ordered().Ordered)
	switch {
	case err != nil:
		return err
	case keys != nil:
		p.Problem.Locate(keys)
	default:
		dims := p.Reader.Sizes.Dims[o.Tensor]
		p.Problem.Guess(dims, p.Reader.Sources[o.Tensor].EntryCount(dims))
	}
	return nil
}

// GuessSpecs returns the specification of each operand for the compiler before operands are loaded.
// It assumes fewer than 2^31 entries. The coordinates of a mode have 64 bits if its given size
// exceeds 2^31-1.
func (p *Planned) GuessSpecs() map[string]codegen.Tensor {
	out := map[string]codegen.Tensor{}
	for _, o := range p.Problem.Operands {
		f := p.Reader.Formats[o.Tensor]
		t := codegen.Tensor{Format: f, Type: p.Reader.Types[o.Tensor],
			Dims: p.Reader.Sizes.Dims[o.Tensor], NNZ: kernels.UnknownSize}
		if o.Tensor == p.Parsed.Result {
			t.NNZ = -1
		}
		t.PosWidth, t.CrdWidth = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
		for l, kind := range f.Levels {
			if kind.HasPos() {
				t.PosWidth[l] = 4
			}
			if kind.HasCrd() {
				t.CrdWidth[l] = 4
				if t.Dims[f.Order[l]] > math.MaxInt32 {
					t.CrdWidth[l] = 8
				}
			}
		}
		out[o.Name] = t
	}
	return out
}
