// Package c prints leaves as C99 with OpenMP. People read the text, and compilers compile it.
//
// # Contents of a file
//
// File prints the interface (dst.h), the helpers that the leaves use (one file each in prelude/),
// and the functions of every leaf. The text includes no system headers, so that it parses quickly,
// but any system header may precede it. A leaf has one extern function, Symbol(f), and static
// functions before it:
//
//   - NAME_VAR runs a piece of the parallel loop over VAR. The serial loop and the OpenMP region
//     call this same function. One thread does not enter a region.
//   - NAME_body is the rest of the leaf, if it has loops. Arrays are restrict parameters, because
//     GCC honors restrict for parameters but not for locals.
//   - NAME unpacks the arguments. It shifts the address of a view's array so that positions of the
//     whole tensor index it.
//
// # Meaning
//
// The C has the meaning that interp gives a leaf, with three exceptions. A product in a sum is
// fused with the sum if the processor can do that (dst_fma). Sums of Reduce are reordered within a
// vector loop. Loads may move. Integers wrap because Flags includes -fwrapv.
//
// Complex numbers have the type _Complex. GCC keeps their sums in registers better than the sums of
// a struct: a gathered dot product took 1.2 ns an element, and 3.3 ns with a struct. Products and
// quotients are spelled out like ir.MulComplex and ir.DivComplex and do not call the C library.
// Sums of vector loops are computed separately for the real and imaginary parts.
//
// The Reduce sums of a Parallel loop are computed for at most 256 pieces and added in order. The
// pieces depend on the range alone, so any number of threads gives the same bits.
//
// A product of matrices (ir.Gemm) calls the environment's gemm function, if it is set and supports
// the matrices. Otherwise the helper of the same name computes the product with loops. A large
// product is divided into a part for each thread.
//
// A user's C function (ir.Call) is printed in the same file after all leaves, so that its macros
// and names do not change the leaves. Everything that it defines is hidden in the object. It can
// then neither replace a function of another library nor be replaced by one. Leaves call the
// function through a static function that is declared before them.
//
// # Progress
//
// Every outermost loop reports its progress to the environment, after each strip of its iterations
// or after each of its pieces. The code of an iteration is the same whether or not the caller asks
// for progress.
//
// # Failure
//
// A function that can fail returns the failure code. Before it returns, it releases what it
// allocated. A parallel loop that fails reports its first failing iteration, in the order of the
// range. Results are published only when nothing can fail any more.
//
// # Names
//
// A variable keeps its name if that is a C identifier that no header defines. Otherwise the name is
// changed slightly. Names of the prelude begin with dst_.
//
// Unnamed numbers variables and arrays instead, and reads the numbers of the statement, such as
// 0.5, from the environment. Compilers and their caches get this text, so that statements that
// differ only in names and such numbers share one leaf.
//
// # Files
//
//	file.go     a file: interface, helpers, leaves; what statements use
//	cfunc.go    one function while it is printed
//	stmt.go     statements
//	gemm.go     products of matrices
//	call.go     calls of user functions, and their text
//	expr.go     expressions
//	values.go   numbers that an unnamed text reads from the environment
//	loop.go     loops: serial, unrolled, vector
//	parallel.go parallel loops: calls of the function that runs a piece
//	line.go     vector loops with stores that bypass the caches
//	progress.go reports of progress
//	piece.go    the function that runs a piece of a parallel loop
//	prelude.go  the helpers
//	flags.go    compiler flags, and the header
package c
