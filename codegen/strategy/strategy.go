// Package strategy says how a statement in concrete index notation is lowered. A strategy (Value)
// is plain data on the nodes of the statement. Package choice makes it. Package lower follows it,
// and knows no sizes, statistics or target.
package strategy

import (
	"slices"

	"distaff/codegen/cin"
)

// Value says how a statement is lowered.
type Value struct {
	// Stmt is the statement whose nodes are the keys of Loops and Tiles. It has no relations, and
	// each loop over a producer's variable is a loop over the consumer's variable
	// (cin.WithConsumerVars).
	Stmt  cin.Stmt
	Loops map[*cin.Forall]*Loop
	// Tiles maps the statements that sum a row of the result in registers to the number of values
	// in a tile.
	Tiles map[cin.Stmt]int64
	// Row has the variable along these rows.
	Row Row
	// Jam has the variable whose loops are moved into the summing loops inside them, a tile at a
	// time.
	Jam Row
	// Trips has the variables whose range is always [0, N), with N.
	Trips map[string]int64
	// Prefetch lists the rows and entries that are fetched ahead.
	Prefetch []Prefetch
	// Nontemporal is true if values of the result are stored past the caches. It concerns values
	// that loops in lanes write once. In a Mapped result it concerns rows that are summed in tiles
	// and that the leaf writes for the first time.
	Nontemporal bool
	// Gathers lists the loops over segments that run in lanes although the values that they read
	// are gathered.
	Gathers []Gather
	// Lanes has the variables whose loops run in lanes if they access contiguous memory.
	Lanes map[string]bool
	// Predicated has the variables whose merge loops compute all terms of a sum of floats and
	// choose by predicates which to add.
	Predicated map[string]bool
	// Windowed has the predicated variables whose loops append to the result in windows, whose
	// coordinates are sorted.
	Windowed map[string]bool
	// OneBody has the variables whose merge loops have one body for all cases of present operands.
	OneBody map[string]bool
	// Unrolled is the number of copies of loops that are unrolled completely, if it is known.
	Unrolled map[string]int64
	// PerThread is the number of chunks of equal work that a loop has for each thread.
	PerThread int64
	// CachedPartials is the largest size in bytes for which each chunk of a loop has its own
	// partial result. Larger partial results would be set to 0 and added in memory. There is then
	// one for each thread and one for the sum.
	CachedPartials int64
	// Spaces has the workspaces by name. CrdWidth has the size in bytes of each variable's
	// coordinates in the workspaces' lists.
	Spaces   map[string]Space
	CrdWidth map[string]uint8
	// Result is the initial capacity of the arrays of a result that grows.
	Result Result
	// Weight ranks the operands by their number of entries. Chunks of equal work are cut by the
	// entries of the operand with the highest rank that their loop visits.
	Weight map[string]int
}

// Loop says how one loop is lowered.
type Loop struct {
	Cut cin.Cut
	// OverPositions is true if the nest that starts with this loop is one loop over positions. The
	// positions are of the last compressed level that the result shares with an operand.
	OverPositions bool
	Long          Long
	// Gemm is the number of nested loops that are one matrix product, if this loop is the outermost
	// one. Otherwise it is 0.
	Gemm int
	// Extern is the user's function that runs the nest that starts with this loop, or nil.
	Extern *Extern
	// RowLanes, if it is not 0, distributes the rows of a tile of positions over a GPU's threads.
	// It is the smallest number of rows in a tile for which each row is summed by one thread.
	RowLanes int64
}

// Extern is a function that runs directly nested loops. Vars lists the variables of the loops,
// separated by commas. If File is "", the function belongs to the library cuSPARSE.
type Extern struct{ Vars, File, Name string }

// Of returns how a loop of v.Stmt is lowered.
func (v *Value) Of(l *cin.Forall) Loop {
	if x := v.Loops[l]; x != nil {
		return *x
	}
	return Loop{}
}

// At returns a pointer to the choices for loop l of v.Stmt. The caller can change the choices
// through the pointer.
func (v *Value) At(l *cin.Forall) *Loop {
	if v.Loops[l] == nil {
		v.Loops[l] = &Loop{}
	}
	return v.Loops[l]
}

// LongForm is a way of handling rows that are too long for one thread.
type LongForm uint8

const (
	Kept        LongForm = iota // long rows are handled like other rows
	Separate                    // they are not in the loop, but run one by one on all threads
	Precomputed                 // they are computed before the loop, each on all threads
	CutInside                   // chunks begin and end inside them
)

// Long says how rows of an operand with more than N entries are handled.
type Long struct {
	How LongForm
	Key string // the key of the access
	N   int64
	// Parts says how a long row that the loop leaves out is cut for the threads.
	Parts cin.Cut
	// For Precomputed rows: Band is the number of coordinates in a band of the row, and Stretch is
	// the number of entries in a stretch of the row.
	Band, Stretch int64
}

// Row is a dense last level of the result that is summed in tiles.
type Row struct {
	Var   string
	Width int64
}

// Prefetch says what is prefetched for the access with the given Key. Usually, variable Var selects
// rows of the access, and Lines cache lines of each row are prefetched. There is one exception: if
// the access is the only sparse operand, Var is the variable of its last level, and Lines is 0, the
// entries of the access along Var are prefetched instead.
//
// Ahead is the number of entries between a prefetch into the nearest cache and the read. Far is the
// number of entries between a prefetch into the second-level cache and the read. A number of 0
// means that there is no such prefetch.
type Prefetch struct {
	Key, Var          string
	Ahead, Far, Lines int64
}

// CacheLine is the size of a cache line in bytes.
const CacheLine = 64

// Any reports whether the prefetch fetches anything.
func (p Prefetch) Any() bool { return p.Ahead > 0 || p.Far > 0 }

// Into returns the number of entries between a prefetch and the read, or 0 if nothing is
// prefetched. If far is true, this is the prefetch into the second-level cache. If far is false, it
// is the prefetch into the nearest cache.
func (p Prefetch) Into(far bool) int64 {
	if far {
		return p.Far
	}
	return p.Ahead
}

// For returns the same choices for statement s. s must have the same loops as v.Stmt, but may have
// other notes on the loops, such as the unit that runs a loop.
func (v *Value) For(s cin.Stmt) *Value {
	out := *v
	out.Stmt, out.Loops, out.Tiles = s, map[*cin.Forall]*Loop{}, map[cin.Stmt]int64{}
	cin.Pairs(s, v.Stmt, func(t, own cin.Stmt) {
		if f, ok := own.(*cin.Forall); ok && v.Loops[f] != nil {
			out.Loops[t.(*cin.Forall)] = v.Loops[f]
		}
		if n, ok := v.Tiles[own]; ok {
			out.Tiles[t] = n
		}
	})
	return &out
}

// Gather identifies a loop that gathers values: a loop over variable Var that visits the entries of
// the access with the given Key.
type Gather struct{ Key, Var string }

// Kind is a kind of workspace.
type Kind uint8

const (
	HashTable  Kind = iota
	MarkedList      // a place and a mark for every coordinate, and a list of the marked places
	Bitmap          // a place and a bit for every coordinate
	Array           // an array that is filled either everywhere or nowhere
	SortedList      // a list that is filled in order
	// a place and a mark for every coordinate, if most places are used; several threads may fill it
	Marks
	Positions // a place for each position of an operand in a tile
	Terms     // a list of all added values, which is sorted and summed at the end
	// a place and a mark for every coordinate; the consumer visits other operands, and looks up
	// their coordinates here
	Table
)

// KindNames has the word for each kind of workspace, as schedules spell it.
var KindNames = [...]string{HashTable: "Hash", MarkedList: "List", Bitmap: "Bitmap", Array: "Dense",
	SortedList: "Sorted", Marks: "Marks", Positions: "Positions", Terms: "Terms", Table: "Table"}

func (k Kind) String() string { return KindNames[k] }

// Form says how a workspace is stored.
//
//   - Once, for a SortedList or Table: nothing is added twice to the same coordinate.
//   - Rows, for a workspace over several variables: each coordinate of all variables except the
//     last has a place, and each place has a list of coordinates of the last variable. If Dense is
//     not 0, this concerns only the variables of the key.
//   - Dense, for a HashTable or Terms: the number of last variables that are not part of the key.
//     In a HashTable each key has a row of values along these variables, at all of their
//     coordinates or at none. Terms store the factors of each row that is added.
//   - Of, for a HashTable or Terms: the name of the operand that has an entry for each key. The
//     workspace is allocated with room for that operand's entries. Of is "" if there is none.
//   - Key, for Positions: the key of an access. The values are stored at its positions.
//   - Len, for Positions: the largest number of positions in a tile.
//   - Together, for a Table: threads fill it together.
//   - Each, for Positions: whether the consumer is one loop of constant length over all positions
//     of a tile. This loop adds its sum to the result at the end of each row. If Each is false, the
//     consumer is a loop over rows, with an inner loop over the positions of each row.
type Form struct {
	Kind  Kind
	Once  bool
	Rows  bool
	Dense int
	Of    string
	Key   string
	Len   int64
	Each  bool

	Together bool
}

// Space describes a workspace. Form says how the workspace is stored. If a loop on threads fills a
// workspace that is not Shared, each thread first fills a private workspace, and Piece is the form
// of the private workspaces. Said is true if the schedule gives the kind of the workspace.
// Multiplied is true if a matrix product reads the workspace or adds to it, which requires an
// array.
type Space struct {
	Form             Form
	Piece            Form
	Why              string
	Said, Multiplied bool
}

// Shared reports whether threads can share the workspace, because additions to different places
// touch no common data.
func (s Space) Shared() bool {
	return s.Form.Kind == Array || s.Form.Kind == Marks || s.Form.Kind == Table
}

// LeastCapacity is added to the estimated number of entries when an initial capacity is computed.
// So the capacity is not tiny if there are few entries. This applies to a result, and to the piece
// of a result that a chunk of a loop makes.
const LeastCapacity = 16

// Result describes the capacity that a result needs, and further choices for results.
type Result struct {
	// Factor is the initial capacity as a multiple of the number of entries of all sparse operands.
	// Most is an upper bound of the initial capacity in entries; 0 means no bound.
	Factor, Most int64
	// Fetched says how blocks of a Mapped result are fetched before they are added to. Distances
	// count positions of the map. If Lines is 0, blocks are not fetched.
	Fetched Prefetch
	// Places has the variables for which an array with a place for each coordinate in a given row
	// is worth its memory.
	Places map[string]bool
}

// Fetched returns the choice of how to prefetch the rows of an access. The parameter key is the key
// of the access, and rowVar is the variable that selects the rows. Fetched returns the zero value
// if the rows are not prefetched.
func (v *Value) Fetched(key, rowVar string) Prefetch {
	for _, p := range v.Prefetch {
		if p.Key == key && p.Var == rowVar {
			return p
		}
	}
	return Prefetch{}
}

// Gather reports whether loops over variable loopVar run in vector lanes although they gather
// values. The loops are over the entries of the access with the given key.
func (v *Value) Gather(key, loopVar string) bool {
	return slices.ContainsFunc(v.Gathers,
		func(g Gather) bool { return g.Key == key && g.Var == loopVar })
}

// Matrices returns the outermost loops of matrix products in s. The strategy v must have been made
// for s.
func (v *Value) Matrices(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	cin.Pairs(cin.Body(s), v.Stmt, func(t, own cin.Stmt) {
		if l, ok := own.(*cin.Forall); ok && v.Of(l).Gemm > 0 {
			out[t] = true
		}
	})
	return out
}

// RegisterSums returns the statements in s that sum rows of the result in registers. The strategy v
// must have been made for s.
func (v *Value) RegisterSums(s cin.Stmt) map[cin.Stmt]bool {
	out := map[cin.Stmt]bool{}
	cin.Pairs(cin.Body(s), v.Stmt, func(t, own cin.Stmt) {
		if v.Tiles[own] > 0 {
			out[t] = true
		}
	})
	return out
}
