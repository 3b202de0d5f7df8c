package schedule_test

import "testing"

// TestRefusalsOnGPUs checks the refusals of commands for a GPU.
func TestRefusalsOnGPUs(t *testing.T) {
	lanes := problem{
		stmt: "forall(i, forall(k, where(forall(j, C(i,j) += W(j)), forall(j, W(j) += A(i,j) * B(k,j)))))", formats: "C:dd A:dd B:dd"}
	spmvGPU, spmmGPU, addGPU, rowSumGPU, spaceGPU := spmv, spmm, add, rowSum, lanes
	for _, p := range []*problem{&spmvGPU, &spmmGPU, &addGPU, &rowSumGPU, &spaceGPU} {
		p.gpu = true
	}
	columnsGPU := problem{stmt: "forall(i, forall(j, y(j) += A(i,j)))", formats: "y:d A:ds", gpu: true}
	totalGPU := problem{stmt: "forall(i, forall(j, s += A(i,j)))", formats: "s: A:ds", gpu: true}
	tiled := func(command string) string {
		return "fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,64)," + command
	}
	checkRefusals(t, []refusal{
		// A GPU.
		{spmvGPU, "parallelize(i,CPUThread,NoRaces)",
			"CPUThread is a unit of a CPU, but --target=cuda compiles for a GPU; want GPUBlock, GPUWarp or GPUThread", "CPUThread"},
		{spmvGPU, "parallelize(i,CPUVector,NoRaces)", "CPUVector is a unit of a CPU", "CPUVector"},
		{spmvGPU, "parallelize(i,GPUWarp,NoRaces,4)",
			"got a chunk size for GPUWarp, want none: only CPUThread and GPUBlock have chunks", "4"},
		{spmvGPU, "parallelize(i,GPUBlock,NoRaces,0)", "got the number 0, want 1 to 2^40", "0"},
		{spmvGPU, "parallelize(j,GPUBlock,Atomics,64)",
			"only an outermost loop can be divided into chunks for blocks; the loop over j is inside another", "j"},
		{spmvGPU, "split(i,i0,i1,4),parallelize(i0,GPUBlock,NoRaces,64)",
			"got i0, want a variable of the statement whose loop is not made by another command", "i0"},
		{spmvGPU, "parallelize(i,GPUBlock,NoRaces,64),parallelize(j,GPUThread,ParallelReduction)",
			"j on GPUThread: the loop over i around it runs on GPUBlock, and one thread cannot contain others",
			"parallelize(j,GPUThread,ParallelReduction)"},
		{columnsGPU, "parallelize(i,GPUBlock,NoRaces,64)",
			"iterations of i add to the same elements of y(j); use Atomics, Temporary or ParallelReduction",
			"NoRaces"},
		{spmvGPU, "parallelize(i,CPUThread,NoRaces,Work)", "chunks of work are for the threads of a CPU",
			"Work"},
		{spmmGPU, "vectorize(k)",
			"vectorize: the loop would run in vector lanes of a CPU, but --target=cuda compiles for a GPU",
			"vectorize(k)"},
		{spmmGPU, "jam(k,8)", "jam: rows are summed in registers of a CPU", "jam(k,8)"},
		{spmmGPU, "tile(k,8)", "tile: rows are summed in registers of a CPU", "tile(k,8)"},
		{spmmGPU, "prefetch(B,j,8)", "prefetch: rows are fetched into a CPU's caches",
			"prefetch(B,j,8)"},
		{spmvGPU, "longrows(i,A,100)", "longrows: long rows are divided among the threads of a CPU",
			"longrows(i,A,100)"},
		{addGPU, "assemble(C,Append)", "got Append, want Insert: on a GPU, a result with compressed levels must be counted before it is written",
			"Append"},
		{spmvGPU, "split(i,i0,i1,4)",
			"no loop around y(i) += A(i,j) * x(j) runs on GPUBlock, so one thread of the GPU would run the loop over i0; add parallelize(i0,GPUBlock,...)", "split(i,i0,i1,4)"},
		{spmmGPU, "reorder(i,k,j),parallelize(k,GPUBlock,NoRaces)",
			"k on GPUBlock: the loop over i is around it, so that each iteration would launch a grid of blocks; the loop on GPUBlock must be outermost, as reorder makes it",
			"parallelize(k,GPUBlock,NoRaces)"},
		{spmvGPU, "parallelize(i,GPUThread,NoRaces)", "i on GPUThread: GPUThread is a part of a block, so a loop around it must run on GPUBlock",
			"parallelize(i,GPUThread,NoRaces)"},
		{spmvGPU, "parallelize(i,GPUWarp,NoRaces)", "i on GPUWarp: GPUWarp is a part of a block, so a loop around it must run on GPUBlock",
			"parallelize(i,GPUWarp,NoRaces)"},
		{spmmGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(k,GPUBlock,NoRaces)",
			"k on GPUBlock: the loop over i around it runs on GPUBlock already",
			"parallelize(k,GPUBlock,NoRaces)"},
		{spmmGPU,
			"parallelize(k,GPUThread,NoRaces),parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,Atomics)",
			"k on GPUThread: the loop over j around it runs on GPUThread, and one thread cannot contain others",
			"parallelize(k,GPUThread,NoRaces)"},
		{spmvGPU, "split(j,j0,j1,4),reorder(j0,i,j1),parallelize(j0,GPUBlock,NoRaces)",
			"iterations of j0 add to the same elements of y(i); use Atomics, Temporary or ParallelReduction", "NoRaces"},
		{spmvGPU, "split(j,j0,j1,4),reorder(j0,i,j1),parallelize(j0,GPUBlock,Temporary)",
			"iterations of j0 add to many elements of y(i), and a GPU's threads cannot have copies; use Atomics", "Temporary"},
		{spmmGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,ParallelReduction)",
			"iterations of j add to many elements of C(i,k), and a GPU's threads cannot have copies; use Atomics", "ParallelReduction"},
		{problem{stmt: "forall(j, s += x(j))", formats: "s: x:d", gpu: true},
			"parallelize(j,GPUBlock,NoRaces)",
			"iterations of j add to the same elements of s; use Atomics, Temporary or ParallelReduction",
			"NoRaces"},
		{problem{stmt: "where(s = t * t, forall(j, t += x(j)))", formats: "s: x:d", gpu: true},
			"parallelize(j,GPUBlock,Atomics)",
			"iterations of j add to the local scalar t; use ParallelReduction or Temporary", "Atomics"},
		{rowSumGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,NoRaces)",
			"iterations of j add to the scalar t", "NoRaces"},
		{spaceGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,Atomics)",
			"the iterations of j share the workspace W(j), so that they can run on", "Atomics"},
		{addGPU, "split(i,i0,i1,4),parallelize(i0,GPUBlock,Atomics)",
			"C(i,j) (its format is ds) is counted and written row by row; want NoRaces, on a loop over its outermost variable, i", "Atomics"},
		{addGPU, "split(j,j0,j1,4),parallelize(i,GPUBlock,NoRaces),parallelize(j1,GPUThread,NoRaces)",
			"C(i,j) (its format is ds) is counted and written row by row; only loops over its outermost variable, i, can be parallel",
			"j1"},

		// The rows of a tile on a GPU's threads.
		{spmvGPU, tiled("parallelize(tile,GPUThread,Temporary,Rows)"),
			"got Temporary, want Atomics", "Temporary"},
		{spmvGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows,0)"), "got 0, want a number of rows",
			"0"},
		{spmvGPU, tiled("parallelize(tile,GPUThread,Atomics)"),
			"the loop over tile becomes one loop over rows and one inside it; split it first, and parallelize the loop over tiles", "tile"},
		{spmv, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"GPUThread is a unit of a GPU, but this leaf is compiled for a CPU; want --target=cuda or a unit of a CPU", "GPUThread"},
		{spmvGPU, "parallelize(j,GPUThread,Atomics,Rows)",
			"the loop over j must be the innermost loop over fused positions of rows and their entries",
			"parallelize(j,GPUThread,Atomics,Rows)"},
		{spmvGPU, tiled("parallelize(block,GPUThread,Atomics,Rows)"),
			"the loop over block must be the innermost loop over fused positions of rows and their entries",
			"parallelize(block,GPUThread,Atomics,Rows)"},
		{spmvGPU.with("y:d A:uq x:d"), tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"must be compressed, because rows are found", "parallelize(tile,GPUThread,Atomics,Rows)"},
		{spmvGPU.with("y:d A:ds x:s"), tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"x(j) is read together with A(i,j), so it must be addressed by the same positions",
			"parallelize(tile,GPUThread,Atomics,Rows)"},
		{spmmGPU,
			"reorder(i,j,k),fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,64),parallelize(tile,GPUThread,Atomics,Rows)", "the loop over tile must be innermost and contain only one sum", "parallelize(tile,GPUThread,Atomics,Rows)"},
		{columnsGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"the loop over tile writes a different element of y(j) for each position; it must sum rows",
			"parallelize(tile,GPUThread,Atomics,Rows)"},
		{totalGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"s is one sum of all rows of A(i,j); want a sum for each row", "parallelize(tile,GPUThread,Atomics,Rows)"},
	})
}
