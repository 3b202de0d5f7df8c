package cuda

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"distaff/codegen"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/backendtest"
	"distaff/kernels/interpret"
)

// scheduled is a statement over tensors in the given formats, and dense ones otherwise.
type scheduled struct {
	name, src string
	levels    map[string]string
	sizes     map[string]int64
	density   float64
	schedule  string // commands, with spaces between them
	typ       tensor.Type
}

const spgemm = "C(i,k) = A(i,j) * B(j,k)"

var statements = []scheduled{
	{"SpMV, a row a thread", spmv, map[string]string{"A": "ds"},
		map[string]int64{"i": 700, "j": 300}, 0.03,
		"split(i,block,thread,256) parallelize(block,GPUBlock,NoRaces) " +
			"parallelize(thread,GPUThread,NoRaces)", tensor.Float64},
	{"SpMV, a row a warp", spmv, map[string]string{"A": "ds"}, map[string]int64{"i": 700, "j": 300},
		0.2,
		"split(i,block,block_row,256) split(block_row,warp_row,warp,16) pos(j,jpos,A(i,j)) " +
			"split(jpos,thread_nz,thread,32) reorder(block,warp,warp_row,thread,thread_nz) " +
			"parallelize(block,GPUBlock,IgnoreRaces) parallelize(warp,GPUWarp,IgnoreRaces) " +
			"parallelize(thread,GPUThread,Temporary)", tensor.Float64},
	{"SpMV, by non-zeros", spmv, map[string]string{"A": "ds"}, map[string]int64{"i": 500, "j": 300},
		0.05,
		"fuse(i,j,f) pos(f,fpos,A(i,j)) split(fpos,block,fpos1,3584) " +
			"split(fpos1,warp,fpos2,224) split(fpos2,thread,thread_nz,7) " +
			"reorder(block,warp,thread,thread_nz) " +
			"parallelize(block,GPUBlock,IgnoreRaces) parallelize(warp,GPUWarp,IgnoreRaces) " +
			"parallelize(thread,GPUThread,Atomics)", tensor.Float32},
	{"SpMM, by non-zeros", "C(i,k) = A(i,j) * B(j,k)", map[string]string{"A": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 128}, 0.1,
		"reorder(i,j,k) fuse(i,j,f) pos(f,fpos,A(i,j)) split(fpos,block,fpos1,256) " +
			"split(fpos1,warp,nnz,16) split(k,dense_val_unbounded,thread,32) " +
			"bound(dense_val_unbounded,dense_val,4,MaxExact) " +
			"reorder(block,warp,dense_val,thread,nnz) " +
			"parallelize(block,GPUBlock,IgnoreRaces) parallelize(warp,GPUWarp,IgnoreRaces) " +
			"parallelize(thread,GPUThread,Atomics)", tensor.Float64},
	{"SpAdd, two passes", "C(i,j) = A(i,j) + B(i,j)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds"}, map[string]int64{"i": 400, "j": 100},
		0.1, "", tensor.Float64},
	{"SpAdd of integers", "C(i,j) = A(i,j) + B(i,j)",
		map[string]string{"A": "ss", "B": "ds", "C": "ss"}, map[string]int64{"i": 400, "j": 100},
		0.02, "", tensor.Int64},
	{"SpAdd, rows of parts", "C(i,j) = A(i,j) - B(i,j)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds"}, map[string]int64{"i": 60, "j": 700},
		0.2, "assemble(C,Insert) split(i,block,warp,8) pos(j,jpos,A(i,j)) divide(jpos,thread,nz,32) " +
			"parallelize(block,GPUBlock,NoRaces) parallelize(warp,GPUWarp,NoRaces) " +
			"parallelize(thread,GPUThread,NoRaces)", tensor.Float64},
	{"SDDMM", "C(i,j) = A(i,j) * B(i,k) * D(k,j)", map[string]string{"A": "ds", "C": "ds"},
		map[string]int64{"i": 70, "j": 50, "k": 20}, 0.2, "", tensor.Float64},
	{"SpGEMM, small tables", spgemm, map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 150}, 0.03, "", tensor.Float64},
	{"SpGEMM, tables of all sizes", spgemm, map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		map[string]int64{"i": 40, "j": 150, "k": 400}, 0.15, "", tensor.Float64},
	{"SpGEMM, rows of thousands", spgemm, map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		map[string]int64{"i": 12, "j": 40, "k": 9000}, 0.15, "", tensor.Float64},
	{"SpGEMM, compressed rows", spgemm, map[string]string{"A": "ss", "B": "ss", "C": "ss"},
		map[string]int64{"i": 90, "j": 60, "k": 50}, 0.1, "", tensor.Int64},
	{"SpGEMM, a row a thread", spgemm, map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 50}, 0.1, "assemble(C,Insert) split(i,block,thread,64) " +
			"parallelize(block,GPUBlock,NoRaces) parallelize(thread,GPUThread,NoRaces)", tensor.Float32},
	{"SpGEMM and a sum", spgemm + " + D(i,k)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds", "D": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 50}, 0.1, "", tensor.Float64},
	{"SpGEMM, masked", "C(i,k) = D(i,k) * A(i,j) * B(j,k)",
		map[string]string{"A": "ds", "B": "ds", "C": "ds", "D": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 50}, 0.1, "assemble(C,Insert) split(i,block,warp,8) " +
			"parallelize(block,GPUBlock,NoRaces) parallelize(warp,GPUWarp,NoRaces)", tensor.Float64},
	{"SpGEMM of complex numbers", spgemm, map[string]string{"A": "ds", "B": "ds", "C": "ds"},
		map[string]int64{"i": 90, "j": 60, "k": 50}, 0.1, "", tensor.Complex128},
	{"tensor times matrix, a sparse workspace of two variables", "C(i,k,l) = A(i,j) * B(j,k,l)",
		map[string]string{"A": "ds", "B": "dss", "C": "dss"},
		map[string]int64{"i": 30, "j": 20, "k": 12, "l": 17}, 0.2, "", tensor.Float64},
	{"SpMV of complex numbers", spmv, map[string]string{"A": "ds"},
		map[string]int64{"i": 300, "j": 100}, 0.1, "", tensor.Complex128},
}

// TestStatements compares compiled statements and schedules with the interpreter, which runs the
// CPU's leaf of the same statement.
func TestStatements(t *testing.T) {
	each(t, func(t *testing.T, b *Backend) {
		for n, s := range statements {
			t.Run(s.name, func(t *testing.T) { s.check(t, b, uint64(n)) })
		}
	})
}

func (s scheduled) check(t *testing.T, b kernels.Backend, seed uint64) {
	data := map[string]*tcs.Tensor{}
	rng := rand.New(rand.NewPCG(seed, 7))
	plain := s.compile(t, codegen.CPU, nil)
	want := s.run(t, interpret.Backend{}, plain, s.operands(plain, data, rng))
	var commands []string
	if s.schedule != "" {
		commands = strings.Fields(s.schedule)
	}
	u := s.compile(t, codegen.CUDA, commands)
	got := s.run(t, b, u, s.operands(u, data, rng))
	same := len(got) == len(want)
	for k := 0; same && k < len(got); k++ {
		same = bytes.Equal(got[k], want[k])
	}
	if !same {
		t.Errorf("got %d bytes of arrays that differ from the interpreter's",
			len(bytes.Join(got, nil)))
	}
}

// compile compiles for a target.
func (s scheduled) compile(t *testing.T, target codegen.Kind, commands []string) *codegen.Unit {
	t.Helper()
	return backendtest.Compile(t, s.src, s.levels, s.typ,
		codegen.Request{Tensors: codegen.Tensors{Sizes: s.sizes},
			Target: codegen.Target{Kind: target},
			Ask:    codegen.Ask{Schedule: commands, Verify: true}})
}

// operands returns the arguments of a leaf without the result. Each name is made once.
func (s scheduled) operands(u *codegen.Unit, data map[string]*tcs.Tensor,
	rng *rand.Rand) []*tcs.Tensor {
	args := []*tcs.Tensor{nil}
	for _, a := range u.Args[1:] {
		if data[a.Tensor] == nil {
			data[a.Tensor] = s.random(u.Request.Tensors.All[a.Tensor], rng)
		}
		args = append(args, data[a.Tensor])
	}
	return args
}

// random returns a tensor of integers, so that sums do not depend on their order.
func (s scheduled) random(x codegen.Tensor, rng *rand.Rand) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: x.Dims, Type: s.typ}}
	n := int64(1) // positions
	for l, k := range x.Format.Levels {
		lev := tcs.Level{Kind: k, Mode: l, Size: x.Dims[l]}
		if k == tensor.Dense {
			n *= x.Dims[l]
		} else {
			pos, crd := []int32{0}, []int32{}
			for p := range n {
				for c := range x.Dims[l] {
					// Rows of all lengths, some of them empty.
					if p%5 != 3 && rng.Float64() < s.density*float64(1+p%11)/4 {
						crd = append(crd, int32(c))
					}
				}
				pos = append(pos, int32(len(crd)))
			}
			lev.Pos, lev.Crd = tcs.Of(pos), tcs.Of(crd)
			n = int64(len(crd))
		}
		t.Levels = append(t.Levels, lev)
	}
	t.Vals = s.values(n, func() int64 { return rng.Int64N(19) - 9 })
	return t
}

func (s scheduled) values(n int64, next func() int64) tcs.Array {
	switch s.typ {
	case tensor.Float32:
		return tcs.Of(made(n, func() float32 { return float32(next()) }))
	case tensor.Int64:
		return tcs.Of(made(n, next))
	case tensor.Complex128:
		return tcs.Of(made(n, func() complex128 {
			return complex(float64(next()),
				float64(next()))
		}))
	}
	return tcs.Of(made(n, func() float64 { return float64(next()) }))
}

func made[T any](n int64, next func() T) []T {
	v := make([]T, n)
	for k := range v {
		v[k] = next()
	}
	return v
}

// run calls the leaf of u twice and returns the bytes of the result's arrays.
func (s scheduled) run(t *testing.T, b kernels.Backend, u *codegen.Unit,
	args []*tcs.Tensor) [][]byte {
	t.Helper()
	leaf, err := b.Build(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	var bounds [][2]int64
	for _, v := range u.Vars {
		bounds = append(bounds, [2]int64{0, s.sizes[v]})
	}
	var out [][]byte
	for range 2 {
		args[0] = s.result(u, args)
		if err := leaf.Call(t.Context(), args, bounds,
			kernels.Env{Threads: 1, Vars: u.Vars, What: s.src}); err != nil {
			t.Fatal(err)
		}
		out = nil
		take := func(a tcs.Array) {
			bytes := a.Len * int64(a.Width)
			out = append(out, append([]byte(nil), unsafe.Slice((*byte)(a.Ptr), bytes)...))
		}
		for _, l := range args[0].Levels {
			if l.Pos.Ptr != nil {
				take(l.Pos)
				take(l.Crd)
			}
		}
		take(args[0].Vals)
	}
	return out
}

// result returns a leaf's result before the call.
func (s scheduled) result(u *codegen.Unit, args []*tcs.Tensor) *tcs.Tensor {
	wanted := u.Request.Tensors.All[u.Request.Statement.Stmt.LHS.Name]
	c := &tcs.Tensor{Header: tcs.Header{Dims: wanted.Dims, Type: s.typ},
		Vals: tcs.Array{Width: uint8(s.typ.Size())}}
	n := int64(1)
	for l, k := range u.Result.Format.Levels {
		lev := tcs.Level{Kind: k, Mode: l, Size: wanted.Dims[l]}
		if k != tensor.Dense {
			lev.Pos.Width, lev.Crd.Width = u.Result.PosWidth[l], u.Result.CrdWidth[l]
		}
		n *= wanted.Dims[l]
		c.Levels = append(c.Levels, lev)
	}
	share := u.Result.Shares
	if share >= 0 {
		copy(c.Levels, args[share].Levels)
		n = args[share].Vals.Len
	}
	if share >= 0 || u.Result.Format.AllDense() {
		c.Vals = s.values(n, func() int64 { return -99 }) // uninitialized memory
	}
	return c
}
