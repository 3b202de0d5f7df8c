package exec

import (
	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// Sparse determines how the steps of a rank add to one sparse block, whose pattern is the union of
// the steps' patterns. There are two ways:
//
//   - If each step's block would have the level arrays of an operand (Rank.Adds), the union is
//     built from these arrays before the steps run. The leaves then add in place.
//   - Otherwise steps make blocks of their own. Several blocks are collected, and then merged
//     together. If the pattern is kept from an earlier run, each block is added at once.
//
// In both ways, each value of the block is the sum over the steps, in the order of the steps. The
// values therefore do not depend on when blocks are merged.
type Sparse struct {
	Shape   *reduce.Shape
	Box     func(plan.Block) [][2]int64 // returns the box of a block of the result
	Alloc   reduce.Alloc                // allocates values
	Threads int
	// Keep tells the next Compute to reuse the unions and maps of this one. Its patterns must be
	// the same. Close releases them.
	Keep bool
	// Ahead is the number of elements that the leaf reads after the end of a map.
	Ahead int64
	// Source returns the operand whose level arrays the blocks of a group's steps would have. It is
	// used if Rank.Adds is set. This rank must own all blocks of the operand that its steps read.
	Source func(group int) int

	kept map[plan.Partial]*layout
}

// layout holds the pattern of one partial block. For each step, maps has a map from the positions
// in the step's result to the positions in the partial block.
type layout struct {
	pattern *reduce.Pattern
	maps    []*tcs.Tensor
}

func (y *layout) close() {
	y.pattern.Close()
	tcs.CloseList(y.maps...)
}

// Close releases the kept unions and maps.
func (p *Sparse) Close() error {
	for k, y := range p.kept {
		y.close()
		delete(p.kept, k)
	}
	return nil
}

// sums holds the partial blocks of a rank while its steps run.
type sums struct {
	sparse *Sparse
	r      *Rank
	done   map[plan.Partial]*tcs.Tensor // complete partial blocks
	steps  map[plan.Partial][]source    // the steps of each partial block, in order
	open   map[plan.Partial]*sum
}

// source identifies the block of an operand that has the same level arrays as the result of a step.
// If Rank.Adds is not set, source is the zero value.
type source struct {
	operand int
	block   plan.Block
}

// sum is one incomplete partial block.
type sum struct {
	n       int         // number of steps so far
	sum     *tcs.Tensor // the sum of the first steps; nil until the pattern of a sum is known
	layout  *layout     // of sum; nil if sum is nil
	pending []*tcs.Tensor
	bytes   int64 // size of pending
}

func (r *Rank) newSums(done map[plan.Partial]*tcs.Tensor) *sums {
	u := &sums{sparse: r.Sparse, r: r, done: done, steps: map[plan.Partial][]source{},
		open: map[plan.Partial]*sum{}}
	for s := range r.Plan.Steps(r.Comm.Rank()) {
		var from source
		if r.Adds {
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

// close releases the partial blocks that an error left incomplete.
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

// begin creates the sum of a partial block. If the pattern is kept from an earlier run, or steps
// add in place, the sum gets its memory at once.
func (u *sums) begin(p plan.Partial) (*sum, error) {
	x := &sum{layout: u.sparse.kept[p]}
	u.open[p] = x
	if x.layout == nil && u.r.Adds {
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

// run runs a step and adds its block to the sum x. If the pattern of the sum is not known yet, run
// keeps the block in x.pending, and the method merge adds it later.
func (u *sums) run(x *sum, s plan.Step, operands []*tcs.Tensor) error {
	if u.r.Adds {
		_, err := u.r.Call(Call{Step: s, Blocks: operands,
			To: Destination{Kind: Add, Block: x.sum, At: x.layout.maps[x.n]}})
		return err
	}
	block, err := u.r.Call(Call{Step: s, Blocks: operands, To: Destination{Kind: u.r.to}})
	if err != nil {
		return err
	}
	if u.sparse.kept[s.Partial] != nil {
		reduce.Add(x.sum, block, x.layout.maps[x.n], u.sparse.Threads)
		return block.Close()
	}
	x.pending = append(x.pending, block)
	x.bytes += block.Bytes()
	if u.isDue(x) {
		return u.merge(s.Partial, x)
	}
	return nil
}

// isDue reports whether the pending blocks must be merged now. This is so if two conditions hold.
// First, the pending blocks are at least as large as the sum. Second, they occupy at least a
// quarter of the free memory. Without a memory limit, the second condition is that the pending
// blocks are at least four times as large as the sum. If there is no sum yet, the first pending
// block counts as the sum.
func (u *sums) isDue(x *sum) bool {
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

// merge adds the pending blocks to the sum, whose pattern becomes the union of all their patterns.
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
	if x.layout != nil { // the new positions of the earlier steps
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
	if x.sum == nil { // there was one step
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
