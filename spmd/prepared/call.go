package prepared

import (
	"slices"

	"distaff/codegen"
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

// run calls the leaf and returns its result: to.Block, or a new block if to.Block is nil. The
// result is stored as unit.Result says. After an error the contents of to.Block are undefined.
//
// If stays is true, a new block is kept on the device, unless its placement names the host's
// memory. If Options.Leaves is set too, the values of the result are left on the device, and the
// caller must fetch them. The value of a scalar is not left there. stays must be false if the call
// adds to a block.
func (c *call) run(to exec.Destination, stays bool) (*tcs.Tensor, error) {
	s, p := c.leaf, c.leaf.p
	if err := c.fetch(to.Block); err != nil {
		return nil, err
	}
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

// fetch copies values that the device has newer to the host, if the leaf runs on a CPU: the values
// of the arguments, and of the block that the leaf writes to. block may be nil.
func (c *call) fetch(block *tcs.Tensor) error {
	p := c.leaf.p
	if p.Target.Kind == codegen.CUDA {
		return nil
	}
	for _, t := range c.args {
		if err := p.Reader.Env.Fetch(t); err != nil {
			return err
		}
	}
	return p.Reader.Env.Fetch(block)
}

// aim sets c.all to the arguments of the call. It returns t, the tensor that the call writes. isNew
// reports whether t is a new tensor.
//
// A leaf may work in place on an operand. If target.Kind is exec.Over and target.Block is nil, t is
// a new tensor in the operand's memory. If target.Kind is exec.Fresh and the leaf works in place,
// aim copies the operand's values into t. The leaf then reads the operand from t too, because the
// memory of the operand may be laid out differently.
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

// conversions holds copies of operand blocks in another format. A leaf reads an operand in such a
// copy if its unit says so (codegen.Arg.Convert). The copies stay after a call. If the next call
// has the same leaf and reads the same block, it uses the copy again.
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
