package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Sparse is how the steps of a rank that add to one sparse block do so: over
// the union of their patterns, which is built once. It is built from the level arrays
// of operands, before the steps run, where each step's block would have those of one
// (Accumulate); the leaves then add in place. Else steps make blocks of their own, which are
// gathered, as far as memory allows, and merged at once.
//
// Either way a value is the sum over the steps in their order, whatever was merged when.
type Sparse struct {
	Shape   *reduce.Shape
	Box     func(plan.Block) [][2]int64 // of a block of the result
	Alloc   reduce.Alloc                // of values
	Threads int
	// Keep the unions and maps for the next Compute, which has the same
	// patterns. Close gives them back.
	Keep bool
	// Accumulate, if not nil, runs a step's leaf to add to sum, of a pattern that
	// holds what the step stores, at the positions that the map at tells.
	Accumulate func(s plan.Step, operands []*tcs.Tensor, sum, at *tcs.Tensor) error
	// Ahead is how many elements of a map such a leaf reads behind the last.
	Ahead int64
	// Source is, with Accumulate, the operand whose level arrays the blocks of a
	// group's steps would have. This rank owns all blocks of it that its steps read.
	Source func(group int) int

	kept map[plan.Partial]*layout
}

// layout is where the steps of one partial block add: the block's pattern, and
// a map for each step.
type layout struct {
	pattern *reduce.Pattern
	maps    []*tcs.Tensor
}

func (y *layout) close() {
	y.pattern.Close()
	tcs.CloseList(y.maps...)
}

// Close gives back what was kept.
func (p *Sparse) Close() error {
	for k, y := range p.kept {
		y.close()
		delete(p.kept, k)
	}
	return nil
}

// sums are the partial blocks of a rank while its steps run.
type sums struct {
	sparse *Sparse
	r      *Rank
	done   map[plan.Partial]*tcs.Tensor // those that are complete
	steps  map[plan.Partial][]source    // of each, in order
	open   map[plan.Partial]*sum
}

// source is a step of a partial block: its group, and the block of the group's
// Source that it reads.
type source struct {
	operand int
	block   plan.Block
}

// sum is one partial block on its way.
type sum struct {
	n       int         // steps so far
	sum     *tcs.Tensor // of the first ones; nil for none
	layout  *layout     // of sum, where several steps are in it
	pending []*tcs.Tensor
	bytes   int64 // of pending
}

func (r *Rank) newSums(done map[plan.Partial]*tcs.Tensor) *sums {
	u := &sums{sparse: r.Sparse, r: r, done: done, steps: map[plan.Partial][]source{},
		open: map[plan.Partial]*sum{}}
	for s := range r.Plan.Steps(r.Comm.Rank()) {
		var from source
		if u.sparse.Accumulate != nil {
			from.operand = u.sparse.Source(s.Group)
			for _, n := range s.Need {
				if n.Operand == from.operand {
					from.block = n.Block
				}
			}
		}
		u.steps[s.Partial] = append(u.steps[s.Partial], from)
	}
	if u.sparse.kept == nil {
		u.sparse.kept = map[plan.Partial]*layout{}
	}
	return u
}

// close drops what an error left.
func (u *sums) close() {
	for p, x := range u.open {
		if x.sum != nil {
			x.sum.Close()
		}
		tcs.CloseList(x.pending...)
		if x.layout != nil && u.sparse.kept[p] == nil {
			x.layout.close()
		}
	}
}

// step runs one step.
func (u *sums) step(s plan.Step, operands []*tcs.Tensor) error {
	x := u.open[s.Partial]
	if x == nil {
		var err error
		if x, err = u.begin(s.Partial); err != nil {
			return err
		}
	}
	if err := u.run(x, s, operands); err != nil {
		return err
	}
	if x.n++; x.n < len(u.steps[s.Partial]) {
		return nil
	}
	return u.finish(s.Partial, x)
}

// begin opens the sum of a partial block: with its pattern, where that is known.
func (u *sums) begin(p plan.Partial) (*sum, error) {
	x := &sum{layout: u.sparse.kept[p]}
	u.open[p] = x
	if x.layout == nil && u.sparse.Accumulate != nil {
		var sources []*tcs.Tensor
		for _, s := range u.steps[p] {
			sources = append(sources, u.r.Own[s.operand][s.block])
		}
		pattern, maps, err := reduce.Union(u.sparse.Shape, u.sparse.Box(p.Result), sources,
			u.sparse.Ahead, u.r.Limit)
		if err != nil {
			return nil, err
		}
		x.layout = &layout{pattern, maps}
	}
	if x.layout == nil {
		return x, nil
	}
	var err error
	x.sum, err = x.layout.pattern.Block(u.sparse.Alloc)
	return x, err
}

// run adds a step to its sum, or puts its block beside it.
func (u *sums) run(x *sum, s plan.Step, operands []*tcs.Tensor) error {
	if u.sparse.Accumulate != nil {
		return u.sparse.Accumulate(s, operands, x.sum, x.layout.maps[x.n])
	}
	block, err := u.r.Leaf(s, operands)
	if err != nil {
		return err
	}
	if u.sparse.kept[s.Partial] != nil {
		reduce.Add(x.sum, block, x.layout.maps[x.n], u.sparse.Threads)
		return block.Close()
	}
	x.pending = append(x.pending, block)
	x.bytes += block.Bytes()
	if u.due(x) {
		return u.merge(s.Partial, x)
	}
	return nil
}

// due tells whether pending blocks are to be merged before there are more: they
// take a good part of what memory is left. So few merges as that do not show in the
// result. Each at least doubles what was merged before, so that all take no more time
// than a few passes over the blocks.
func (u *sums) due(x *sum) bool {
	var base int64
	rest := x.bytes
	if x.sum != nil {
		base = x.sum.Bytes()
	} else {
		base = x.pending[0].Bytes()
		rest -= base
	}
	free := u.r.Limit.Max() - u.r.Limit.Used()
	return rest > 0 && rest >= base &&
		(u.r.Limit.Max() == 0 && rest >= 4*base || u.r.Limit.Max() > 0 && rest >= free/4)
}

// merge adds the pending blocks to the sum.
func (u *sums) merge(p plan.Partial, x *sum) error {
	sources := x.pending
	if x.sum != nil {
		sources = append([]*tcs.Tensor{x.sum}, sources...)
	}
	if len(sources) == 1 {
		return nil
	}
	pattern, maps, err := reduce.Union(u.sparse.Shape, u.sparse.Box(p.Result), sources, 0, u.r.Limit)
	if err != nil {
		return err
	}
	next := &layout{pattern, maps}
	whole, err := pattern.Block(u.sparse.Alloc)
	if err != nil {
		next.close()
		return err
	}
	for k, t := range sources {
		reduce.Add(whole, t, maps[k], u.sparse.Threads)
		t.Close()
	}
	if x.layout != nil { // where the earlier steps are now
		for _, at := range x.layout.maps {
			reduce.Compose(at, maps[0])
		}
		maps[0].Close()
		next.maps = append(x.layout.maps, maps[1:]...)
		x.layout.pattern.Close()
	}
	x.sum, x.layout, x.pending, x.bytes = whole, next, nil, 0
	return nil
}

// finish completes a partial block.
func (u *sums) finish(p plan.Partial, x *sum) error {
	if err := u.merge(p, x); err != nil {
		return err
	}
	delete(u.open, p)
	if x.sum == nil { // one step
		u.done[p] = x.pending[0]
		return nil
	}
	u.done[p] = x.sum
	switch {
	case u.sparse.kept[p] != nil:
	case u.sparse.Keep:
		u.sparse.kept[p] = x.layout
	default:
		x.layout.close()
	}
	return nil
}
