package main

import "fmt"

// The schedules are from appendix A of R. Senanayake's thesis, "A unified iteration space
// transformation framework for sparse and dense tensor algebra" (2020). The number of entries of a
// thread or warp is a parameter, because the thesis does not fix it.

// schedule is a way to compute a statement. An empty text is the target's default.
type schedule struct{ name, text string }

var byDefault = schedule{"default", ""}

// a2 returns schedule A.2 of Senanayake's thesis. Each thread gets perThread neighbouring entries,
// and computes all their products before it sums them. A block has the given number of warps.
func a2(perThread, warps int) schedule {
	return schedule{fmt.Sprintf("A.2 %d entries a thread", perThread),
		positionsOfThreads(perThread, warps,
			fmt.Sprintf("precompute(A(i,j)*x(j),thread_nz,thread_nz_pre,products), "+
				"unroll(thread_nz_pre,%d), ", perThread))}
}

// a11 returns schedule A.11 of Senanayake's thesis. Each thread gets perThread neighbouring
// entries, as in A.2, but adds each product to the sum immediately. The schedule uses no temporary
// for the products and no unrolling. A block has the given number of warps.
func a11(perThread, warps int) schedule {
	return schedule{fmt.Sprintf("A.11 %d entries a thread", perThread),
		positionsOfThreads(perThread, warps, "")}
}

func positionsOfThreads(perThread, warps int, loads string) string {
	return fmt.Sprintf(
		"fuse(i,j,f), pos(f,fpos,A(i,j)), split(fpos,block,fpos1,%d), "+
			"split(fpos1,warp,fpos2,%d), split(fpos2,thread,thread_nz,%d), "+
			"reorder(block,warp,thread,thread_nz), %s"+
			"parallelize(block,GPUBlock,IgnoreRaces), parallelize(warp,GPUWarp,IgnoreRaces), "+
			"parallelize(thread,GPUThread,Atomics)", perThread*32*warps, perThread*32, perThread,
		loads)
}

// a10 returns schedule A.10 of Senanayake's thesis for matrices. A block has the given numbers of
// rows and warps, and divides its rows among the warps. A warp computes its rows one after another.
// All its threads work on the same row.
func a10(rows, warps int) schedule {
	return schedule{fmt.Sprintf("A.10 %d rows a block", rows),
		fmt.Sprintf(
			"split(i,block,block_row,%d), split(block_row,warp_row,warp,%d), pos(j,jpos,A(i,j)), "+
				"split(jpos,thread_nz,thread,32), "+
				"reorder(block,warp,warp_row,thread,thread_nz), "+
				"parallelize(block,GPUBlock,IgnoreRaces), parallelize(warp,GPUWarp,IgnoreRaces), "+
				"parallelize(thread,GPUThread,Temporary)", rows, warps)}
}

// a4 returns schedule A.4 of Senanayake's thesis for SpMM. Each warp gets perWarp entries, and its
// threads divide the columns of the dense matrix. A block has the given number of warps. columns is
// the number of columns of the dense matrix.
func a4(perWarp, warps, columns int) schedule {
	return schedule{fmt.Sprintf("A.4 %d entries a warp", perWarp),
		fmt.Sprintf(
			"reorder(i,j,k), fuse(i,j,f), pos(f,fpos,A(i,j)), split(fpos,block,fpos1,%d), "+
				"split(fpos1,warp,nnz,%d), split(k,dense_val_unbounded,thread,32), "+
				"bound(dense_val_unbounded,dense_val,%d,MaxExact), "+
				"reorder(block,warp,dense_val,thread,nnz), parallelize(block,GPUBlock,IgnoreRaces), "+
				"parallelize(warp,GPUWarp,IgnoreRaces), parallelize(thread,GPUThread,Atomics)",
			perWarp*warps, perWarp, columns/32)}
}

// a8 returns schedule A.8 of Senanayake's thesis for MTTKRP of a tensor of order 3. As in a4, each
// warp gets perWarp entries, and its threads divide the columns of the factor matrices. A block has
// the given number of warps. columns is the number of columns of the factor matrices.
func a8(perWarp, warps, columns int) schedule {
	return schedule{fmt.Sprintf("A.8 %d entries a warp", perWarp),
		fmt.Sprintf(
			"reorder(i,k,l,j), fuse(k,l,kl), fuse(i,kl,f), pos(f,fpos,B(i,k,l)), "+
				"split(fpos,block,fpos1,%d), split(fpos1,warp,nnz,%d), "+
				"split(j,dense_val_unbounded,thread,32), "+
				"bound(dense_val_unbounded,dense_val,%d,MaxExact), "+
				"reorder(block,warp,dense_val,thread,nnz), parallelize(block,GPUBlock,IgnoreRaces), "+
				"parallelize(warp,GPUWarp,IgnoreRaces), parallelize(thread,GPUThread,Atomics)",
			perWarp*warps, perWarp, columns/32)}
}
