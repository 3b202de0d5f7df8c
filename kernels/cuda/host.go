package cuda

import (
	"fmt"

	"distaff/codegen/ir"
)

// run executes a statement of the leaf's host part.
func (c *call) run(s ir.Stmt) error {
	switch s := s.(type) {
	case *ir.Block:
		return c.list(s)
	case *ir.Comment, *ir.Prefetch:
		return nil
	case *ir.Declare:
		return c.assign(s.V, s.Init, false)
	case *ir.Assign:
		return c.assign(s.V, s.X, s.Accumulate)
	case *ir.If:
		yes, err := c.vars.truth(s.Cond, c)
		switch {
		case err != nil:
			return err
		case yes:
			return c.list(s.Then)
		}
		return c.list(s.Else)
	case *ir.For:
		return c.loop(s)
	case *ir.While:
		return c.while(s)
	case *ir.Fail:
		return c.fail(s)
	case *ir.Launch:
		return c.launch(s)
	}
	return c.memory(s)
}

// memory executes s, a statement that accesses arrays.
func (c *call) memory(s ir.Stmt) error {
	switch s := s.(type) {
	case *ir.Store:
		return c.put(s)
	case *ir.Alloc:
		return c.make(s.A, s.Len, s.Zero)
	case *ir.Local:
		return c.make(s.A, ir.Int(s.Len), !s.Undefined)
	case *ir.Free:
		return c.release(s.A)
	case *ir.Fill:
		return c.fill(s)
	case *ir.Copy:
		return c.copy(s)
	case *ir.Scan:
		return c.scan(s)
	case *ir.Publish:
		return c.publish(s)
	case *ir.Gemm:
		return c.gemm(s)
	case *ir.SpMM:
		return c.spmm(s)
	}
	return fmt.Errorf("BUG: cuda: a statement of type %T on the host", s)
}

func (c *call) list(b *ir.Block) error {
	if b == nil {
		return nil
	}
	for _, s := range b.List {
		if err := c.run(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) assign(v *ir.Var, x ir.Expr, accumulate bool) error {
	l, err := c.vars.eval(x, c)
	if err != nil {
		return err
	}
	if accumulate {
		sum := &ir.Binary{Op: ir.Add, X: v, Y: l}
		if l, err = c.vars.eval(sum, c); err != nil {
			return err
		}
	}
	c.vars[v] = l
	return nil
}

func (c *call) loop(s *ir.For) error {
	lo, err := c.vars.int(s.Lo, c)
	if err != nil {
		return err
	}
	hi, err := c.vars.int(s.Hi, c)
	if err != nil {
		return err
	}
	for v := lo; v < hi; v += s.Step {
		c.vars[s.V] = ir.Int(v)
		if err := c.list(s.Body); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) while(s *ir.While) error {
	for {
		yes, err := c.vars.truth(s.Cond, c)
		if err != nil || !yes {
			return err
		}
		if err := c.list(s.Body); err != nil {
			return err
		}
	}
}

// fail ends the leaf with the error that s describes: a code and the coordinates where the leaf
// failed.
func (c *call) fail(s *ir.Fail) error {
	coord := make([]int64, len(s.Coord))
	for k, x := range s.Coord {
		var err error
		if coord[k], err = c.vars.int(x, c); err != nil {
			return err
		}
	}
	return c.failure(s.Code, coord)
}

// put stores one element.
func (c *call) put(s *ir.Store) error {
	b, err := c.block(s.A)
	if err != nil {
		return err
	}
	i, err := c.vars.int(s.Index, c)
	if err != nil {
		return err
	}
	x := s.X
	if s.Accumulate {
		x = &ir.Binary{Op: ir.Add, X: &ir.Load{A: s.A, Index: s.Index}, Y: s.X}
	}
	l, err := c.vars.eval(x, c)
	if err != nil {
		return err
	}
	return c.storeElement(b, i, l)
}

// block returns the memory of an array.
func (c *call) block(a *ir.Array) (*block, error) {
	if b := c.blocks[a]; b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("BUG: cuda: %s is used before it is allocated", a.Name)
}

// make allocates an array, and clears it if zero is set.
func (c *call) make(a *ir.Array, length ir.Expr, zero bool) error {
	n, err := c.vars.int(length, c)
	if err != nil {
		return err
	}
	if b := c.blocks[a]; b != nil { // allocated in an earlier iteration
		if err := c.drop(b); err != nil {
			return err
		}
	}
	b := &block{name: a.Name, elem: a.Elem, n: n}
	if b.at, err = c.alloc(n, a.Elem.Size()); err != nil {
		return err
	}
	c.blocks[a] = b
	if !zero {
		return nil
	}
	if err := c.startTimer(); err != nil {
		return err
	}
	return c.leaf.dev.set(b.at, 0, b.bytes())
}

// alloc allocates device memory for n elements of the given size.
func (c *call) alloc(n, size int64) (pointer, error) {
	if err := c.stopTimer(); err != nil {
		return 0, err
	}
	bytes := n * size
	if n < 0 || bytes/size != n {
		bytes = 1<<63 - 1
	}
	return c.leaf.dev.alloc(bytes, c.what())
}

func (c *call) release(a *ir.Array) error {
	b, err := c.block(a)
	if err != nil {
		return err
	}
	delete(c.blocks, a)
	return c.drop(b)
}

// drop frees the device memory of an array that the leaf made.
func (c *call) drop(b *block) error {
	at := b.at
	b.at = 0
	if at == 0 || b.host != nil {
		return nil
	}
	if err := c.stopTimer(); err != nil {
		return err
	}
	return c.leaf.dev.free(at)
}

func (c *call) ints(xs ...ir.Expr) ([]int64, error) {
	out := make([]int64, len(xs))
	for k, x := range xs {
		var err error
		if out[k], err = c.vars.int(x, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *call) copy(s *ir.Copy) error {
	dst, err := c.block(s.Dst)
	if err != nil {
		return err
	}
	src, err := c.block(s.Src)
	if err != nil {
		return err
	}
	v, err := c.ints(s.DstLo, s.SrcLo, s.N)
	if err != nil || v[2] <= 0 {
		return err
	}
	for _, b := range []*block{dst, src} {
		if err := c.reach(b); err != nil {
			return err
		}
	}
	to, bytes, err := dst.span(v[0], v[0]+v[2])
	if err != nil {
		return err
	}
	from, _, err := src.span(v[1], v[1]+v[2])
	if err != nil {
		return err
	}
	dst.stale = true
	if err := c.startTimer(); err != nil {
		return err
	}
	return c.leaf.dev.copy(to, from, bytes)
}

// publish records an array as part of the result.
func (c *call) publish(s *ir.Publish) error {
	b, err := c.block(s.A)
	if err != nil {
		return err
	}
	n, err := c.vars.int(s.Len, c)
	if err != nil {
		return err
	}
	if b.host != nil || n < 0 || n > b.n {
		return fmt.Errorf("BUG: cuda: %d elements of %s, which has %d, are published", n, b.name,
			b.n)
	}
	delete(c.blocks, s.A)
	c.published = append(c.published, publication{slot: s.Slot, b: b, n: n})
	return nil
}
