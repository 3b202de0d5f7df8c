package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/exec"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
)

// call is one call of a leaf. Where its result goes is decided later, in run.
type call struct {
	leaf   *leaf
	args   []*tcs.Tensor // without the result; see conversions.arguments
	all    []*tcs.Tensor // memory for the result and args
	bounds [][2]int64    // ranges of the leaf's variables
	box    [][2]int64    // box of the result; nil means the whole tensor
	env    kernels.Env
}

// newCall returns a call of the leaf on args. ranges holds ranges of variables; a variable that is
// not in ranges has its whole range. box is the box of the result.
func (s *leaf) newCall(args []*tcs.Tensor, ranges map[string][2]int64, box [][2]int64) call {
	c := call{leaf: s, args: args, box: box}
	c.all = make([]*tcs.Tensor, 1+len(args), 2+len(args)) // also for the map of an Add
	c.setRanges(ranges)
	return c
}

// setRanges sets the ranges of the leaf's variables, and with them the number of threads.
func (c *call) setRanges(ranges map[string][2]int64) {
	c.bounds = c.leaf.bounds(ranges)
	c.env = c.leaf.env(c.bounds)
}

// run calls the leaf and returns its result: to.Block, or a new block. The result is stored as
// unit.Result says. If stays is true, a new result is kept on the device, and leaveValues is called
// for the result; the call must then not add to a block. After an error the contents of to.Block
// are undefined.
func (c *call) run(to exec.Destination, stays bool) (*tcs.Tensor, error) {
	s, k := c.leaf, c.leaf.k
	t, made, err := c.aim(to)
	if err != nil {
		return nil, err
	}
	if stays {
		if made {
			k.Reader.Env.KeepIn(t, k.Memory(k.p.Result))
		}
		k.leaveValues(t)
	}
	if to.Kind != exec.Add || !emptyBox(t.Header.Box) {
		err = s.userError(s.leaf.Call(k.Reader.Env.Ctx, c.all, c.bounds, c.env))
	}
	c.all[0], c.all = nil, c.all[:1+len(c.args)]
	if err != nil {
		if made {
			k.Reader.Env.Forget(t)
			t.Close()
		}
		return nil, err
	}
	if to.Kind != exec.Pattern {
		t.Trust()
	}
	return t, nil
}

// aim sets c.all to the arguments of the call, and returns the tensor t that the call writes. isNew
// reports whether t is a new tensor.
//
// A leaf may work in place on an operand. If it writes over this old value, and target has no
// block, t is a new tensor over the operand's memory. If it makes a new block, aim first copies the
// operand's values into the block. The leaf then reads the operand from t too, because the memory
// of the operand may be laid out differently.
func (c *call) aim(target exec.Destination) (t *tcs.Tensor, isNew bool, err error) {
	s := c.leaf
	old := s.unit.Result.InPlace
	copy(c.all[1:], c.args)
	if t = target.Block; t == nil {
		isNew = true
		if target.Kind == exec.Over {
			t = c.args[old-1].Alias()
		} else if t, err = s.newResult(c.args, c.box); err != nil {
			return nil, false, err
		}
	}
	switch {
	case target.At != nil:
		c.all = append(c.all, target.At)
	case target.Kind == exec.Add && isNew:
		reduce.Clear(t, s.k.Reader.Env.Threads)
	case target.Kind == exec.Fresh && old > 0:
		from := c.args[old-1]
		if s.unit.Result.Format.AllDense() {
			load.CopyCommon(t, from)
		} else {
			copy(t.Vals.Bytes(), from.Vals.Bytes())
		}
		c.all[old] = t
	}
	c.all[0] = t
	return t, isNew, nil
}

// call calls a leaf for package exec.
func (k *Statement) call(c exec.Call) (*tcs.Tensor, error) {
	switch c.Leaf {
	case exec.SumLeaf:
		return k.add(c.Blocks[0], c.Blocks[1])
	case exec.OldLeaf:
		return k.convertOld(c.Block, c.Blocks[0])
	}
	s := k.leaves[c.Step.Group]
	box := k.Problem.Result.Box(c.Step.Partial.Result, s.dims)
	if c.To.Kind == exec.Add && emptyBox(box) { // nothing is read
		x := call{leaf: s, all: make([]*tcs.Tensor, 1), box: box}
		return x.run(c.To, false)
	}
	args, err := k.conversions.arguments(s, k.byName(c.Blocks))
	if err != nil {
		return nil, err
	}
	x := s.newCall(args, k.ranges(c.Step), box)
	if err := s.refuseEndless(args, x.bounds); err != nil {
		return nil, err
	}
	k.work.count(&x)
	return x.run(c.To, k.canStay())
}

// add adds two partial blocks and returns the sum. Dense blocks have the same coordinates, so it
// adds b to a in place.
func (k *Statement) add(a, b *tcs.Tensor) (*tcs.Tensor, error) {
	if k.sum == nil {
		reduce.AddDense(a, b, k.Reader.Env.Threads)
		return a, nil
	}
	box := make([][2]int64, a.Order())
	for m := range box {
		box[m] = a.Header.Range(m)
	}
	return k.sum.once(map[string]*tcs.Tensor{"P": a, "Q": b}, k.sum.stmt.LHS.Vars, box)
}

// convertOld converts a block of the old value of a += to the format of the blocks that steps make.
func (k *Statement) convertOld(b plan.Block, t *tcs.Tensor) (*tcs.Tensor, error) {
	o := &k.Problem.Operands[k.Problem.Added.Operand]
	return k.old.once(map[string]*tcs.Tensor{o.Name: t}, o.Vars, o.Partition.Box(b, k.old.dims))
}

// once calls a leaf on operands that only this call reads. box is the box of the result, and vars
// are the variables of the result's modes.
func (s *leaf) once(operands map[string]*tcs.Tensor, vars []string, box [][2]int64) (*tcs.Tensor,
	error) {
	var c conversions
	defer c.close()
	args, err := c.arguments(s, operands)
	if err != nil {
		return nil, err
	}
	ranges := map[string][2]int64{}
	for m, v := range vars {
		ranges[v] = box[m]
	}
	x := s.newCall(args, ranges, box)
	return x.run(exec.Destination{}, false)
}

// conversions holds copies of operand blocks in another format. The leaf of the last step reads an
// operand in such a copy if it cannot read the operand's own format. If the next step has the same
// leaf and reads the same block, it uses the copy again.
type conversions struct {
	leaf *leaf
	of   []*tcs.Tensor // by argument: the tensor that was converted, or nil
	made []*tcs.Tensor
}

// arguments returns the leaf's arguments except for the result. An argument is a given operand, or
// a conversion that c owns. c also owns the conversions after an error.
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

// ranges returns the range of each variable that step s restricts, by the variable's name. A step
// restricts the split variables. If it reads a chunk of a tensor's entries, it also restricts the
// variables of the levels that are cut into chunks.
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
