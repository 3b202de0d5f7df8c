package spmd

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen/format"
	"distaff/spmd/comm/local"
	"distaff/spmd/plan"
)

// Planned is what a job would do on its ranks, without running it. Bytes and
// messages of dense tensors are those that a run counts. Those of sparse ones
// are estimates, which take entries to be spread evenly over the coordinates.
type Planned struct {
	Version   string          `json:"version"`
	Statement string          `json:"statement"`
	Ranks     int             `json:"ranks"`
	Loops     []PlannedLoop   `json:"loops"` // block loops, outermost first
	Map       []string        `json:"map"`   // variables that decide a block's rank
	Tensors   []PlannedTensor `json:"tensors"`
	Estimated bool            `json:"estimated"` // some bytes or entries below are estimates
	Comm      Comm            `json:"comm"`
	Balance   Balance         `json:"balance"`
	// Largest is the operand that Balance counts.
	Largest string  `json:"largest"`
	Steps   []int64 `json:"steps"`       // leaves that each rank runs
	Owned   []int64 `json:"owned_bytes"` // of operands and result, mapped files included
	// Memory is the most that is taken at each rank while it loads, computes and
	// stores: its own blocks (but for mapped files), entries on their way to
	// blocks, blocks that arrive, copies of those that a leaf reads in another order, partial
	// results with what adding to them takes, buffers that store the result, and at rank 0
	// the whole result where it is checked; leaves' workspaces are not known. MemoryLimit is
	// a rank's limit, where it is known.
	Memory      []int64 `json:"memory_bytes"`
	MemoryLimit int64   `json:"memory_limit,omitempty"`

	PerRank []PlannedRank `json:"per_rank"` // of the ranks that were asked for
}

// PlannedLoop is one block loop.
type PlannedLoop struct {
	Var       string  `json:"var"`
	Cuts      []int64 `json:"cuts"` // range k is [cuts[k], cuts[k+1])
	Reduction bool    `json:"reduction"`
	Extended  bool    `json:"extended"`
}

// PlannedTensor is an operand (an access of the right side) or the result.
type PlannedTensor struct {
	Name      string   `json:"name"`
	Vars      []string `json:"vars"`
	Sizes     []int64  `json:"sizes"`
	Format    string   `json:"format"`
	Type      string   `json:"type"`
	Source    string   `json:"source,omitempty"`
	Result    bool     `json:"result,omitempty"`
	Broadcast bool     `json:"broadcast"` // one broadcast brings it to every rank
	Blocks    int64    `json:"blocks"`
	Entries   int64    `json:"entries"`
	Bytes     int64    `json:"bytes"`
	Counted   bool     `json:"counted"` // Entries is no estimate
	Exact     bool     `json:"exact"`   // nor are Bytes
	// Owners has the rank of each block; blocks are numbered row-major over the
	// tensor's split variables in the order in which its modes name them.
	Owners []int `json:"owners"`
}

// PlannedRank is what one rank does.
type PlannedRank struct {
	Rank  int            `json:"rank"`
	Owns  []PlannedBlock `json:"owns"`
	Steps []PlannedStep  `json:"steps"`
	Sends []PlannedMove  `json:"sends"`
	Sums  []PlannedSum   `json:"sums"`
}

// PlannedBlock is a block of a tensor: a half-open range of each mode.
type PlannedBlock struct {
	Tensor  string     `json:"tensor"`
	Box     [][2]int64 `json:"box"`
	Entries int64      `json:"entries"`
	Bytes   int64      `json:"bytes"`
}

// PlannedStep is one run of a leaf: ranges of the split variables, and the
// blocks that come to the rank for it.
type PlannedStep struct {
	Ranges  [][2]int64    `json:"ranges"` // as Loops
	Terms   []int         `json:"terms"`  // of the statement multiplied out, counted from 0
	Fetches []PlannedMove `json:"fetches"`
	First   bool          `json:"first"` // makes the block of partial results, which other steps add to
}

// PlannedMove is a block on its way.
type PlannedMove struct {
	PlannedBlock
	From int  `json:"from"`
	To   int  `json:"to"` // -1 is every rank
	All  bool `json:"broadcast,omitempty"`
}

// PlannedSum is a part of a tree sum that this rank takes part in: From's
// partial block is added to To's, or (Final) moves to the rank that owns it.
type PlannedSum struct {
	PlannedMove
	Final bool `json:"final,omitempty"`
}

// planner counts while it goes over the plan.
type planner struct {
	k       *prepared
	p       *plan.Problem
	out     *Planned
	sizers  []*sizer // of operands, then of the result
	bcast   []bool
	largest int
	detail  func(rank int) *PlannedRank // nil for a rank that is not wanted

	incoming [][]struct{ most, count int64 }  // by rank and operand: foreign blocks
	needs    [][]plan.Block                   // the same: the largest block that a step reads, -1 for none
	partials []map[plan.Partial]*partialBlock // by rank
	extra    []int64                          // the largest block that is added to another
}

// Plan plans the job for Options.Ranks ranks. It reads headers only (and a text
// file without sizes, as a run does), and needs no input of a dense tensor whose sizes are
// known. detail says how many ranks' steps to list, the first ones; negative for all.
func (j *Job) Plan(ctx context.Context, detail int) (*Planned, error) {
	if j.Ranks > mostPlanned {
		return nil, commandErrorf("--ranks=%d: a plan counts for %d ranks at most", j.Ranks, mostPlanned)
	}
	p, err := j.parse(false)
	if err != nil {
		return nil, err
	}
	if err := j.refuse(); err != nil {
		return nil, err
	}
	spec, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	c, end := local.Alone(ctx)
	defer end()
	r := j.newRun(p, c, 1, 1)
	defer r.close()
	r.missing = dense
	ranks := max(j.Ranks, 1)
	err = r.through([]phase{{nil, r.open}, {nil, r.infer}, {nil, func() error { return r.planFor(ranks, spec) }}})
	if err != nil {
		return nil, err
	}
	k := r.prepared
	x := &planner{k: k, p: k.problem, bcast: k.problem.Broadcasts(), out: &Planned{
		Version: Version(), Statement: p.stmt.String(), Ranks: ranks, MemoryLimit: j.MemoryLimit,
		Steps: make([]int64, ranks), Owned: make([]int64, ranks), Memory: make([]int64, ranks), Map: []string{}, Loops: []PlannedLoop{},
		Comm:    Comm{make([]int64, ranks), make([]int64, ranks), make([]int64, ranks)},
		Balance: Balance{make([]int64, ranks)}, PerRank: []PlannedRank{},
	}}
	x.describe()
	if detail < 0 || detail > ranks {
		detail = ranks
	}
	for n := range detail {
		x.out.PerRank = append(x.out.PerRank, PlannedRank{Rank: n, Owns: []PlannedBlock{}, Steps: []PlannedStep{}, Sends: []PlannedMove{}, Sums: []PlannedSum{}})
	}
	x.detail = func(rank int) *PlannedRank {
		if rank >= detail {
			return nil
		}
		return &x.out.PerRank[rank]
	}
	x.incoming, x.needs = make([][]struct{ most, count int64 }, ranks), make([][]plan.Block, ranks)
	for n := range x.incoming {
		x.incoming[n] = make([]struct{ most, count int64 }, len(x.p.Operands))
		x.needs[n] = slices.Repeat([]plan.Block{-1}, len(x.p.Operands))
	}
	x.partials, x.extra = make([]map[plan.Partial]*partialBlock, ranks), make([]int64, ranks)
	x.broadcasts()
	if err := x.steps(ctx); err != nil {
		return nil, err
	}
	x.sums()
	x.owns()
	x.memory()
	x.loading()
	return x.out, nil
}

// describe fills in the loops and the tensors.
func (x *planner) describe() {
	k, p := x.k, x.p
	for _, v := range p.Vars {
		x.out.Loops = append(x.out.Loops, PlannedLoop{k.r.userName(v.Name), v.Cuts, v.Reduction, v.Extended})
	}
	for _, v := range p.Map {
		x.out.Map = append(x.out.Map, k.r.userName(p.Vars[v].Name))
	}
	x.largest = k.largest()
	add := func(name string, vars []string, f format.Format, modes []int, s *sizer, result bool) {
		space := p.SpaceOf(modes)
		t := PlannedTensor{Name: name, Sizes: s.dims, Format: formatName(f), Type: s.typ.String(), Result: result, Blocks: space.Size(),
			Entries: round(s.entries), Exact: s.exactWhole(), Counted: s.exactWhole() || k.r.sources[name].countKnown(), Vars: []string{}}
		for _, v := range vars {
			t.Vars = append(t.Vars, k.r.userName(v))
		}
		if src := k.r.sources[name]; src != nil {
			t.Source = src.from
		}
		for b := range plan.Block(t.Blocks) {
			t.Owners = append(t.Owners, p.Owner(modes, b))
			t.Bytes += s.block(b).bytes
		}
		x.out.Estimated = x.out.Estimated || !t.Exact
		x.out.Tensors = append(x.out.Tensors, t)
	}
	for n, o := range k.operands {
		s := x.newSizer(o.tensor, p.Operands[n].Modes)
		x.sizers = append(x.sizers, s)
		add(o.tensor, o.vars, k.r.formats[o.tensor], p.Operands[n].Modes, s, false)
		x.out.Tensors[n].Broadcast = x.bcast[n]
	}
	name := k.r.p.result
	s := x.resultSizer()
	x.sizers = append(x.sizers, s)
	add(name, k.norm.LHS.Vars, k.r.formats[name], p.Result, s, true)
	if x.largest >= 0 {
		x.out.Largest = k.operands[x.largest].tensor
	}
}

// userName is a variable of the normal form as the user wrote it.
func (r *run) userName(v string) string { return r.userNames([]string{v})[0] }

// block is a planned block of an operand (n) or the result (the last).
func (x *planner) block(n int, b plan.Block) PlannedBlock {
	s := x.sizers[n].block(b)
	return PlannedBlock{Tensor: x.out.Tensors[n].Name, Box: s.box, Entries: s.entries, Bytes: s.bytes}
}

// travel counts a block that goes from one rank to another.
func (x *planner) travel(n int, b plan.Block, from, to int) {
	s := x.sizers[n].block(b)
	x.out.Comm.BytesSent[from] += s.bytes
	x.out.Comm.MessagesSent[from] += s.messages
	x.out.Comm.BytesReceived[to] += s.bytes
}

// broadcasts counts the operands that are broadcast: once for the sender, and
// once for each receiver.
func (x *planner) broadcasts() {
	for n, all := range x.bcast {
		if !all {
			continue
		}
		s, owner := x.sizers[n].block(0), x.p.Owner(x.p.Operands[n].Modes, 0)
		x.out.Comm.BytesSent[owner] += s.bytes
		x.out.Comm.MessagesSent[owner] += s.messages
		for rank := range x.p.Ranks {
			if rank != owner {
				x.out.Comm.BytesReceived[rank] += s.bytes
				x.incoming[rank][n].most, x.incoming[rank][n].count = s.memory(), 1
			}
		}
		if d := x.detail(owner); d != nil {
			d.Sends = append(d.Sends, PlannedMove{x.block(n, 0), owner, -1, true})
		}
	}
}

// steps goes over every rank's steps once.
func (x *planner) steps(ctx context.Context) error {
	holders := make([]*plan.Holder, x.p.Ranks)
	used := map[plan.Block]bool{} // blocks of the largest operand, at their owners
	result := len(x.sizers) - 1
	for rank, s := range x.p.AllSteps() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if holders[rank] == nil {
			holders[rank] = x.p.NewHolder()
		}
		x.out.Steps[rank]++
		d := x.detail(rank)
		var step PlannedStep
		for f := range holders[rank].Fetches(s) {
			n := f.Operand
			if n == x.largest && f.Owner == rank && !used[f.Block] {
				used[f.Block] = true
				x.out.Balance.Nonzeros[rank] += x.sizers[n].block(f.Block).entries
			}
			if d != nil {
				step.Fetches = append(step.Fetches, PlannedMove{x.block(n, f.Block), f.Owner, rank, x.bcast[n]})
			}
			if f.Owner == rank || x.bcast[n] {
				continue
			}
			x.travel(n, f.Block, f.Owner, rank)
			in := &x.incoming[rank][n]
			in.most, in.count = max(in.most, x.sizers[n].block(f.Block).memory()), in.count+1
			if from := x.detail(f.Owner); from != nil {
				from.Sends = append(from.Sends, PlannedMove{x.block(n, f.Block), f.Owner, rank, false})
			}
		}
		block := x.sizers[result].block(s.Partial.Result)
		x.partial(rank, s, block)
		if !s.First {
			x.extra[rank] = max(x.extra[rank], block.memory())
		}
		if d != nil {
			for v, i := range s.Tuple {
				cuts := x.p.Vars[v].Cuts
				step.Ranges = append(step.Ranges, [2]int64{cuts[i], cuts[i+1]})
			}
			step.Terms, step.First = x.p.Groups[s.Group].Terms, s.First
			d.Steps = append(d.Steps, step)
		}
	}
	for n := range x.out.PerRank {
		d := &x.out.PerRank[n]
		slices.SortStableFunc(d.Sends, func(a, b PlannedMove) int { return a.To - b.To })
	}
	return nil
}

// sums counts the tree sums and the moves of results to their owners.
func (x *planner) sums() {
	result := len(x.sizers) - 1
	move := func(b plan.Block, from, to int, final bool) {
		if from != to {
			x.travel(result, b, from, to)
			x.extra[to] = max(x.extra[to], x.sizers[result].block(b).memory())
		}
		for k, rank := range []int{from, to} {
			if d := x.detail(rank); d != nil && (k == 0 || from != to) {
				d.Sums = append(d.Sums, PlannedSum{PlannedMove{x.block(result, b), from, to, false}, final})
			}
		}
	}
	for _, s := range x.p.Sums() {
		for _, a := range s.Adds {
			move(s.Result, a.From.Rank, a.To.Rank, false)
		}
		if s.Root.Rank != s.Owner {
			move(s.Result, s.Root.Rank, s.Owner, true)
		}
	}
}

// owns counts what lives where.
func (x *planner) owns() {
	for n, t := range x.out.Tensors {
		for b, rank := range t.Owners {
			x.out.Owned[rank] += x.sizers[n].block(plan.Block(b)).bytes
			if !x.sizers[n].mapped && n < len(x.sizers)-1 {
				x.out.Memory[rank] += x.sizers[n].block(plan.Block(b)).memory()
			}
			if d := x.detail(rank); d != nil {
				d.Owns = append(d.Owns, x.block(n, plan.Block(b)))
			}
		}
	}
}

// Box prints a block as tensors' ranges are written: A[0:10,5:8].
func (b PlannedBlock) String() string {
	s := b.Tensor + "["
	for m, r := range b.Box {
		if m > 0 {
			s += ","
		}
		s += fmt.Sprintf("%d:%d", r[0], r[1])
	}
	return s + "]"
}

// largest is the operand that is taken to have most entries, or -1.
func (k *prepared) largest() int {
	largest, most := -1, -1.0
	for i, o := range k.operands {
		if e := k.r.estimate(o.tensor); e > most {
			largest, most = i, e
		}
	}
	return largest
}
