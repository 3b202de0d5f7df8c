package spmd

import (
	"context"
	"io"
	"math"

	"distaff/codegen/reference"
	"distaff/io/coo"
	"distaff/io/tcs"
)

// problem is the job as the reference evaluator takes it: every operand as
// coordinates in memory.
func (r *run) problem() (reference.Problem, error) {
	p := reference.Problem{
		Normal: r.p.norm, Sizes: r.sizes.Vars, Compute: r.compute, Result: r.types[r.p.result],
		Tensors: map[string]*reference.Tensor{},
	}
	for name, s := range r.sources {
		t := r.tensors[s.name]
		if t.Vals.Len > math.MaxInt32 {
			return p, runErrorf("%s has %s: the reference evaluator takes at most %d", name, plural(t.Vals.Len, "value"), math.MaxInt32)
		}
		// The evaluator keeps its own copy outside the limit's allocator.
		need := t.Vals.Len * int64(8*t.Order()+16)
		if max := r.limit.Max(); max > 0 && need > max-r.limit.Used() {
			return p, memoryErrorf("the reference evaluator's copy of %s takes %s; with %s in use that passes the memory limit of %s (--memory-limit)",
				name, tcs.Size(need), tcs.Size(r.limit.Used()), tcs.Size(max))
		}
		p.Tensors[name] = referenceTensor(t)
	}
	return p, nil
}

func referenceTensor(t *tcs.Tensor) *reference.Tensor {
	out := reference.NewTensor(dataType(t.Type), t.Dims...)
	t.Entries(func(coord []int64, i int64) bool {
		v := t.Value(i)
		out.Append(coord, reference.Value{I: v.I, C: v.C})
		return true
	})
	return out.Finish()
}

// interpreted computes by the reference evaluator: right, and slow.
type interpreted struct {
	r *run
	e *reference.Evaluator
}

func (r *run) interpret() (engine, error) {
	p, err := r.problem()
	if err != nil {
		return nil, err
	}
	return &interpreted{r, reference.New(p)}, nil
}

func (e *interpreted) compiler() string { return "reference" }
func (e *interpreted) close()           {}

func (e *interpreted) run(ctx context.Context) (*tcs.Tensor, error) {
	r := e.r
	out, _, err := e.e.All(ctx)
	if err != nil {
		return nil, err
	}
	typ := tcsType(r.types[r.p.result])
	f := r.formats[r.p.result]
	if out.Len() == 0 && len(out.Dims) == 0 {
		return tcs.Scalar(tcs.Value{Type: typ}), nil
	}
	spec := coo.Spec{Kinds: f.Letters(), Modes: f.Order, Dims: r.sizes.Dims[r.p.result], Type: typ, Name: r.p.result}
	return coo.Assemble(&referenceStream{t: out, typ: typ}, spec, r.config())
}

// referenceStream is an evaluated tensor's entries.
type referenceStream struct {
	t   *reference.Tensor
	typ tcs.Type
	at  int
}

func (s *referenceStream) Dims() ([]int64, bool) { return s.t.Dims, true }
func (s *referenceStream) Type() tcs.Type        { return s.typ }
func (s *referenceStream) Rewind() error         { s.at = 0; return nil }
func (s *referenceStream) Close() error          { return nil }

func (s *referenceStream) Next(b *coo.Batch) error {
	n := min(s.t.Len()-s.at, coo.BatchSize)
	if n == 0 {
		return io.EOF
	}
	size := s.typ.Size()
	b.Resize(len(s.t.Dims), n, size)
	coord := make([]int64, len(s.t.Dims))
	for k := range n {
		s.t.Coord(s.at+k, coord)
		for m, c := range coord {
			b.Coords[m][k] = c
		}
		storeValue(b.Vals[k*size:], tcsValue(s.typ, s.t.Value(s.at+k)))
	}
	s.at += n
	return nil
}

func tcsValue(t tcs.Type, v reference.Value) tcs.Value { return tcs.Value{Type: t, I: v.I, C: v.C} }
