package schedule_test

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// with returns p with the given formats.
func (p problem) with(formats string) problem {
	p.formats = formats
	return p
}

// refusal describes commands that are refused: a part of the message, and the part of the commands
// that the error points at.
type refusal struct {
	problem
	commands, want, at string
}

// checkRefusals checks the messages and places of refusals.
func checkRefusals(t *testing.T, list []refusal) {
	t.Helper()
	for _, c := range list {
		_, _, err := c.apply(t, c.commands)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(d.Msg, c.want) ||
			d.Code != schedule.Refused && d.Code != schedule.BadCommand {
			t.Errorf("%s\n-s=%s: got %v\nwant %q", c.stmt, c.commands, err, c.want)
			continue
		}
		if d.ExitCode() != 2 || d.Src != c.commands || d.Pos > d.End || d.Src[d.Pos:d.End] != c.at {
			t.Errorf("-s=%s: exit %d, points at %q of %q, want %q", c.commands, d.ExitCode(),
				d.Src[d.Pos:d.End], d.Src, c.at)
		}
	}
}

// TestRefusals checks the refusals for each precondition of each command, except the preconditions
// that TestRefusalsOnGPUs and TestPrecomputeRefusals check.
func TestRefusals(t *testing.T) {
	complexes := outer
	complexes.compute = tensor.Complex128
	append2 := problem{stmt: "forall(i, forall(j, C(i,j) = A(i,j) + B(i,j)))",
		formats: "C:ss A:ss B:ss"}
	order4 := problem{
		stmt: "forall(i, forall(k, forall(l, forall(m, forall(j, A(i,j) += B(i,k,l,m) * C(k,j) * D(l,j) * E(m,j))))))", formats: "A:dd B:dsss C:dd D:dd E:dd"}
	pieces := problem{stmt: "forall(i, seq(forall(j, y(i) += A(i,j)), forall(j, y(i) += z(j))))",
		formats: "y:d z:d A:ds"}
	nested := problem{stmt: "forall(i, where(forall(j, C(i,j) = W(j)), forall(j, W(j) = A(i,j))))",
		formats: "C:dd A:ds"}
	spaces := problem{stmt: "seq(forall(i, forall(j, y(i) += A(i,j))), forall(j, y(j) += z(j)))",
		formats: "y:d z:d A:ds"}
	lanes := problem{
		stmt: "forall(i, forall(k, where(forall(j, C(i,j) += W(j)), forall(j, W(j) += A(i,j) * B(k,j)))))", formats: "C:dd A:dd B:dd"}
	blocks := problem{stmt: "forall(i, forall(j, forall(k, y(i) += T(i,j,k) * x(k))))",
		formats: "y:d T:sds x:d", parts: []string{"i", "j"}}
	both := problem{stmt: "forall(i, forall(j, forall(k, C(i,j) += A(i,k) * B(k,j))))",
		formats: "C:ss A:dd B:dd"}
	gemm := problem{stmt: "forall(i, forall(j, forall(k, C(i,j) += A(i,k) * B(k,j))))",
		formats: "C:dd A:dd B:dd"}
	sums := problem{stmt: "forall(i, forall(j, forall(k, C(i,j) += A(i,k) + B(k,j))))",
		formats: "C:dd A:dd B:dd"}
	three := problem{stmt: "forall(i, forall(j, forall(k, C(i,j) += A(i,k) * B(k,j) * D(k,j))))",
		formats: "C:dd A:dd B:dd D:dd"}
	kr := problem{
		stmt:    "forall(k, forall(i, forall(l, forall(j, A(i,j) += B(i,k,l) * C(k,j) * D(l,j)))))",
		formats: "A:dd B:ddd C:dd D:dd"}
	const khatriRao = "precompute(C(k,j)*D(l,j),{l,j},{l,j},W),"
	gemmInt := gemm
	gemmInt.compute = tensor.Int64
	spmvGPU, spmmGPU, addGPU, rowSumGPU, complexGPU, spaceGPU := spmv, spmm, add, rowSum, spmm, lanes
	for _, p := range []*problem{&spmvGPU, &spmmGPU, &addGPU, &rowSumGPU, &complexGPU, &spaceGPU} {
		p.gpu = true
	}
	checkRefusals(t, []refusal{
		// The language.
		{spmv, "skew(i,4)", "got skew, want a scheduling command: assemble bound communicate coord",
			"skew(i,4)"},
		{gemm, "substitute(i,j)", "substitute: got j, want gemm", "j"},
		{gemm, "substitute({i,j,k})", "got 1 argument, want substitute({i, j, k}, gemm)",
			"substitute({i,j,k})"},
		{gemm, `substitute({i,j,k},"file.c")`,
			`substitute: got "file.c", want gemm, cublas, cusparse, or a C function as in "file.c:name"`,
			`"file.c"`},
		{gemm, `substitute({i,j,k},"file.c:1")`,
			`substitute: got "file.c:1", want gemm, cublas, cusparse, or a C function as in "file.c:name"`,
			`"file.c:1"`},
		{gemm, `substitute({i,j,k},"file.c:name)`,
			"got no second quote on the line, want one at the end of the name", `"`},
		{gemm, `substitute({},"file.c:name")`, "a function runs the loops in braces; got {}",
			"{}"},
		{gemm, `substitute({i,z},"file.c:name")`,
			"got z, want a variable that the statement loops over: i, j, k", "z"},
		{gemm, `substitute({i,k},"file.c:name")`,
			"no loops over i, k are directly inside one another, around one assignment",
			`substitute({i,k},"file.c:name")`},
		{gemm, `parallelize(i,CPUThread,NoRaces),substitute({i,j,k},"file.c:name")`,
			"the loop over i runs on CPUThread, and name runs it", "{i,j,k}"},
		{gemm, `unroll(k,2),substitute({k},"file.c:name")`,
			"the loop over k is unrolled, or has its way of merging, and name runs it", "{k}"},
		{gemm, "substitute({i,j},gemm)",
			"gemm runs three loops or more, over the rows and columns of the result and over the summed variables; got {i,j}", "{i,j}"},
		{gemm, "substitute(i,gemm)",
			"gemm runs three loops or more, over the rows and columns of the result and over the summed variables; got i", "i"},
		{gemm, "substitute({i,j,z},gemm)",
			"got z, want a variable that the statement loops over: i, j, k", "z"},
		{gemm, "substitute({i,j,i},gemm)", "i stands twice", "i"},
		{gemm, "split(i,i0,i1,4),substitute({i,j,k},gemm)", "substitute: i was replaced, by split", "i"},
		{gemm, "split(i,i0,i1,4),reorder(j,i0,i1,k),substitute({i0,i1,k},gemm)",
			"gemm multiplies a matrix over rows of the result and a summed variable by a matrix over that variable and columns of the result, and B(k,j) is over k", "substitute({i0,i1,k},gemm)"},
		{gemm, "split(k,k0,k1,4),substitute({i,k0,k1},gemm)",
			"no loops over i, k0, k1 are directly inside one another, around one sum",
			"substitute({i,k0,k1},gemm)"},
		{gemm, "split(k,k0,k1,4),reorder(i,j,k0,k1),substitute({j,k0,k1},gemm)",
			"gemm sums over some of its loops, and the result's values are along the others; the values of C(i,j) are along j", "{j,k0,k1}"},
		{gemm, "parallelize(i,CPUThread,NoRaces),substitute({i,j,k},gemm)",
			"the loop over i runs on CPUThread, and gemm runs it", "{i,j,k}"},
		{gemm, "unroll(k,2),substitute({i,j,k},gemm)",
			"the loop over k is unrolled, or has its way of merging, and gemm runs it", "{i,j,k}"},
		{gemm.with("C:dd A:ds B:dd"), "substitute({i,j,k},gemm)",
			"gemm multiplies dense matrices, and A(i,k) (its format is ds) stores k in a level that is not dense", "substitute({i,j,k},gemm)"},
		{sums, "substitute({i,j,k},gemm)",
			"gemm adds products of two matrices, and the loops add other terms than products",
			"substitute({i,j,k},gemm)"},
		{three, "substitute({i,j,k},gemm)",
			"gemm multiplies two matrices, and C(i,j) has 3 factors over the loops' variables",
			"substitute({i,j,k},gemm)"},
		{kr, khatriRao + "workspace(W,Hash),substitute({i,l,j},gemm)",
			"gemm multiplies matrices that are arrays, and the schedule has workspace(W,Hash)",
			"substitute({i,l,j},gemm)"},
		{kr, khatriRao + "substitute({i,l,j},gemm),workspace(W,Hash)",
			"gemm multiplies matrices that are arrays, and one of them is W", "workspace(W,Hash)"},
		{kr.with("A:dd B:ddd C:ss D:dd"), khatriRao + "substitute({i,l,j},gemm)",
			"gemm multiplies matrices that are arrays, and W(l,j) is not filled everywhere or nowhere",
			"substitute({i,l,j},gemm)"},
		{gemmInt, "substitute({i,j,k},gemm)",
			"gemm multiplies floats and complex numbers, and the statement computes in int64", "gemm"},
		{spmmGPU, "substitute({i,j,k},gemm)",
			"substitute: gemm runs on a CPU, and --target=cuda has cublas in its place", "gemm"},
		{spmmGPU, `substitute({i,j,k},"rows.c:rows")`,
			"substitute: the CPU runs a C function, and --target=cuda has cublas and cusparse for products of matrices", `"rows.c:rows"`},
		{gemm, "substitute({i,j,k},cublas)",
			"substitute: cublas runs on a GPU: want gemm, or --target=cuda", "cublas"},
		{spmv, "substitute({i,j},cusparse)", "substitute: cusparse runs on a GPU: want --target=cuda",
			"cusparse"},
		{spmmGPU, "substitute({i},cusparse)",
			"substitute: cusparse runs two loops, over the rows and columns of a sparse matrix, or three, with a loop over the columns of a dense matrix; got {i}", "{i}"},
		{spmmGPU, "substitute({j,k},cusparse),parallelize(i,GPUBlock,NoRaces)",
			"parallelize: i on GPUBlock: the host calls the library that runs the loops inside it, so this loop cannot run on a GPU", "parallelize(i,GPUBlock,NoRaces)"},
		{spmv, "distribute(i)",
			"distribute: a statement of a run can be distributed over ranks, but not the part of it that one rank runs", "distribute(i)"},
		{spmv, "unroll(i,2),communicate(A,i)",
			"communicate: a statement of a run can be distributed over ranks", "communicate(A,i)"},
		{spmv, "rotate(i,{j},r)", "rotate: a statement of a run can be distributed over ranks",
			"rotate(i,{j},r)"},
		{spmv, "rotate(i,{j})", "got 2 arguments, want rotate(i, {j, k}, ir)", "rotate(i,{j})"},
		{spmv, "communicate(A)", "got 1 argument, want communicate(T, i)", "communicate(A)"},
		{spmv, "distribute()",
			"got 0 arguments, want distribute(i) or distribute({i, j}, {io, jo}, {ii, ji}, M)",
			"distribute()"},
		{spmv, "split(i,i0,i1)", "got 3 arguments, want split(i, i0, i1, N)", "split(i,i0,i1)"},
		{spmv, "reorder(i)", "got 1 argument, want reorder(i, j, ...)", "reorder(i)"},
		{spmv, "split(i,i0,i1,4", `got the end of the schedule, want "," or ")"`, ""},
		{spmv, "split", `want "(" after split`, ""},
		{spmv, "split(i,,i1,4)", `got ",", want an argument`, ","},
		{spmv, "split(i,i0,i1,4);unroll(j)", `got ";", want "," and another command, or the end`, ";"},
		{spmv, "split(i,i0,i1,4),", `want a scheduling command, as in split(i,i0,i1,32)`, ""},
		{spmv, "precompute(x(j),{j,{j},t)", `got ")", want "," or "}"`, ")"},

		// Chunks of work.
		{spmv, "parallelize(i,CPUThread,NoRaces,Half)",
			"got Half with NoRaces, want a number of iterations, or NoRaces with Work", "Half"},
		{spmv, "parallelize(i,CPUThread,NoRaces,4,4)", "got a second number", "4"},
		{spmv, "parallelize(i,CPUVector,NoRaces,Work)", "chunks of work are for CPUThread; got CPUVector",
			"CPUVector"},
		{spmv, "parallelize(k,CPUThread,NoRaces,Work)",
			"got k, want a variable that the statement loops over", "k"},
		{spmv, "parallelize(i[2],CPUThread,NoRaces,Work)",
			"got i[2], want a variable that the statement loops over, with [N] for the Nth of its loops: i, j", "i[2]"},
		{spmv, "parallelize(j,CPUThread,NoRaces,Work)", "the one over j is inside another", "j"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work),parallelize(i,CPUThread,NoRaces,Work)",
			"i is parallel already", "i"},
		{spmv, "split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces,Work)",
			"i0 is not a plain loop over a variable of the statement", "i0"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work,8)",
			"the number of chunks of a loop that does not sum follows from the number of threads; got 8",
			"parallelize(i,CPUThread,NoRaces,Work,8)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work,x)", "got x, want a number", "x"},
		{outer, "parallelize(j,CPUThread,NoRaces,Rows,j)", "j is no variable of y(i)",
			"parallelize(j,CPUThread,NoRaces,Rows,j)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Rows,i)",
			"threads have parts of a dense result that a loop sums into; got y(i)",
			"parallelize(i,CPUThread,NoRaces,Rows,i)"},
		{outer, "parallelize(j,CPUThread,NoRaces,Work)",
			"iterations of j add to the same places of y(i); Temporary with Work",
			"parallelize(j,CPUThread,NoRaces,Work)"},
		{outer, "parallelize(j,CPUThread,Temporary,Work)", "got 0 partial results, want at least 2",
			"parallelize(j,CPUThread,Temporary,Work)"},
		{outer, "parallelize(j,CPUThread,ParallelReduction,Work,8)",
			"chunks have partial sums only if they sum into one scalar; got y(i)",
			"parallelize(j,CPUThread,ParallelReduction,Work,8)"},
		{spmv, "parallelize(i,CPUThread,Temporary,Work,4)",
			"chunks have partial results only if they sum into a dense result",
			"parallelize(i,CPUThread,Temporary,Work,4)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Ordered)",
			"y(i) is not appended to; chunks of Work need no order",
			"parallelize(i,CPUThread,NoRaces,Ordered)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Whole)",
			"threads help to set a dense result to 0 that the loop sums into",
			"parallelize(i,CPUThread,NoRaces,Whole)"},
		{add, "parallelize(i,CPUThread,NoRaces,Work)",
			"C(i,j) is appended to, by chunks that are Ordered", "parallelize(i,CPUThread,NoRaces,Work)"},
		{mttkrpAll, "parallelize(i,CPUThread,NoRaces,Rows)",
			"does not sum into a dense result by a loop over its outermost variable",
			"parallelize(i,CPUThread,NoRaces,Rows)"},

		// Forms of loops and workspaces.
		{spmv, "unroll(j,2),temporaries(y)", "it must be the first command",
			"temporaries(y)"},
		{spmv, "temporaries(A)", "got A, want the result, y", "A"},
		{spmv, "flatten(i)",
			"the loop over i is not the first over the levels of an operand whose pattern y shares",
			"flatten(i)"},
		{spmv, "flatten(j)", "no outermost loop is over j", "flatten(j)"},
		{spmm, "tile(k,1)", "got tiles of 1 values, want at least 2 and at most 64", "tile(k,1)"},
		{spmm, "tile(j,4)", "j does not run along rows of the result that are summed", "tile(j,4)"},
		{spmm, "tile(l,4)", "got l, want a variable that the statement loops over", "l"},
		{spmm.with("C:dd:1,0 A:ds B:dd"), "tile(k,4)",
			"k does not run along rows of the result that are summed", "tile(k,4)"},
		{problem{stmt: "forall(i, forall(j, y(j) += B(i,j) * x(i)))", formats: "y:d B:ss x:d"},
			"precompute(B(i,j),j,l,W),tile(j,3)", "j does not run along rows of the result that are summed",
			"tile(j,3)"},
		{spmm, "nontemporal(B)", "got B, want the result, C", "B"},
		{add, "nontemporal(C)", "C(i,j) is put together in memory that grows, or added to",
			"nontemporal(C)"},
		{sddmm, "nontemporal(Y)",
			"the last level of Y(i,j) is not dense: its values are written one by one", "nontemporal(Y)"},
		{spmm, "jam(k,8)", "no loop over k can be moved into the loops inside it", "jam(k,8)"},
		{spmm, "reorder(i,k,j),jam(j,8)", "no loop over j can be moved into the loops inside it",
			"jam(j,8)"},
		{spmm, "reorder(i,k,j),jam(k,65)",
			"got tiles of 65 values, want at most 64; 1 means that the loop is not moved", "jam(k,65)"},
		{spmm.with("C:dd:1,0 A:ds B:dd"), "reorder(i,k,j),jam(k,8)",
			"no loop over k can be moved into the loops inside it", "jam(k,8)"},
		{add, "mergeby(i,OneBody)", "no loop over i steps through several operands",
			"mergeby(i,OneBody)"},
		{spmm, "prefetch(A,j,16)", "j does not select rows of A(i,j): its last two levels must be dense",
			"prefetch(A,j,16)"},
		{spmm, "prefetch(B,k,16)", "k does not select rows of B(j,k)", "prefetch(B,k,16)"},
		{spmm, "prefetch(Z,j,16)", "got Z, want a tensor of the statement, or one of its accesses",
			"prefetch(Z,j,16)"},
		{twice, "prefetch(A,j,16)", "A appears at different variables; name the access",
			"prefetch(A,j,16)"},
		{spmm, "prefetch(B,j,16,16)",
			"got 16 entries ahead for the cache of the second level, want more than the 16 for the nearest",
			"prefetch(B,j,16,16)"},
		{spmm, "prefetch(B,j,-1)", "got -1, want at least 0 and at most 2^40", "-1"},
		{spmm, "prefetch(B,j,100000)", "got 100000 entries ahead, want at most 65536",
			"prefetch(B,j,100000)"},
		{spmv, "vectorize(j,x)", "x(j) does not store entries along j", "vectorize(j,x)"},
		{spmv, "vectorize(j,A,17)", "got 3 arguments, want vectorize(i[, T])", "vectorize(j,A,17)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work),longrows(i,x,100)",
			"the loop over i has no rows of x(j) to cut", "longrows(i,x,100)"},
		{nested, "workspace(V,List)", "the statement has no workspace V over index variables",
			"workspace(V,List)"},
		{nested, "workspace(W,Tree)",
			"got Tree, want Hash, List, Bitmap, Dense, Sorted, Marks, Positions or Terms", "Tree"},
		{nested, "workspace(W,Dense)", "W(j) is not filled everywhere or nowhere", "workspace(W,Dense)"},
		{problem{stmt: "forall(k, A(k) = B(k))", formats: "A:s B:d"},
			"precompute(B(k),k,x,W),parallelize(x,CPUThread,NoRaces,Work),workspace(W,List)",
			"threads fill W together by chunks of the loop over x, which takes an array, or marks at its places", "workspace(W,List)"},
		{
			problem{
				stmt: "forall(i, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))", formats: "C:ds A:ds B:ds"}, "workspace(W,Sorted)", "W(j) is not filled in the order of its variables", "workspace(W,Sorted)"},
		{
			problem{
				stmt: "forall(i, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))", formats: "C:ds A:ds B:ds"}, "workspace(W,Terms)", "a list of all values that are added to W(j) needs values that are entries of one operand times dense operands, and this is another sum", "workspace(W,Terms)"},
		{
			problem{
				stmt: "where(forall(i, forall(j, forall(k, forall(l, C(i,j,k,l) = W(i,j,k,l))))), forall(j, forall(i, forall(k, forall(l, W(i,j,k,l) += A(j,i,k,l))))))", formats: "C:dsss A:dsss"}, "workspace(W,Bitmap)", "a place for every coordinate is for at most 16777216 coordinates; W(i,j,k,l) has 1e+08", "workspace(W,Bitmap)"},
		{spmv, "mergeby(j,Predicated)", "no loop over j has as its body a sum of floats",
			"mergeby(j,Predicated)"},
		{spmv, "bound(i,i,99,MaxExact)", "i has 100 coordinates, got 99", "bound(i,i,99,MaxExact)"},
		{spmv, "bound(i,i,100,MaxConstraint)",
			"got MaxConstraint: only a variable with a MaxExact bound keeps its name", "MaxConstraint"},
		{blocks, "bound(i,i,100,MaxExact)", "the range of i is cut into blocks",
			"bound(i,i,100,MaxExact)"},

		// split and divide.
		{spmv, "split(k,i0,i1,4)", "got k, want a variable that the statement loops over: i, j", "k"},
		{spmv, "split(i,3,i1,4)", "got 3, want a name for a new variable", "3"},
		{spmv, "split(i,j,i1,4)", "the name j is in use", "j"},
		{spmv, "split(i,i0,A,4)", "the name A is in use", "A"},
		{spmv, "split(i,a,a,4)", "the name a is in use", "a"},
		{spmv, "split(i,i0,i1,0)", "got 0, want at least 1 and at most 2^40", "0"},
		{spmv, "split(i,i0,i1,1099511627777)", "got 1099511627777, want at least 1 and at most 2^40",
			"1099511627777"},
		{spmv, "split(i,i0,i1,x)", "got x, want a whole number", "x"},
		{spmv, "divide(i,i0,i1,-2)", "got -2, want at least 1", "-2"},
		{spmv, "split(i,i0,i1,4),split(i,a,b,4)", "i was replaced, by split(i, i0, i1, 4)", "i"},
		{spmv, "split(i,i0,i1,4),split(j,i,b,4)", "the name i is in use", "i"},
		{spmv, "unroll(j,2),split(j,j0,j1,4)",
			"the loop over j is unrolled; unroll comes after the commands that replace the variable", "j"},
		{spmv, "mergeby(j,Gallop),fuse(i,j,f)", "the loop over j has its way of merging; mergeby " +
			"comes after fuse, and names the fused variable", "j"},

		// fuse.
		{spmv, "fuse(j,i,f)", "the loop over i is not directly inside the one over j", "i"},
		{spmm, "fuse(i,k,f)", "the loop over k is not directly inside the one over i", "k"},
		{rowSum, "fuse(i,j,f)",
			"the loop over j is not directly inside the one over i: for each i it computes t, which is used before the next", "j"},
		{problem{stmt: "forall(i, where(y(i) = t / z(i), forall(j, t += A(i,j))))",
			formats: "y:d z:d A:ds"}, "fuse(i,j,f)",
			"the loop over j is not directly inside the one over i: for each i it computes t, which is used before the next", "j"},
		{
			problem{
				stmt: "forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))", formats: "C:ds A:ds B:ds"}, "fuse(i,j,f)",
			"the loop over j is not directly inside the one over i: for each i it fills the workspace w(k), as C(i,k) (its format is ds) takes entries in order; a dense C needs no workspace, and loops over parts of i can be split, and run in parallel", "j"},
		{pieces.with("y:s z:d A:ds"), "fuse(i,j,f)",
			"other terms next to it, and entries of y(i) (its format is s) must be added in order; a dense y accepts any order", "j"},
		{nested, "split(j,j0,j1,2),fuse(i,j0,f)",
			"the loop over j0 is not directly inside the one over i", "j0"},
		{problem{stmt: "forall(l, forall(k, A(l,k) = B(l) * C(l,k)))", formats: "A:dd B:s C:dd:1,0"},
			"split(l,l0,l1,4),split(k,k0,k1,4),reorder(l0,k0,l1),precompute(B(l),{},{},W),fuse(l0,k0,f)",
			"B(l) would be read outside of the loop over k1, without which l is not known", "fuse(l0,k0,f)"},
		{problem{stmt: "forall(k, forall(j, A(k) += D(j)))", formats: "A:d D:d"},
			"split(j,j0,j1,3),precompute(D(j),j0,jw,W),fuse(k,j0,f)",
			"A(k) would be written outside of the loop over j1, without which k is not known", "fuse(k,j0,f)"},
		{spmv, "pos(j,p,A),fuse(i,p,f)", "p runs over positions of A(i,j); fuse the coordinates first",
			"p"},
		{spmv, "fuse(i,j,x)", "the name x is in use", "x"},
		{spmv, "unroll(j,2),fuse(i,j,f)", "the loop over j is unrolled", "j"},

		{spaces, "split(j,j0,j1,4),fuse(i,j0,f)",
			"j0 has loops elsewhere than directly inside the one over i", "j0"},
		{spaces, "fuse(i,j,f),split(j,j0,j1,4)", "j was replaced, by fuse(i, j, f)", "j"},
		{spaces, "fuse(i,j,f),reorder(j,f)", "j was replaced, by fuse(i, j, f)", "j"},

		// reorder.
		{spmv, "reorder(j,i)",
			"A(i,j) stores j below i (its format is ds), and the loops would reach j first", "reorder(j,i)"},
		{spmm, "reorder(k,i)", "the loops would reach j first", "reorder(k,i)"},
		{spmv, "reorder(i,i)", "i stands twice", "i"},
		{spmv, "reorder(i,k)", "got k, want a variable that the statement loops over", "k"},
		{parts, "reorder(j,i)", "the loops are not directly nested", "reorder(j,i)"},
		{rowSum, "reorder(j,i)", "the loops are not directly nested", "reorder(j,i)"},
		{append2, "split(j,j0,j1,4),reorder(j0,i)", "the loop over j0 would come too early",
			"reorder(j0,i)"},
		{append2, "split(i,i0,i1,4),reorder(i1,i0)",
			"the loops over i0, i1 visit coordinates out of order", "reorder(i1,i0)"},

		{sddmm, "fuse(j,k,f),split(f,f0,f1,4)",
			"tiles of the fused j, k would separate entries that are written together",
			"split(f,f0,f1,4)"},
		{sddmmOwn, "split(j,j0,j1,4),reorder(j0,k,j1)", "the loop over k would come too early",
			"reorder(j0,k,j1)"},
		{append2, "fuse(i,j,f),split(f,f0,f1,4)", "tiles of i, j fused would come back to a row",
			"split(f,f0,f1,4)"},

		// pos and coord.
		{spmv, "pos(j,p,B)",
			"got B, want a tensor of the statement, or one of its accesses: A(i,j), x(j)", "B"},
		{twice, "pos(j,p,A)", "A appears at different variables; name the access", "A"},
		{spmv, "pos(i,p,A)", "level 0 of A is dense, and has no positions of its own", "A"},
		{spmv.with("y:d A:ds x:s"), "pos(i,p,x)", "x(j) does not hold i", "x"},
		{spmv, "pos(j,p,A),pos(p,q,A)", "p runs over positions already, of A(i,j)", "p"},
		{spmv, "split(j,j0,j1,4),pos(j0,p,A)", "j0 numbers tiles", "j0"},
		{spmv.with("y:d A:dp x:d"), "pos(j,p,A)", "is padded", "A"},
		{coo, "pos(i,p,A),split(p,p0,p1,4),reorder(p1,p0)",
			"A(i,j) keeps repeated coordinates, which are visited together", "reorder(p1,p0)"},
		{spmv, "split(i,i0,i1,4),reorder(i1,i0),fuse(i0,j,f),pos(f,p,A)",
			"are in the order of i, j, and the fused tiles are not", "pos(f,p,A)"},
		{diagon, "pos(i,p,A)", "A(i,i) holds i twice", "A"},
		{spmm, "fuse(j,k,f),pos(f,p,A)", "are not neighbouring levels of A(i,j)", "A"},
		{spmv, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,4),reorder(p1,p0)",
			"are visited in order: tiles outside", "reorder(p1,p0)"},
		{spmv, "split(j,j0,j1,4),pos(j1,p,A),reorder(p,j0)",
			"within tiles of coordinates are visited in order", "reorder(p,j0)"},
		{spmv, "pos(j,p,A),split(p,p0,p1,4),coord(p1,c),reorder(c,p0)",
			"within tiles of positions of A(i,j) are visited in order", "reorder(c,p0)"},
		{addTo, "pos(j,p,A),split(p,p0,p1,4),reorder(p1,p0)", "also has values elsewhere",
			"reorder(p1,p0)"},
		{spmv, "pos(j,p,A),split(p,p0,p1,4),reorder(p0,i,p1)", "known inside the loops over i only",
			"reorder(p0,i,p1)"},
		{pieces, "pos(j,p,A)", "A(i,j) is not in y(i) += z(j), which loops over j too", "pos(j,p,A)"},
		{spmv.with("y:d A:ps x:d"), "fuse(i,j,f),pos(f,p,A)",
			"level 0 of A is padded, so its positions cannot be visited together with the levels below",
			"A"},
		{spmv, "coord(j,c)", "j runs over coordinates already", "j"},
		{spmv, "pos(j,p,A),coord(p,i)", "the name i is in use", "i"},

		// bound.
		{spmv, "bound(i,ib,4,Exact)",
			"got Exact, want MinExact, MinConstraint, MaxExact or MaxConstraint", "Exact"},
		{spmv, "bound(i,ib,n,MaxExact)", "got n, want a whole number", "n"},
		{spmv, "bound(i,ib,-1,MaxExact)", "got -1, want at least 0", "-1"},
		{spmv, "bound(i,j,4,MaxExact)", "the name j is in use", "j"},

		{blocks, "bound(i,ib,100,MaxExact)",
			"the range of i is cut into blocks, over ranks or by --split", "MaxExact"},
		{blocks, "fuse(i,j,f),fuse(f,k,g),pos(g,p,T)", "the range of j is cut into blocks", "g"},

		// unroll and mergeby.
		{spmv, "unroll(i,0)", "got 0, want at least 1", "0"},
		{spmv, "unroll(k)", "got k, want a variable", "k"},
		{spmv, "mergeby(j,Binary)", "got Binary, want TwoFinger, Gallop, Predicated, Windows or OneBody",
			"Binary"},
		{add, "mergeby(j,Gallop)", "Gallop searches for coordinates that operands have in common, and " +
			"the loop over j also visits coordinates that not all of A(i,j), B(i,j) have; use TwoFinger",
			"Gallop"},
		{add, "mergeby(j,Gallop),divide(j,j0,j1,4)",
			"the loop over j1 also visits coordinates that not all of A(i,j), B(i,j) have", "Gallop"},
		{addTo.with("C:dd A:dd B:ss"), "mergeby(i,Gallop)",
			"the loop over i also visits coordinates that not all of B(i,j) have", "Gallop"},
		{meet, "mergeby(j,Gallop),split(j,j0,j1,4),unroll(j1,2),reorder(i,j1,j0)",
			"is written in order", "reorder(i,j1,j0)"},
		{meet.with("C:dd A:ds B:ds"), "mergeby(j,Gallop),split(j,j0,j1,4),reorder(j1,j0)",
			"the loop over j1 computes each coordinate, and looks every operand up there", "Gallop"},
		{meet.with("C:dd A:dp B:ds"), "mergeby(j,Gallop)", "A(i,j) is padded there (its format is dp)",
			"Gallop"},
		{meet.with("C:dd A:du B:ds"), "mergeby(j,Gallop)",
			"A(i,j) keeps repeated coordinates there (its format is du)", "Gallop"},

		// assemble.
		{spmv, "assemble(A,Append)", "got A, want the result, y", "A"},
		{spmv, "assemble(y,Both)", "got Both, want Append or Insert", "Both"},
		{spmv, "assemble(y,Insert,perhaps)", "got perhaps, want true or false", "perhaps"},
		{spmv, "assemble(y,insert)", "got insert, want Append or Insert; did you mean Insert?", "insert"},
		// Typing errors.
		{spmv, "paralelize(i,CPUThread,NoRaces)",
			"there is no scheduling command paralelize; did you mean parallelize?",
			"paralelize(i,CPUThread,NoRaces)"},
		{spmv, "skew(i)", "got skew, want a scheduling command: assemble bound", "skew(i)"},
		{spmv, "parallelize(i,CPUThreads,NoRaces)", "NotParallel; did you mean CPUThread?", "CPUThreads"},
		{spmv, "parallelize(i,CPUThread,norace)", "did you mean NoRaces?", "norace"},
		{spmv, "bound(i,ib,4,Maxexact)", "did you mean MaxExact?", "Maxexact"},
		{spmv, "workspace(w,hash)", "did you mean Hash?", "hash"},
		{gemm, "substitute({i,j,k},CuBLAS::GeMM)", "cublas runs on a GPU: want gemm, or --target=cuda",
			"CuBLAS::GeMM"},
		{gemm, "substitute({i,j,k},gem)", "did you mean gemm?", "gem"},

		// parallelize.
		{spmv, "parallelize(i,GPUBlock,NoRaces)",
			"GPUBlock is a unit of a GPU, and this leaf is for a CPU; --target=cuda", "GPUBlock"},
		{spmv, "parallelize(i,CPU,NoRaces)", "got CPU, want CPUThread, CPUVector", "CPU"},
		{spmv, "parallelize(i,CPUThread,Race)",
			"got Race, want NoRaces, IgnoreRaces, Atomics, Temporary or ParallelReduction", "Race"},
		{spmv, "parallelize(i,CPUThread,NoRaces,0)", "got 0, want at least 1", "0"},
		{spmv, "parallelize(i,CPUVector,NoRaces,8)", "CPUVector takes no chunk", "8"},
		{spmv, "parallelize(i,CPUThread,NoRaces),unroll(i,2)", "the loop over i is unrolled", "i"},
		{spmv, "parallelize(i,CPUThread,NoRaces),split(i,i0,i1,4)",
			"i was replaced, by split(i, i0, i1, 4)", "i"},
		{spmv, "parallelize(i,CPUThread,NoRaces),parallelize(i,CPUVector,NoRaces)",
			"i is parallel already", "i"},
		{spmv, "unroll(j,2),parallelize(j,CPUVector,ParallelReduction)", "the loop over j is unrolled",
			"j"},
		{spmm, "parallelize(i,CPUVector,NoRaces),parallelize(k,CPUThread,NoRaces)",
			"the loop over i around it runs in vector lanes", "k"},
		{spmm, "parallelize(k,CPUThread,NoRaces),parallelize(i,CPUVector,NoRaces)",
			"a loop inside the one over i is parallel", "i"},
		{spmv, "parallelize(j,CPUThread,NoRaces)", "iterations of j add to the same places of y(i)",
			"NoRaces"},
		{spmv, "split(j,j0,j1,8),parallelize(j0,CPUThread,NoRaces)",
			"iterations of j0 add to the same places of y(i)", "NoRaces"},
		{spmv, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,NoRaces)",
			"iterations of p0 add to the same places of y(i)", "NoRaces"},
		{spmv, "fuse(i,j,f),pos(f,p,A),parallelize(p,CPUThread,Atomics)",
			"is one over rows and one inside; split it first", "p"},
		{complexes, "parallelize(j,CPUThread,Atomics)", "complex numbers are not added atomically",
			"Atomics"},
		{spmv, "parallelize(j,CPUVector,Atomics)", "lanes of one vector do not add atomically",
			"Atomics"},
		{outer, "parallelize(j,CPUThread,ParallelReduction)", "add to many places of y(i)",
			"ParallelReduction"},
		// The last leaf of the fused variable determines i, so inside j1, i is not a single
		// coordinate.
		{spmv.with("y:d A:dd x:d"),
			"split(i,i0,i1,4),split(j,j0,j1,4),fuse(i1,j0,f),parallelize(j1,CPUThread,ParallelReduction)",
			"add to many places of y(i)", "ParallelReduction"},
		{spmv.with("y:d A:dd x:d"),
			"split(i,i0,i1,4),split(j,j0,j1,4),fuse(i1,j0,f),parallelize(j1,CPUVector,Temporary)",
			"lanes have no copies of y(i)", "Temporary"},
		{outer, "parallelize(j,CPUVector,Temporary)", "lanes have no copies of y(i)", "Temporary"},
		{sddmm, "reorder(k,j),parallelize(k,CPUThread,Temporary)",
			"add to the same places of Y(i,j), which has compressed levels (its format is ds); Atomics adds to them", "Temporary"},
		{sddmm, "reorder(k,j),parallelize(k,CPUThread,ParallelReduction)", "Atomics adds to them",
			"ParallelReduction"},
		{addTo, "parallelize(i,CPUThread,NoRaces)",
			"steps through several operands together: A(i,j), B(i,j)", "i"},
		{addTo.with("C:dd A:dd B:ss"), "parallelize(i,CPUThread,NoRaces)",
			"steps through B(i,j) beside all coordinates", "i"},
		{append2, "parallelize(j,CPUThread,NoRaces)", "is appended to in order", "j"},
		{append2, "parallelize(i,CPUThread,Atomics)", "is appended to in order", "CPUThread"},
		{append2, "parallelize(i,CPUVector,NoRaces)", "is appended to in order", "CPUVector"},
		{rowSum, "parallelize(j,CPUThread,NoRaces)", "iterations of j add to the scalar t", "NoRaces"},
		{rowSum, "parallelize(j,CPUThread,Atomics)", "iterations of j add to the local t", "Atomics"},
		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,j,W),parallelize(l,CPUThread,ParallelReduction)",
			"fills the workspace W(j)", "ParallelReduction"},

		{order4,
			"precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,V),precompute(B(i,k,l,m)*E(m,j),j,j,W),parallelize(m,CPUThread,Temporary)",
			"V(j) is computed around the loop over m and inside another loop", "m"},

		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,jw,W),parallelize(l,CPUVector,NoRaces)",
			"fills the workspace W(jw), which lanes would share", "CPUVector"},
		{lanes, "parallelize(i,CPUVector,NoRaces)",
			"fills the workspace W(j) in each iteration, which lanes would share", "CPUVector"},
		{both, "reorder(j,i,k)", "the loop over j would come too early", "reorder(j,i,k)"},
	})
}

// TestBlank checks that a blank schedule has no commands, and that an incomplete schedule is an
// error.
func TestBlank(t *testing.T) {
	list, err := schedule.Parse([]string{"", " \n", "unroll(i,4)"})
	if err != nil || len(list) != 1 || list[0].String() != "unroll(i,4)" {
		t.Errorf("got %v, %v", list, err)
	}
}
