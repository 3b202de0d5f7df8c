package oracle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// publishedUnits contains the schedules for GPUs of Senanayake (2020), appendix A, and similar
// ones. Their numbers are chosen so that the data of these tests has several blocks.
var publishedUnits = []struct{ name, line, schedule string }{
	{"A.2", "y(i) = A(i,j)*x(j); y:d A:ds/ss/uq x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,24),split(fpos1,warp,fpos2,12),split(fpos2,thread,thread_nz,3)," +
			"reorder(block,warp,thread,thread_nz),precompute(A(i,j)*x(j),thread_nz,thread_nz_pre,pc),unroll(thread_nz_pre,3)," + ignoring("Atomics")},
	{"A.4", "C(i,k) = A(i,j)*B(j,k); C:dd A:ds/ss B:dd",
		"reorder(i,j,k),fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,8),split(fpos1,warp,nnz,4)," +
			"split(k,dense_val,thread,2),reorder(block,warp,dense_val,thread,nnz)," + ignoring("Atomics")},
	{"A.8", "A(i,j) = B(i,k,l)*C(k,j)*D(l,j); A:dd B:dss/sss C:dd D:dd",
		"reorder(i,k,l,j),fuse(k,l,kl),fuse(i,kl,f),pos(f,fpos,B(i,k,l)),split(fpos,block,fpos1,8),split(fpos1,warp,nnz,4)," +
			"split(j,dense_val,thread,2),reorder(block,warp,dense_val,thread,nnz)," + ignoring("Atomics")},
	{"A.9", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d/s",
		"split(i,block,thread,3),parallelize(block,GPUBlock,NoRaces),parallelize(thread,GPUThread,NoRaces)"},
	{"A.10", "y(i) = A(i,j)*x(j); y:d A:ds x:d",
		"split(i,block,block_row,4),split(block_row,warp_row,warp,2),pos(j,jpos,A(i,j)),split(jpos,thread_nz,thread,2)," +
			"reorder(block,warp,warp_row,thread,thread_nz)," + ignoring("Temporary")},
	{"A.11", "y(i) = A(i,j)*x(j); y:d A:ds/ss/uq x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,24),split(fpos1,warp,fpos2,12),split(fpos2,thread,thread_nz,3)," +
			"reorder(block,warp,thread,thread_nz)," + ignoring("Atomics")},
	// The threads of a block first compute the products of a tile of entries, and then share its
	// rows.
	{"rows of a tile", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d", tileOfRows("A(i,j)*x(j)", 12, 2)},
	{"rows of large tiles", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d", tileOfRows("A(i,j)*x(j)", 64, 5)},
	{"rows of tiles in order", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d",
		strings.Replace(tileOfRows("A(i,j)*x(j)", 12, 2), ",reorder(lane,part)", "", 1)},
	{"rows of small tiles", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d", tileOfRows("A(i,j)*x(j)", 3, 1)},
	{"few rows", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d", tileOfRows("A(i,j)*x(j)", 32, 1000)},
	{"rows and more", "y(i) = A(i,j)*x(j)*z(i); y:d A:ds/ss x:d z:d",
		tileOfRows("A(i,j)*x(j)", 12, 2)},
	{"rows times columns", "y(i) = A(i,j)*x(j)*z(i); y:d A:ds/ss x:d z:d",
		tileOfRows("A(i,j)*z(i)", 12, 2)},
	{"rows without products", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,12)," +
			"parallelize(block,GPUBlock,Atomics),parallelize(tile,GPUThread,Atomics,Rows,3)"},
	{"rows of a warp", "y(i) = A(i,j)*x(j); y:d A:ds/ss x:d",
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,fpos1,48),split(fpos1,warp,tile,12)," +
			"precompute(A(i,j)*x(j),tile,tile_pre,pc),split(tile_pre,k,lane,32),parallelize(block,GPUBlock,IgnoreRaces),parallelize(warp,GPUWarp,IgnoreRaces)," +
			"parallelize(lane,GPUThread,NoRaces),parallelize(tile,GPUThread,Atomics,Rows,4)"},
	{"rows of a block", "Y(i,b) = A(b,i,j)*x(j); Y:dd A:dds/dss/sss x:d",
		"reorder(b,i,j),fuse(i,j,f),pos(f,tile,A(b,i,j)),parallelize(b,GPUBlock,NoRaces),parallelize(tile,GPUThread,Atomics,Rows,3)"},
	{"slices", "y(i) = B(i,k,l)*d(l); y:d B:sss/dss/dds d:d", sliceTiles("B(i,k,l)*d(l)", 12, 2)},
	{"fibers", "Y(i,k) = B(i,k,l)*d(l); Y:dd B:sss/dss/dds d:d", sliceTiles("B(i,k,l)*d(l)", 12, 2)},
	{"fibers that meet", "y(i) = B(i,k,l)*c(k)*d(l); y:d B:sss/dss/dds c:d d:d",
		sliceTiles("B(i,k,l)*d(l)", 12, 2)},
	{"fibers across", "y(k) = B(i,k,l)*c(i)*d(l); y:d B:sss/dss/dds c:d d:d",
		sliceTiles("B(i,k,l)*d(l)", 40, 6)},
	// Each block has some columns and all rows. The sums over the lanes of a warp are added
	// atomically.
	{"columns", "y(i) = A(i,j)*x(j); y:d A:dd x:d",
		"split(j,block,j1,4),split(j1,nz,thread,2),reorder(block,i,thread,nz),parallelize(block,GPUBlock,IgnoreRaces),parallelize(i,GPUWarp,NoRaces),parallelize(thread,GPUThread,Temporary)"},
	// Warps of a block share a row, and so do their lanes.
	{"rows", "y(i) = A(i,j)*x(j); y:d A:ds x:d",
		"pos(j,jp,A(i,j)),split(jp,warp,jp1,4),parallelize(i,GPUBlock,NoRaces),parallelize(warp,GPUWarp,Temporary),parallelize(jp1,GPUThread,ParallelReduction)"},
	// SDDMM: a warp computes an entry, and a lane a part of its sum; also with tiles of entries.
	{"sddmm", "A(i,k) = B(i,k)*C(i,j)*D(j,k); A:dd/ds B:ds C:dd D:dd",
		"reorder(i,k,j),parallelize(i,GPUBlock,NoRaces),parallelize(k,GPUWarp,NoRaces),parallelize(j,GPUThread,Temporary)"},
	{"sddmm by entries", "A(i,k) = B(i,k)*C(i,j)*D(j,k); A:ds/dd B:ds C:dd D:dd",
		"reorder(i,k,j),fuse(i,k,f),pos(f,fp,B(i,k)),split(fp,block,fp1,6),split(fp1,thread,fp2,2),reorder(block,thread,fp2,j),parallelize(block,GPUBlock,NoRaces),parallelize(thread,GPUThread,NoRaces)"},
	// Sparse results: one pass counts the entries and another pass writes them.
	{"add", "C(i,j) = A(i,j)+B(i,j); C:ds/ss A:ds/ss B:ds/ss",
		"split(i,block,thread,3),split(thread,t0,t1,2),parallelize(block,GPUBlock,NoRaces),parallelize(t0,GPUThread,NoRaces)"},
	{"add three", "D(i,j) = A(i,j)+B(i,j)+C(i,j); D:ds A:ds B:ds C:ds",
		"split(i,block,thread,3),parallelize(block,GPUBlock,NoRaces),parallelize(thread,GPUThread,NoRaces)"},
	{"add of order 3", "C(i,j,k) = A(i,j,k)+B(i,j,k); C:sss/dss/dds A:sss/dss B:sss/dss",
		"split(i,block,i1,3),split(i1,thread,i2,2),parallelize(block,GPUBlock,NoRaces),parallelize(thread,GPUThread,NoRaces)"},
	{"ttv", "A(i,j) = B(i,j,k)*c(k); A:ds/ss/dd B:sss/dss c:d",
		"split(i,block,i1,3),split(i1,thread,i2,2),parallelize(block,GPUBlock,NoRaces),parallelize(thread,GPUThread,NoRaces)"},
}

// tileOfRows returns a schedule that computes the products x for tiles of A's entries. tile is the
// number of entries of a tile, which are loaded by fours. The threads of a block share the rows of
// the tile; each row has one thread if the tile has least rows or more.
func tileOfRows(x string, tile, least int) string {
	return fmt.Sprintf(
		"fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,%d),precompute(%s,tile,tile_pre,pc),split(tile_pre,part,lane,4),reorder(lane,part),unroll(part,3),"+
			"parallelize(block,GPUBlock,IgnoreRaces),parallelize(lane,GPUThread,NoRaces),parallelize(tile,GPUThread,Atomics,Rows,%d)", tile, x, least)
}

// sliceTiles does what tileOfRows does, for a tensor of order 3.
func sliceTiles(x string, tile, least int) string {
	return strings.Replace(tileOfRows(x, tile, least), "fuse(i,j,f),pos(f,fpos,A(i,j))",
		"reorder(i,k,l),fuse(k,l,kl),fuse(i,kl,f),pos(f,fpos,B(i,k,l))", 1)
}

// ignoring returns commands that run the loops block, warp and thread on their units, as in source
// 004. Only the command for the threads has the race strategy race.
func ignoring(race string) string {
	return "parallelize(block,GPUBlock,IgnoreRaces),parallelize(warp,GPUWarp,IgnoreRaces),parallelize(thread,GPUThread," + race + ")"
}

// TestPublishedUnits checks that published schedules for GPUs are accepted unchanged and give the
// right results, interpreted and emulated.
func TestPublishedUnits(t *testing.T) {
	t.Parallel()
	publishedOn(t, gpuEngine{name: "interpreted", run: interpreted}, 8)
	t.Run("emulated",
		func(t *testing.T) { publishedOn(t, gpuEngine{name: "emulated", run: on(emulatedGPU(t))}, 1) })
}

// TestPublishedUnitsCUDA does what TestPublishedUnits does on a real GPU, if the machine has one.
func TestPublishedUnitsCUDA(t *testing.T) {
	publishedOn(t, gpuEngine{name: "on a GPU", run: on(realGPU(t))}, 8)
}

func publishedOn(t *testing.T, e gpuEngine, n uint64) {
	t.Helper()
	all := n
	if *nFlag > 0 {
		all = max(*nFlag/uint64(len(publishedUnits)), 1)
	}
	for m, x := range publishedUnits {
		full := 0
		for k := *firstFlag; k < *firstFlag+all; k++ {
			p, err := kernelCase(x.line, Rand(*seedFlag+uint64(m)<<32, k))
			if err != nil {
				t.Fatalf("%s: %v", x.line, err)
			}
			if slices.ContainsFunc(p.Case.Tensors,
				func(t *Tensor) bool { return slices.Contains(t.Dims, 0) }) {
				continue // for the reason in TestPublished
			}
			p.Case.Schedule = []string{x.schedule}
			out, err := e.Run(context.Background(), p)
			if err != nil {
				t.Fatalf("%s: seed %d, case %d: %v\n%s", x.name, *seedFlag, k, err, p.Case.Text())
			}
			if !strings.Contains(out.How, "parallelize(") {
				t.Fatalf("%s: case %d: -s=%q is refused\n%s", x.name, k, x.schedule, p.Case.Text())
			}
			w, err := p.Expect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Compare(out, nil); err != nil {
				t.Fatalf("%s: seed %d, case %d: -s=%q: %v\n%s", x.name, *seedFlag, k, x.schedule, err,
					p.Case.Text())
			}
			if len(w.Coords) > 0 {
				full++
			}
		}
		if full == 0 && *nFlag == 0 && n > 1 {
			t.Errorf("%s: every result is empty", x.name)
		}
	}
}
