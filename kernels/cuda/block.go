package cuda

import (
	"fmt"
	"unsafe"

	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// block is the memory of an array in a call.
type block struct {
	name  string
	elem  tensor.Type
	n     int64   // number of elements
	first int64   // index of the first element
	at    pointer // address on the device; 0 if the array is not there
	// For the array of an argument:
	host  unsafe.Pointer // address on the host; nil if the leaf makes the array
	fresh bool           // its contents are undefined, so they are not copied to the device
	stale bool           // the device stored to the array, so the host's copy is old
	// the resident array whose device memory it uses; nil if the memory is the call's own
	resident *residentArray
}

func (b *block) bytes() int64 { return b.n * b.elem.Size() }

// base returns the address at which element 0 of the array would be. The block may start at a later
// element.
func (b *block) base() pointer { return b.at - pointer(b.first*b.elem.Size()) }

// span returns the device address and the size in bytes of elements [lo, hi).
func (b *block) span(lo, hi int64) (pointer, int64, error) {
	if lo >= hi {
		return b.at, 0, nil
	}
	if lo < b.first || hi > b.first+b.n {
		return 0, 0, fmt.Errorf("BUG: cuda: %s[%d : %d] is out of bounds [%d, %d)", b.name, lo, hi,
			b.first, b.first+b.n)
	}
	return b.base() + pointer(lo*b.elem.Size()), (hi - lo) * b.elem.Size(), nil
}

// arrayOf returns the pos, crd or values array of t that slot s selects.
func arrayOf(t *tcs.Tensor, s ir.Slot) *tcs.Array {
	switch s.Field {
	case ir.Pos:
		return &t.Levels[s.Level].Pos
	case ir.Crd:
		return &t.Levels[s.Level].Crd
	}
	return &t.Vals
}

// bind assigns the arguments to the parameters of the leaf.
func (c *call) bind() error {
	for _, q := range c.leaf.p.f.Params {
		if q.Slot.Arg >= len(c.args) {
			return fmt.Errorf("BUG: cuda: got %d arguments, want at least %d: the parameter %s has no "+
				"argument", len(c.args), q.Slot.Arg+1, q.Slot)
		}
		t := c.args[q.Slot.Arg]
		if q.Slot.Field.HasLevel() && q.Slot.Level >= len(t.Levels) {
			return fmt.Errorf("BUG: cuda: got an argument of %d levels, want at least %d, because of "+
				"the parameter %s", len(t.Levels), q.Slot.Level+1, q.Slot)
		}
		if q.V != nil {
			c.vars[q.V] = ir.Int(scalarOf(t, q.Slot))
		}
		if q.A != nil {
			if err := c.bindArray(q.A, q.Slot, arrayOf(t, q.Slot)); err != nil {
				return err
			}
		}
	}
	if len(c.bounds) < len(c.leaf.p.f.Bounds) {
		return fmt.Errorf("BUG: cuda: got %d bounds, want %d", len(c.bounds),
			len(c.leaf.p.f.Bounds))
	}
	for k, vs := range c.leaf.p.f.Bounds {
		for side, v := range vs {
			if v != nil {
				c.vars[v] = ir.Int(c.bounds[k][side])
			}
		}
	}
	if v := c.leaf.p.f.Threads; v != nil {
		c.vars[v] = ir.Int(int64(c.env.Threads))
	}
	return nil
}

// scalarOf returns the integer of t that slot s selects: the size, the offset or the end of a
// level, or the number of values.
func scalarOf(t *tcs.Tensor, s ir.Slot) int64 {
	switch s.Field {
	case ir.Size:
		return t.Levels[s.Level].Size
	case ir.Offset:
		return t.Levels[s.Level].Offset
	case ir.End:
		return t.Levels[s.Level].Crd.First + t.Levels[s.Level].Crd.Len
	}
	return t.Vals.Len
}

// bindArray assigns an array to a parameter. Parameters that share one array on the host also share
// it on the device.
func (c *call) bindArray(a *ir.Array, s ir.Slot, from *tcs.Array) error {
	if from.Ptr != nil && from.Len > 0 && int64(from.Width) != a.Elem.Size() {
		return fmt.Errorf("BUG: cuda: %s has elements of %d bytes, want %s", s, from.Width, a.Elem)
	}
	for _, b := range c.blocks {
		if b.host != nil && b.host == from.Ptr && b.n == from.Len && b.elem == a.Elem &&
			b.first == from.First {
			c.blocks[a] = b
			b.fresh = false // an operand also uses it
			return nil
		}
	}
	b := &block{name: a.Name, elem: a.Elem, n: from.Len, first: from.First, host: from.Ptr}
	if from.Ptr == nil {
		b.n = 0
	}
	b.fresh = c.leaf.p.fresh && s.Arg == 0 && s.Field == ir.Vals
	c.blocks[a] = b
	c.arguments = append(c.arguments, b)
	return nil
}

// reach brings a block to the device if it is not there yet. It copies the contents of the block. A
// fresh block has undefined contents, which are copied only if the block is a part of a larger
// resident array.
func (c *call) reach(b *block) error {
	if b.at != 0 || b.n == 0 {
		return nil
	}
	if b.host == nil {
		return fmt.Errorf("BUG: cuda: %s is used before it is allocated", b.name)
	}
	at, kept, err := c.leaf.store.use(b.host, b.bytes(), b.fresh, c.what())
	if err != nil {
		return err
	}
	if kept != nil {
		b.at, b.resident = at, kept
		return nil
	}
	// a resident array may overlap it
	if err := c.leaf.store.syncHost(b.host, b.bytes()); err != nil {
		return err
	}
	if b.at, err = c.leaf.dev.alloc(b.bytes(), c.what()); err != nil {
		return err
	}
	if b.fresh {
		return nil
	}
	return c.leaf.store.upload(b.at, b.host, b.bytes())
}

// load returns the value of an element. It reads the host's copy of the array if that is up to
// date.
func (c *call) load(a *ir.Array, index int64) (*ir.Lit, error) {
	b := c.blocks[a]
	if b == nil {
		return nil, fmt.Errorf("BUG: cuda: %s is read before it is allocated", a.Name)
	}
	i := index - b.first
	if i < 0 || i >= b.n {
		return nil, fmt.Errorf("BUG: cuda: %s[%d] is out of bounds [%d, %d)", a.Name, index,
			b.first, b.first+b.n)
	}
	off := i * b.elem.Size()
	if b.host != nil && !b.stale && !c.leaf.store.newer(b.host, b.bytes()) {
		return readScalar(unsafe.Add(b.host, off), b.elem), nil
	}
	if err := c.reach(b); err != nil {
		return nil, err
	}
	if err := c.stopTimer(); err != nil {
		return nil, err
	}
	var s slot
	if err := c.leaf.dev.download(unsafe.Pointer(&s), b.at+pointer(off),
		b.elem.Size()); err != nil {
		return nil, err
	}
	return readScalar(unsafe.Pointer(&s), b.elem), nil
}

// storeElement stores an element.
func (c *call) storeElement(b *block, index int64, l *ir.Lit) error {
	if err := c.reach(b); err != nil {
		return err
	}
	at, bytes, err := b.span(index, index+1)
	if err != nil {
		return err
	}
	// Uploads do not wait for kernels, which may still use this memory.
	if err := c.settle(); err != nil {
		return err
	}
	b.stale = true
	s := slotOf(ir.Convert(b.elem, l).(*ir.Lit))
	return c.leaf.dev.upload(at, unsafe.Pointer(&s), bytes)
}
