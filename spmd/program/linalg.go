package program

import (
	"slices"
	"unsafe"

	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/lapack"
	"distaff/spmd/fault"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/store"
)

// Linalg is a function of whole matrices with the names of its results and operands.
type Linalg struct {
	Func    string
	Out, In []string
	// Shapes returns the sizes of the results for the operands' sizes, and Types the types of
	// results without a declared type.
	Shapes func(in [][]int64) ([][]int64, error)
	Types  func(in []tensor.Type) []tensor.Type
	// Residual, if not nil, makes rank 0 test whether the results fit the operands. It receives the
	// relative residual, and the largest residual that rounding explains.
	Residual func(got, most float64)
}

// Whole returns where the operand of a function of whole matrices must be. Rank 0 has the whole
// operand, with dense levels, as float64 or complex128. dims has the sizes of the operand, and typ is
// its type.
func Whole(dims []int64, typ tensor.Type, ranks int) *load.Target {
	typ = map[bool]tensor.Type{true: tensor.Complex128, false: tensor.Float64}[typ.IsComplex()]
	return &load.Target{Partition: partition.Evenly(dims, -1, ranks),
		Spec: coo.Spec{Format: tensor.DenseOf(len(dims)), Dims: dims, Type: typ}}
}

// LinalgMemory returns an upper bound of the bytes that rank 0 needs to compute a function of whole
// matrices, besides the operands. dims has the sizes of the operands.
func LinalgMemory(typ tensor.Type, dims ...[]int64) int64 {
	return lapack.Work(map[bool]int64{true: 16, false: 8}[typ.IsComplex()], dims...)
}

// AtRoot describes a dense tensor whose only block is at rank 0. own is the block. It is nil at
// other ranks, and if only the place matters.
func AtRoot(dims []int64, typ tensor.Type, f tensor.Format, own *tcs.Tensor) *input.Held {
	b := &store.Blocks{Layout: tensor.Layout{Dims: slices.Clone(dims), Type: typ, Format: f},
		Owners: []int{0}, Own: map[int]*tcs.Tensor{}}
	box := make([][2]int64, len(dims))
	entries := int64(1)
	for m, n := range dims {
		box[m], entries = [2]int64{0, n}, entries*n
	}
	b.Boxes = [][][2]int64{box}
	if own != nil {
		b.Own[0] = own
	}
	return &input.Held{Blocks: b, Entries: entries, AsIs: true}
}

// Linalg computes a function of whole matrices at rank 0. It assigns the results, which stay there.
// Every rank must call it.
func (p *Program) Linalg(f Linalg) error {
	if err := p.usable(); err != nil {
		return err
	}
	var shapes [][]int64
	var types []tensor.Type
	var operands []*tcs.Tensor // at rank 0
	defer func() {
		for _, t := range operands {
			t.Close()
		}
	}()
	for _, name := range f.In {
		t, err := p.lentTensor(name)
		if err != nil {
			return err
		}
		b := t.held.Blocks
		shapes, types = append(shapes, b.Layout.Dims), append(types, b.Layout.Type)
	}
	out, err := f.Shapes(shapes)
	if err != nil {
		return err
	}
	results, err := p.resultsOf(f, out, f.Types(types))
	if err != nil {
		return err
	}
	common := tensor.Common(types)
	for k, name := range f.In {
		own, err := p.atRoot(p.tensors[name], Whole(shapes[k], common, p.Ranks()))
		if err != nil {
			return p.failed(err)
		}
		if own != nil {
			operands = append(operands, own)
		}
	}
	var done struct{}
	err = Shared(p, &done, func() error {
		return p.compute(f, LinalgMemory(common, shapes...), operands, results)
	})
	if err != nil {
		return err
	}
	for k, h := range results {
		t := p.tensors[f.Out[k]]
		if t == nil {
			t = &programTensor{env: p.env, name: f.Out[k]}
			p.tensors[f.Out[k]] = t
		}
		p.replace(t, h)
	}
	return nil
}

// resultsOf describes the results of a function of whole matrices, without their blocks. dims and
// types have the sizes and the types of results without a declared type.
func (p *Program) resultsOf(f Linalg, dims [][]int64, types []tensor.Type) ([]*input.Held, error) {
	var list []*input.Held
	for k, name := range f.Out {
		format, typ := tensor.DenseOf(len(dims[k])), types[k]
		if t := p.tensors[name]; t != nil {
			if s := t.format(); s != "" {
				_, given, err := notation.ParseFormatFlag(name + ":" + s)
				if err != nil {
					return nil, err
				}
				if given.AllDense() {
					format = given
				}
			}
			if s := t.typ(); s != "" {
				given, err := notation.ParseType(s)
				if err != nil {
					return nil, err
				}
				typ = given
			}
			for m, n := range t.how.Sizes {
				if n != -1 && n != dims[k][m] {
					return nil, fault.Commandf("got size %d for mode %d of %s, but %s has %d there", n, m,
						name, f.Func, dims[k][m])
				}
			}
		}
		list = append(list, AtRoot(dims[k], typ, format, nil))
	}
	return list, nil
}

// atRoot moves a tensor to the only block of target g, and returns the block at rank 0, and nil at
// other ranks. The tensor also stays where it is.
func (p *Program) atRoot(t *programTensor, g *load.Target) (*tcs.Tensor, error) {
	g.Spec.Name, g.Cfg = t.name, p.env.Config()
	h := *t.held
	b := h.Blocks
	h.AsIs = h.AsIs && b.Layout.Type == g.Spec.Type && b.Layout.Format.Equal(g.Spec.Format)
	own, _, err := p.redistributed(g, &h)
	if err != nil {
		return nil, err
	}
	return own[plan.Block(0)], nil
}

// compute computes a function of whole matrices at rank 0, and stores the results in results. memory
// is the number of bytes that it may need.
func (p *Program) compute(f Linalg, memory int64, operands []*tcs.Tensor,
	results []*input.Held) error {
	if err := p.env.Limit.Reserve(memory, f.Func+" of whole matrices"); err != nil {
		return err
	}
	defer p.env.Limit.Release(memory)
	var in []lapack.Array
	for _, t := range operands {
		in = append(in, arrayOf(t))
	}
	out, err := lapack.Call(f.Func, in)
	if err != nil {
		return err
	}
	for k, h := range results {
		b := h.Blocks
		t, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: b.Layout.Dims, Type: b.Layout.Type},
			Format: b.Layout.Format}, p.env.Limit, f.Out[k])
		if err != nil {
			return err
		}
		b.Own[0] = t
		storeArray(t, out[k])
	}
	if f.Residual != nil {
		most, size := 1e-13, 1.0
		for k, h := range results {
			out[k] = arrayOf(h.Blocks.Own[0])
			if t := h.Blocks.Layout.Type; t == tensor.Float32 || t == tensor.Complex64 {
				most = 1e-6
			}
		}
		for _, a := range in {
			for _, n := range a.Dims {
				size = max(size, float64(n))
			}
		}
		f.Residual(lapack.Residual(f.Func, in, out), most*size)
	}
	return nil
}

// arrayOf returns the values of a dense tensor in row-major order.
func arrayOf(t *tcs.Tensor) lapack.Array {
	a := lapack.Array{}
	n := 1
	for _, d := range t.Header.Dims {
		a.Dims, n = append(a.Dims, int(d)), n*int(d)
	}
	typ := t.Header.Type
	isComplex := typ.IsComplex()
	at := positions(t)
	for k := range n {
		v := typ.Load(unsafe.Add(t.Vals.Ptr, at(k)*typ.Size()))
		if isComplex {
			a.Complex = append(a.Complex, v.C)
		} else {
			a.Real = append(a.Real, real(v.C))
		}
	}
	return a
}

// storeArray stores the values of a in the dense tensor t.
func storeArray(t *tcs.Tensor, a lapack.Array) {
	typ := t.Header.Type
	at := positions(t)
	for k := range max(len(a.Real), len(a.Complex)) {
		v := tensor.Value{Type: typ}
		if a.Complex != nil {
			v.C = a.Complex[k]
		} else {
			v.C = complex(a.Real[k], 0)
		}
		typ.Store(unsafe.Add(t.Vals.Ptr, at(k)*typ.Size()), v)
	}
}

// positions returns a function that maps the row-major position of a value in a dense tensor of at
// most two modes to its position in memory.
func positions(t *tcs.Tensor) func(k int) int64 {
	dims := t.Header.Dims
	if order := t.Format().Order; len(dims) < 2 || order[0] == 0 {
		return func(k int) int64 { return int64(k) }
	}
	return func(k int) int64 {
		i, j := int64(k)/dims[1], int64(k)%dims[1]
		return j*dims[0] + i
	}
}
