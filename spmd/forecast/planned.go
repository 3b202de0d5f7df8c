package forecast

import (
	"context"
	"fmt"
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/estimate"
	"distaff/spmd/fault"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/stats"
)

// Planned is what a job would do on its ranks, without running it. Bytes and
// messages of dense tensors are those that a run counts. Those of sparse ones
// are estimates, which take entries to be spread evenly over the coordinates.
type Planned struct {
	Version   string `json:"version"`
	Statement string `json:"statement"`
	Ranks     int    `json:"ranks"`
	// extents of the grid of ranks, which are numbered row-major; nil is one dimension
	Machine []int64 `json:"machine,omitempty"`
	// variables that are cut; those of a block schedule are its loops, outermost first
	Loops     []PlannedLoop   `json:"loops"`
	Map       []string        `json:"map"` // variables that decide a block's rank
	Tensors   []PlannedTensor `json:"tensors"`
	Estimated bool            `json:"estimated"` // some bytes or entries below are estimates
	Comm      stats.Comm      `json:"comm"`
	Balance   stats.Balance   `json:"balance"`
	// Largest is the operand that Balance counts.
	Largest string  `json:"largest"`
	Steps   []int64 `json:"steps"`       // leaves that each rank runs
	Owned   []int64 `json:"owned_bytes"` // of operands and result, mapped files included
	// Memory is the most that is taken at each rank while it loads, computes and stores: its own
	// blocks (but for mapped files), entries on their way to blocks, blocks that arrive, copies of
	// those that a leaf reads in another order, partial results with what adding to them takes, the
	// most that workspaces of a leaf may take on its threads, buffers that store the result, and at
	// rank 0 the whole result where it is checked. MemoryLimit is a rank's limit, where it is known.
	Memory []int64 `json:"memory_bytes"`
	// GPUMemory is the most that a call of a leaf takes on each rank's GPU: the blocks of a step, and
	// workspaces of which the size is known. Nil where leaves run on CPUs.
	GPUMemory []int64 `json:"gpu_memory_bytes,omitempty"`
	// Least is the memory that some rank takes for certain, as far as that is known before anything is
	// read: see Least. A run with a lower limit is refused with this figure, before it allocates.
	Least       int64 `json:"least_memory_bytes"`
	MemoryLimit int64 `json:"memory_limit,omitempty"`
	// Time is what the phases are predicted to take; nil where the machine was not measured.
	Time *PlannedTime `json:"predicted_seconds,omitempty"`

	// Nest is the loops that a distributed schedule runs over ranks, and in order at each, outermost
	// first; nil for a block schedule. Leaf is the scheduling commands of what is under them; nil for
	// the default schedule.
	Nest []PlannedNestLoop `json:"nest,omitempty"`
	Leaf []string          `json:"leaf,omitempty"`

	PerRank []PlannedRank `json:"per_rank"` // of the ranks that were asked for
}

// PlannedLoop is a variable that is cut: one block loop, or what loops of a distributed schedule
// make of it. Of these a sum is Extended where ranks have partial results of it.
type PlannedLoop struct {
	Var  string  `json:"var"`  // "" of the entries of a tensor
	Cuts []int64 `json:"cuts"` // range k is [cuts[k], cuts[k+1]); none of entries
	// Entries is the access whose stored entries are cut into Parts, in storage order.
	Entries   string `json:"entries,omitempty"`
	Parts     int64  `json:"parts,omitempty"`
	Reduction bool   `json:"reduction"`
	Extended  bool   `json:"extended"`
}

// Ranges is into how many ranges the variable is cut, or the entries.
func (l PlannedLoop) Ranges() int {
	if l.Entries != "" {
		return int(l.Parts)
	}
	return len(l.Cuts) - 1
}

// What is what is cut, in words.
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
	// the dimension of the machine over which it is distributed; "": it runs in order at each rank
	Dim     string   `json:"dim,omitempty"`
	Rotated []string `json:"rotated_by,omitempty"`
	// Communicate lists the tensors whose pieces are brought once an iteration.
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
	Broadcast bool     `json:"broadcast"` // one broadcast brings it to every rank
	// Placement is that which the job gives the tensor. Held says that each block lies in one of its
	// pieces, and so lives there. Any other tensor lies where its blocks are first read or made.
	Placement string `json:"placement,omitempty"`
	Held      bool   `json:"held,omitempty"`
	// Moved is what moves of the tensor from its placement, where the steps want other blocks, before
	// the first of them, or of the result to its placement after the last: bytes over all ranks.
	Moved int64 `json:"moved_bytes,omitempty"`
	// every rank gets the rows that it reads, at most all: bytes of these are bounds
	Gathered bool  `json:"gathered,omitempty"`
	Blocks   int64 `json:"blocks"`
	Entries  int64 `json:"entries"`
	Bytes    int64 `json:"bytes"`
	Counted  bool  `json:"counted"` // Entries is no estimate
	Exact    bool  `json:"exact"`   // nor are Bytes
	// Owners has the rank of each block; blocks are numbered row-major over the
	// tensor's split variables in the order in which its modes name them.
	Owners []int `json:"owners"`
	// Axes say what is cut of it, in the order in which blocks are numbered.
	Axes []PlannedAxis `json:"axes"`
}

// PlannedAxis is modes of a tensor that are cut alike. Or it is modes of which the entries are cut,
// in storage order: Modes is then the outermost of them alone, and Cuts says where parts begin in
// it, about where that hangs on entries that a plan does not read.
type PlannedAxis struct {
	Modes   []int   `json:"modes"`
	Cuts    []int64 `json:"cuts"`
	Entries bool    `json:"entries,omitempty"`
}

// PlannedRank is what one rank does.
type PlannedRank struct {
	Rank  int            `json:"rank"`
	Owns  []PlannedBlock `json:"owns"`
	Steps []PlannedStep  `json:"steps"`
	Sends []PlannedMove  `json:"sends"`
	Sums  []PlannedSum   `json:"sums"`
	// Moves are parts of operands that go from where they lie to where steps want them, before the
	// first of them: of one that is placed otherwise than the steps go, or rows of a gathered one. All
	// that come to the rank are among them. The box of one is not told.
	Moves []PlannedMove `json:"moves,omitempty"`
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
	// makes the block of partial results, which other steps add to
	First bool `json:"first"`
}

// PlannedMove is a block on its way.
type PlannedMove struct {
	PlannedBlock
	From int  `json:"from"`
	To   int  `json:"to"` // -1 is every rank
	All  bool `json:"broadcast,omitempty"`
	// Forwarded says that the block goes to other ranks as well, before To in a list: what From sends
	// counts once, with the first of them.
	Forwarded bool `json:"forwarded,omitempty"`
}

// PlannedSum is a part of a tree sum that this rank takes part in: From's
// partial block is added to To's, or (Final) moves to the rank that owns it, or what To's
// piece of the placement has of it does.
type PlannedSum struct {
	PlannedMove
	Final bool `json:"final,omitempty"`
}

// Plan prints the plan of a statement: Planned. detail says how many ranks' steps to list,
// the first ones; negative for all.
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

// planner fills a plan with what the parts of a run forecast.
type planner struct {
	forecast *Forecast
	out      *Planned
	largest  int              // the operand that is taken to have most entries, or -1
	coming   [][]plan.Arrival // by operand, what comes to the rank that is followed
	brought  map[[2]int]bool  // ranks and operands that are broadcast, once a step has read them
	spread   spread           // the last result block that moved
}

// spread is a complete block of the result that moves, and from where.
type spread struct {
	block    plan.Block
	from     int
	complete bool
}

// fill asks for everything.
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
	x.moves()
	x.owns()
	x.out.Memory = x.forecast.memory(cost)
	if x.forecast.refused != nil {
		return x.forecast.refused
	}
	x.out.GPUMemory = x.forecast.gpuMemory(cost)
	x.out.Time = x.time(x.forecast.want.Machine, cost)
	x.out.Least = NewLeast(x.forecast.k, x.forecast.want.Given).Bytes()
	return nil
}

// describe fills in the loops and the tensors.
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
	x.tensor(k.Problem.Norm.LHS.Name, k.Problem.Norm.LHS.Vars, x.forecast.resting(), p.ResultHome)
	x.out.Tensors[len(x.out.Tensors)-1].Result = true
	var entries []float64
	for n := range k.Problem.Operands {
		entries = append(entries, x.forecast.tensors[n].Entries)
	}
	if x.largest = prepared.Largest(k, entries); x.largest >= 0 {
		x.out.Largest = k.Problem.Operands[x.largest].Tensor
	}
}

// nest describes the loops of a distributed schedule, and the machine that they run over.
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

// tensor describes a tensor.
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
	t.Held = t.Held || x.forecast.k.Lies(home) != nil
	x.out.Estimated = x.out.Estimated || !t.Exact
	x.out.Tensors = append(x.out.Tensors, t)
}

// entries are the entries of a tensor that are cut, as the access of it that the user wrote.
func (x *planner) entries(at *place.Positions) string {
	o := x.forecast.p.Operands[x.forecast.p.Stored()]
	return (&notation.Access{Name: at.Tensor, Vars: x.forecast.k.UserNames(o.Vars)}).String()
}

// axes are those of a tensor's partition.
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

// userName is a variable of the normal form as the user wrote it.
func (x *planner) userName(v string) string { return x.forecast.k.UserNames([]string{v})[0] }

// block is a planned block, or a part of one, of an operand (n) or a block of the result (the
// last).
func (x *planner) block(n int, b plan.Block) PlannedBlock {
	s := x.forecast.tensors[n]
	if n < len(x.forecast.p.Operands) && x.forecast.p.Operands[n].Parts != nil {
		s = x.forecast.homes[n]
	}
	z := s.Block(b)
	return PlannedBlock{Tensor: x.out.Tensors[n].Name, Box: s.Box(b), Entries: z.Entries,
		Bytes: z.Bytes}
}

// detail is where the steps of a rank are listed, nil for one that is not wanted.
func (x *planner) detail(rank int) *PlannedRank {
	if rank >= len(x.out.PerRank) {
		return nil
	}
	return &x.out.PerRank[rank]
}

// Arrive, Step, Send, Broadcast and Sum: exec.Watcher.
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
		r := [2]int64{i, i + 1} // of chunks
		if cuts := x.forecast.p.Blocking.Vars[v].Cuts; cuts != nil {
			r = [2]int64{cuts[i], cuts[i+1]}
		}
		step.Ranges = append(step.Ranges, r)
	}
	d.Steps = append(d.Steps, step)
}

// fetched lists what comes to a rank of an operand for a step.
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
	at := spread{b, from, complete}
	forwarded := complete && at == x.spread
	x.spread = at
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

// owns counts what lives where.
func (x *planner) owns() {
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

// Box prints a block as tensors' ranges are written: A[0:10,5:8]; parts of a tensor, whose box is
// not told, as "parts of A".
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
