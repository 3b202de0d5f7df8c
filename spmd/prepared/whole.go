package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/kernels"
)

// whole is the leaf call of a statement that makes one call at this rank. Its arguments and ranges
// are the same in every run.
type whole struct {
	args []*tcs.Tensor // without the result
	all  []*tcs.Tensor // the result, which is set for each call, and args
	made conversions   // the conversions among args
	// by operand: its place in args; -1 if a conversion is in its place, or if it is not read
	at     []int
	ready  bool // whether args are set
	bounds [][2]int64
	box    [][2]int64 // box of the result; nil means the whole tensor
	env    kernels.Env
}

// smallWork limits work on one thread. A leaf call over fewer coordinates than smallWork, or a
// statement whose tensors together have fewer entries, uses one thread, because waking another one
// would take longer than its work. The number of threads does not affect any bit of a result.
const smallWork = 1 << 15

// bind converts the operands of the one call to the formats that its leaf reads. It does so once
// for all runs.
func (k *Statement) bind() error {
	w, blocks := k.bound, k.blocksOfCall
	if w != nil && w.ready {
		return nil
	}
	if w == nil {
		var err error
		if w, err = k.newCall(blocks()); err != nil {
			return err
		}
		if err = k.leaves[0].refuseEndless(w.args, w.bounds); err != nil {
			for _, t := range w.made.made {
				if t != nil {
					k.Reader.Env.Forget(t)
				}
			}
			w.made.close()
			return err
		}
		k.bound = w
	} else {
		for n, t := range blocks() {
			if at := w.at[n]; at >= 0 {
				w.args[at], w.all[at+1] = t, t
			}
		}
	}
	w.env.Threads = min(k.leaves[0].env(w.bounds).Threads, k.threads(w.box))
	w.ready = true
	return nil
}

// newCall returns the call on the given blocks. blocks has an element for each operand, which is
// nil if the call does not read the operand.
func (k *Statement) newCall(blocks []*tcs.Tensor) (*whole, error) {
	s := k.leaves[0]
	w := &whole{at: make([]int, len(blocks))}
	var err error
	if w.args, err = w.made.arguments(s, k.byName(blocks)); err != nil {
		w.made.close()
		return nil, err
	}
	w.all = append([]*tcs.Tensor{nil}, w.args...)
	for _, t := range w.made.made {
		if t != nil {
			k.Reader.Env.Keep(t)
		}
	}
	for n, t := range blocks {
		w.at[n] = -1
		if t != nil {
			w.at[n] = slices.Index(w.args, t)
		}
	}
	if k.near == nil {
		w.bounds = s.bounds(nil)
	} else {
		w.bounds, w.box = s.bounds(k.ranges(k.near.step)), k.near.box()
	}
	w.env = s.env(w.bounds)
	return w, nil
}

// threads returns the number of threads for the call. box is the box of its result; nil means the
// whole tensor.
func (k *Statement) threads(box [][2]int64) int {
	if !k.o.Locked {
		return k.Reader.Env.Threads
	}
	work, s := int64(0), k.leaves[0]
	for _, t := range k.bound.args {
		work += t.Vals.Len
	}
	if s.unit.Result.Format.AllDense() {
		n := int64(1)
		for m, d := range s.dims {
			if box != nil {
				d = box[m][1] - box[m][0]
			}
			n *= d
		}
		work += n
	}
	if work < smallWork {
		return 1
	}
	return k.Reader.Env.Threads
}

// blocksOfCall returns the blocks that the one call reads, by operand. The block of an operand that
// it does not read is nil.
func (k *Statement) blocksOfCall() []*tcs.Tensor {
	if k.near != nil {
		return k.near.blocks(k)
	}
	var blocks []*tcs.Tensor
	for _, own := range k.exec.Own {
		blocks = append(blocks, own[0])
	}
	return blocks
}

// unbind releases the operands of the call, which other tensors will replace.
func (k *Statement) unbind() {
	w := k.bound
	if w == nil {
		return
	}
	if w.ready = false; !w.made.any() {
		clear(w.args)
		clear(w.all)
		return
	}
	w.made.close()
	k.bound = nil
}

// ComputeWhole runs the one call of a statement on whole tensors. If into is not nil and can be
// used, it writes over into and returns it. into can be a former result that is dense or shares an
// operand's level arrays as a new result would. If the leaf works in place, it can be the result's
// old value. It cannot be used if its values share memory with another operand, or if it has a
// pattern of its own. Then, or if into is nil, ComputeWhole makes a new tensor. The caller calls
// env.Env.Forget on the new tensor, which may be kept, and then closes it. After an error the
// contents of into are undefined.
func (k *Statement) ComputeWhole(into *tcs.Tensor) (*tcs.Tensor, error) {
	if k.into != nil {
		return k.into.run(k)
	}
	if k.needsNarrowing() {
		blocks, err := k.Compute()
		return blocks[0], err
	}
	if err := k.bind(); err != nil {
		return nil, err
	}
	s, w := k.leaves[0], k.bound
	if into != nil && !(s.sharesNoMemory(into, w.args) && s.hasLevels(into, w.args)) {
		into = nil
	}
	if into != nil {
		w.all[0] = into
		copy(w.all[1:], w.args)
	} else if err := s.resultOver(w.all, w.args, nil, false); err != nil {
		return nil, err
	}
	t := w.all[0]
	if k.isOnlyWriter() {
		if into == nil {
			k.Reader.Env.KeepIn(t, k.Memory(k.p.Result))
		}
		k.leaveValues(t)
	}
	err := s.userError(s.leaf.Call(k.Reader.Env.Ctx, w.all, w.bounds, w.env))
	w.all[0] = nil
	if into != nil {
		return t, err
	}
	if err != nil {
		k.Reader.Env.Forget(t)
		t.Close()
		return nil, err
	}
	t.Trust()
	return s.finish(t)
}
