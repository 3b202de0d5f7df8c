package schedule_test

import (
	"testing"

	"distaff/io/tensor"
)

// TestRefusalsOnGPUs checks the refusals of commands for a GPU.
func TestRefusalsOnGPUs(t *testing.T) {
	lanes := problem{
		stmt: "forall(i, forall(k, where(forall(j, C(i,j) += W(j)), forall(j, W(j) += A(i,j) * B(k,j)))))", formats: "C:dd A:dd B:dd"}
	spmvGPU, spmmGPU, addGPU, rowSumGPU, complexGPU, spaceGPU := spmv, spmm, add, rowSum, spmm, lanes
	for _, p := range []*problem{&spmvGPU, &spmmGPU, &addGPU, &rowSumGPU, &complexGPU, &spaceGPU} {
		p.gpu = true
	}
	complexGPU.compute = tensor.Complex64
	columnsGPU := problem{stmt: "forall(i, forall(j, y(j) += A(i,j)))", formats: "y:d A:ds", gpu: true}
	totalGPU := problem{stmt: "forall(i, forall(j, s += A(i,j)))", formats: "s: A:ds", gpu: true}
	tiled := func(command string) string {
		return "fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,64)," + command
	}
	checkRefusals(t, []refusal{
		// A GPU.
		{spmvGPU, "parallelize(i,CPUThread,NoRaces)",
			"CPUThread is a unit of a CPU, and --target=cuda compiles for a GPU", "CPUThread"},
		{spmvGPU, "parallelize(i,CPUVector,NoRaces)", "CPUVector is a unit of a CPU", "CPUVector"},
		{spmvGPU, "parallelize(i,GPUBlock,NoRaces,4)", "GPUBlock takes no chunk", "4"},
		{spmvGPU, "parallelize(i,CPUThread,NoRaces,Work)", "chunks of work are for the threads of a CPU",
			"Work"},
		{spmmGPU, "vectorize(k)",
			"vectorize: the loop would run in the lanes of a CPU, and --target=cuda compiles for a GPU",
			"vectorize(k)"},
		{spmmGPU, "jam(k,8)", "jam: rows are summed in the registers of a CPU", "jam(k,8)"},
		{spmmGPU, "tile(k,8)", "tile: rows are summed in the registers of a CPU", "tile(k,8)"},
		{spmmGPU, "prefetch(B,j,8)", "prefetch: rows are fetched into the caches of a CPU",
			"prefetch(B,j,8)"},
		{spmvGPU, "longrows(i,A,100)", "longrows: long rows are cut for the threads of a CPU",
			"longrows(i,A,100)"},
		{addGPU, "assemble(C,Append)", "the blocks of a GPU cannot append in order",
			"Append"},
		{spmvGPU, "split(i,i0,i1,4)",
			"nothing runs the loop over i0, around y(i) += A(i,j) * x(j), on GPUBlock", "split(i,i0,i1,4)"},
		{spmmGPU, "reorder(i,k,j),parallelize(k,GPUBlock,NoRaces)",
			"k on GPUBlock: the loop over i is around it, and each of its iterations would launch a grid",
			"parallelize(k,GPUBlock,NoRaces)"},
		{spmvGPU, "parallelize(i,GPUThread,NoRaces)", "i on GPUThread: GPUThread is a part of a block",
			"parallelize(i,GPUThread,NoRaces)"},
		{spmvGPU, "parallelize(i,GPUWarp,NoRaces)", "i on GPUWarp: GPUWarp is a part of a block",
			"parallelize(i,GPUWarp,NoRaces)"},
		{spmmGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(k,GPUBlock,NoRaces)",
			"k on GPUBlock: the loop over i around it runs on GPUBlock already",
			"parallelize(k,GPUBlock,NoRaces)"},
		{spmmGPU,
			"parallelize(k,GPUThread,NoRaces),parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,Atomics)",
			"k on GPUThread: the loop over j around it runs on GPUThread, and a thread runs alone",
			"parallelize(k,GPUThread,NoRaces)"},
		{spmvGPU, "split(j,j0,j1,4),reorder(j0,i,j1),parallelize(j0,GPUBlock,NoRaces)",
			"iterations of j0 add to the same places of y(i)", "NoRaces"},
		{spmvGPU, "split(j,j0,j1,4),reorder(j0,i,j1),parallelize(j0,GPUBlock,Temporary)",
			"iterations of j0 add to many places of y(i), and the threads of a GPU do not have copies of it; use Atomics", "Temporary"},
		{spmmGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,ParallelReduction)",
			"iterations of j add to many places of C(i,k)", "ParallelReduction"},
		{problem{stmt: "forall(j, s += x(j))", formats: "s: x:d", gpu: true},
			"parallelize(j,GPUBlock,ParallelReduction)",
			"iterations of j add to s, and blocks have no sum in common", "ParallelReduction"},
		{problem{stmt: "where(s = t * t, forall(j, t += x(j)))", formats: "s: x:d", gpu: true},
			"parallelize(j,GPUBlock,ParallelReduction)",
			"iterations of j add to the scalar t, and blocks have none in common", "GPUBlock"},
		{rowSumGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,NoRaces)",
			"iterations of j add to the scalar t", "NoRaces"},
		{complexGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,Atomics)",
			"complex numbers are not added atomically", "Atomics"},
		{complexGPU,
			"split(j,j0,j1,4),reorder(j0,i,j1,k),parallelize(j0,GPUBlock,IgnoreRaces),parallelize(k,GPUThread,Atomics)",
			"j0 on GPUBlock: its iterations add to the same places of C(i,k), and complex numbers are not added atomically", "parallelize(j0,GPUBlock,IgnoreRaces)"},
		{spaceGPU, "parallelize(i,GPUBlock,NoRaces),parallelize(j,GPUThread,Atomics)",
			"the loop over j fills the workspace W(j), whose places its iterations share", "Atomics"},
		{addGPU, "split(i,i0,i1,4),parallelize(i0,GPUBlock,Atomics)",
			"C(i,j) (its format is ds) is counted and written row by row: NoRaces holds for loops over its outermost variable, i", "Atomics"},
		{addGPU, "split(j,j0,j1,4),parallelize(i,GPUBlock,NoRaces),parallelize(j0,GPUThread,NoRaces)",
			"C(i,j) (its format is ds) is counted and written in parts of its outermost variable i only",
			"j0"},

		// The rows of a tile on a GPU's threads.
		{spmvGPU, tiled("parallelize(tile,GPUThread,Temporary,Rows)"),
			"got Temporary, want Atomics", "Temporary"},
		{spmvGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows,0)"), "got 0, want a number of rows",
			"0"},
		{spmvGPU, tiled("parallelize(tile,GPUThread,Atomics)"),
			"the loop over tile is one over rows and one inside", "tile"},
		{spmv, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"GPUThread is a unit of a GPU, and this leaf is for a CPU", "GPUThread"},
		{spmvGPU, "parallelize(j,GPUThread,Atomics,Rows)",
			"the loop over j is not the innermost loop over fused positions of rows and their entries",
			"parallelize(j,GPUThread,Atomics,Rows)"},
		{spmvGPU, tiled("parallelize(block,GPUThread,Atomics,Rows)"),
			"the loop over block is not the innermost loop over fused positions",
			"parallelize(block,GPUThread,Atomics,Rows)"},
		{spmvGPU.with("y:d A:uq x:d"), tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"must be compressed, because rows are found", "parallelize(tile,GPUThread,Atomics,Rows)"},
		{spmvGPU.with("y:d A:ds x:s"), tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"x(j), which is read with A(i,j), is not found by position",
			"parallelize(tile,GPUThread,Atomics,Rows)"},
		{spmmGPU,
			"reorder(i,j,k),fuse(i,j,f),pos(f,fpos,A(i,j)),split(fpos,block,tile,64),parallelize(tile,GPUThread,Atomics,Rows)", "the loop over tile contains more than one sum", "parallelize(tile,GPUThread,Atomics,Rows)"},
		{columnsGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"the loop over tile has a place of y(j) for each position: it sums no rows",
			"parallelize(tile,GPUThread,Atomics,Rows)"},
		{totalGPU, tiled("parallelize(tile,GPUThread,Atomics,Rows)"),
			"s is one value for all rows of A(i,j)", "parallelize(tile,GPUThread,Atomics,Rows)"},
	})
}
