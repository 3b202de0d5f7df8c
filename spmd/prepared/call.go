package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/spmd/exec"
	"distaff/spmd/load"
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
// unit.Result says. If stays is true, a new result is kept on the device, unless its placement
// names the host's memory. The values of a result are then left on the device, except for a scalar,
// if the caller promised to fetch them (Options.Leaves). The call must then not add to a block.
// After an error the contents of to.Block are undefined.
func (c *call) run(to exec.Destination, stays bool) (*tcs.Tensor, error) {
	s, p := c.leaf, c.leaf.p
	t, made, err := c.aim(to)
	if err != nil {
		return nil, err
	}
	if stays {
		if made {
			p.Reader.Env.KeepIn(t, p.Parsed.Memory(p.Parsed.Result))
		}
		if p.Options.Leaves && t.Order() > 0 { // conditions read the value of a scalar
			p.Reader.Env.Leave(t)
		}
	}
	if to.Kind != exec.Add || !emptyBox(t.Header.Box) {
		err = s.userError(s.leaf.Call(p.Reader.Env.Ctx, c.all, c.bounds, c.env))
	}
	c.all[0], c.all = nil, c.all[:1+len(c.args)]
	if err != nil {
		if made {
			p.Reader.Env.Forget(t)
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
// A leaf may work in place on an operand. If target says so (exec.Over) and has no block, t is a
// new tensor over the operand's memory. If the leaf makes a new block (exec.Fresh), aim first
// copies the operand's values into the block. The leaf then reads the operand from t too, because
// the memory of the operand may be laid out differently.
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
		reduce.Clear(t, s.p.Reader.Env.Threads)
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
// operand in a copy if its unit says so (codegen.Arg.Convert). If the next step has the same leaf
// and reads the same block, it uses the copy again.
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
		c.leaf.p.Reader.Env.Forget(c.made[n])
		c.made[n].Close()
	}
	c.of[n], c.made[n] = nil, nil
}

// close closes all conversions. It must be called when the values of the converted operands may
// change.
func (c *conversions) close() {
	for n := range c.made {
		c.drop(n)
	}
	*c = conversions{}
}
