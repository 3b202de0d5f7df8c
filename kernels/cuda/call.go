package cuda

import (
	"errors"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/kernels"
)

// call is one call of a leaf. It runs within a function that is passed to device.do.
type call struct {
	leaf   *leaf
	args   []*tcs.Tensor
	bounds [][2]int64
	env    *kernels.Env

	vars      scope
	blocks    map[*ir.Array]*block
	arguments []*block // the blocks of array parameters, each once
	published []publication
	status    pointer // status word that failing threads write
	timer     *timer  // nil if the call is not timed
}

// newCall returns a call that has not yet started.
func newCall(l *leaf, args []*tcs.Tensor, bounds [][2]int64, env *kernels.Env) *call {
	return &call{leaf: l, args: args, bounds: bounds, env: env, vars: scope{},
		blocks: map[*ir.Array]*block{}}
}

// publication is an array that a leaf has computed for a result tensor. b is the memory of the
// array on the device, and n is its number of elements.
type publication struct {
	slot ir.Slot
	b    *block
	n    int64
}

// what returns a description of the call's memory, for messages.
func (c *call) what() string {
	what := "a leaf's arguments, results or workspaces"
	if w := c.statement(); w != "" {
		what = "an argument, a result or a workspace of " + w
	}
	return what
}

// statement returns the statement that the call computes, for messages.
func (c *call) statement() string {
	if c.env.What != "" {
		return c.env.What
	}
	return c.leaf.p.what
}

// failure returns the error of a Fail statement.
func (c *call) failure(code ir.FailCode, coord []int64) error {
	if code == ir.FailMemory {
		return &tcs.Error{Exit: 5, Msg: c.what() + " takes more memory than there are addresses"}
	}
	return kernels.Failure(code, coord, *c.env)
}

// perform runs the leaf and then gives the results to the result tensors.
func (c *call) perform() (err error) {
	ok := false
	defer func() {
		if e := c.end(ok); err == nil {
			err = e
		}
	}()
	if err := c.execute(); err != nil {
		return err
	}
	if err := c.give(); err != nil {
		return err
	}
	ok = true
	return nil
}

// execute runs the leaf and waits for its kernels.
func (c *call) execute() error {
	if err := c.bind(); err != nil {
		return err
	}
	if err := c.run(c.leaf.p.f.Body); err != nil {
		return err
	}
	return c.settle()
}

// end frees the call's device memory. It reports the arrays that the call has changed to the store
// of resident arrays, so that older copies of them are not used. If the call failed (ok is false),
// the store also drops the resident arrays that the call may have changed.
func (c *call) end(ok bool) error {
	var all []error
	free := func(at pointer) {
		if at != 0 {
			all = append(all, c.leaf.dev.free(at))
		}
	}
	for _, b := range c.arguments {
		switch {
		case b.resident != nil:
			untouched := b.fresh && !b.stale // its contents are undefined
			all = append(all, c.leaf.store.endUse(b.resident, !untouched && (ok || !b.stale)))
		default:
			free(b.at)
		}
		if b.stale {
			all = append(all, c.leaf.store.changed(b.host, b.bytes(), b.resident))
		}
	}
	for a, b := range c.blocks {
		if b.host == nil && c.made(a) {
			free(b.at)
		}
	}
	for _, p := range c.published {
		free(p.b.at)
	}
	free(c.status)
	var lost *FaultError
	if err := errors.Join(all...); err != nil && !errors.As(err, &lost) {
		return err
	}
	return nil // the operation that met a fault has reported it
}

// made reports whether the leaf itself made the array a: whether a is not a parameter of the leaf.
func (c *call) made(a *ir.Array) bool {
	for _, q := range c.leaf.p.f.Params {
		if q.A == a {
			return false
		}
	}
	return true
}

// give copies the leaf's results, and the arrays that the leaf has changed, to the host. Then it
// publishes the results: all of them or, after an error, none. It does not copy the values of
// tensors in the device's memory that were passed to Backend.Leave.
func (c *call) give() error {
	mems := make([]*tcs.Memory, len(c.published))
	defer func() {
		for _, m := range mems {
			if m != nil {
				m.Release() // the tensors have references of their own
			}
		}
	}()
	for k, p := range c.published {
		bytes := p.n * p.b.elem.Size()
		var err error
		if mems[k], err = c.env.Arena.Alloc(bytes, c.what()); err != nil {
			return err
		}
		if c.staysOnDevice(p) {
			continue
		}
		if err := c.leaf.store.download(mems[k].Ptr, p.b.at, bytes); err != nil {
			return err
		}
	}
	for _, b := range c.arguments {
		if b.stale && !(b.resident != nil && b.resident.lefts > 0) {
			if err := c.leaf.store.download(b.host, b.at, b.bytes()); err != nil {
				return err
			}
		}
	}
	for _, b := range c.arguments {
		if b.stale && b.resident != nil && b.resident.lefts > 0 {
			c.leaf.store.markNewer(b.resident)
		}
	}
	changed := map[*tcs.Tensor]bool{}
	made := map[unsafe.Pointer]pointer{}
	for k, p := range c.published {
		t := c.args[p.slot.Arg]
		a := arrayOf(t, p.slot)
		if int64(a.Width) != p.b.elem.Size() {
			panic("BUG: cuda: a leaf published an array whose width the caller did not set")
		}
		t.Hold(mems[k])
		a.Ptr, a.Len, a.First = mems[k].Ptr, p.n, 0
		changed[t] = true
		if p.n > 0 {
			made[a.Ptr] = p.b.at
		}
	}
	c.renew(changed, made)
	return nil
}

// staysOnDevice reports whether p is an array of values that stays on the device (Backend.Leave).
func (c *call) staysOnDevice(p publication) bool {
	e := c.leaf.store.tensors[c.args[p.slot.Arg]]
	return e != nil && e.left && p.slot.Field == ir.Vals && p.n > 0
}

// renew updates the store of resident arrays after the results were published. changed contains the
// tensors that got new arrays. made contains the new arrays that are on the device: it maps the
// host address of an array to its device address. If a changed tensor is resident, its arrays in
// made stay on the device and replace its old arrays there.
func (c *call) renew(changed map[*tcs.Tensor]bool, made map[unsafe.Pointer]pointer) {
	for t := range changed {
		taken := c.leaf.store.renew(t, made)
		for _, p := range c.published {
			if r := taken[p.b.at]; r != nil {
				if p.b.at = 0; c.staysOnDevice(p) {
					c.leaf.store.markNewer(r)
				}
			}
		}
	}
}

// settle waits for everything that was launched.
func (c *call) settle() error {
	if err := c.stopTimer(); err != nil {
		return err
	}
	return c.leaf.dev.sync(c.statement())
}
