package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// runStep calls the leaf of step s on its operand blocks, and returns the block that it makes.
func (k *Statement) runStep(s plan.Step, operands []*tcs.Tensor) (out *tcs.Tensor, err error) {
	if k.into != nil {
		return k.into.run(k)
	}
	err = k.onBlocks(s, operands,
		func(st *leaf, args []*tcs.Tensor, ranges map[string][2]int64) error {
			box := k.Problem.Result.Box(s.Partial.Result, k.Reader.Sizes.Dims[k.p.Result])
			out, err = st.call(k.Reader.Env.Ctx, args, ranges, box, k.canStay())
			return err
		})
	if err != nil || !k.Problem.Whole {
		return out, err
	}
	return k.leaves[0].finish(out)
}

// onBlocks calls f with the leaf of step s, the leaf's arguments and the ranges of its loops.
func (k *Statement) onBlocks(s plan.Step, operands []*tcs.Tensor,
	f func(st *leaf, args []*tcs.Tensor, ranges map[string][2]int64) error) error {
	st := k.leaves[s.Group]
	var args []*tcs.Tensor
	if k.bound != nil && k.bound.ready {
		args = k.bound.args
	} else {
		var err error
		if args, err = k.conversions.arguments(st, k.byName(operands)); err != nil {
			return err
		}
	}
	ranges := k.ranges(s)
	if err := k.work.count(st, args, ranges); err != nil {
		return err
	}
	return f(st, args, ranges)
}

// conversions holds the operands that the last step's leaf read in another format. If the next step
// reads the same blocks, it uses the same conversions.
type conversions struct {
	leaf *leaf
	of   []*tcs.Tensor // by argument: the tensor that was converted, or nil
	made []*tcs.Tensor
}

// arguments returns the leaf's arguments without the result: the given operands, or conversions
// that c owns. c also owns them if it fails.
func (c *conversions) arguments(s *leaf, operands map[string]*tcs.Tensor) (args []*tcs.Tensor,
	err error) {
	if c.leaf != s {
		c.close()
		n := len(s.unit.Args) - 1
		c.leaf, c.of, c.made = s, make([]*tcs.Tensor, n), make([]*tcs.Tensor, n)
	}
	for n, a := range s.unit.Args[1:] {
		t := operands[a.Tensor]
		if t == nil && !a.Map {
			panic("BUG: prepared: no tensor for argument " + a.Tensor)
		}
		if a.Convert && c.of[n] != t {
			c.drop(n)
			if c.made[n], err = s.converted(a, t); err != nil {
				return nil, err
			}
			c.of[n] = t
		}
	}
	for n, a := range s.unit.Args[1:] {
		switch {
		case a.Map:
		case a.Convert:
			args = append(args, c.made[n])
		default:
			args = append(args, operands[a.Tensor])
		}
	}
	return args, nil
}

// any reports whether there are conversions.
func (c *conversions) any() bool {
	return slices.ContainsFunc(c.made, func(t *tcs.Tensor) bool { return t != nil })
}

// drop closes the conversion for argument n.
func (c *conversions) drop(n int) {
	if c.made[n] != nil {
		c.leaf.k.Reader.Env.Forget(c.made[n])
		c.made[n].Close()
	}
	c.of[n], c.made[n] = nil, nil
}

// close closes all conversions. It is called when the values of the converted operands may change.
func (c *conversions) close() {
	for n := range c.made {
		c.drop(n)
	}
	*c = conversions{}
}

// ranges returns the ranges of the split variables in step s, and the ranges of the variables that
// a chunk of entries covers.
func (k *Statement) ranges(s plan.Step) map[string][2]int64 {
	ranges := map[string][2]int64{}
	for v, b := range k.Problem.Blocking.Vars {
		at := s.Tuple[v]
		if b.Positions != nil {
			k.Problem.Bounds(at, ranges)
			continue
		}
		ranges[b.Name] = [2]int64{b.Cuts[at], b.Cuts[at+1]}
	}
	return ranges
}

// byName returns the operand blocks by the operands' names. Blocks that are nil are left out.
func (k *Statement) byName(operands []*tcs.Tensor) map[string]*tcs.Tensor {
	out := map[string]*tcs.Tensor{}
	for i, t := range operands {
		if t != nil {
			out[k.Problem.Operands[i].Name] = t
		}
	}
	return out
}

// add adds two partial blocks and returns the sum. Dense blocks have the same coordinates, so it
// adds b to a in place.
func (k *Statement) add(a, b *tcs.Tensor) (*tcs.Tensor, error) {
	if k.sum == nil {
		reduce.AddDense(a, b, k.Reader.Env.Threads)
		return a, nil
	}
	var c conversions
	defer c.close()
	args, err := c.arguments(k.sum, map[string]*tcs.Tensor{"P": a, "Q": b})
	if err != nil {
		return nil, err
	}
	ranges := map[string][2]int64{}
	for m, v := range k.sum.stmt.LHS.Vars {
		ranges[v] = a.Header.Range(m)
	}
	return k.sum.call(k.Reader.Env.Ctx, args, ranges, a.Header.Box, false)
}
