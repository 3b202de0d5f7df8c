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
			"got a file name without its second quote, want one on the same line", `"`},
		{gemm, `substitute({},"file.c:name")`, "got {}, want the loops that the function runs, in braces",
			"{}"},
		{gemm, `substitute({i,z},"file.c:name")`,
			"got z, want a variable that the statement loops over: i, j, k", "z"},
		{gemm, `substitute({i,k},"file.c:name")`,
			"the loops over i, k must be directly inside one another, around only one assignment; commands that change loops must come first",
			`substitute({i,k},"file.c:name")`},
		{gemm, `parallelize(i,CPUThread,NoRaces),substitute({i,j,k},"file.c:name")`,
			"the loop over i already runs on CPUThread, so name cannot replace it", "{i,j,k}"},
		{gemm, `unroll(k,2),substitute({k},"file.c:name")`,
			"the loop over k is unrolled or has a mergeby, so name cannot replace it", "{k}"},
		{gemm, "substitute({i,j},gemm)",
			"gemm must get three loops or more, over the rows and columns of the result and over the summed variables; got {i,j}", "{i,j}"},
		{gemm, "substitute(i,gemm)",
			"gemm must get three loops or more, over the rows and columns of the result and over the summed variables; got i", "i"},
		{gemm, "substitute({i,j,z},gemm)",
			"got z, want a variable that the statement loops over: i, j, k", "z"},
		{gemm, "substitute({i,j,i},gemm)", "got i twice, want each variable once", "i"},
		{gemm, "split(i,i0,i1,4),substitute({i,j,k},gemm)", "substitute: i no longer exists: it was replaced by split(i, i0, i1, 4)", "i"},
		{gemm, "split(i,i0,i1,4),reorder(j,i0,i1,k),substitute({i0,i1,k},gemm)",
			"gemm needs each factor over a summed variable and a variable of the result, but B(k,j) is over k", "substitute({i0,i1,k},gemm)"},
		{gemm, "split(k,k0,k1,4),substitute({i,k0,k1},gemm)",
			"the loops over i, k0, k1 must be directly inside one another, around only one sum; commands that change loops must come first",
			"substitute({i,k0,k1},gemm)"},
		{gemm, "split(k,k0,k1,4),reorder(i,j,k0,k1),substitute({j,k0,k1},gemm)",
			"gemm must get loops over two or more variables of the result and at least one loop that sums; the loops over the result C(i,j) are j", "{j,k0,k1}"},
		{gemm, "parallelize(i,CPUThread,NoRaces),substitute({i,j,k},gemm)",
			"the loop over i already runs on CPUThread, so gemm cannot replace it", "{i,j,k}"},
		{gemm, "unroll(k,2),substitute({i,j,k},gemm)",
			"the loop over k is unrolled or has a mergeby, so gemm cannot replace it", "{i,j,k}"},
		{gemm.with("C:dd A:ds B:dd"), "substitute({i,j,k},gemm)",
			"gemm multiplies dense matrices, but A(i,k) (its format is ds) stores k in a level that is not dense", "substitute({i,j,k},gemm)"},
		{sums, "substitute({i,j,k},gemm)",
			"gemm adds products of two matrices, but these loops also add other terms",
			"substitute({i,j,k},gemm)"},
		{three, "substitute({i,j,k},gemm)",
			"gemm multiplies two matrices, but C(i,j) has 3 factors over the variables of the loops",
			"substitute({i,j,k},gemm)"},
		{kr, khatriRao + "workspace(W,Hash),substitute({i,l,j},gemm)",
			"gemm multiplies matrices, which must be stored as arrays, but the schedule has workspace(W,Hash)",
			"substitute({i,l,j},gemm)"},
		{kr, khatriRao + "substitute({i,l,j},gemm),workspace(W,Hash)",
			"gemm multiplies matrices, which must be stored as arrays; workspace W is one of them", "workspace(W,Hash)"},
		{kr.with("A:dd B:ddd C:ss D:dd"), khatriRao + "substitute({i,l,j},gemm)",
			"gemm multiplies matrices, which must be stored as arrays, but the loops store values at only some coordinates of W(l,j); an array needs a value at each coordinate",
			"substitute({i,l,j},gemm)"},
		{gemmInt, "substitute({i,j,k},gemm)",
			"gemm multiplies floats and complex numbers only, but the statement computes in int64", "gemm"},
		{spmmGPU, `substitute({i,j,k},"rows.c:rows")`,
			"substitute: got a C function, which runs on a CPU; with --target=cuda, want gemm, cublas or cusparse for products of matrices", `"rows.c:rows"`},
		{gemm, "substitute({i,j,k},cublas)",
			"substitute: got cublas, which runs on a GPU; write gemm, or add --target=cuda", "cublas"},
		{spmv, "substitute({i,j},cusparse)", "got cusparse, which runs on a GPU; add --target=cuda",
			"cusparse"},
		{spmmGPU, "substitute({i},cusparse)",
			"substitute: cusparse must get either two loops, over the rows and columns of a sparse matrix, or a third loop too, over the columns of a dense matrix; got {i}", "{i}"},
		{spmmGPU, "substitute({j,k},cusparse),parallelize(i,GPUBlock,NoRaces)",
			"parallelize: i on GPUBlock: the host calls the library that runs the loops inside it, so this loop cannot run on a GPU", "parallelize(i,GPUBlock,NoRaces)"},
		{spmv, "distribute(i)",
			"distribute: got it in a leaf, want it in a whole statement: a leaf is the part that one rank runs", "distribute(i)"},
		{spmv, "unroll(i,2),communicate(A,i)",
			"communicate: got it in a leaf, want it in a whole statement: a leaf is the part that one rank runs", "communicate(A,i)"},
		{spmv, "rotate(i,{j},r)", "rotate: got it in a leaf, want it in a whole statement: a leaf is the part that one rank runs",
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
			"parallelize: got Half with NoRaces, want either a number of iterations, or NoRaces with Work, Ordered, Rows or Whole, or Temporary or ParallelReduction with Work", "Half"},
		{spmv, "parallelize(i,CPUThread,NoRaces,4,4)", "got a second number", "4"},
		{spmv, "parallelize(i,CPUVector,NoRaces,Work)", "got the unit CPUVector, want CPUThread: chunks of work are for threads of a CPU",
			"CPUVector"},
		{spmv, "parallelize(k,CPUThread,NoRaces,Work)",
			"got k, want a variable that the statement loops over", "k"},
		{spmv, "parallelize(i[2],CPUThread,NoRaces,Work)",
			"got i[2], want a variable that the statement loops over, with [N] for the Nth of its loops: i, j", "i[2]"},
		{spmv, "parallelize(j,CPUThread,NoRaces,Work)", "only an outermost loop can be divided into chunks of work; the loop over j is inside another", "j"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work),parallelize(i,CPUThread,NoRaces,Work)",
			"the loop over i is already parallel", "i"},
		{spmv, "split(i,i0,i1,4),parallelize(i0,CPUThread,NoRaces,Work)",
			"got i0, want a variable of the statement whose loop is not unrolled and not made by another command", "i0"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work,8)",
			"got 8 chunks, want no number: only a loop that sums into one scalar has one",
			"parallelize(i,CPUThread,NoRaces,Work,8)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work,x)", "got x, want a number", "x"},
		{outer, "parallelize(j,CPUThread,NoRaces,Rows,j)", "got j, want an index variable of y(i)",
			"parallelize(j,CPUThread,NoRaces,Rows,j)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Rows,i)",
			"got y(i), want a loop for Rows that sums into a dense result, of which each thread has a part",
			"parallelize(i,CPUThread,NoRaces,Rows,i)"},
		{outer, "parallelize(j,CPUThread,NoRaces,Work)",
			"iterations of j add to the same elements of y(i); use Temporary with Work, where chunks have partial results",
			"parallelize(j,CPUThread,NoRaces,Work)"},
		{outer, "parallelize(j,CPUThread,Temporary,Work)", "got 0 partial results, want 2 to",
			"parallelize(j,CPUThread,Temporary,Work)"},
		{outer, "parallelize(j,CPUThread,ParallelReduction,Work,8)",
			"partial sums need a loop that sums into one scalar, but the loop sums into y(i)",
			"parallelize(j,CPUThread,ParallelReduction,Work,8)"},
		{spmv, "parallelize(i,CPUThread,Temporary,Work,4)",
			"partial results need a loop that sums into a dense result; got",
			"parallelize(i,CPUThread,Temporary,Work,4)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Ordered)",
			"y(i) is not appended to; want chunks of Work, which need no order",
			"parallelize(i,CPUThread,NoRaces,Ordered)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Whole)",
			"threads can set a result to 0 only if it is dense and the loop sums into it; got",
			"parallelize(i,CPUThread,NoRaces,Whole)"},
		{add, "parallelize(i,CPUThread,NoRaces,Work)",
			"entries of C(i,j) must be appended in order, so the chunks must be Ordered", "parallelize(i,CPUThread,NoRaces,Work)"},
		{mttkrpAll, "parallelize(i,CPUThread,NoRaces,Rows)",
			"must sum into a dense result in an inner loop over the result's outermost variable",
			"parallelize(i,CPUThread,NoRaces,Rows)"},

		// Forms of loops and workspaces.
		{spmv, "unroll(j,2),temporaries(y)", "temporaries must be the first command, because it changes the loops that other commands name",
			"temporaries(y)"},
		{spmv, "parallelize(i,CPUThread,NoRaces),temporaries(y),unroll(j,2)",
			"temporaries must be the first command", "temporaries(y)"},
		{spmv, "temporaries(A)", "got A, want the result, y", "A"},
		{spmv, "flatten(i)",
			"the loop over i must be the first over the levels of the operand whose pattern y has, and no other operand may need their coordinates",
			"flatten(i)"},
		{spmv, "flatten(j)", "got j, want the variable of an outermost loop", "flatten(j)"},
		{spmm, "tile(k,1)", "got tiles of 1 values, want 2 to 64", "tile(k,1)"},
		{spmm, "tile(j,4)", "j must be the last level, a dense one, of the result and of all tensors that have it, with a loop over j itself inside loops that sum", "tile(j,4)"},
		{spmm, "tile(l,4)", "got l, want a variable that the statement loops over", "l"},
		{spmm.with("C:dd:1,0 A:ds B:dd"), "tile(k,4)",
			"k must be the last level, a dense one, of the result and of all tensors that have it, with a loop over k itself inside loops that sum", "tile(k,4)"},
		{problem{stmt: "forall(i, forall(j, y(j) += B(i,j) * x(i)))", formats: "y:d B:ss x:d"},
			"precompute(B(i,j),j,l,W),tile(j,3)", "j must be the last level, a dense one, of the result and of all tensors that have it, with a loop over j itself inside loops that sum",
			"tile(j,3)"},
		{spmm, "nontemporal(B)", "got B, want the result, C", "B"},
		{add, "nontemporal(C)", "C(i,j) is built in memory that grows, or added to; want a result that is written once",
			"nontemporal(C)"},
		{sddmm, "nontemporal(Y)",
			"the last level of Y(i,j) must be dense, because its values are stored several at a time", "nontemporal(Y)"},
		{spmm, "jam(k,8)", "no loop over k can be moved inside: it must be over the result's last level, which must be dense in all tensors that have it, and directly around loops that sum in order", "jam(k,8)"},
		{spmm, "reorder(i,k,j),jam(j,8)", "no loop over j can be moved inside: it must be over the result's last level, which must be dense in all tensors that have it, and directly around loops that sum in order",
			"jam(j,8)"},
		{spmm, "reorder(i,k,j),jam(k,65)",
			"got tiles of 65 values, want at most 64 (1 leaves the loop in its place)", "jam(k,65)"},
		{spmm.with("C:dd:1,0 A:ds B:dd"), "reorder(i,k,j),jam(k,8)",
			"no loop over k can be moved inside: it must be over the result's last level, which must be dense in all tensors that have it, and directly around loops that sum in order", "jam(k,8)"},
		{add, "mergeby(i,OneBody)", "the loop over i must merge several sparse operands",
			"mergeby(i,OneBody)"},
		{spmm, "prefetch(A,j,16)", "j must select rows of A(i,j): its last two levels must be dense, and j the variable of the first of them",
			"prefetch(A,j,16)"},
		{spmm, "prefetch(B,k,16)", "k must select rows of B(j,k): its last two levels must be dense, and k the variable of the first of them", "prefetch(B,k,16)"},
		{spmm, "prefetch(Z,j,16)", "got Z, want either a tensor of the statement or one of its accesses",
			"prefetch(Z,j,16)"},
		{twice, "prefetch(A,j,16)", "A is accessed with different variables; name one access, as in B(i,j)",
			"prefetch(A,j,16)"},
		{spmm, "prefetch(B,j,16,16)",
			"got 16 entries ahead for the second-level cache, want more than the 16 for the nearest cache",
			"prefetch(B,j,16,16)"},
		{spmm, "prefetch(B,j,-1)", "got the number -1, want 0 to 2^40", "-1"},
		{spmm, "prefetch(B,j,100000)", "got 100000 entries ahead, want at most 65536",
			"prefetch(B,j,100000)"},
		{spmv, "vectorize(j,x)", "the level of x(j) that stores j must be compressed", "vectorize(j,x)"},
		{spmv, "vectorize(j,A,17)", "got 3 arguments, want vectorize(i[, T])", "vectorize(j,A,17)"},
		{spmv, "parallelize(i,CPUThread,NoRaces,Work),longrows(i,x,100)",
			"the loop over i must run along the entries of x(j) that determine its chunks, and must either add to one row of the result or append to it", "longrows(i,x,100)"},
		{nested, "workspace(V,List)", "got V, want a workspace of the statement over index variables",
			"workspace(V,List)"},
		{nested, "workspace(W,Tree)",
			"got Tree, want Hash, List, Bitmap, Dense, Sorted, Marks, Positions, Terms or Table", "Tree"},
		{nested, "workspace(W,Table)", "a table is for loops that find the coordinates of W(j) in other operands", "workspace(W,Table)"},
		{spmv, "lookup(x,T)", "got x(j), want an access whose last level is sparse (its format is d)", "x"},
		{spmv, "lookup(A(i,j),A)", "got A, want a new name for the table", "A"},
		{spmv, "lookup(A(i,j),T)", "the loops over j have no other sparse operand, whose coordinates could be looked up in A(i,j)", "A(i,j)"},
		{spmv, "split(j,j0,j1,4),lookup(A(i,j),T)", "got A(i,j), but the loop over j was replaced; want lookup before the command that replaces it", "A(i,j)"},
		{spmv, "hoist(t)", "got t, want the temporary of a sum", "t"},
		{problem{stmt: "forall(i, where(y(i) = t, forall(j, t += A(i,j) * x(j))))", formats: "y:d A:ds x:d"},
			"hoist(t)", "each loop around t changes it", "t"},
		{problem{stmt: "forall(i, forall(j, where(P(i,j) = A(i,j) * t, forall(k, t += B(k) / x(j)))))",
			formats: "P:dd A:dd B:d x:d", compute: tensor.Int64},
			"hoist(t)", "t has a quotient of integers, which may divide by zero where the statement does not compute it", "t"},
		{nested, "workspace(W,Dense)", "the loops store values at only some coordinates of W(j); an array needs a value at each coordinate", "workspace(W,Dense)"},
		{problem{stmt: "forall(k, A(k) = B(k))", formats: "A:s B:d"},
			"precompute(B(k),k,x,W),parallelize(x,CPUThread,NoRaces,Work),workspace(W,List)",
			"threads fill W together, in chunks of the loop over x, so it must be an array, or have marks", "workspace(W,List)"},
		{
			problem{
				stmt: "forall(i, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))", formats: "C:ds A:ds B:ds"}, "workspace(W,Sorted)", "a Sorted workspace must get its entries in order, but the loops do not store the entries of W(j) in the order of its variables", "workspace(W,Sorted)"},
		{
			problem{
				stmt: "forall(i, where(forall(j, C(i,j) = W(j)), forall(k, forall(j, W(j) += A(i,k) * B(k,j)))))", formats: "C:ds A:ds B:ds"}, "workspace(W,Terms)", "a list of all values added to W(j) is only for products of one operand's entries with dense operands", "workspace(W,Terms)"},
		{
			problem{
				stmt: "where(forall(i, forall(j, forall(k, forall(l, C(i,j,k,l) = W(i,j,k,l))))), forall(j, forall(i, forall(k, forall(l, W(i,j,k,l) += A(j,i,k,l))))))", formats: "C:dsss A:dsss"}, "workspace(W,Bitmap)", "W(i,j,k,l) has 1e+08 coordinates, but a workspace with a place for every coordinate can have at most 16777216", "workspace(W,Bitmap)"},
		{spmv, "mergeby(j,Predicated)", "the loop over j must contain only a sum of floats in which each term depends on one operand",
			"mergeby(j,Predicated)"},
		{spmv, "bound(i,i,99,MaxExact)", "got 99, want the number of coordinates of i: 100", "bound(i,i,99,MaxExact)"},
		{spmv, "bound(i,i,100,MaxConstraint)",
			"got MaxConstraint, want a new name as the second argument: only a variable with a MaxExact bound can keep its name", "MaxConstraint"},
		{blocks, "bound(i,i,100,MaxExact)", "the loop over i must run over all coordinates, but blocks divide its range",
			"bound(i,i,100,MaxExact)"},

		// split and divide.
		{spmv, "split(k,i0,i1,4)", "got k, want a variable that the statement loops over: i, j", "k"},
		{spmv, "split(i,3,i1,4)", "got 3, want a name for a new variable", "3"},
		{spmv, "split(i,j,i1,4)", "the name j is in use; want a new one", "j"},
		{spmv, "split(i,i0,A,4)", "the name A is in use; want a new one", "A"},
		{spmv, "split(i,a,a,4)", "the name a is in use; want a new one", "a"},
		{spmv, "split(i,i0,i1,0)", "got the number 0, want 1 to 2^40", "0"},
		{spmv, "split(i,i0,i1,1099511627777)", "got the number 1099511627777, want 1 to 2^40",
			"1099511627777"},
		{spmv, "split(i,i0,i1,x)", "got x, want a whole number", "x"},
		{spmv, "divide(i,i0,i1,-2)", "got the number -2, want 1 to 2^40", "-2"},
		{spmv, "split(i,i0,i1,4),split(i,a,b,4)", "i no longer exists: it was replaced by split(i, i0, i1, 4)", "i"},
		{spmv, "split(i,i0,i1,4),split(j,i,b,4)", "the name i is in use; want a new one", "i"},
		{spmv, "unroll(j,2),split(j,j0,j1,4)",
			"the loop over j is unrolled; unroll must come after the commands that replace the variable", "j"},
		{spmv, "mergeby(j,Gallop),fuse(i,j,f)", "the loop over j already has a mergeby; it must come after fuse, and name the fused variable", "j"},

		// fuse.
		{spmv, "fuse(j,i,f)", "the loop over i must be directly inside the loop over j", "i"},
		{spmm, "fuse(i,k,f)", "the loop over k must be directly inside the loop over i", "k"},
		{rowSum, "fuse(i,j,f)",
			"the loop over j must be directly inside the loop over i: for each i, t is computed and used between them", "j"},
		{problem{stmt: "forall(i, where(y(i) = t / z(i), forall(j, t += A(i,j))))",
			formats: "y:d z:d A:ds"}, "fuse(i,j,f)",
			"the loop over j must be directly inside the loop over i: for each i, t is computed and used between them", "j"},
		{
			problem{
				stmt: "forall(i, where(forall(k, C(i,k) = w(k)), forall(j, forall(k, w(k) += A(i,j) * B(j,k)))))", formats: "C:ds A:ds B:ds"}, "fuse(i,j,f)",
			"the loop over j must be directly inside the loop over i: between them, a workspace w(k) is filled for each i, because C(i,k) (its format is ds) takes entries in order; a dense C needs no workspace; otherwise split the loop over i and run its parts in parallel", "j"},
		{pieces.with("y:s z:d A:ds"), "fuse(i,j,f)",
			"other terms are computed between them, and the entries of y(i) (its format is s) must be added in order; a dense y takes entries in any order", "j"},
		{nested, "split(j,j0,j1,2),fuse(i,j0,f)",
			"the loop over j0 must be directly inside the loop over i", "j0"},
		{problem{stmt: "forall(l, forall(k, A(l,k) = B(l) * C(l,k)))", formats: "A:dd B:s C:dd:1,0"},
			"split(l,l0,l1,4),split(k,k0,k1,4),reorder(l0,k0,l1),precompute(B(l),{},{},W),fuse(l0,k0,f)",
			"B(l) would be read outside the loop over k1, which is needed to compute l; that loop must be around it", "fuse(l0,k0,f)"},
		{problem{stmt: "forall(k, forall(j, A(k) += D(j)))", formats: "A:d D:d"},
			"split(j,j0,j1,3),precompute(D(j),j0,jw,W),fuse(k,j0,f)",
			"A(k) would be written outside the loop over j1, which is needed to compute k; that loop must be around it", "fuse(k,j0,f)"},
		{spmv, "pos(j,p,A),fuse(i,p,f)", "p runs over the positions of A(i,j); fuse the coordinates first, and use pos on the fused variable",
			"p"},
		{spmv, "fuse(i,j,x)", "the name x is in use; want a new one", "x"},
		{spmv, "unroll(j,2),fuse(i,j,f)", "the loop over j is unrolled", "j"},

		{spaces, "split(j,j0,j1,4),fuse(i,j0,f)",
			"all loops over j0 must be directly inside a loop over i", "j0"},
		{spaces, "fuse(i,j,f),split(j,j0,j1,4)", "j no longer exists: it was replaced by fuse(i, j, f)", "j"},
		{spaces, "fuse(i,j,f),reorder(j,f)", "j no longer exists: it was replaced by fuse(i, j, f)", "j"},

		// reorder.
		{spmv, "reorder(j,i)",
			"A(i,j) stores j below i (its format is ds), so the loop over i must be outside the one over j", "reorder(j,i)"},
		{spmm, "reorder(k,i)", "must be outside the one over j", "reorder(k,i)"},
		{spmv, "reorder(i,i)", "got i twice, want each variable once", "i"},
		{spmv, "reorder(i,k)", "got k, want a variable that the statement loops over", "k"},
		{parts, "reorder(j,i)", "the loops to reorder must be directly nested, but other statements are between", "reorder(j,i)"},
		{rowSum, "reorder(j,i)", "the loops to reorder must be directly nested, but other statements are between", "reorder(j,i)"},
		{append2, "split(j,j0,j1,4),reorder(j0,i)", "so the loop over j0 must be inside the loops over these variables",
			"reorder(j0,i)"},
		{append2, "split(i,i0,i1,4),reorder(i1,i0)",
			") is written in order, so the loops over i0, i1 must visit the coordinates in order", "reorder(i1,i0)"},

		{sddmm, "fuse(j,k,f),split(f,f0,f1,4)",
			") is written entry by entry, so the fused loop over j, k cannot be split into tiles",
			"split(f,f0,f1,4)"},
		{sddmmOwn, "split(j,j0,j1,4),reorder(j0,k,j1)", "so the loop over k must be inside the loops over these variables",
			"reorder(j0,k,j1)"},
		{append2, "fuse(i,j,f),split(f,f0,f1,4)", ") is appended to in order, so the fused loop over i, j cannot be split into tiles",
			"split(f,f0,f1,4)"},

		// pos and coord.
		{spmv, "pos(j,p,B)",
			"got B, want either a tensor of the statement or one of its accesses: A(i,j), x(j)", "B"},
		{twice, "pos(j,p,A)", "A is accessed with different variables; name one access, as in B(i,j)", "A"},
		{spmv, "pos(i,p,A)", "level 0 of A is dense and has no positions; split its coordinates instead", "A"},
		{spmv.with("y:d A:ds x:s"), "pos(i,p,x)", "got x(j), want an access that has the variable i", "x"},
		{spmv, "pos(j,p,A),pos(p,q,A)", "p already runs over the positions of A(i,j)", "p"},
		{spmv, "split(j,j0,j1,4),pos(j0,p,A)", "j0 counts tiles; pos needs a variable that runs over coordinates", "j0"},
		{spmv.with("y:d A:dp x:d"), "pos(j,p,A)", "is padded", "A"},
		{coo, "pos(i,p,A),split(p,p0,p1,4),reorder(p1,p0)",
			"A(i,j) stores repeated coordinates, which must be visited in order: the loop over tiles must be outside the loop inside a tile", "reorder(p1,p0)"},
		{spmv, "split(i,i0,i1,4),reorder(i1,i0),fuse(i0,j,f),pos(f,p,A)",
			"must be visited in the order of i, j, but the fused loop runs over tiles in another order; inside the outermost variable's tiles, fuse its inner variable with whole variables", "pos(f,p,A)"},
		{diagon, "pos(i,p,A)", "got A(i,i), which has i twice; want a tensor with each variable once", "A"},
		{spmm, "fuse(j,k,f),pos(f,p,A)", "must be consecutive levels of A(i,j), in this order (its format is", "A"},
		{spmv, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,4),reorder(p1,p0)",
			"must be visited in order: the loop over tiles must be outside the loop inside a tile", "reorder(p1,p0)"},
		{spmv, "split(j,j0,j1,4),pos(j1,p,A),reorder(p,j0)",
			"inside tiles of coordinates must be visited in order: the loop over tiles must be outside the loop inside a tile", "reorder(p,j0)"},
		{spmv, "pos(j,p,A),split(p,p0,p1,4),coord(p1,c),reorder(c,p0)",
			"the coordinates inside tiles of positions of A(i,j) must be visited in order: the loop over tiles must be outside the loop inside a tile", "reorder(c,p0)"},
		{addTo, "pos(j,p,A),split(p,p0,p1,4),reorder(p1,p0)", "also has values elsewhere",
			"reorder(p1,p0)"},
		{spmv, "pos(j,p,A),split(p,p0,p1,4),reorder(p0,i,p1)", "must be inside the loops over i (its format is",
			"reorder(p0,i,p1)"},
		{pieces, "pos(j,p,A)", "pos: A(i,j) must occur in every statement that loops over j, but y(i) += z(j) does not contain it", "pos(j,p,A)"},
		{spmv.with("y:d A:ps x:d"), "fuse(i,j,f),pos(f,p,A)",
			"level 0 of A is padded, so its positions cannot be visited together with the levels below it",
			"A"},
		{spmv, "coord(j,c)", "j already runs over coordinates", "j"},
		{spmv, "pos(j,p,A),coord(p,i)", "the name i is in use; want a new one", "i"},

		// bound.
		{spmv, "bound(i,ib,4,Exact)",
			"got Exact, want MinExact, MinConstraint, MaxExact or MaxConstraint", "Exact"},
		{spmv, "bound(i,ib,n,MaxExact)", "got n, want a whole number", "n"},
		{spmv, "bound(i,ib,-1,MaxExact)", "got the number -1, want 0 to 2^40", "-1"},
		{spmv, "bound(i,j,4,MaxExact)", "the name j is in use; want a new one", "j"},

		{blocks, "bound(i,ib,100,MaxExact)",
			"want MinConstraint or MaxConstraint: the range of i is divided into blocks, across ranks or by --split", "MaxExact"},
		{blocks, "fuse(i,j,f),fuse(f,k,g),pos(g,p,T)", "the range of j is divided into blocks, across ranks or by --split, but the positions of the fused i, j, k do not cover the blocks of its dense level", "g"},

		// unroll and mergeby.
		{spmv, "unroll(i,0)", "got the number 0, want 1 to 2^40", "0"},
		{spmv, "unroll(k)", "got k, want a variable", "k"},
		{spmv, "mergeby(j,Binary)", "got Binary, want TwoFinger, Gallop, Predicated, Windows or OneBody",
			"Binary"},
		{add, "mergeby(j,Gallop)", "got Gallop, which searches for coordinates common to all operands, but " +
			"the loop over j also visits coordinates that not all of A(i,j), B(i,j) have; use TwoFinger",
			"Gallop"},
		{add, "mergeby(j,TwoFinger),mergeby(j,Gallop)", "have; use TwoFinger", "Gallop"},
		{add, "mergeby(j,Gallop),divide(j,j0,j1,4)",
			"the loop over j1 also visits coordinates that not all of A(i,j), B(i,j) have", "Gallop"},
		{addTo.with("C:dd A:dd B:ss"), "mergeby(i,Gallop)",
			"the loop over i also visits coordinates that not all of B(i,j) have", "Gallop"},
		{meet, "mergeby(j,Gallop),split(j,j0,j1,4),unroll(j1,2),reorder(i,j1,j0)",
			"is written in order", "reorder(i,j1,j0)"},
		{meet.with("C:dd A:ds B:ds"), "mergeby(j,Gallop),split(j,j0,j1,4),reorder(j1,j0)",
			"the loop over j1 computes each coordinate and looks it up in every operand", "Gallop"},
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
			"got paralelize, which is not a scheduling command; did you mean parallelize?",
			"paralelize(i,CPUThread,NoRaces)"},
		{spmv, "skew(i)", "got skew, want a scheduling command: assemble bound", "skew(i)"},
		{spmv, "parallelize(i,CPUThreads,NoRaces)", "NotParallel; did you mean CPUThread?", "CPUThreads"},
		{spmv, "parallelize(i,CPUThread,norace)", "did you mean NoRaces?", "norace"},
		{spmv, "bound(i,ib,4,Maxexact)", "did you mean MaxExact?", "Maxexact"},
		{spmv, "workspace(w,hash)", "did you mean Hash?", "hash"},
		{gemm, "substitute({i,j,k},CuBLAS::GeMM)", "got cublas, which runs on a GPU; write gemm, or add --target=cuda",
			"CuBLAS::GeMM"},
		{gemm, "substitute({i,j,k},gem)", "did you mean gemm?", "gem"},

		// parallelize.
		{spmv, "parallelize(i,GPUBlock,NoRaces)",
			"GPUBlock is a unit of a GPU, but this leaf is compiled for a CPU; want --target=cuda or a unit of a CPU", "GPUBlock"},
		{spmv, "parallelize(i,CPU,NoRaces)", "got CPU, want CPUThread, CPUVector", "CPU"},
		{spmv, "parallelize(i,CPUThread,Race)",
			"got Race, want NoRaces, IgnoreRaces, Atomics, Temporary or ParallelReduction", "Race"},
		{spmv, "parallelize(i,CPUThread,NoRaces,0)", "got the number 0, want 1 to 2^40", "0"},
		{spmv, "parallelize(i,CPUVector,NoRaces,8)", "got a chunk size for CPUVector, want none: only CPUThread and GPUBlock have chunks", "8"},
		{spmv, "parallelize(i,CPUThread,NoRaces),unroll(i,2)", "the loop over i is unrolled", "i"},
		{spmv, "parallelize(i,CPUThread,NoRaces),split(i,i0,i1,4)",
			"i no longer exists: it was replaced by split(i, i0, i1, 4)", "i"},
		{spmv, "parallelize(i,CPUThread,NoRaces),parallelize(i,CPUVector,NoRaces)",
			"the loop over i is already parallel", "i"},
		{spmv, "unroll(j,2),parallelize(j,CPUVector,ParallelReduction)", "the loop over j is unrolled",
			"j"},
		{spmm, "parallelize(i,CPUVector,NoRaces),parallelize(k,CPUThread,NoRaces)",
			"the loop over i, around it, runs in vector lanes, so no loop inside it can be parallel", "k"},
		{spmm, "parallelize(k,CPUThread,NoRaces),parallelize(i,CPUVector,NoRaces)",
			"the loop over i cannot run in vector lanes, because a loop inside it is parallel", "i"},
		{spmv, "parallelize(j,CPUThread,NoRaces)", "iterations of j add to the same elements of y(i); use Atomics, Temporary or ParallelReduction",
			"NoRaces"},
		{spmv, "split(j,j0,j1,8),parallelize(j0,CPUThread,NoRaces)",
			"iterations of j0 add to the same elements of y(i); use Atomics, Temporary or ParallelReduction", "NoRaces"},
		{spmv, "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,8),parallelize(p0,CPUThread,NoRaces)",
			"iterations of p0 add to the same elements of y(i); use Atomics, Temporary or ParallelReduction", "NoRaces"},
		{spmv, "fuse(i,j,f),pos(f,p,A),parallelize(p,CPUThread,Atomics)",
			"becomes one loop over rows and one inside it; split it first, and parallelize the loop over tiles", "p"},
		{complexes, "parallelize(j,CPUThread,Atomics)", "got Atomics, but complex numbers cannot be added atomically; use Temporary",
			"Atomics"},
		{spmv, "parallelize(j,CPUVector,Atomics)", "got Atomics, but vector lanes cannot add atomically; use ParallelReduction if all iterations add to one value",
			"Atomics"},
		{outer, "parallelize(j,CPUThread,ParallelReduction)", "add to many elements of y(i), but ParallelReduction is only for one; use Temporary or Atomics",
			"ParallelReduction"},
		// The last leaf of the fused variable determines i, so inside j1, i is not a single
		// coordinate.
		{spmv.with("y:d A:dd x:d"),
			"split(i,i0,i1,4),split(j,j0,j1,4),fuse(i1,j0,f),parallelize(j1,CPUThread,ParallelReduction)",
			"add to many elements of y(i), but ParallelReduction is only for one; use Temporary or Atomics", "ParallelReduction"},
		{spmv.with("y:d A:dd x:d"),
			"split(i,i0,i1,4),split(j,j0,j1,4),fuse(i1,j0,f),parallelize(j1,CPUVector,Temporary)",
			"lanes have no copies of y(i)", "Temporary"},
		{outer, "parallelize(j,CPUVector,Temporary)", "lanes have no copies of y(i)", "Temporary"},
		{sddmm, "reorder(k,j),parallelize(k,CPUThread,Temporary)",
			"add to the same elements of Y(i,j), which has compressed levels (its format is ds); use Atomics", "Temporary"},
		{sddmm, "reorder(k,j),parallelize(k,CPUThread,ParallelReduction)", "which has compressed levels (its format is",
			"ParallelReduction"},
		{addTo, "parallelize(i,CPUThread,NoRaces)",
			"steps through several operands at once: A(i,j), B(i,j)", "i"},
		{addTo.with("C:dd A:dd B:ss"), "parallelize(i,CPUThread,NoRaces)",
			"the loop over i steps through the entries of B(i,j) and all coordinates at once, so it cannot be parallel; split or divide it, and parallelize the loop over tiles", "i"},
		{append2, "parallelize(j,CPUThread,NoRaces)", "is appended to in order", "j"},
		{append2, "parallelize(i,CPUThread,Atomics)", "is appended to in order", "CPUThread"},
		{append2, "parallelize(i,CPUVector,NoRaces)", "is appended to in order", "CPUVector"},
		{rowSum, "parallelize(j,CPUThread,NoRaces)", "iterations of j add to the scalar t", "NoRaces"},
		{rowSum, "parallelize(j,CPUThread,Atomics)", "iterations of j add to the local scalar t; use ParallelReduction or Temporary", "Atomics"},
		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,j,W),parallelize(l,CPUThread,ParallelReduction)",
			"the loop over l adds to the workspace W(j); use Temporary, where each thread has its own workspace", "ParallelReduction"},

		{order4,
			"precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,V),precompute(B(i,k,l,m)*E(m,j),j,j,W),parallelize(m,CPUThread,Temporary)",
			"V(j) is computed between the loop over m and an outer loop; want the parallel loop outside it", "m"},

		{mttkrp, "precompute(B(i,k,l)*D(l,j),j,jw,W),parallelize(l,CPUVector,NoRaces)",
			"fills the workspace W(jw), which vector lanes would share; use CPUThread with Temporary, where each thread has its own", "CPUVector"},
		{lanes, "parallelize(i,CPUVector,NoRaces)",
			"each iteration of i fills the workspace W(j), which vector lanes would share; use CPUThread, where each thread has its own", "CPUVector"},
		{both, "reorder(j,i,k)", "so the loop over j must be inside the loops over these variables", "reorder(j,i,k)"},
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
