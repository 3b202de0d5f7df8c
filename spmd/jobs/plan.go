package jobs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/prepared"
	"distaff/spmd/program"
	"distaff/spmd/stats"
	"distaff/spmd/store"
)

// Planned is what a job file would do on its ranks, without running it. Bytes and messages
// are those that Taken and the statistics count, estimated where those of forecast.Planned are.
type Planned struct {
	Items []PlannedItem `json:"items"` // statements and places, in the order of the file
	Comm  stats.Comm    `json:"comm"`  // of all of them, in all of their runs
	// AtMost says that some repeat may end before its last pass: counts are those of all passes.
	AtMost    bool `json:"at_most"`
	Estimated bool `json:"estimated"`
	// Saturated says that some counts are 2^63-1, which stands for that many or more.
	Saturated bool `json:"saturated,omitempty"`
}

// PlannedItem is a statement, with its plan, or a place.
type PlannedItem struct {
	Line  int               `json:"line"`
	Text  string            `json:"text"`
	Runs  int64             `json:"runs"`
	Moves []PlannedTransfer `json:"moves"` // what brings tensors to where the item wants them
	Comm  stats.Comm        `json:"comm"`  // of all runs, with those moves
	Plan  *forecast.Planned `json:"plan,omitempty"`
}

// PlannedTransfer is what moves of one tensor, from where other items left it.
type PlannedTransfer struct {
	Tensor   string `json:"tensor"`
	Times    int64  `json:"times"`
	Bytes    int64  `json:"bytes"` // of all times and ranks, as are messages
	Messages int64  `json:"messages"`
	Exact    bool   `json:"exact"`
	// Routes say what goes between the first ranks, of all times.
	Routes []Route `json:"routes,omitempty"`
}

// Route is what goes of a tensor from one rank, or from Others, to another.
type Route struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Bytes int64 `json:"bytes"`
}

// routed is how many ranks, the first ones, have their routes told, and Others stands for those
// behind them.
const routed, Others = 64, -1

// Planner plans a statement for the ranks, and gives use what it would do before anything is
// closed.
type Planner func(g *input.Given, how program.How,
	use func(x *forecast.Forecast, p *forecast.Planned) error) error

// Plan plans a file that was bound and checked, and follows its items over so many ranks: where
// each leaves its tensors, and what the next ones move. limit is the bytes that a rank may take, 0
// for any number.
func Plan(f *jobfile.File, given map[string]input.Input, ranks int, limit int64,
	by Planner) (*Planned, error) {
	parts, err := Statements(f, given, ranks)
	if err != nil {
		return nil, err
	}
	x := &follower{names: newNames(f, given), ranks: ranks, by: by,
		given: map[*jobfile.Statement]input.Given{}, variants: map[variant]*planned{},
		placed: map[string]*input.Held{}, known: map[*input.Held]bool{}, done: map[string]passed{},
		lists: map[string][]*store.Blocks{}, tally: tally{}, at: newState()}
	defer x.close()
	found, err := x.names.found()
	if err != nil {
		return nil, err
	}
	maps.Copy(x.names.sizes, found.Names)
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

// follower follows the items of a file as a run takes them.
type follower struct {
	names    *names
	ranks    int
	by       Planner
	given    map[*jobfile.Statement]input.Given
	variants map[variant]*planned
	placed   map[string]*input.Held // what place has made, by tensor and mode
	known    map[*input.Held]bool   // what every rank has
	done     map[string]passed      // passes of repeats, by where they began
	lists    map[string][]*store.Blocks
	files    []*tcs.Tensor // of placed and left tensors
	tally    tally
	at       *state
	atMost   bool
}

// close gives back the files that tensors between items are.
func (x *follower) close() {
	for _, t := range x.files {
		t.Close()
	}
}

// variant is a statement, whose += finds a value to add to or does not.
type variant struct {
	s    *jobfile.Statement
	adds bool
}

// planned is what is known of a variant.
type planned struct {
	result, old string // old is the operand that is the result's old value
	plan        *forecast.Planned
	running     *stats.Comm // of a run, of operands that are where it wants them
	accesses    []forecast.Access
	left        map[string]*input.Held
}

// state is where tensors lie between two items, and which statements have them as they are.
type state struct {
	held  map[string]*input.Held
	ready map[*jobfile.Statement]*planned
	has   map[*jobfile.Statement]map[string]bool // by tensor
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

// key is the same for states from which the same follows.
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

// write puts another tensor in the place of one.
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
		case *jobfile.Place:
			x.tally[count{item: it, what: runs}]++
			err = x.names.at(it, x.place(it, it.Name, it.Placement.Placement))
		case *jobfile.Print:
			err = x.fetch(it.Name, nil)
		case *jobfile.Repeat:
			err = x.repeat(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passed is what a pass has counted, and the state that it ended with.
type passed struct {
	counted tally
	end     *state
}

// repeat follows passes until one leaves everything as it was before: the others count the same.
func (x *follower) repeat(t *jobfile.Repeat) error {
	x.atMost = x.atMost || t.Until != nil
	for left := t.N; left > 0; left-- {
		begin := x.at.key()
		key := fmt.Sprintf("%p\n%s", t, begin)
		if _, ok := x.done[key]; !ok {
			all := x.tally
			x.tally = tally{}
			if err := x.pass(t); err != nil {
				return err
			}
			x.done[key] = passed{x.tally, x.at.clone()}
			x.tally = all
		}
		p := x.done[key]
		x.at = p.end.clone()
		if x.at.key() == begin {
			x.tally.add(p.counted, left)
			return nil
		}
		x.tally.add(p.counted, 1)
	}
	return nil
}

func (x *follower) pass(t *jobfile.Repeat) error {
	if err := x.items(t.Body); err != nil || t.Until == nil {
		return err
	}
	for _, name := range t.Until.Scalars() {
		if err := x.fetch(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// statement follows one run of a statement.
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
		if at.held[name] == nil {
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

// adopts reports whether a statement takes over the pieces of a tensor that is cut along its
// storage order, as prepared.Statement.adopt does.
func adopts(g *load.Target, h *input.Held) bool {
	a := g.Partition.Ordered()
	return a != nil && len(g.Partition.Axes) == 1 && len(a.Ordered.Cuts) == 1 &&
		h.AsIs && g.Same(h.Blocks)
}

// name is the tensor that an operand is.
func (k *planned) name(operand string) string {
	if operand == k.old {
		return k.result
	}
	return operand
}

// move counts what brings a tensor to where an access wants it. first says that it is the first
// of the tensor's accesses.
func (x *follower) move(it jobfile.Item, name string, a forecast.Access, h *input.Held,
	first bool) {
	if _, ok := it.(*jobfile.Tensor); ok {
		return // what reads a tensor to where it is placed is no part of a statement's traffic
	}
	asIs := h.AsIs && h.Blocks.Layout.Type == a.Blocks.Spec.Type &&
		slices.Equal(h.Blocks.Layout.Format.Levels, a.Blocks.Spec.Format.Levels) &&
		slices.Equal(h.Blocks.Layout.Format.Order, a.Blocks.Spec.Format.Order)
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
	case h.File != nil && !h.Loose && a.Blocks.UsesBetween(in, x.ranks): // every rank has the tensor
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

// replicate counts what brings the whole of a dense tensor to every rank: h is nil for one that
// rank 0 reads, which the owner of the one block then broadcasts.
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
	case h != nil && h.AsIs && prepared.InRows(h.Blocks, x.ranks):
		others := int64(0) // bytes of ranks whose routes are not told
		for n, box := range h.Blocks.Boxes {
			r := box[h.Blocks.Layout.Format.Order[0]]
			own := bytes / max(h.Blocks.Layout.Dims[h.Blocks.Layout.Format.Order[0]], 1) * (r[1] - r[0])
			c.BytesSent[n], c.BytesReceived[n] = own, bytes-own
			if own > 0 {
				c.MessagesSent[n] = 1
			}
			if n >= routed {
				others += own
				continue
			}
			for to := range min(x.ranks, routed) {
				x.tally.route(it, name, n, to, own)
			}
		}
		for to := range min(x.ranks, routed) {
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

// variant plans a statement where it stands, the first time.
func (x *follower) variant(s *jobfile.Statement) (*planned, error) {
	stmt, err := notation.Parse(s.Text)
	if err != nil {
		return nil, err
	}
	old := notation.NameOld(stmt)
	g := x.given[s]
	result := stmt.LHS.Name
	_, read := g.Inputs[result]
	v := variant{s, stmt.Accumulate && (read || x.at.held[result] != nil)}
	if k := x.variants[v]; k != nil {
		return k, nil
	}
	g.Inputs = map[string]input.Input{}
	for _, a := range stmt.Tensors() {
		name := a.Name
		if name == old {
			name = result
		}
		if name == result && old == "" && !stmt.Accumulate {
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

// planned plans a statement.
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
			for _, h := range k.left { // the operand of the most values is cut
				h.Blocks.Guessed = true
			}
		}
		return nil
	})
	return k, err
}

// share has the blocks of tensors that lie alike share their lists, which are long for many ranks.
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

// fetch brings a tensor that no statement has read to the ranks, as program.Place and what reads
// values do: to where it is placed, or to where a statement would have it.
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

// place follows program.Place.
func (x *follower) place(it jobfile.Item, name string, p place.Placement) error {
	mode, on, err := x.names.target(p, x.ranks)
	if err != nil {
		return err
	}
	if on != nil {
		mode = program.LoadedBy
	}
	if err := x.fetch(name, &mode); err != nil {
		return err
	}
	h := x.at.held[name]
	var g *load.Target
	if on == nil {
		g = program.PlacedEvenly(h.Blocks, mode, x.ranks)
	} else {
		part, err := plan.Placed(p, on, h.Blocks.Layout.Dims, h.Blocks.Layout.Format.Order, x.ranks)
		if err != nil {
			return err
		}
		switch a := part.Ordered(); {
		case a == nil:
		case h.File != nil && load.Findable(h.File):
			if a.Keys, err = load.Keys(context.Background(), h.File, a.Ordered); err != nil {
				return err
			}
		default:
			keys, ok := load.DenseKeys(h.Blocks.Layout.Format.Levels, a.Ordered, h.Blocks.Layout.Dims)
			if a.Keys = keys; !ok {
				a.Guess(h.Blocks.Layout.Dims, float64(h.Entries))
			}
		}
		g = program.Placed(h.Blocks, part)
	}
	if g.Partition.Ordered() == nil && h.AsIs && g.Same(h.Blocks) {
		return nil
	}
	x.move(it, name, forecast.Access{Operand: name, Blocks: g}, h, true)
	key := name + p.String()
	if x.placed[key] == nil {
		x.placed[key] = &input.Held{Blocks: g.Blocks(), Entries: h.Entries, AsIs: true, Kind: h.Kind,
			File: h.File}
	}
	x.at.write(name, x.placed[key])
	return nil
}
