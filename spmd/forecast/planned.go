package forecast

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
)

// Planned describes what a job will do on its ranks. Figures that depend on the entries of sparse
// tensors are usually estimates: see Estimated and PlannedTensor.Exact.
type Planned struct {
	Version   string `json:"version"`
	Statement string `json:"statement"`
	Ranks     int    `json:"ranks"`
	// Target names the target of the statement. TargetReason says why it was chosen. It is "" if
	// Target is the value of --target.
	Target       string `json:"target"`
	TargetReason string `json:"target_reason,omitempty"`
	// sizes of the grid of ranks, which are numbered in row-major order; nil means one dimension
	Machine []int64 `json:"machine,omitempty"`
	// variables that are cut; for a block schedule, its loops from the outermost to the innermost
	Loops     []PlannedLoop   `json:"loops"`
	Map       []string        `json:"map"` // variables that determine a block's rank
	Tensors   []PlannedTensor `json:"tensors"`
	Estimated bool            `json:"estimated"` // some bytes or entries below are estimates
	Comm      stats.Comm      `json:"comm"`
	Balance   stats.Balance   `json:"balance"`
	// Largest is the operand whose entries Balance counts.
	Largest string  `json:"largest"`
	Steps   []int64 `json:"steps"` // number of leaf calls of each rank
	// Owned is the number of bytes of operands and result that each rank owns, including mapped
	// files.
	Owned []int64 `json:"owned_bytes"`
	// Memory is each rank's peak memory while it loads, computes and stores. It includes the rank's
	// blocks (except mapped files), entries on their way to blocks, received blocks, copies that a
	// leaf reads in another order, and partial results with the memory for adding blocks. It also
	// includes the most that a leaf's workspaces need on all threads, buffers that store the
	// result, and, if the result is checked or kept, the whole result on rank 0. MemoryLimit is the
	// limit of a rank; 0 means unknown.
	Memory []int64 `json:"memory_bytes"`
	// GPUMemory is the most that a call of a leaf needs on each rank's GPU: the blocks of a step,
	// workspaces of known size, and the tensors that are placed in GPU memory. It is nil if leaves
	// run on CPUs.
	GPUMemory []int64 `json:"gpu_memory_bytes,omitempty"`
	// Least is the memory that some rank certainly needs; see type Least. A run whose limit is
	// lower is refused before it allocates.
	Least       int64 `json:"least_memory_bytes"`
	MemoryLimit int64 `json:"memory_limit,omitempty"`
	// Time is the predicted time of each phase. It is nil if the machine was not measured.
	Time *PlannedTime `json:"predicted_seconds,omitempty"`

	// Nest lists the loops that a distributed schedule runs over ranks or in sequence on each rank,
	// from the outermost to the innermost. A block schedule has none. Leaf lists the scheduling
	// commands for the loops below them. The default schedule has none.
	Nest []PlannedNestLoop `json:"nest,omitempty"`
	Leaf []string          `json:"leaf,omitempty"`

	// Leaves has the schedule of each leaf. It is nil until Explain is called.
	Leaves []PlannedLeaf `json:"leaves,omitempty"`

	PerRank []PlannedRank `json:"per_rank"` // the first ranks, as many as were requested

	units []*codegen.Unit // units of the leaves
}

// PlannedLoop is a variable that a block loop or the loops of a distributed schedule cut. If the
// schedule cuts the entries of a tensor, PlannedLoop is this cut. A summed variable is Extended if
// ranks make partial results of the sum.
type PlannedLoop struct {
	Var  string  `json:"var"`  // "" if the entries of a tensor are cut
	Cuts []int64 `json:"cuts"` // range k is [cuts[k], cuts[k+1]); nil if entries are cut
	// Entries is the access whose stored entries are cut into Parts, in storage order.
	Entries   string `json:"entries,omitempty"`
	Parts     int64  `json:"parts,omitempty"`
	Reduction bool   `json:"reduction"`
	Extended  bool   `json:"extended"`
}

// Ranges returns the number of ranges into which the variable or the entries are cut.
func (l PlannedLoop) Ranges() int {
	if l.Entries != "" {
		return int(l.Parts)
	}
	return len(l.Cuts) - 1
}

// What names in words what is cut.
func (l PlannedLoop) What() string {
	if l.Entries != "" {
		return "the entries of " + l.Entries
	}
	return l.Var
}

// PlannedNestLoop is a loop of a distributed schedule.
type PlannedNestLoop struct {
	Var        string `json:"var"`
	Iterations int64  `json:"iterations"`
	// dimension of the machine over which the loop is distributed; "" if it runs in sequence
	Dim     string   `json:"dim,omitempty"`
	Rotated []string `json:"rotated_by,omitempty"`
	// Communicate lists the tensors whose pieces are fetched once in each iteration.
	Communicate []string `json:"communicate,omitempty"`
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
	Broadcast bool     `json:"broadcast"` // whether one broadcast brings it to every rank
	// Placement is the placement that the job gives the tensor. Held reports whether each block is
	// within one of the placement's pieces, and is therefore owned by that piece's rank. Any other
	// tensor is owned by the ranks that first read or make its blocks.
	Placement string `json:"placement,omitempty"`
	Held      bool   `json:"held,omitempty"`
	// Moved is the number of bytes, over all ranks, that move from an operand's placement to the
	// blocks of the steps, or from the steps' blocks to the result's placement.
	Moved int64 `json:"moved_bytes,omitempty"`
	// whether each rank receives the rows that it reads; bytes are then upper bounds
	Gathered bool  `json:"gathered,omitempty"`
	Blocks   int64 `json:"blocks"`
	Entries  int64 `json:"entries"`
	Bytes    int64 `json:"bytes"`
	Counted  bool  `json:"counted"` // whether Bytes is exact or input.Source.CountKnown is true
	Exact    bool  `json:"exact"`   // whether Bytes is exact
	// Owners is the rank of each block. Blocks are numbered in row-major order over the tensor's
	// split variables, ordered by the modes that name them.
	Owners []int `json:"owners"`
	// Axes describe how the tensor is cut, in the order of the numbering of blocks.
	Axes []PlannedAxis `json:"axes"`
}

// PlannedAxis describes how a partition divides one mode of a tensor, or several modes that are
// divided at the same coordinates. Cuts holds these coordinates.
//
// If Entries is set, the partition divides the tensor's entries, in storage order, into chunks.
// Modes then holds the outermost mode that is divided. Cuts holds the coordinates of this mode at
// which chunks begin, and then the size of the mode. The coordinates are estimates if they depend
// on entries that a plan does not read.
type PlannedAxis struct {
	Modes   []int   `json:"modes"`
	Cuts    []int64 `json:"cuts"`
	Entries bool    `json:"entries,omitempty"`
}

// PlannedRank lists the actions of one rank.
type PlannedRank struct {
	Rank  int            `json:"rank"`
	Owns  []PlannedBlock `json:"owns"`
	Steps []PlannedStep  `json:"steps"`
	Sends []PlannedMove  `json:"sends"`
	Sums  []PlannedSum   `json:"sums"`
	// Moves lists parts of operands that the rank sends or receives before its first step: parts of
	// an operand whose placement differs from the blocks of the steps, or rows of a gathered
	// operand. They have no box. Rows for a rank that the plan does not list are left out.
	Moves []PlannedMove `json:"moves,omitempty"`
}

// PlannedBlock is a block of a tensor, as a half-open range of each mode.
type PlannedBlock struct {
	Tensor  string     `json:"tensor"`
	Box     [][2]int64 `json:"box"`
	Entries int64      `json:"entries"`
	Bytes   int64      `json:"bytes"`
}

// PlannedStep is one call of a leaf: the ranges of the split variables, and the blocks that the
// rank fetches for the call. If the rank owns a block, From and To of the fetch are both the rank.
type PlannedStep struct {
	Ranges  [][2]int64    `json:"ranges"` // one for each of Planned.Loops
	Terms   []int         `json:"terms"`  // terms of the expanded statement, numbered from 0
	Fetches []PlannedMove `json:"fetches"`
	// whether the step starts a new block of partial results; if not, it adds to an existing block
	First bool `json:"first"`
}

// PlannedMove is a block, or a part of a block, that rank To gets from rank From. If From and To
// are equal, nothing is sent.
type PlannedMove struct {
	PlannedBlock
	From int  `json:"from"`
	To   int  `json:"to"` // -1 means every rank
	All  bool `json:"broadcast,omitempty"`
	// Forwarded says that the block also goes to other ranks, which precede To in the list. Only
	// the first move in the list counts as sent by From.
	Forwarded bool `json:"forwarded,omitempty"`
}

// PlannedSum is a message of a tree sum that the rank sends or receives. If Final is not set, rank
// From sends its partial block to rank To, and rank To adds the block to its own partial block. If
// Final is set, the sum is complete: rank From sends the block, or a part of it, to a rank that
// owns the block, assembles a piece, or gets a copy.
type PlannedSum struct {
	PlannedMove
	Final bool `json:"final,omitempty"`
}

// Plan returns the plan of a statement. detail is the number of ranks whose steps are listed,
// starting at rank 0. A negative number lists all ranks.
func (x *Forecast) Plan(ctx context.Context, statement string, detail int) (*Planned, error) {
	ranks := x.p.Ranks
	out := &Planned{
		Statement: statement, Ranks: ranks, MemoryLimit: x.want.MemoryLimit,
		Owned: make([]int64, ranks), Memory: make([]int64, ranks), Map: []string{},
		Loops:   []PlannedLoop{},
		Balance: stats.Balance{Nonzeros: make([]int64, ranks)}, PerRank: []PlannedRank{},
	}
	if detail < 0 || detail > ranks {
		detail = ranks
	}
	for n := range detail {
		out.PerRank = append(out.PerRank,
			PlannedRank{Rank: n, Owns: []PlannedBlock{}, Steps: []PlannedStep{}, Sends: []PlannedMove{},
				Sums: []PlannedSum{}})
	}
	y := &planner{forecast: x, out: out}
	return out, y.fill(ctx)
}

// planner fills in a plan while package exec predicts the steps; it is an exec.Watcher.
type planner struct {
	forecast  *Forecast
	out       *Planned
	largest   int              // the operand that prepared.Largest returns, or -1
	coming    [][]plan.Arrival // by operand: arrivals at the current rank that no step has listed yet
	brought   map[[2]int]bool  // pairs of rank and broadcast operand that a step has listed
	lastMoved movedBlock       // the last block of the result that moved
}

// movedBlock is a block of the result that one rank sends to another. from is the sender. complete
// says that the block is the complete sum, and not a partial block.
type movedBlock struct {
	block    plan.Block
	from     int
	complete bool
}

// fill fills in the whole plan.
func (x *planner) fill(ctx context.Context) error {
	x.describe()
	x.coming, x.brought = make([][]plan.Arrival, len(x.forecast.p.Operands)), map[[2]int]bool{}
	f := x.forecast.exec()
	f.Watch, f.Detail = x, len(x.out.PerRank)
	cost, err := f.Cost(ctx)
	if err != nil {
		return err
	}
	if x.forecast.cost = cost; x.largest >= 0 {
		x.out.Balance.Nonzeros = cost.Read[x.largest]
	}
	for n := range x.out.PerRank {
		d := &x.out.PerRank[n]
		slices.SortStableFunc(d.Sends, func(a, b PlannedMove) int { return a.To - b.To })
	}
	x.out.Steps = cost.Steps
	x.out.Comm = stats.Comm{BytesSent: cost.Sent, BytesReceived: cost.Received,
		MessagesSent: cost.Messages}
	x.countMoves()
	x.countOwned()
	x.out.Memory = x.forecast.peakMemory(cost)
	if x.forecast.refused != nil {
		return x.forecast.refused
	}
	x.out.Target, x.out.TargetReason = x.forecast.k.Target.Name, x.forecast.k.Target.Why
	x.out.GPUMemory = x.forecast.gpuMemory(cost)
	x.out.Time = x.time(x.forecast.want.Machine, cost)
	x.out.units = x.forecast.units
	x.out.Least = NewLeast(x.forecast.k, x.forecast.want.Given).Bytes()
	return nil
}

// describe fills in the plan's loops and tensors.
func (x *planner) describe() {
	k, p := x.forecast.k, x.forecast.p
	for k, v := range p.Blocking.Vars {
		partial := v.Extended || v.Reduction && p.Distributed && p.Nest.Spread(k)
		l := PlannedLoop{Var: x.userName(v.Name), Cuts: v.Cuts, Reduction: v.Reduction, Extended: partial}
		if v.Positions != nil {
			l.Entries, l.Parts = x.entries(v.Positions), v.Ranges()
		}
		x.out.Loops = append(x.out.Loops, l)
	}
	for _, v := range p.Blocking.Map {
		x.out.Map = append(x.out.Map, x.userName(p.Blocking.Vars[v].Name))
	}
	x.nest()
	for n, o := range k.Problem.Operands {
		x.tensor(o.Tensor, o.Vars, x.forecast.homes[n], o.Home)
		x.out.Tensors[n].Broadcast = x.forecast.bcast[n]
		x.out.Tensors[n].Gathered = o.Gathered != nil
		x.out.Estimated = x.out.Estimated || o.Gathered != nil
	}
	x.tensor(k.Problem.Norm.LHS.Name, k.Problem.Norm.LHS.Vars, x.forecast.finalResult(), p.ResultHome)
	x.out.Tensors[len(x.out.Tensors)-1].Result = true
	var entries []float64
	for n := range k.Problem.Operands {
		entries = append(entries, x.forecast.tensors[n].Entries)
	}
	if x.largest = prepared.Largest(k, entries); x.largest >= 0 {
		x.out.Largest = k.Problem.Operands[x.largest].Tensor
	}
}

// nest fills in the loops of a distributed schedule and the machine that they run on.
func (x *planner) nest() {
	if !x.forecast.p.Distributed {
		return
	}
	n := x.forecast.p.Nest
	x.out.Machine = n.Machine.Dims()
	if n.Scheduled {
		x.out.Leaf = n.Leaf
	}
	for k, l := range n.Loops {
		loop := PlannedNestLoop{Var: l.Var, Iterations: l.N, Communicate: l.Communicate}
		if l.Dim >= 0 {
			loop.Dim = n.Machine.DimName(l.Dim)
		}
		for _, by := range n.Rotating(k) {
			loop.Rotated = append(loop.Rotated, n.Loops[by].Var)
		}
		x.out.Nest = append(x.out.Nest, loop)
	}
}

// tensor adds a tensor to the plan.
func (x *planner) tensor(name string, vars []string, s *estimate.Tensor, home plan.Home) {
	src := x.forecast.k.Reader.Sources[name]
	t := PlannedTensor{Name: name, Sizes: s.Layout.Dims,
		Format: fault.Format(x.forecast.k.Reader.Formats[name]), Type: s.Layout.Type.String(),
		Blocks: s.Partition.Pieces(), Held: home.MatchesBlocks,
		Entries: estimate.Round(s.Entries), Exact: s.Exact(), Counted: s.Exact() || src.CountKnown(),
		Vars: []string{}, Axes: axes(s)}
	for _, v := range vars {
		t.Vars = append(t.Vars, x.userName(v))
	}
	if src != nil {
		t.Source = src.From
	}
	if home.Placement != nil {
		t.Placement = home.Placement.String()
	}
	t.Owners = make([]int, 0, t.Blocks)
	for b := range plan.Block(t.Blocks) {
		t.Owners = append(t.Owners, s.Partition.OwnerOf(b))
		tensor.Add(&t.Bytes, s.Block(b).Bytes)
	}
	t.Held = t.Held || x.forecast.k.PlacementPieces(home) != nil
	x.out.Estimated = x.out.Estimated || !t.Exact
	x.out.Tensors = append(x.out.Tensors, t)
}

// entries returns the access whose entries are cut, as the user wrote it.
func (x *planner) entries(at *place.Positions) string {
	o := x.forecast.p.Operands[x.forecast.p.Stored()]
	return (&notation.Access{Name: at.Tensor, Vars: x.forecast.k.UserVars(o.Vars)}).String()
}

// axes describes the axes of a tensor's partition.
func axes(s *estimate.Tensor) []PlannedAxis {
	list := []PlannedAxis{}
	for _, a := range s.Partition.Axes {
		if a.Ordered == nil {
			list = append(list, PlannedAxis{Modes: a.Modes, Cuts: a.Cuts})
			continue
		}
		cuts, sizes := make([]int64, a.Ranges()+1), make([]int64, len(a.Modes))
		for k, m := range a.Modes {
			sizes[k] = s.Layout.Dims[m]
		}
		cuts[len(cuts)-1] = sizes[0]
		for k := range cuts[:len(cuts)-1] {
			cuts[k] = a.Bounds(int64(k), sizes)[0][0]
		}
		list = append(list, PlannedAxis{Modes: a.Modes[:1], Cuts: cuts, Entries: true})
	}
	return list
}

// userName returns the user's name of a variable of the normal form.
func (x *planner) userName(v string) string { return x.forecast.k.UserVars([]string{v})[0] }

// block describes block b of operand n, or of the result if n is the number of operands. If the
// operand's blocks consist of parts, b is a part.
func (x *planner) block(n int, b plan.Block) PlannedBlock {
	s := x.forecast.tensors[n]
	if n < len(x.forecast.p.Operands) && x.forecast.p.Operands[n].Parts != nil {
		s = x.forecast.homes[n]
	}
	z := s.Block(b)
	return PlannedBlock{Tensor: x.out.Tensors[n].Name, Box: s.Box(b), Entries: z.Entries,
		Bytes: z.Bytes}
}

// detail returns the list of a rank's actions, or nil if the plan does not list that rank.
func (x *planner) detail(rank int) *PlannedRank {
	if rank >= len(x.out.PerRank) {
		return nil
	}
	return &x.out.PerRank[rank]
}

// Arrive keeps an arrival of blocks of an operand, until Step lists it among the fetches of a step.
// Arrive, Step, Send, Broadcast, Sum, Part and Gather implement exec.Watcher.
func (x *planner) Arrive(operand int, a plan.Arrival) {
	x.coming[operand] = append(x.coming[operand], a)
}

func (x *planner) Step(rank int, s plan.Step) {
	d := x.detail(rank)
	step := PlannedStep{Terms: x.forecast.p.Blocking.Groups[s.Group].Terms, First: s.First}
	for k := range x.coming {
		step.Fetches = append(step.Fetches, x.fetched(rank, k, s)...)
	}
	for v, i := range s.Tuple {
		r := [2]int64{i, i + 1} // chunks
		if cuts := x.forecast.p.Blocking.Vars[v].Cuts; cuts != nil {
			r = [2]int64{cuts[i], cuts[i+1]}
		}
		step.Ranges = append(step.Ranges, r)
	}
	d.Steps = append(d.Steps, step)
}

// fetched lists the blocks of an operand that a rank fetches for a step, including its own blocks.
func (x *planner) fetched(rank, operand int, s plan.Step) (moves []PlannedMove) {
	if x.forecast.bcast[operand] {
		at := [2]int{rank, operand}
		if !x.brought[at] && slices.Contains(s.Need, plan.Need{Operand: operand}) {
			x.brought[at] = true
			moves = append(moves, PlannedMove{PlannedBlock: x.block(operand, 0),
				From: x.forecast.p.Operands[operand].Partition.OwnerOf(0), To: rank, All: true})
		}
		return moves
	}
	for len(x.coming[operand]) > 0 && x.coming[operand][0].T <= s.Instances[operand] {
		for _, f := range x.coming[operand][0].Fetches {
			moves = append(moves, PlannedMove{PlannedBlock: x.block(operand, f.Need.Block), From: f.From,
				To: rank})
		}
		x.coming[operand] = x.coming[operand][1:]
	}
	return moves
}

func (x *planner) Send(operand int, b plan.Block, list []int) {
	if d := x.detail(list[0]); d != nil {
		for k, to := range list[1:] {
			d.Sends = append(d.Sends,
				PlannedMove{PlannedBlock: x.block(operand, b), From: list[0], To: to, Forwarded: k > 0})
		}
	}
}

func (x *planner) Broadcast(operand, from int) {
	if d := x.detail(from); d != nil {
		d.Sends = append(d.Sends,
			PlannedMove{PlannedBlock: x.block(operand, 0), From: from, To: -1, All: true})
	}
}

func (x *planner) Sum(b plan.Block, from, to int, complete bool) {
	at := movedBlock{b, from, complete}
	forwarded := complete && at == x.lastMoved
	x.lastMoved = at
	for k, rank := range []int{from, to} {
		if d := x.detail(rank); d != nil && (k == 0 || from != to) {
			d.Sums = append(d.Sums, PlannedSum{
				PlannedMove{PlannedBlock: x.block(len(x.forecast.tensors)-1, b), From: from, To: to,
					Forwarded: forwarded}, complete})
		}
	}
}

func (x *planner) Part(box [][2]int64, z plan.Size, from, to int) {
	b := PlannedBlock{Tensor: x.forecast.Result(), Box: box, Entries: z.Entries, Bytes: z.Bytes}
	for k, rank := range []int{from, to} {
		if d := x.detail(rank); d != nil && (k == 0 || from != to) {
			d.Sums = append(d.Sums, PlannedSum{PlannedMove{PlannedBlock: b, From: from, To: to}, true})
		}
	}
}

func (x *planner) Gather(operand int, bytes int64, from, to int) {
	m := PlannedMove{PlannedBlock: PlannedBlock{Tensor: x.out.Tensors[operand].Name, Bytes: bytes},
		From: from, To: to}
	for _, rank := range []int{from, to} {
		if d := x.detail(rank); d != nil {
			d.Moves = append(d.Moves, m)
		}
	}
}

// countOwned counts the bytes that each rank owns, and lists its blocks.
func (x *planner) countOwned() {
	for n, t := range x.out.Tensors {
		for b, rank := range t.Owners {
			z := x.forecast.homes[n].Block(plan.Block(b))
			tensor.Add(&x.out.Owned[rank], z.Bytes)
			if d := x.detail(rank); d != nil {
				d.Owns = append(d.Owns, PlannedBlock{Tensor: t.Name,
					Box: x.forecast.homes[n].Box(plan.Block(b)), Entries: z.Entries, Bytes: z.Bytes})
			}
		}
	}
}

// String formats the block as a range of its tensor, such as A[0:10,5:8]. If Box is nil, it returns
// a text such as "parts of A".
func (b PlannedBlock) String() string {
	if b.Box == nil {
		return "parts of " + b.Tensor
	}
	s := b.Tensor + "["
	for m, r := range b.Box {
		if m > 0 {
			s += ","
		}
		s += fmt.Sprintf("%d:%d", r[0], r[1])
	}
	return s + "]"
}
