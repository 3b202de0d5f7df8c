package prepared

import (
	"slices"

	"distaff/io/tcs"
	"distaff/kernels"
)

// whole is the call of the leaf of a statement on whole tensors, or of the one step of a
// rank, whose arguments and ranges are the same at every run.
type whole struct {
	args []*tcs.Tensor // but the result
	all  []*tcs.Tensor // room for the result, and args
	made conversions   // among args
	// by operand, where it is in args; -1 where a conversion is, or it is not read
	at     []int
	ready  bool // args are there
	bounds [][2]int64
	box    [][2]int64 // of the result; nil for the whole
	env    kernels.Env
}

// smallWork is the number of coordinates of a call of a leaf, and of entries of all tensors of a
// statement together, below which the leaf runs on one thread: waking another takes longer than
// what it would do. No bit of a result depends on the number of threads.
const smallWork = 1 << 15

// bind brings the operands of the one call into the form in which its leaf reads them, once for
// all runs.
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
		if err = k.leaves[0].endless(w.args, w.bounds); err != nil {
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

// newCall is the call on these blocks.
func (k *Statement) newCall(blocks []*tcs.Tensor) (*whole, error) {
	s := k.leaves[0]
	w := &whole{at: make([]int, len(blocks))}
	var err error
	if w.args, err = w.made.arguments(s, k.given(blocks)); err != nil {
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

// threads are those of the call, whose result has that box, nil for the whole.
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

// blocksOfCall are the blocks that the one call of a leaf reads, by operand; nil for those that
// it does not.
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

// unbind lets go of the call's operands, which others take the place of.
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

// ComputeWhole runs the leaf of a statement on whole tensors once. It writes over into, a former
// result with dense levels alone or with the level arrays that the leaf's result has from an
// operand, or, of a leaf that works in place, the result's old value; or it makes a tensor, which
// the caller closes: always where into is nil, shares memory of values with another operand, or has
// a pattern of its own. What it makes may be kept: the caller forgets it (env.Env.Forget) before it
// is closed. After an error what into holds is undefined.
func (k *Statement) ComputeWhole(into *tcs.Tensor) (*tcs.Tensor, error) {
	if k.into != nil {
		return k.into.run(k)
	}
	if k.narrows() {
		blocks, err := k.Compute()
		return blocks[0], err
	}
	if err := k.bind(); err != nil {
		return nil, err
	}
	s, w := k.leaves[0], k.bound
	if into != nil && !(s.apart(into, w.args) && s.hasLevels(into, w.args)) {
		into = nil
	}
	if into != nil {
		w.all[0] = into
		copy(w.all[1:], w.args)
	} else if err := s.resultOver(w.all, w.args, nil, false); err != nil {
		return nil, err
	}
	t := w.all[0]
	if k.still() {
		if into == nil {
			k.Reader.Env.KeepIn(t, k.Memory(k.p.Result))
		}
		k.leave(t)
	}
	err := s.called(s.leaf.Call(k.Reader.Env.Ctx, w.all, w.bounds, w.env))
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
