package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/program"
	"distaff/spmd/stats"
	"distaff/spmd/store"
)

// Planned describes what a job file would do on its ranks, without running it. Bytes and messages
// have the same meaning as in the statistics of a run. Counts are estimates wherever
// forecast.Planned has estimates.
type Planned struct {
	Items []PlannedItem `json:"items"` // in the order of the file
	Comm  stats.Comm    `json:"comm"`  // sum over all runs of all items
	// AtMost says that a condition decides what runs: some repeat may end before its last pass, or an
	// if runs one of two blocks. The counts include all passes and both blocks.
	AtMost bool `json:"at_most"`
	// Estimated says that some of the counts are estimates.
	Estimated bool `json:"estimated"`
	// Saturated says that some counts are 2^63-1, which means "this many or more".
	Saturated bool `json:"saturated,omitempty"`
}

// PlannedItem describes one item of a job file: a statement, with its plan, a function of whole
// matrices, or a place command, which moves a tensor to a placement.
type PlannedItem struct {
	File  string            `json:"file,omitempty"` // an included file, or "" for the job file
	Line  int               `json:"line"`
	Text  string            `json:"text"`
	Runs  int64             `json:"runs"`
	Moves []PlannedTransfer `json:"moves"` // the tensors that move for the item
	Comm  stats.Comm        `json:"comm"`  // sum over all runs, including Moves
	Plan  *forecast.Planned `json:"plan,omitempty"`
	// Memory is the number of bytes that rank 0 needs to compute a function of whole matrices,
	// besides its operands.
	Memory int64 `json:"memory,omitempty"`
}

// PlannedTransfer describes how one tensor moves from where earlier items left it to where an item
// needs it, or how the result of a statement moves to its placement. Counts are sums over all runs
// of the item and all ranks.
type PlannedTransfer struct {
	Tensor   string `json:"tensor"`
	Times    int64  `json:"times"` // how many times the tensor moves
	Bytes    int64  `json:"bytes"`
	Messages int64  `json:"messages"`
	Exact    bool   `json:"exact"` // the counts are not estimates
	// Routes lists the bytes that go from rank to rank, for the first maxRouted ranks.
	Routes []Route `json:"routes,omitempty"`
}

// Route is the number of bytes of a tensor that one rank sends to another. If From is Others, it is
// the sum over all senders from rank maxRouted on.
type Route struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`
}

// maxRouted is the number of ranks whose routes a plan lists one by one: ranks 0 to maxRouted-1.
// Others is the sender of a Route that counts the bytes from all other ranks together.
const maxRouted, Others = 64, -1

// Planner is a function that plans a statement for all ranks. It passes the forecast and the plan
// to the callback use. The forecast is valid until use returns.
type Planner func(g *input.Given, how program.How,
	use func(x *forecast.Forecast, p *forecast.Planned) error) error

// Plan plans a file that was bound and checked, for the given number of ranks. It goes through the
// items in order. It records where each item leaves its tensors, and what later items must move.
// given maps tensors to the inputs that command-line flags name. limit is the number of bytes that
// a rank may allocate, or 0 for no limit. planner plans a single statement.
func Plan(f *jobfile.File, given map[string]input.Input, ranks int, limit int64,
	planner Planner) (*Planned, error) {
	parts, err := Statements(f, given, ranks)
	if err != nil {
		return nil, err
	}
	x := &follower{names: newNames(f, given), ranks: ranks, by: planner,
		given: map[*jobfile.Statement]input.Given{}, variants: map[variant]*planned{},
		placed: map[placing]*input.Held{}, known: map[*input.Held]bool{}, done: map[string]passed{},
		lists: map[string][]*store.Blocks{}, tally: tally{}, at: newState(),
		memory: map[jobfile.Item]int64{}}
	defer x.close()
	found, err := x.names.found()
	if err != nil {
		return nil, err
	}
	maps.Copy(x.names.sizes, found.Names)
	if x.types, err = f.CheckTypes(found.Types); err != nil {
		return nil, err
	}
	if err := x.names.products(found, ranks, limit); err != nil {
		return nil, err
	}
	for _, p := range parts {
		x.given[p.Statement] = p.Given
	}
	for _, t := range f.Tensors {
		if _, ok := x.names.input(t); ok && t.Declared && t.Placement != nil && ranks > 1 {
			if err := x.place(t, t.Name, t.Placement.Placement); err != nil {
				return nil, x.names.at(t, err)
			}
		}
	}
	if err := x.items(f.Items); err != nil {
		return nil, err
	}
	return x.report(), nil
}

// follower is the state of Plan while it follows the items of a file in the order of a run.
type follower struct {
	names    *names
	ranks    int
	by       Planner
	given    map[*jobfile.Statement]input.Given
	variants map[variant]*planned
	placed   map[placing]*input.Held // results of place
	known    map[*input.Held]bool    // whether every rank has the whole tensor
	// counts of the passes of repeats that were followed, by repeat and the state before the pass
	done   map[string]passed
	lists  map[string][]*store.Blocks
	files  []*tcs.Tensor // mapped files of tensors between items, to be closed
	tally  tally
	at     *state // the state before the current item
	atMost bool
	differ bool // the blocks of some if leave different states
	types  map[string]tensor.Type
	memory map[jobfile.Item]int64 // of functions of whole matrices: what rank 0 needs, in bytes
}

// close closes the mapped files.
func (x *follower) close() {
	for _, t := range x.files {
		t.Close()
	}
}

// variant is the key of a plan of a statement. A statement with += has at most two plans: one if
// its result already has a value, and one if it has none. adds is true for the first of these
// plans.
type variant struct {
	s    *jobfile.Statement
	adds bool
}

// planned is the plan of a variant.
type planned struct {
	// the result's name, and the name of the operand that is the result's old value
	result, old string
	plan        *forecast.Planned
	running     *stats.Comm // traffic of one run whose operands are already in place
	accesses    []forecast.Access
	left        map[string]*input.Held // where a run leaves its operands and its result
}

// state describes the tensors between two items.
type state struct {
	held  map[string]*input.Held          // where each tensor is
	ready map[*jobfile.Statement]*planned // the plan of each statement that has run
	// has lists, for each statement, the tensors whose current values are already in the blocks of
	// the statement.
	has map[*jobfile.Statement]map[string]bool
}

func newState() *state {
	return &state{map[string]*input.Held{}, map[*jobfile.Statement]*planned{},
		map[*jobfile.Statement]map[string]bool{}}
}

func (s *state) clone() *state {
	c := &state{maps.Clone(s.held), maps.Clone(s.ready), map[*jobfile.Statement]map[string]bool{}}
	for k, v := range s.has {
		c.has[k] = maps.Clone(v)
	}
	return c
}

// key returns a text that identifies the state. If two states have equal keys, every item of the
// file has the same effect and the same cost in both states. The method repeat compares keys to
// find a pass that changes nothing.
func (s *state) key() string {
	var list []string
	for name, h := range s.held {
		list = append(list, fmt.Sprintf("%s %p", name, h))
	}
	for k, p := range s.ready {
		for name := range s.has[k] {
			list = append(list, fmt.Sprintf("%p %p %s", k, p, name))
		}
		list = append(list, fmt.Sprintf("%p %p", k, p))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// write records that a statement or a place command has replaced the tensor called name. h
// describes the new tensor. Statements whose blocks hold the old values must load the tensor again.
func (s *state) write(name string, h *input.Held) {
	s.held[name] = h
	for _, has := range s.has {
		delete(has, name)
	}
}

func (x *follower) items(items []jobfile.Item) error {
	for _, it := range items {
		var err error
		switch it := it.(type) {
		case *jobfile.Statement:
			err = x.names.at(it, x.statement(it))
		case *jobfile.Linalg:
			err = x.names.at(it, x.linalg(it))
		case *jobfile.Place:
			x.tally[count{item: it, what: runs}]++
			err = x.names.at(it, x.place(it, it.Name, it.Placement.Placement))
		case *jobfile.Print:
			err = x.fetch(it.Name, nil)
		case *jobfile.Repeat:
			err = x.repeat(it)
		case *jobfile.Call:
			err = x.items(it.Body)
		case *jobfile.If:
			err = x.branches(it)
		case *jobfile.Leave:
			x.atMost = true
			err = x.read(it.Cond)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// statement simulates one run of statement s. It counts the messages of the run, and updates x.at,
// the state of the tensors.
func (x *follower) statement(s *jobfile.Statement) error {
	k, err := x.variant(s)
	if err != nil {
		return err
	}
	at := x.at
	if at.ready[s] != k {
		at.ready[s], at.has[s] = k, map[string]bool{}
	}
	x.tally[count{item: s, what: runs}]++
	moved := map[string]bool{}
	for _, a := range k.accesses {
		name := k.name(a.Operand)
		switch h := at.held[name]; {
		case at.has[s][name], h == nil && !a.Replicated, !a.Replicated && adopts(a.Blocks, h):
			continue
		case a.Replicated:
			x.replicate(s, name, a, h, !moved[name])
		default:
			x.move(s, name, a, h, !moved[name])
		}
		moved[name] = true
	}
	for _, a := range k.accesses {
		name := k.name(a.Operand)
		// a tensor that the compiler made for an index belongs to the statement alone
		if made := x.names.f.Tensor(name) == nil; at.held[name] == nil && !made {
			at.held[name] = k.left[a.Operand]
		}
		at.has[s][name] = true
	}
	x.tally.travel(s, "", k.running)
	at.write(k.result, k.left[k.result])
	t := x.names.f.Tensor(k.result)
	if t.Placement == nil || x.ranks == 1 {
		return nil
	}
	return x.place(s, t.Name, t.Placement.Placement)
}

// adopts reports whether a statement uses the blocks of a tensor unchanged, instead of dividing the
// tensor again. h describes the blocks that the tensor has, and g the blocks that the statement
// needs. adopts returns false unless g divides the tensor into chunks of its storage order. It must
// agree with prepared.Operands.adoptCuts.
func adopts(g *load.Target, h *input.Held) bool {
	a := g.Partition.Ordered()
	return a != nil && len(g.Partition.Axes) == 1 && len(a.Ordered.Cuts) == 1 &&
		h.AsIs && g.Same(h.Blocks)
}

// name returns the tensor that an operand refers to: the result, if the operand is its old value.
func (k *planned) name(operand string) string {
	if operand == k.old {
		return k.result
	}
	return operand
}

// move counts the traffic that brings a tensor to the blocks of access a. h describes where the
// tensor is. If first is true and something is sent, move also adds 1 to the number of times that
// the item moves the tensor. If first is false, the caller counts this itself. move counts nothing
// if the item is a declaration.
func (x *follower) move(it jobfile.Item, name string, a forecast.Access, h *input.Held,
	first bool) {
	if _, ok := it.(*jobfile.Tensor); ok {
		return // reading a tensor into its placement is not part of a statement's traffic
	}
	asIs := h.AsIs && h.Blocks.Layout.Type == a.Blocks.Spec.Type &&
		h.Blocks.Layout.Format.Equal(a.Blocks.Spec.Format)
	var all *stats.Comm
	travel := func(z plan.Size, from, to int) {
		if all == nil {
			all = newComm(x.ranks)
		}
		tensor.Add(&all.BytesSent[from], z.Bytes)
		tensor.Add(&all.MessagesSent[from], z.Arrays)
		tensor.Add(&all.BytesReceived[to], z.Bytes)
		x.tally.route(it, name, from, to, z.Bytes)
	}
	exact := true
	switch in := (load.Input{Tensor: h.File, AsIs: asIs}); {
	case a.Blocks.Partition.Ordered() == nil:
		exact = a.Blocks.Moves(h.Blocks, asIs, h.Entries, travel)
	case h.File != nil && !h.MayChange && a.Blocks.UsesBetween(in, x.ranks): // every rank has the tensor
	default:
		exact = input.StoredMoves(a.Blocks, h.Blocks, asIs, h.Entries, x.ranks, travel)
	}
	if !exact {
		x.tally[count{item: it, what: inexact, tensor: name}]++
	}
	if all == nil {
		return
	}
	x.tally.travel(it, name, all)
	if first {
		x.tally[count{item: it, what: times, tensor: name}]++
	}
}

// replicate counts the traffic that brings a whole dense tensor to every rank. h describes where
// the tensor is, or is nil if the tensor is still in its input. There are three cases:
//
//   - If every rank has the tensor already, there is no traffic.
//   - If the tensor is distributed by rows and h.AsIs is set, each rank sends its rows to all other
//     ranks.
//   - Otherwise the tensor is moved to the owner of its only block, which broadcasts it.
//
// If there is traffic and first is true, replicate also adds 1 to the number of times that the item
// moves the tensor. The caller passes true for the first transfer of the tensor in a run of the
// item.
func (x *follower) replicate(it jobfile.Item, name string, a forecast.Access, h *input.Held,
	first bool) {
	z := plan.Size{}
	bytes := int64(a.Blocks.Spec.Type.Size())
	for _, d := range a.Blocks.Spec.Dims {
		bytes = tensor.Times(bytes, d)
	}
	z.Add(bytes, 1)
	if h != nil && h.Blocks.Guessed {
		x.tally[count{item: it, what: inexact, tensor: name}]++
	}
	if h == nil && a.Number || x.known[h] {
		return
	}
	c := newComm(x.ranks)
	switch {
	case h != nil && h.AsIs && h.Blocks.InRows(x.ranks):
		others := int64(0) // bytes from all ranks whose own routes are not listed
		for n, box := range h.Blocks.Boxes {
			r := box[h.Blocks.Layout.Format.Order[0]]
			own := bytes / max(h.Blocks.Layout.Dims[h.Blocks.Layout.Format.Order[0]], 1) * (r[1] - r[0])
			c.BytesSent[n], c.BytesReceived[n] = own, bytes-own
			if own > 0 {
				c.MessagesSent[n] = 1
			}
			if n >= maxRouted {
				others += own
				continue
			}
			for to := range min(x.ranks, maxRouted) {
				x.tally.route(it, name, n, to, own)
			}
		}
		for to := range min(x.ranks, maxRouted) {
			x.tally.route(it, name, Others, to, others)
		}
	default:
		if h != nil {
			x.move(it, name, a, h, false)
		}
		owner := a.Blocks.Partition.OwnerOf(0)
		c.BytesSent[owner], c.MessagesSent[owner] = z.Bytes, z.Arrays
		for rank := range x.ranks {
			if rank != owner {
				c.BytesReceived[rank] = z.Bytes
				x.tally.route(it, name, owner, rank, z.Bytes)
			}
		}
	}
	x.tally.travel(it, name, c)
	if first {
		x.tally[count{item: it, what: times, tensor: name}]++
	}
}

// variant returns the plan of statement s for the current state of the tensors (x.at). A statement
// has at most two plans: one for a result with an old value, and one for a result without an old
// value. Later calls return the same plan.
func (x *follower) variant(s *jobfile.Statement) (*planned, error) {
	stmt, err := notation.Parse(s.Text)
	if err != nil {
		return nil, err
	}
	g := x.given[s]
	result := stmt.LHS.Name
	_, read := g.Inputs[result]
	v := variant{s, stmt.KeepsOld() && (read || x.at.held[result] != nil)}
	stmt = notation.ExpandFor(stmt, v.adds)
	old := notation.NameOld(stmt)
	if k := x.variants[v]; k != nil {
		return k, nil
	}
	g.Inputs = map[string]input.Input{}
	for _, a := range stmt.Tensors() {
		name := a.Name
		if name == old {
			name = result
		}
		if name == result && old == "" && !stmt.Accumulate || a.Made {
			continue
		}
		if h := x.at.held[name]; h != nil {
			g.Inputs[name] = input.Hold(h)
		} else if in, ok := x.names.input(x.names.f.Tensor(name)); ok {
			g.Inputs[name] = in
		}
	}
	how, err := x.names.how(s, x.ranks)
	if err != nil {
		return nil, err
	}
	k, err := x.planned(&g, how)
	if err != nil {
		return nil, err
	}
	k.result, k.old = result, old
	x.variants[v] = k
	return k, nil
}

// planned calls the Planner for a statement, and returns the part of its results that Plan needs.
func (x *follower) planned(g *input.Given, how program.How) (*planned, error) {
	k := &planned{left: map[string]*input.Held{}}
	err := x.by(g, how, func(f *forecast.Forecast, p *forecast.Planned) error {
		running, known, err := f.Running(context.Background())
		if err != nil {
			return err
		}
		k.plan, k.running, k.accesses = p, &running, f.Accesses()
		for _, a := range k.accesses {
			h := k.left[a.Operand]
			if h == nil { // the first access of the tensor
				h = f.Left(a.Operand)
				x.share(h.Blocks)
				if h.File != nil {
					x.files = append(x.files, h.File)
				}
				k.left[a.Operand] = h
			}
			x.known[h] = x.known[h] || a.Replicated && len(h.Blocks.Owners) == 1
		}
		h := f.Left(f.Result())
		x.share(h.Blocks)
		k.left[f.Result()], x.known[h] = h, known
		counted := !slices.ContainsFunc(k.accesses, func(a forecast.Access) bool { return !a.Counted })
		if !counted && x.ranks > 1 && len(g.Schedule) == 0 &&
			(how.Blocks == nil || how.Blocks.Empty()) {
			for _, h := range k.left { // the partition depends on an unknown count of values
				h.Blocks.Guessed = true
			}
		}
		return nil
	})
	return k, err
}

// share saves memory: if an earlier tensor has equal lists of blocks, b gets these lists instead of
// its own. The lists are long for many ranks.
func (x *follower) share(b *store.Blocks) {
	key := fmt.Sprint(b.Layout.Dims, len(b.Owners))
	for _, o := range x.lists[key] {
		if slices.Equal(b.Owners, o.Owners) && slices.EqualFunc(b.Boxes, o.Boxes, slices.Equal) {
			b.Owners, b.Boxes = o.Owners, o.Boxes
			return
		}
	}
	x.lists[key] = append(x.lists[key], b)
}

// fetch predicts the loading of a tensor that no item has read yet. The program loads the tensor by
// a statement of its own (see program.Loading), in order to place the tensor or to read its values.
// *mode is the mode that is cut evenly over the ranks, or -1 if rank 0 gets the whole tensor. If
// mode is nil, the plan of the loading statement decides how the tensor is cut.
func (x *follower) fetch(name string, mode *int) error {
	t := x.names.f.Tensor(name)
	in, ok := x.names.input(t)
	if x.at.held[name] != nil || !ok {
		return nil
	}
	how, err := x.names.storage(t)
	if err != nil {
		return err
	}
	text, vars := program.Loading(name, t.Order,
		func(s string) bool { return x.names.f.Tensor(s) != nil })
	g := &input.Given{Statement: text, Inputs: map[string]input.Input{name: in},
		Formats: map[string]string{}, Types: map[string]string{}, Sizes: map[string][]int64{}}
	if how.Format != "" {
		g.Formats[name] = how.Format
	}
	if how.Type != "" {
		g.Types[name] = how.Type
	}
	if len(how.Sizes) > 0 {
		g.Sizes[name] = how.Sizes
		g.SizesFrom = func(_ string, mode int) string {
			return input.SizeFrom(name, mode, how.SizesFrom[mode])
		}
	}
	var loading program.How
	if mode != nil {
		loading.Blocks = program.Evenly(vars, *mode, x.ranks)
	}
	k, err := x.planned(g, loading)
	if err == nil {
		x.at.held[name] = k.left[name]
	}
	return err
}
