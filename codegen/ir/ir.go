// Package ir is the imperative, target-neutral representation of a leaf: C and
// CUDA are printed from it, interp runs it.
//
// Expressions are pure and immutable. A Var is a scalar local, an Array a
// handle on memory; both are compared by pointer and carry names that are
// unique within a function. Memory is typed: an Array has one element type.
// Integer arithmetic on coordinates and positions is Int64; values of 32-bit
// pos and crd arrays are widened as they are loaded.
//
// Every engine computes alike: integers wrap; a float32 or complex64 operation
// rounds to its type; Min and Max of floats are (y < x ? y : x) and
// (x < y ? y : x); complex products and quotients are MulComplex's and
// DivComplex's. Only generated C may fuse a multiplication with an addition, and
// reorder the sums of Reduce.
//
// Constructors (Plus, Less, At, Seq, ...) fold constants; Verify states the
// rules of a well-formed Func; Simplify cleans one; Print and Parse are its text form.
//
// # Files
//
//	ir.go           the nodes
//	types.go        value types
//	build.go        constructors
//	fold.go         constant folding
//	complex.go      complex products and quotients, and casts to integers
//	simplify.go     clean code of the same meaning
//	gemm.go         products of dense matrices
//	spmm.go         products of a sparse matrix and a dense one
//	union.go        sums of sparse segments
//	call.go         calls of C functions of the user's
//	carry.go        positions that loops over segments carry on
//	inplace.go      reads of an argument from the result's memory
//	polynomial.go   indices that can be told to be the same
//	walk.go         walks over statements and expressions
//	print.go        the text form, which parse.go reads back
//	lex.go          its tokens
//	parse.go        its statements,
//	parsegpu.go     those of a GPU,
//	parseexpr.go    and its expressions
//	verify.go       the rules of statements,
//	verifyexpr.go   of expressions,
//	verifyloop.go   of loops, and what is made in them,
//	verifytable.go  of tables, sorts and bitmaps,
//	verifygpu.go    and of a GPU's loops and statements
package ir

// Type is the type of an expression or of an array's elements.
type Type uint8

const (
	Invalid Type = iota
	Bool
	Int32
	Int64
	Float32
	Float64
	Complex64
	Complex128
)

// Op is a binary or unary operator.
type Op uint8

const (
	Add Op = iota
	Sub
	Mul
	Div // integer division truncates; by zero it is the lowering's duty to guard
	Rem
	Min
	Max
	And // Bool, short-circuit
	Or  // Bool, short-circuit
	Eq
	Ne
	Lt
	Le
	Neg // unary
	Not // unary
)

// Expr is a pure expression.
type Expr interface{ Type() Type }

type (
	Var struct {
		Name string
		Typ  Type
	}
	Lit struct {
		Typ Type
		I   int64      // Bool (0, 1) and integers
		C   complex128 // floats and complex; floats in the real part
	}
	Binary struct {
		Op   Op
		X, Y Expr
	}
	Unary struct {
		Op Op
		X  Expr
	}
	// Load reads A[Index]; the value has type A.Elem, except that pos and crd
	// arrays of either width load as Int64 when Widen is set.
	Load struct {
		A     *Array
		Index Expr
		Widen bool
	}
	// Cast converts: integers wrap, floats round, a float to an integer is
	// truncated and saturates (Truncate), a complex number to a float is its
	// real part, anything to Bool is whether it differs from zero.
	Cast struct {
		Typ Type
		X   Expr
	}
	// Select is X where Cond holds, else Y; only that one is evaluated.
	Select struct{ Cond, X, Y Expr }
	// Search is the first p in [Lo, Hi) with A[p] >= Key (or > Key if Upper),
	// or Hi: a binary search over ascending A. Int64.
	Search struct {
		A           *Array
		Lo, Hi, Key Expr
		Upper       bool
	}
)

// Array is a handle on a block of memory of one element type.
type Array struct {
	Name  string
	Elem  Type
	Const bool // never stored to: restrict, and shared between threads
}

// Table holds arrays of one element type, by index: what the iterations of a
// Parallel loop make for a later loop to gather.
type Table struct {
	Name string
	Elem Type
}

// Stmt is an imperative statement.
type Stmt interface{ stmt() }

// ForKind says how a loop's iterations run.
type ForKind uint8

const (
	Serial   ForKind = iota
	Parallel         // OpenMP threads; iterations touch disjoint memory or use Atomic stores
	Vector           // omp simd
	Unrolled         // fully unrolled or by Factor

	// The loops of a GPU, which package simt turns into Launch. Blocks stands in no other
	// loop of these, Warps in one of Blocks, Lanes in one of Blocks or of Warps. Their
	// iterations touch disjoint memory or use Atomic stores; Reduce lists scalars that they sum.
	Blocks // an iteration is run by a block of threads
	Warps  // iteration number n, from 0, is run by warp n mod Width of the block
	// iteration number n by thread n mod Width: of the warp, which has 32, or of the block outside of
	// Warps
	Lanes
)

// OnGPU reports Blocks, Warps or Lanes.
func (k ForKind) OnGPU() bool { return k >= Blocks && k <= Lanes }

// WarpSize is the number of threads of a warp.
const WarpSize = 32

// MaxThreads is the largest number of threads of a block.
const MaxThreads = 1024

// MaxShared is the largest number of bytes of the Shared arrays of a block.
const MaxShared = 48 << 10

type (
	Block   struct{ List []Stmt }
	Comment struct{ Text string }
	// Declare introduces V with Init; its scope is the rest of the enclosing block.
	Declare struct {
		V    *Var
		Init Expr
	}
	// Assign sets V (or V op= X where Accumulate says Add).
	Assign struct {
		V          *Var
		Accumulate bool
		X          Expr
	}
	// Store sets A[Index] (adds to it where Accumulate; atomically where Atomic).
	// An Int64 goes into an Int32 array if it fits: that it does is the lowering's duty.
	Store struct {
		A          *Array
		Index      Expr
		Accumulate bool
		Atomic     bool
		X          Expr
	}
	// For runs V from Lo while V < Hi by Step (a positive constant). Lo and Hi
	// are evaluated once. A Parallel loop inside a Parallel one runs serially.
	For struct {
		V      *Var
		Lo, Hi Expr
		Step   int64
		Kind   ForKind
		// Factor is the unroll factor of Unrolled (0: fully).
		Factor int64
		// Dynamic and Chunk are the OpenMP schedule of Parallel; Chunk 0 is the default.
		Dynamic bool
		Chunk   int64
		// Reduce lists scalars summed over the iterations of a Vector loop
		// (and, where the schedule says ParallelReduction, a Parallel one).
		Reduce []*Var
		// Nontemporal is advice, of a Vector loop that reduces nothing: what it stores is written once,
		// is too large to stay in a cache until it is read, and goes past the caches.
		Nontemporal bool
		// Width is the number of warps or threads that a loop of Warps or Lanes is spread over.
		Width int64
		Body  *Block
	}
	While struct {
		Cond Expr
		Body *Block
	}
	If struct {
		Cond Expr
		Then *Block
		Else *Block // nil for none
	}
	// Ordered stands once in the body of a Parallel loop, not inside another statement:
	// the loop's iterations run it one after another, in their order. An
	// iteration after one that fails does not come to it.
	Ordered struct{ Body *Block }
	// Alloc makes A a fresh array of Len elements, owned by the leaf until
	// Free or Publish; zeroed where Zero. Failure returns the out-of-memory code.
	Alloc struct {
		A    *Array
		Len  Expr
		Zero bool
	}
	// Local makes A a zeroed array of Len elements for the rest of the enclosing
	// block: few enough for registers or the stack. It is not the leaf's to
	// grow, free or hand out. Where Undefined, its elements are so until they are stored.
	Local struct {
		A         *Array
		Len       int64
		Undefined bool
	}
	// Prefetch says that A[Index], or Len elements from there on where that is more than 1, will soon
	// be read: they come into the nearest cache, or where Far into that of the second level. It has no
	// effect, and Index need not be in bounds.
	Prefetch struct {
		A     *Array
		Index Expr
		Len   int64
		Far   bool
	}
	// Grow raises the capacity of A to at least Need elements (which Alloc made),
	// keeping the first ones: where Need > Cap, Cap becomes max(Need, 2*Cap).
	// New elements are undefined.
	Grow struct {
		A    *Array
		Cap  *Var
		Need Expr
	}
	Free struct{ A *Array }
	// Fill sets A[Lo:Hi] to X.
	Fill struct {
		A      *Array
		Lo, Hi Expr
		X      Expr
	}
	// Copy copies Src[SrcLo : SrcLo+N] to Dst[DstLo:].
	Copy struct {
		Dst   *Array
		DstLo Expr
		Src   *Array
		SrcLo Expr
		N     Expr
		// Stream is advice: Dst is too large to stay in a cache until it is read.
		Stream bool
	}
	// Sort sorts the integers A[Lo:Hi] ascending.
	Sort struct {
		A      *Array
		Lo, Hi Expr
	}
	// SortBy orders the indices Perm[Lo:Hi] (Int64) so that the tuples
	// (Keys[0][p], Keys[1][p], ...) of Int64 keys ascend lexicographically,
	// stably: equal tuples keep the order in which Perm had them.
	SortBy struct {
		Perm   *Array
		Keys   []*Array
		Lo, Hi Expr
	}
	// Mark sets bit At of Bits (Int64, the bits of each from the lowest on). Where
	// it is the first in its word, the number of that is appended to Words (Int32)
	// at N, which grows by one. Words has capacity for one word more than there are.
	Mark struct {
		Bits, Words *Array
		N           *Var
		At          Expr
	}
	// Collect writes Base and the numbers of the bits that Marks have set, added
	// up and ascending, to List (Int32) from 0 on, and clears them. Words[0:N] are
	// those with bits; N becomes the number of bits. Len is the number of words of
	// Bits; Flags (Bool) has as many elements, rounded up to 64, all false before
	// and after; List has capacity for one more.
	Collect struct {
		Bits, Words, Flags, List *Array
		N                        *Var
		Len, Base                Expr
	}
	// AllocTable makes T a fresh table of Len empty entries.
	AllocTable struct {
		T   *Table
		Len Expr
	}
	// Keep moves A, which Alloc made, into T[Index], which must be empty: a
	// Parallel loop's iteration hands out the array that it made. A may not be
	// used afterwards.
	Keep struct {
		T     *Table
		Index Expr
		A     *Array
	}
	// Take moves T[Index] out into A, owned by the leaf as if from Alloc; its
	// scope is that of a Declare.
	Take struct {
		A     *Array
		T     *Table
		Index Expr
	}
	// FreeTable frees T and what is still in it.
	FreeTable struct{ T *Table }
	// Publish gives A, with Len elements, to the result: Slot says to which of
	// its arrays. The caller owns it from then on.
	Publish struct {
		Slot Slot
		A    *Array
		Len  Expr
	}
	// Fail ends the leaf with an error; Coord are coordinates for the message. In a
	// Launch it ends the thread: the leaf ends once the others did, with one of their errors.
	Fail struct {
		Code  FailCode
		Coord []Expr
	}
	// Launch runs Body once for each of Threads threads (a multiple of WarpSize) of each of Grid
	// blocks, on a GPU: Block and Thread (Int64) are their numbers, from 0. What follows sees what all
	// of them stored. Of the leaf's arrays and variables Body may read all, and store to arrays; it
	// assigns to no variable from outside. Inside there is no other Launch, no loop other than Serial
	// and Unrolled, and no statement about whole arrays but Local and Shared.
	Launch struct {
		Name          string // of the kernel, unique in the leaf
		Grid          Expr
		Threads       int64
		Block, Thread *Var
		Body          *Block
	}
	// Shared makes A an array of Len elements that the threads of a block share, for the rest of
	// the enclosing block; what it holds is undefined until it is stored. It stands in a Launch.
	Shared struct {
		A   *Array
		Len int64
	}
	// Barrier: no thread of the block (of the warp, where Warp) goes on before all have come to it,
	// and what they stored before is seen behind it. Every thread that has not ended comes to the
	// same ones. It stands in a Launch.
	Barrier struct{ Warp bool }
	// Shuffle sets V to the X of the thread whose number in the warp differs from this one's in
	// the bits of Mask. All threads of the warp come to it. It stands in a Launch.
	Shuffle struct {
		V    *Var
		X    Expr
		Mask int64
	}
	// Scan replaces A[Lo:Hi], integers, by their sums from Lo on: A[k] becomes A[Lo] + ... + A[k].
	// It stands in no loop.
	Scan struct {
		A      *Array
		Lo, Hi Expr
	}
)

func (*Block) stmt()      {}
func (*Comment) stmt()    {}
func (*Declare) stmt()    {}
func (*Assign) stmt()     {}
func (*Store) stmt()      {}
func (*For) stmt()        {}
func (*While) stmt()      {}
func (*If) stmt()         {}
func (*Ordered) stmt()    {}
func (*Alloc) stmt()      {}
func (*Prefetch) stmt()   {}
func (*Local) stmt()      {}
func (*Grow) stmt()       {}
func (*Free) stmt()       {}
func (*Fill) stmt()       {}
func (*Copy) stmt()       {}
func (*Sort) stmt()       {}
func (*SortBy) stmt()     {}
func (*Mark) stmt()       {}
func (*Collect) stmt()    {}
func (*AllocTable) stmt() {}
func (*Keep) stmt()       {}
func (*Take) stmt()       {}
func (*FreeTable) stmt()  {}
func (*Publish) stmt()    {}
func (*Fail) stmt()       {}
func (*Launch) stmt()     {}
func (*Shared) stmt()     {}
func (*Barrier) stmt()    {}
func (*Shuffle) stmt()    {}
func (*Scan) stmt()       {}
func (*Gemm) stmt()       {}
func (*Call) stmt()       {}

// FailCode is a leaf's return value.
type FailCode int

const (
	OK          FailCode = 0
	FailMemory  FailCode = 1
	FailDivide  FailCode = 2 // integer division by zero
	FailBound   FailCode = 3 // a bound() of the schedule does not hold
	FailSpace   FailCode = 4 // fused variables have too many points to number: Coord are their sizes
	FailPattern FailCode = 5 // the result's level arrays are of another pattern
)

// Field names one field of a tensor argument.
type Field uint8

const (
	Pos  Field = iota // array
	Crd               // array
	Vals              // array; Level is ignored
	// array: Vals, moved so that the rows of level 0 begin at coordinate 0; Level is the last one, and
	// all are dense
	Rows
	Size   // Int64, of a dense level
	Offset // Int64, of a dense level
	NNZ    // Int64, length of vals
	// Int64, the position after the last of crd, which is its length where crd is all of a tensor's
	End
)

// Slot is a part of a tensor argument: Arg indexes the leaf's arguments.
type Slot struct {
	Arg, Level int
	Field      Field
}

// Param binds a local to a slot of an argument: A for arrays, V for sizes.
type Param struct {
	Slot Slot
	A    *Array
	V    *Var
}

// Func is one leaf. Its C signature is
//
//	int NAME(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env)
//
// Bounds[k] are the variables that receive bounds[k][0] and bounds[k][1];
// Threads receives env->threads. Either side may be nil where unused.
type Func struct {
	Name    string
	Params  []Param
	Bounds  [][2]*Var
	Threads *Var
	Body    *Block
}
