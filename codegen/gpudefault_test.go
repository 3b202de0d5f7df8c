package codegen_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
)

// TestGPUDefaults: the default schedules of a GPU have the forms that fit the statement's shape,
// and a reason for each choice. Given as a schedule, they make the same leaf.
func TestGPUDefaults(t *testing.T) {
	for text, want := range map[string][]string{
		"y(i)=A(i,j)*x(j)\nA:ds": {"fuse(i,j,f)", "split(fpos,block,tile,2048)",
			"split(tile_pre,load,lane,256)", "unroll(load,8)",
			"parallelize(tile,GPUThread,Atomics,Rows) a row of the tile"},
		"y(i)=A(i,j)*x(j)\nA:ss": {"pos(f,fpos,A(i,j))",
			"parallelize(tile,GPUThread,Atomics,Rows)"},
		"y(i)=A(i,j)*x(j)\nA:uc": {"split(fpos,block,fpos1,3584)",
			"split(fpos2,thread,thread_nz,7)", "parallelize(thread,GPUThread,Atomics)"},
		"y(i)=A(i,j)*x(j)+z(i)\nA:ds": {"pos(j,jpos,A(i,j))",
			"split(jpos,thread_nz,thread,32)", "parallelize(thread,GPUThread,ParallelReduction)"},
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=128": {"split(fpos1,warp,nz,128)", "unroll(dense_val,4)",
			"bound(dense_val_unbounded,dense_val,4,MaxExact) k has 128 coordinates",
			"parallelize(thread,GPUThread,Atomics)"},
		"C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=30": {"split(k,dense_val,thread,32)"},
		"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\nB:sss\nl=32": {"fuse(j,k,fj)", "fuse(i,fj,f)",
			"split(fpos1,warp,nz,128)", "parallelize(thread,GPUThread,Atomics)"},
		"A(i,j)=B(i,j)*C(i,k)*D(j,k)\nA:ds\nB:ds\nk=64": {"split(fpos1,warp,nz,64)", "unroll(nz,2)",
			"parallelize(warp,GPUWarp,NoRaces)", "parallelize(thread,GPUThread,ParallelReduction)"},
		"A(i,j)=B(i,j,k)*c(k)\nA:ss\nB:sss": {"pos(f,fpos,B(i,j,k))", "split(fpos1,thread,nz,1)",
			"parallelize(thread,GPUThread,NoRaces)"},
		"A(i,j)=B(i,j)+C(i,j)\nA:ds\nB:ds\nC:ds": {"assemble(A,Insert) entries are counted",
			"split(i,block,thread,256)", "parallelize(thread,GPUThread,NoRaces)"},
		"a=B(i,j)*C(i,j)\nB:ds": {
			"parallelize(block,GPUBlock,Atomics) one addition a block",
			"parallelize(thread,GPUThread,ParallelReduction)"},
		"a=x(i)*y(i)": {"split(inside,n,thread,256)",
			"reorder(block,thread,n)", "parallelize(thread,GPUThread,ParallelReduction)"},
		"C(i,k)=A(i,j)*B(j,k)\nk=15": {"reorder(i,k,j)", "fuse(i,k,fi)",
			"parallelize(thread,GPUThread,NoRaces)"},
		"C(i,k)=A(i,j)*B(j,k)\nk=16": {"substitute({j,i,k},gemm) a product of dense matrices"},
		"A(i,l)=B(i,j,k)*C(j,l)*D(k,l)\ni=1000\nj=500\nk=400\nl=64": {
			"precompute(C(j,l)*D(k,l),{j,k,l},{jw,kw,lw},factors) the small factors of B(i,j,k)",
			"substitute({j,k,i,l},gemm)", "parallelize(thread,GPUThread,NoRaces)"},
		"C(b,i,k)=A(b,i,j)*B(b,j,k)\nb=10": {
			"substitute({j,b,i,k},gemm) 10 products of dense matrices"},
		"A(i,k,l)=B(i,k,j)*C(j,l)\nl=64": {"substitute({j,i,k,l},gemm)"},
		"C(i,k)=D(i,k)-A(j,i)*B(k,j)": {"substitute({j,i,k},gemm)", "fuse(i,k,fi)",
			"parallelize(thread,GPUThread,NoRaces)"},
		"C(i,k)=A(i,j)*B(j,k)+S(i,j)*B(j,k)\nS:ds\nk=128": {"substitute({j,i,k},gemm)",
			"pos(f,fpos,S(i,j))", "parallelize(thread,GPUThread,Atomics)"},
		"C(i,k)=D(i,k)+A(i,j)*B(j,k)\nA:ds\nk=64": {"split(i,block,warp,16) a warp for each i",
			"bound(dense_val_unbounded,dense_val,2,MaxExact)", "parallelize(thread,GPUThread,NoRaces)"},
		"C(i,k)=D(i,k)+A(i,j)*B(j,k)\nA:ds\nk=4": {
			"split(i,block,thread,256) a thread for each i"},
		"C(i,k)=A(i,j)*B(j,k)+D(i,j)*E(k)\nA:ds\nD:ds": {"split(i,block,warp,16)",
			"split(k,dense_val_unbounded,thread,32)"},
		"y(i)=A(j,i)*x(j)+z(i)\nA:ds": {"pos(f,fpos,A(j,i))", "parallelize(thread,GPUThread,Atomics)",
			"parallelize(i,GPUBlock,NoRaces,256) each writes its own elements of y(i)"},
		"y(i)=A(j,i)*x(j)+z(i)\nA:dd": {"split(i,block,warp,16)",
			"parallelize(thread,GPUThread,ParallelReduction)"},
		"y(i)=A(j,i)*x(j)+B(i,k)*z(k)\nA:ds\nB:ss": {"pos(f,fpos,A(j,i))",
			"parallelize(i,GPUBlock,NoRaces,1024)"},
		"C(i,k)=A(j,i)*B(j,k)+D(i,k)\nA:ds\nk=64": {"split(fpos1,warp,nz,128)",
			"parallelize(thread,GPUThread,Atomics)", "parallelize(i,GPUBlock,NoRaces)"},
		"A(i,j)=B(k,i,l)*C(k,j)*D(l,j)+E(i,j)\nB:sss\nj=32": {"split(fpos1,warp,nz,128)",
			"parallelize(i,GPUBlock,NoRaces)"},
		"a=A(i,j)*x(j)+b\nA:ds": {
			"parallelize(block,GPUBlock,ParallelReduction) the sums of blocks are stored"},
		"y(i)=A(i,j)*x(j)": {"split(j,tile,thread,32)",
			"parallelize(warp,GPUWarp,NoRaces)"},
	} {
		r := large(t, text)
		r.Target.Kind = codegen.CUDA
		lines, err := codegen.Schedule(r)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, w := range want {
			command, why, _ := strings.Cut(w, ") ")
			command = strings.TrimSuffix(command, ")") + ")"
			if !slices.ContainsFunc(lines,
				func(l schedule.Line) bool {
					return l.Command == command &&
						strings.Contains(l.Why, why)
				}) {
				t.Errorf("%s: the schedule lacks %q:\n%s", text, w, schedule.Text(lines))
			}
		}
		u, err := codegen.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		q := r
		q.Ask.Schedule = []string{schedule.Text(lines)}
		v, err := codegen.Compile(q)
		if err != nil {
			t.Errorf("%s: given back: %v", text, err)
		} else if ir.Print(u.Func) != ir.Print(v.Func) {
			t.Errorf("%s: given back, the schedule makes another leaf:\n%s", text,
				schedule.Text(lines))
		}
	}
}

// TestGPUEvenRows checks that a product of a sparse and a dense matrix gives each row to a warp
// only if no row is much longer than the others.
func TestGPUEvenRows(t *testing.T) {
	for longest, want := range map[int64]string{0: "fuse(i,j,f)", 20: "split(i,block,warp,4)",
		160: "split(i,block,warp,4)", 161: "fuse(i,j,f)"} {
		r := large(t, "C(i,k)=A(i,j)*B(j,k)\nA:ds\nk=128")
		a := r.Tensors.All["A"]
		a.Longest = longest
		r.Tensors.All["A"], r.Target.Kind = a, codegen.CUDA
		lines, err := codegen.Schedule(r)
		if err != nil || lines[0].Command != want {
			t.Errorf("rows of at most %d entries: got %v, %v, want %s", longest, lines, err, want)
		}
	}
}

// TestGPUWithout: a statement without a default schedule for a GPU is refused with the reason and
// an alternative.
func TestGPUWithout(t *testing.T) {
	for text, want := range map[string]string{
		"C(j,k)=A(i,j)*B(i,k)\nC:ds\nA:ds\nB:ds": "C(j,k) (its format is ds) is written in order",
		"y(j)=A(i,j)*x(i)\ny:s\nA:ds":            "y(j) (its format is s) is written in order",
	} {
		r := large(t, text)
		r.Target.Kind = codegen.CUDA
		_, err := codegen.Compile(r)
		if err == nil || !strings.Contains(err.Error(), "a GPU has no default schedule") ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--target=cpu") {
			t.Errorf("%s: got %v, want a refusal that has %q", text, err, want)
		}
		r.Ask.FixedPattern = true
		if _, err := codegen.Compile(r); err == nil {
			t.Errorf("%s: values alone are compiled for a GPU", text)
		}
	}
}
