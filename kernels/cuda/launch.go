package cuda

import (
	"fmt"
	"unsafe"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
)

// launch starts a kernel. If its threads may fail, launch waits for it, because the statements
// after it assume that no thread failed.
func (c *call) launch(s *ir.Launch) error {
	grid, err := c.vars.int(s.Grid, c)
	if err != nil || grid <= 0 {
		return err
	}
	k := c.leaf.p.kernels[s]
	params := make([]slot, 0, len(k.Arrays)+len(k.Vars)+1)
	for _, a := range k.Arrays {
		b, err := c.block(a)
		if err != nil {
			return err
		}
		if err := c.reach(b); err != nil {
			return err
		}
		params = append(params, slot{uint64(b.base())})
	}
	for _, v := range k.Vars {
		l := c.vars[v]
		if l == nil {
			return fmt.Errorf("BUG: cuda: variable %s of kernel %s has no value", v.Name, k.Name)
		}
		params = append(params, slotOf(l))
	}
	if k.Fails {
		if err := c.readyStatus(); err != nil {
			return err
		}
		params = append(params, slot{uint64(c.status)})
	}
	if err := c.startTimer(); err != nil {
		return err
	}
	for _, a := range k.Arrays {
		if b := c.blocks[a]; k.Stores[a] {
			b.stale = true
		}
	}
	l := launch{module: c.leaf.module, kernel: k.Name, grid: grid, threads: s.Threads,
		shared: k.SharedBytes, params: params, what: c.statement()}
	if err := c.leaf.dev.launch(l); err != nil || !k.Fails {
		return err
	}
	return c.readStatus()
}

type launch struct {
	module  module
	kernel  string
	grid    int64 // number of blocks, at least 1
	threads int64 // threads per block
	shared  int64 // bytes of dynamic shared memory, which the kernel does not declare itself
	params  []slot
	what    string // the statement
}

// readyStatus ensures that the call has a status word on the device, and that the word reports no
// failure. The threads of a kernel report a failure there.
func (c *call) readyStatus() error {
	if c.status != 0 {
		return nil
	}
	at, err := c.leaf.dev.alloc(emitcuda.StatusSize, c.what())
	if err != nil {
		return err
	}
	c.status = at
	return c.leaf.dev.set(at, 0, emitcuda.StatusSize)
}

// readStatus returns the error of a thread that failed, or nil.
func (c *call) readStatus() error {
	if err := c.settle(); err != nil {
		return err
	}
	var word [emitcuda.StatusSize / 8]uint64
	p := unsafe.Pointer(&word)
	if err := c.leaf.dev.download(p, c.status, emitcuda.StatusSize); err != nil {
		return err
	}
	code := ir.FailCode(*(*int32)(p))
	if code == ir.OK {
		return nil
	}
	n := min(max(int(*(*int32)(unsafe.Add(p, emitcuda.StatusCount))), 0), ir.MaxFailCoord)
	coord := make([]int64, n)
	for k := range coord {
		coord[k] = int64(word[emitcuda.StatusCoord/8+k])
	}
	return c.failure(code, coord)
}

// fill sets a range of an array to a value. If all bytes of the value are equal, the device's own
// memory set does it; otherwise a kernel does.
func (c *call) fill(s *ir.Fill) error {
	b, err := c.block(s.A)
	if err != nil {
		return err
	}
	v, err := c.ints(s.Lo, s.Hi)
	if err != nil || v[0] >= v[1] {
		return err
	}
	x, err := c.vars.eval(s.X, c)
	if err != nil {
		return err
	}
	if err := c.reach(b); err != nil {
		return err
	}
	at, bytes, err := b.span(v[0], v[1])
	if err != nil {
		return err
	}
	b.stale = true
	elem := slotOf(ir.Convert(b.elem, x).(*ir.Lit))
	if same, ok := sameBytes(unsafe.Slice((*byte)(unsafe.Pointer(&elem)), b.elem.Size())); ok {
		if err := c.startTimer(); err != nil {
			return err
		}
		return c.leaf.dev.set(at, same, bytes)
	}
	return c.prelude(emitcuda.Fill(b.elem, v[1]-v[0]), at, v[1]-v[0], b.elem.Size(), elem)
}

// scan replaces elements by their prefix sums.
func (c *call) scan(s *ir.Scan) error {
	b, err := c.block(s.A)
	if err != nil {
		return err
	}
	v, err := c.ints(s.Lo, s.Hi)
	if err != nil || v[0] >= v[1] {
		return err
	}
	if err := c.reach(b); err != nil {
		return err
	}
	at, _, err := b.span(v[0], v[1])
	if err != nil {
		return err
	}
	b.stale = true
	return c.prelude(emitcuda.Scan(b.elem, v[1]-v[0]), at, v[1]-v[0], b.elem.Size(), slot{})
}

// prelude launches the kernels that builtin lists, for example to fill an array. All leaves share
// these kernels. They work on an array of n elements that starts at the given device address. size
// is the size of an element in bytes. value is the value of a fill.
func (c *call) prelude(builtin emitcuda.Call, at pointer, n, size int64, value slot) error {
	var sums pointer
	if builtin.Sums > 0 {
		var err error
		if sums, err = c.alloc(builtin.Sums, size); err != nil {
			return err
		}
		defer c.leaf.dev.free(sums)
	}
	if err := c.startTimer(); err != nil {
		return err
	}
	for _, step := range builtin.Steps {
		l := launch{module: c.leaf.shared, kernel: step.Kernel, grid: step.Grid,
			threads: step.Threads,
			what:    c.statement()}
		for _, a := range step.Args {
			l.params = append(l.params, map[emitcuda.ArgKind]slot{
				emitcuda.ArgArray: {uint64(at)}, emitcuda.ArgLength: {uint64(n)},
				emitcuda.ArgValue: value,
				emitcuda.ArgSums:  {uint64(sums)}, emitcuda.ArgBlocks: {uint64(builtin.Sums)},
			}[a])
		}
		if err := c.leaf.dev.launch(l); err != nil {
			return err
		}
	}
	return nil
}

// sameBytes returns the byte that all bytes of b are equal to. It returns false if they differ.
func sameBytes(b []byte) (byte, bool) {
	for _, x := range b {
		if x != b[0] {
			return 0, false
		}
	}
	return b[0], true
}
