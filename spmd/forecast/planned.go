package forecast

import (
	"context"
	"fmt"
	"slices"

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
	Version   string          `json:"version"`
	Statement string          `json:"statement"`
	Ranks     int             `json:"ranks"`
	Loops     []PlannedLoop   `json:"loops"` // block loops, outermost first
	Map       []string        `json:"map"`   // variables that decide a block's rank
	Tensors   []PlannedTensor `json:"tensors"`
	Estimated bool            `json:"estimated"` // some bytes or entries below are estimates
	Comm      stats.Comm      `json:"comm"`
	Balance   stats.Balance   `json:"balance"`
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
	Memory []int64 `json:"memory_bytes"`
	// GPUMemory is the most that a call of a leaf takes on each rank's GPU: the blocks of a step, and
	// workspaces of which the size is known. Nil where leaves run on CPUs.
	GPUMemory []int64 `json:"gpu_memory_bytes,omitempty"`
	// Least is the memory that some rank takes for certain, as far as that is known before
	// anything is read: see Least. A run with a lower limit is refused with this figure, before it allocates.
	Least       int64 `json:"least_memory_bytes"`
	MemoryLimit int64 `json:"memory_limit,omitempty"`

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

// Plan prints the plan of a statement: Planned. detail says how many ranks' steps to list,
// the first ones; negative for all.
func (x *Forecast) Plan(ctx context.Context, statement string, detail int) (*Planned, error) {
	ranks := x.p.Ranks
	out := &Planned{
		Statement: statement, Ranks: ranks, MemoryLimit: x.want.MemoryLimit,
		Owned: make([]int64, ranks), Memory: make([]int64, ranks), Map: []string{}, Loops: []PlannedLoop{},
		Balance: stats.Balance{Nonzeros: make([]int64, ranks)}, PerRank: []PlannedRank{},
	}
	if detail < 0 || detail > ranks {
		detail = ranks
	}
	for n := range detail {
		out.PerRank = append(out.PerRank, PlannedRank{Rank: n, Owns: []PlannedBlock{}, Steps: []PlannedStep{}, Sends: []PlannedMove{}, Sums: []PlannedSum{}})
	}
	y := &planner{Forecast: x, out: out}
	return out, y.fill(ctx)
}

// planner fills a plan with what the parts of a run forecast.
type planner struct {
	*Forecast
	out     *Planned
	largest int            // the operand that is taken to have most entries, or -1
	read    map[reads]bool // what was counted of that
}

// reads is a block of the largest operand that a rank reads.
type reads struct {
	rank  int
	block plan.Block
}

// fill asks for everything.
func (x *planner) fill(ctx context.Context) error {
	x.describe()
	x.read = map[reads]bool{}
	f := x.exec()
	f.Watch = x
	cost, err := f.Cost(ctx)
	if err != nil {
		return err
	}
	for n := range x.out.PerRank {
		d := &x.out.PerRank[n]
		slices.SortStableFunc(d.Sends, func(a, b PlannedMove) int { return a.To - b.To })
	}
	x.out.Steps = cost.Steps
	x.out.Comm = stats.Comm{BytesSent: cost.Sent, BytesReceived: cost.Received, MessagesSent: cost.Messages}
	x.owns()
	x.out.Memory = x.memory(cost)
	x.out.GPUMemory = x.gpuMemory(cost)
	x.out.Least = NewLeast(x.k, x.want.Given).Bytes()
	return nil
}

// describe fills in the loops and the tensors.
func (x *planner) describe() {
	k, p := x.k, x.p
	for _, v := range p.Vars {
		x.out.Loops = append(x.out.Loops, PlannedLoop{x.userName(v.Name), v.Cuts, v.Reduction, v.Extended})
	}
	for _, v := range p.Map {
		x.out.Map = append(x.out.Map, x.userName(p.Vars[v].Name))
	}
	for n, o := range k.Problem.Operands {
		x.tensor(o.Tensor, o.Vars, x.tensors[n], false)
		x.out.Tensors[n].Broadcast = x.bcast[n]
	}
	x.tensor(k.Problem.Norm.LHS.Name, k.Problem.Norm.LHS.Vars, x.result(), true)
	var entries []float64
	for n := range k.Problem.Operands {
		entries = append(entries, x.tensors[n].Entries)
	}
	if x.largest = prepared.Largest(k, entries); x.largest >= 0 {
		x.out.Largest = k.Problem.Operands[x.largest].Tensor
	}
}

// tensor describes a tensor.
func (x *planner) tensor(name string, vars []string, s *estimate.Tensor, result bool) {
	src := x.k.Sources[name]
	t := PlannedTensor{Name: name, Sizes: s.Dims, Format: fault.Format(x.k.Formats[name]), Type: s.Type.String(), Result: result, Blocks: x.p.SpaceOf(s.Cuts).Size(),
		Entries: estimate.Round(s.Entries), Exact: s.Exact(), Counted: s.Exact() || src.CountKnown(), Vars: []string{}}
	for _, v := range vars {
		t.Vars = append(t.Vars, x.userName(v))
	}
	if src != nil {
		t.Source = src.From
	}
	for b := range plan.Block(t.Blocks) {
		t.Owners = append(t.Owners, x.p.Owner(s.Cuts, b))
		t.Bytes += s.Block(b).Bytes
	}
	x.out.Estimated = x.out.Estimated || !t.Exact
	x.out.Tensors = append(x.out.Tensors, t)
}

// userName is a variable of the normal form as the user wrote it.
func (x *planner) userName(v string) string { return x.k.UserNames([]string{v})[0] }

// block is a planned block of an operand (n) or the result (the last).
func (x *planner) block(n int, b plan.Block) PlannedBlock {
	z := x.tensors[n].Block(b)
	return PlannedBlock{Tensor: x.out.Tensors[n].Name, Box: x.tensors[n].Box(b), Entries: z.Entries, Bytes: z.Bytes}
}

// detail is where the steps of a rank are listed, nil for one that is not wanted.
func (x *planner) detail(rank int) *PlannedRank {
	if rank >= len(x.out.PerRank) {
		return nil
	}
	return &x.out.PerRank[rank]
}

// Step, Send and Sum: exec.Watcher.
func (x *planner) Step(rank int, s plan.Step, fetches []plan.Fetch) {
	d := x.detail(rank)
	var step PlannedStep
	for _, f := range fetches {
		if at := (reads{rank, f.Block}); f.Operand == x.largest && !x.read[at] {
			x.read[at] = true
			x.out.Balance.Nonzeros[rank] += x.tensors[f.Operand].Block(f.Block).Entries
		}
		if d != nil {
			step.Fetches = append(step.Fetches, PlannedMove{x.block(f.Operand, f.Block), f.Owner, rank, x.bcast[f.Operand]})
		}
	}
	if d == nil {
		return
	}
	for v, i := range s.Tuple {
		cuts := x.p.Vars[v].Cuts
		step.Ranges = append(step.Ranges, [2]int64{cuts[i], cuts[i+1]})
	}
	step.Terms, step.First = x.p.Groups[s.Group].Terms, s.First
	d.Steps = append(d.Steps, step)
}

func (x *planner) Send(operand int, b plan.Block, from, to int) {
	if d := x.detail(from); d != nil {
		d.Sends = append(d.Sends, PlannedMove{x.block(operand, b), from, to, to < 0})
	}
}

func (x *planner) Sum(b plan.Block, from, to int, complete bool) {
	for k, rank := range []int{from, to} {
		if d := x.detail(rank); d != nil && (k == 0 || from != to) {
			d.Sums = append(d.Sums, PlannedSum{PlannedMove{x.block(len(x.tensors)-1, b), from, to, false}, complete})
		}
	}
}

// owns counts what lives where.
func (x *planner) owns() {
	for n, t := range x.out.Tensors {
		for b, rank := range t.Owners {
			x.out.Owned[rank] += x.tensors[n].Block(plan.Block(b)).Bytes
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
