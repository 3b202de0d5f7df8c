// Package c prints leaves as C99 with OpenMP, to be read as well as compiled.
//
// # What a file holds
//
// File prints the interface (dst.h), the helpers that the leaves use (one file
// each in prelude/), and for every leaf its functions. No header of the system is
// needed, so that a file parses quickly; all may stand before it. A leaf is one
// extern function, Symbol(f), with static ones in front of it:
//
//   - NAME_VAR runs a piece of the parallel loop over VAR. The serial loop and
//     the OpenMP region call the same function: with one thread no region is entered.
//   - NAME_body is the rest, where that has loops. Arrays come in as restrict
//     parameters; GCC takes restrict from parameters only, not from locals.
//   - NAME takes the arguments apart. Arrays of views are moved so that they are
//     indexed by positions of the whole tensor.
//
// # Meaning
//
// The C means what interp does, with three liberties: a product that stands in a sum is fused with
// it where the processor can do that (dst_fma), sums of Reduce are reordered within a vector loop,
// and loads may move. Integers wrap by -fwrapv, which Flags holds. Complex numbers are _Complex,
// whose sums GCC keeps in registers better than those of a struct (a gathered dot product took 1.2
// ns an element, with a struct 3.3); products and quotients are spelled out as ir.MulComplex and
// ir.DivComplex, and never call the library's; sums of vector loops run on the two parts.
//
// The sums of a Parallel loop's Reduce are those of at most 256 pieces, cut by the
// range alone and added in order: the same bits at any number of threads.
//
// A product of matrices (ir.Gemm) is a call of env's gemm, where that is set and takes the
// matrices, and else loops of the helper of that name. A large one is cut into a part a thread.
//
// A C function of the user's (ir.Call) stands in the same file, behind all leaves, so that none of
// its macros and names changes them, and all that it defines is hidden in the object, so that it
// takes the place of no function of another library, and none of theirs the place of it. Leaves
// call it by a static function that is declared before them.
//
// # Progress
//
// Every loop that is in no other loop tells env's progress how far it is, in strips of its iterations
// or by its pieces. The code of an iteration is the same whether anybody asks or not.
//
// # Failure
//
// A function that can fail returns the code. What it allocated it releases on its
// way out. A parallel loop that fails does so at its first failing iteration,
// in the order of the range. Results are published when nothing can fail any more.
//
// # Names
//
// A variable keeps its name where that is a C identifier that no header
// defines; else it is changed a little. Names of the prelude begin with dst_.
//
// Unnamed numbers variables and arrays instead, and reads the numbers of the statement, such as
// 0.5, from env. Compilers and their caches get its text, so that statements which differ in names
// and such numbers alone have one leaf.
//
// # Files
//
//	file.go     a file: interface, helpers, leaves
//	cfunc.go    one function while it is printed
//	stmt.go     statements; gemm.go, products of matrices
//	call.go     calls of the user's functions, and their text
//	expr.go     expressions
//	values.go   numbers that an unnamed text reads from env
//	loop.go     loops: serial, unrolled, of lanes, parallel
//	line.go     loops of lanes that store past the caches
//	progress.go how far a leaf is, for callers that ask
//	piece.go    the function that runs a part of a parallel loop's range
//	prelude.go  the helpers, one file each in prelude/
//	flags.go    compiler flags, and the header
package c
