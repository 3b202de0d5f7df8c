package oracle

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// published contains schedules for CPUs that TACO's authors published for their kernels (source
// 004, appendix A, and the tests and documentation of TACO). Slashes separate alternative formats:
// the published ones and others that a user may have.
var published = []struct{ line, schedule string }{
	{"y(i) = A(i,j)*x(j); y:d A:ds/ss x:d",
		"split(i,i0,i1,2),reorder(i0,i1,j),parallelize(i0,CPUThread,NoRaces)"},
	{"y(i) = A(i,j)*x(j); y:d A:ds/ss x:d",
		"fuse(i,j,f),pos(f,p,A(i,j)),split(p,p0,p1,2),parallelize(p0,CPUThread,Atomics)"},
	{"y(i) = A(i,j)*x(j); y:d A:ds x:d", "precompute(A(i,j)*x(j),i,i,precomputed)"},
	{"y(j) = A(i,j,k)*x(k); y:d A:sss x:d", "parallelize(i,CPUThread,Atomics)"},
	// SpMV with the products of a tile of entries computed first.
	{"y(i) = A(i,j)*x(j); y:d A:ds/ss/uq x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,24),split(fpos1,warp,fpos2,12),split(fpos2,thread,thread_nz,3)," +
			"reorder(block,warp,thread,thread_nz),precompute(A(i,j)*x(j),thread_nz,thread_nz_pre,pc),unroll(thread_nz_pre,3),parallelize(block,CPUThread,Atomics)"},
	{"y(i) = A(i,j)*x(j)*z(i); y:d A:ds/ss x:d z:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,p0,p1,4),precompute(A(i,j)*x(j)*z(i),p1,pw,pc),workspace(pc,Positions),unroll(p1),parallelize(p0,CPUThread,Temporary)"},
	{"y(i) = B(i,j,k)*c(j)*d(k); y:d B:sss/dss/ucq c:d d:d",
		"fuse(j,k,jk),fuse(i,jk,f),pos(f,p,B),split(p,p0,p1,5),precompute(B(i,j,k)*d(k),p1,pw,pc),workspace(pc,Positions),unroll(pw,5)"},
	{"y(i) = A(i,j)*x(j); y:d A:ds/ss/uq x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,24),split(fpos1,warp,fpos2,12),precompute(A(i,j)*x(j),fpos2,fpos2_pre,pc)," +
			"split(fpos2,thread,thread_nz,3),split(fpos2_pre,t,lane,4),parallelize(block,CPUThread,Atomics),parallelize(lane,CPUVector,NoRaces)"},
	{"y(i) = A(i,j)*x(j)*z(i); y:d A:ds/ss/uq x:d z:d",
		"fuse(i,j,f),pos(f,p,A(i,j)),split(p,p0,p1,8),precompute(A(i,j)*x(j)*z(i),p1,pw,pc),split(pw,q0,q1,3),reorder(q1,q0),unroll(q1),parallelize(p0,CPUThread,Temporary)"},
	{"y(j) = B(i,j,k)*c(j)*d(k)*e(i); y:d B:sss/dss/dds c:d d:d e:d",
		"reorder(i,j,k),fuse(j,k,jk),fuse(i,jk,f),pos(f,p,B),split(p,p0,p1,5),precompute(B(i,j,k)*d(k),p1,pw,pc),unroll(p1),parallelize(p0,CPUThread,Atomics)"},
	{"y(i) = B(i,j,k)*c(j)*d(k); y:d B:sss/dss/dds c:d d:d",
		"reorder(i,j,k),fuse(j,k,jk),fuse(i,jk,f),pos(f,p,B),split(p,p0,p1,6),precompute(B(i,j,k),p1,pw,pc),workspace(pc,Positions),unroll(p1)"},
	{"y(i) = B(i,j,k)*d(k); y:d B:sss/dss/dds d:d",
		"reorder(i,j,k),fuse(j,k,jk),fuse(i,jk,f),pos(f,p,B),split(p,p0,p1,7),precompute(B(i,j,k)*d(k),p1,pw,pc),workspace(pc,Positions),unroll(p1),parallelize(p0,CPUThread,Atomics)"},
	{"s = A(i,j)*x(j); s: A:ds/ss/uq x:d",
		"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,4),precompute(A(i,j)*x(j),p1,pw,pc),unroll(p1)"},
	{"Y(i,l) = A(i,j)*X(j,l); Y:dd A:ds X:dd",
		"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,100),reorder(p0,l,p1),precompute(A(i,j)*X(j,l),p1,pw,pc),workspace(pc,Positions),parallelize(p0,CPUThread,Atomics)"},
	// SpMM.
	{"C(i,k) = A(i,j)*B(j,k); C:dd A:ds B:dd",
		"split(i,i0,i1,2),pos(j,jp,A(i,j)),split(jp,jp0,jp1,2),reorder(i0,i1,jp0,k,jp1),parallelize(i0,CPUThread,NoRaces),parallelize(k,CPUVector,IgnoreRaces)"},
	// SpGEMM, by rows, by columns and with inner products.
	{"A(i,j) = B(i,k)*C(k,j); A:ds/ss/dd/sd B:ds/ss C:ds/ss",
		"reorder(i,k,j),precompute(B(i,k)*C(k,j),j,j,w),assemble(A,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k)*C(k,j); A:ds/ss/dd/uq B:ds/ss C:ds/ss",
		"precompute(B(i,k)*C(k,j),j,jw,w),assemble(A,Append),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k)*C(k,j); A:ds:1,0/ss:1,0/dd:1,0 B:ds:1,0/ss:1,0 C:ds:1,0/ss:1,0",
		"precompute(B(i,k)*C(k,j),i,iw,w),assemble(A,Insert),parallelize(j,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k)*C(k,j); A:ds/ss B:ds/ss C:ds:1,0",
		"precompute(B(i,k)*C(k,j),j,j,w),assemble(A,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k)*C(k,j); A:ds/ss/dd B:ds/ss C:ds/ss",
		"precompute(B(i,k)*C(k,j),{i,j},{iw,jw},w)"},
	{"A(i,j) = B(i,k)*C(k,j); A:ds/ss B:ds:1,0/ss:1,0 C:ds/ss",
		"precompute(B(i,k)*C(k,j),{i,j},{i,j},w)"},
	{"A(i,j) += B(i,k)*C(k,j); A:ds/ss B:ds/ss C:ds/ss",
		"precompute(B(i,k)*C(k,j),j,j,w),assemble(A,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j) = D(i,j)-2*B(i,k)*C(k,j); A:ds/ss/dd B:ds/ss C:ds/ss D:ds/ss",
		"precompute(B(i,k)*C(k,j),j,jw,v),workspace(v,Bitmap),split(i,i0,i1,2)"},
	{"A(i,j) = D(i,j)*B(i,k)*C(k,j); A:ds/ss B:ds/ss C:ds/ss D:ds/ss",
		"precompute(B(i,k)*C(k,j),j,j,w)"},
	// A sum of sparse matrices.
	{"C(i,j) = A(i,j)+B(i,j); C:ds/ss A:ds/ss B:ds/ss",
		"assemble(C,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"C(i,j,k) = A(i,j,k)+B(i,j,k); C:sss/dss A:sss/dss B:sss/dss",
		"assemble(C,Insert),parallelize(i,CPUThread,NoRaces)"},
	// SDDMM: rows in tiles, entries of a row in tiles, all entries in tiles.
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ds/ss B:ds/ss C:dd D:dd",
		"split(i,i0,i1,2),reorder(i0,i1,k,j),parallelize(i0,CPUThread,NoRaces)"},
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ds B:ds C:dd D:dd",
		"split(i,i0,i1,2),pos(k,kp,B(i,k)),split(kp,kp0,kp1,2),reorder(i0,i1,kp0,j,kp1),parallelize(i0,CPUThread,NoRaces),parallelize(kp1,CPUVector,ParallelReduction)"},
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ss B:ss C:dd D:dd",
		"split(i,i0,i1,2),pos(k,kp,B(i,k)),split(kp,kp0,kp1,2),reorder(i0,i1,kp0,j,kp1),parallelize(i0,CPUThread,NoRaces),parallelize(kp1,CPUVector,ParallelReduction)"},
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ds/ss B:ds C:dd D:dd",
		"split(i,i0,i1,2),pos(k,kp,B(i,k)),split(kp,kp0,kp1,2),reorder(i0,i1,kp0,kp1,j),parallelize(i0,CPUThread,NoRaces),parallelize(j,CPUVector,ParallelReduction)"},
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ds B:ds C:dd D:dd",
		"reorder(i,k,j),fuse(i,k,f),pos(f,fp,B(i,k)),split(fp,chunk,fp2,3),reorder(chunk,fp2,j),parallelize(chunk,CPUThread,NoRaces),parallelize(j,CPUVector,ParallelReduction)"},
	{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:ds B:ds C:dd D:dd", "reorder(j,i,k)"},
	// Tensor times vector, and times matrix.
	{"A(i,j) = B(i,j,k)*c(k); A:dd/ss B:sss c:d",
		"fuse(i,j,f),pos(f,fp,B(i,j,k)),split(fp,chunk,fp2,2),reorder(chunk,fp2,k),parallelize(chunk,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,j,k)*c(k); A:ds/ss B:sss c:d",
		"assemble(A,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j,l) = B(i,j,k)*C(k,l); A:ddd/ssd B:sss C:dd",
		"fuse(i,j,f),pos(f,fp,B(i,j,k)),split(fp,chunk,fp2,2),pos(k,kp,B(i,j,k)),split(kp,kp1,kp2,2),reorder(chunk,fp2,kp1,l,kp2),parallelize(chunk,CPUThread,NoRaces),parallelize(kp2,CPUVector,ParallelReduction)"},
	// MTTKRP, of order 3 and 4.
	{"A(i,j) = B(i,k,l)*C(k,j)*D(l,j); A:dd/ds/ss B:dss/sss C:dd D:dd",
		"split(i,i1,i2,2),reorder(i1,i2,k,l,j),precompute(B(i,k,l)*D(l,j),j,j,w),parallelize(i1,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k,l)*C(k,j)*D(l,j); A:dd/ds/ss B:dss/sss C:dd D:dd",
		"precompute(B(i,k,l)*C(k,j)*D(l,j),j,j,w),assemble(A,Insert),parallelize(i,CPUThread,NoRaces)"},
	{"A(i,j) = B(i,k,l,m)*C(k,j)*D(l,j)*E(m,j); A:dd/ds B:dsss C:dd D:dd E:dd",
		"split(i,i1,i2,2),reorder(i1,i2,k,l,m,j),precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,BDE),precompute(BDE(j)*C(k,j),j,j,w),parallelize(i1,CPUThread,NoRaces)"},
	// Products of dense matrices in tiles of all three variables, and of sparse matrices.
	{"C(i,j) = A(i,k)*B(k,j); C:dd A:dd/ds B:dd/ds:1,0",
		"split(i,i0,i1,2),split(j,j0,j1,2),split(k,k0,k1,2),reorder(i0,j0,k0,i1,j1,k1),parallelize(i0,CPUThread,NoRaces)"},
}

// TestPublished checks that published schedules are accepted unchanged and give the right results.
func TestPublished(t *testing.T) {
	t.Parallel()
	n := uint64(6)
	if *nFlag > 0 {
		n = max(*nFlag/uint64(len(published)), 1)
	}
	for m, x := range published {
		ran := 0
		for k := *firstFlag; k < *firstFlag+n; k++ {
			p, err := kernelCase(x.line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", x.line, err)
			}
			if slices.ContainsFunc(p.Case.Tensors,
				func(t *Tensor) bool { return slices.Contains(t.Dims, 0) }) {
				continue // a sum over nothing has no entries, so no result has an operand's pattern
			}
			p.Case.Schedule = []string{x.schedule}
			e := scheduleEngine{}
			out, err := e.Run(context.Background(), p)
			switch {
			case err != nil:
				t.Fatalf("seed %d, case %d: %v\n%s", *seedFlag, k, err, p.Case.Text())
			case out.How != x.schedule:
				t.Fatalf("case %d: -s=%q is refused: %v\n%s", k, x.schedule, e.refusal(p), p.Case.Text())
			}
			w, err := p.Expect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Compare(out, nil); err != nil {
				t.Fatalf("seed %d, case %d: -s=%q: %v\n%s", *seedFlag, k, x.schedule, err, p.Case.Text())
			}
			ran++
		}
		if ran == 0 && *nFlag == 0 {
			t.Errorf("%s: every case has a size of 0", x.line)
		}
	}
}

// TestPublishedRefused checks that a schedule is refused if it visits rows of a result repeatedly
// although the entries of the result must be appended in order.
func TestPublishedRefused(t *testing.T) {
	for _, x := range []struct{ line, schedule, want string }{
		{"A(i,j) = B(i,j,k)*c(k); A:ds B:sss c:d", "fuse(i,j,f),pos(f,fp,B(i,j,k)),split(fp,chunk,fp2,2)",
			"A(i,j) (its format is ds) is appended to in order, so the fused loop over i, j cannot be split into tiles"},
		{"A(i,k) = B(i,k)*C(i,j)*D(j,k); A:ss B:ds C:dd D:dd", "split(k,k0,k1,2),reorder(k0,j,k1)",
			"so the loop over j must be inside the loops over these variables"},
		{"C(i,k) = A(i,j)*B(j,k); C:ds A:ds B:dd",
			"pos(j,jp,A(i,j)),split(jp,jp0,jp1,2),reorder(i,jp0,k,jp1)",
			"the loops to reorder must be directly nested, but other statements are between"},
	} {
		p, err := kernelCase(x.line, Rand(*seedFlag, 0))
		if err != nil {
			t.Fatal(err)
		}
		p.Case.Schedule = []string{x.schedule}
		if err := (scheduleEngine{}).refusal(p); !isRefusal(err) ||
			!strings.Contains(err.Error(), x.want) {
			t.Errorf("%s\n-s=%s: got %v, want %q", x.line, x.schedule, err, x.want)
		}
	}
}

// refusal returns the error of the schedule of a case, or nil if the schedule is accepted.
func (g scheduleEngine) refusal(p *Prepared) error {
	j, err := g.job(p)
	defer closeInputs(j)
	if err != nil {
		return err
	}
	j.Schedule = p.Case.Schedule
	_, err = j.Compile(context.Background(), "")
	return err
}
