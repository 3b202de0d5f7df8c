package analysis

import (
	"distaff/codegen/cin"
	"distaff/codegen/forms"
	"distaff/codegen/strategy"
	"distaff/io/tensor"
)

// Target has the properties of the machine that choices depend on.
type Target struct {
	// LongRow is the number of entries from which on all threads share a row.
	LongRow int64
	// ChunkWork is the smallest number of stored entries for which starting another chunk of a
	// sparse result pays for a thread.
	ChunkWork int64
	// FarBytes is the smallest size of dense operands and results that do not stay in a core's
	// caches.
	FarBytes int64
	// MergeTime is the smallest estimated time of a merge, in nanoseconds, that a table or a search
	// may replace. If it is 1, tables replace all merges that they can replace.
	MergeTime int64
	// Forms has the forms that were measured to be fastest. If it is nil, all forms are the
	// defaults.
	Forms forms.Set
	// GPU is true if the leaf is for a GPU, where a single thread does not sum a row in registers.
	GPU bool
	// CapacityBytes is the largest initial size of the arrays of a result that grows. 0 means no
	// bound.
	CapacityBytes int64
}

// Tensor describes an operand or the result.
type Tensor struct {
	Name   string
	Format tensor.Format
	Type   tensor.Type
	// CrdWidth has the size in bytes of a coordinate, for each level.
	CrdWidth []uint8
	NNZ      int64   // the number of stored values, or -1 if it is unknown
	Counts   []int64 // the number of positions in each level, or nil if it is unknown
	// Longest is the number of positions of the longest segment of the last level, or 0 if it is
	// unknown.
	Longest int64
}

// Kind returns the kind of a storage level, counted from 0, the outermost.
func (t *Tensor) Kind(level int) tensor.Kind { return t.Format.Levels[level] }

// Order returns the number of levels.
func (t *Tensor) Order() int { return len(t.Format.Levels) }

// LevelVars returns the variables of an access in the order of the storage levels.
func (t *Tensor) LevelVars(a *cin.Access) []string {
	out := make([]string, len(t.Format.Order))
	for l, mode := range t.Format.Order {
		out[l] = a.Vars[mode]
	}
	return out
}

// HasSegments reports whether the segments of the last level are known to have at least n entries
// on average. If the tensor has only one level, all its entries are one segment.
func (t *Tensor) HasSegments(n int64) bool {
	if t.Counts == nil {
		return false
	}
	segments := int64(1)
	if k := t.Order() - 2; k >= 0 {
		segments = max(t.Counts[k], 1)
	}
	return t.NNZ >= n*segments
}

// Problem is the input of the choices: the statement, formats, statistics and the target.
type Problem struct {
	// Stmt is the statement that is lowered. Its outermost loops may be marked to run on threads.
	Stmt    cin.Stmt
	Tensors []Tensor // the result first
	// Result is the user's name of the result. "" means that the name in Stmt is the user's.
	Result  string
	Sizes   map[string]int64
	Compute tensor.Type
	// Assembly says how the result is written. If it is SharedPattern or Mapped, Share is the key
	// of the access whose level arrays the result uses.
	Assembly strategy.Assembly
	Share    string
	// Exact lists the variables whose range is complete in every call.
	Exact  []string
	Target Target
	// Intermediates describes the temporaries that contractions make, by name.
	Intermediates map[string]Intermediate
	// Contracted is the number of multiply-adds into the result itself, if there are intermediates.
	Contracted float64
	// Precomputes is true if a schedule makes workspaces of its own.
	Precomputes bool
	// Products lists the loops that the default strategy runs as matrix products.
	Products []Product
	// Lookups lists the tables, searches and hoisted sums of the default strategy.
	Lookups []Lookup
	// Copies lists the operands that the default strategy reads from copies in another layout.
	Copies []Copy
}

// Product describes loops that multiply dense matrices. Vars lists the variables of the loops. Why
// is the reason to call a BLAS for the product.
type Product struct {
	Vars []string
	Why  string
}

// Lookup is a part of the default strategy that computes or finds values only once. If Table is not
// "", it is the name of a workspace with the entries of an access, whose text is Access. If Var is
// not "", loops over Var search their operands for common coordinates. If Sum is not "", it is the
// temporary of a sum that is computed before loops that do not change the sum. Why is the reason.
type Lookup struct{ Access, Table, Var, Sum, Why string }

// Copy is a copy of a dense operand whose levels are in another order. Access is the text of the
// access that reads the copy. Modes has the order of the modes, the outermost first. Why is the
// reason to make the copy.
type Copy struct {
	Access string
	Modes  []int
	Why    string
}

// Intermediate describes the expected use of a temporary that a contraction makes. Uses is the
// number of times that the temporary is computed. Added is the number of values that are added to
// it, and Entries is the number of entries that result, both summed over all these times.
type Intermediate struct{ Uses, Added, Entries float64 }
