package prepared

import (
	"distaff/io/tcs"
	"distaff/kernels"
)

// whole is the call of the leaf of a statement on whole tensors, whose arguments and ranges
// are the same at every run.
type whole struct {
	args   []*tcs.Tensor // but the result
	all    []*tcs.Tensor // room for the result, and args
	made   []*tcs.Tensor // conversions among args
	bounds [][2]int64
	env    kernels.Env
}

// smallWork is the number of entries, of all tensors of a statement together, below which its leaf
// runs on one thread: waking another takes longer than what it would do. No bit of a result
// depends on the number of threads.
const smallWork = 1 << 15

// bind brings the operands of a statement on whole tensors into the form in which its
// leaf reads them, once for all runs.
func (k *Statement) bind() error {
	if k.bound != nil {
		return nil
	}
	var blocks []*tcs.Tensor
	work := int64(0)
	for _, own := range k.exec.Own {
		blocks = append(blocks, own[0])
		work += own[0].Vals.Len
	}
	s := k.leaves[0]
	args, made, err := s.arguments(k.given(blocks))
	if err != nil {
		return err
	}
	env := s.env()
	if k.o.Locked {
		if s.unit.Result.Format.AllDense() {
			n := int64(1)
			for _, d := range s.dims {
				n *= d
			}
			work += n
		}
		if work < smallWork {
			env.Threads = 1
		}
	}
	k.bound = &whole{args: args, all: append([]*tcs.Tensor{nil}, args...), made: made, bounds: s.bounds(nil), env: env}
	return nil
}

// unbind forgets the call.
func (k *Statement) unbind() {
	if k.bound == nil {
		return
	}
	for _, t := range k.bound.made {
		t.Close()
	}
	k.bound = nil
}

// ComputeWhole runs the leaf of a statement on whole tensors once. It writes over into, a
// former result with dense levels alone, or, of a leaf that works in place, the result's old value; or it
// makes a tensor, which the caller closes: always where into is nil, or shares memory
// with another operand. After an error what into holds is undefined.
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
	if into != nil && !s.apart(into, w.args) {
		into = nil
	}
	t := into
	if t == nil {
		var err error
		if t, err = s.resultOver(w.args, nil, false); err != nil {
			return nil, err
		}
	}
	w.all[0] = t
	err := s.called(s.leaf.Call(k.Ctx, w.all, w.bounds, w.env))
	w.all[0] = nil
	if into != nil {
		return t, err
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	t.Trust()
	return s.finish(t)
}
