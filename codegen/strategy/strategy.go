package strategy

import "slices"

// Value is how a statement is lowered. Loops, and sequences of statements, are known by
// their number: the place in the order of cin.Walk, from 0.
type Value struct {
	Loops map[int]Loop
	// Tiles has the statements that sum a row of the result in registers, a tile of
	// so many values at a time.
	Tiles map[int]int64
	// Row is the variable along such rows, and Why the reason for its tiles.
	Row Row
	// Jam is the variable whose loops, around others that sum, are moved into these, a
	// tile at a time.
	Jam Row
	// Trips are the variables whose range is always [0, N).
	Trips map[string]Trip
	// Prefetch has the rows, and the entries, that are fetched ahead.
	Prefetch []Prefetch
	// Nontemporal, where it is not "", is the reason for which values of the result that loops in
	// lanes write once are stored past the caches. Of a Mapped result these are rows summed in tiles
	// that the leaf is the first to come to.
	Nontemporal string
	// Gathers has the loops over segments that run in lanes though what they read is
	// gathered.
	Gathers []Gather
	// Lanes are the variables whose loops run in lanes where they run along
	// contiguous memory.
	Lanes map[string]string
	// Predicated are the variables whose merge loops compute all terms of a sum of
	// floats, and choose by predicates what is added.
	Predicated map[string]string
	// Windowed are those of them whose loops append the result in windows, whose coordinates
	// are sorted.
	Windowed map[string]string
	// OneBody are the variables whose merge loops have one body for all cases of what is
	// present.
	OneBody map[string]string
	// Unrolled is the number of copies that loops have which are unrolled completely, where it is
	// known.
	Unrolled map[string]int64
	// PerThread is the number of chunks of equal work that a loop has for each thread.
	PerThread int64
	// CachedPartials is up to how many bytes the partial results of all of a loop's chunks are there
	// at once. More of them would be set to 0 and added up in memory: of these there are as many as
	// threads, and one for the sum.
	CachedPartials int64
	// Spaces are the workspaces, by name, and CrdWidth the bytes that each variable's coordinates
	// take in their lists.
	Spaces   map[string]Space
	CrdWidth map[string]uint8
	// Result is the capacity that the arrays of a result that grows begin with.
	Result Result
	// Weight ranks the operands by their entries: chunks of equal work are cut by
	// the entries of the heaviest that their loop walks.
	Weight map[string]int
}

// Loop is how one loop is lowered.
type Loop struct {
	Cut Cut
	// OverPositions, where it is not "", is the reason for which the nest from here down to the
	// last compressed level that the result shares with an operand is one loop over the
	// positions of that level.
	OverPositions string
	Long          Long
	// Gemm: it is the outermost of so many loops that are one product of matrices; 0 where it is not.
	Gemm int
	// Extern, if not nil, is the function of the user's that runs the nest from here on.
	Extern *Extern
	// RowLanes, where it is not 0, has the rows of a tile of positions shared out among a GPU's
	// threads: each is one thread's where the tile has at least so many.
	RowLanes int64
}

// How is a way of cutting a loop for threads.
type How uint8

const (
	Whole  How = iota // not cut: threads only set the result to 0 before it
	Blocks            // chunks of equal work, each a block of the result
	// chunks of equal work, in order: each appends to the result behind the one before
	Ordered
	// N chunks of equal work, each with a partial result, which are added up in order
	Partial
	// N chunks of equal work, each with a partial sum, which are added up in order
	Reduction
	Rows // every thread runs all of the loop for a part of the result of its own
)

// Cut is how a loop is cut for threads.
type Cut struct {
	How How
	// N is the number of chunks of Partial and Reduction; of Ordered, the least work of
	// a chunk, 0 for chunks whose number depends on the threads alone.
	N int64
	// Streamed is the number of entries from which on a result made by Ordered
	// chunks is copied past the caches.
	Streamed int64
	// Own, of Rows, is the variable of the result of whose range each thread has a part.
	Own string
	Why string
}

// LongRows is what is done about rows that are too long for one thread.
type LongRows uint8

const (
	Kept        LongRows = iota // nothing
	Separate                    // they are left out, and run one after another, each on all threads
	Precomputed                 // they are computed before the loop, each on all threads
	CutInside                   // chunks begin and end inside of them
)

// Long is what is done about rows of an operand of more than N entries.
type Long struct {
	How LongRows
	Key string // of the access
	N   int64
	Why string
	// Parts is how a row that is left out is cut for the threads.
	Parts Cut
	// Of Precomputed rows: the places of a band of coordinates, and the entries
	// of a stretch of the row.
	Band, Stretch int64
}

// Row is a dense last level of the result that is summed in tiles.
type Row struct {
	Var   string
	Width int64
	Why   string
}

// Trip is a constant trip count.
type Trip struct {
	N   int64
	Why string
}

// Prefetch is that of the rows of the access called Key that variable Var picks, by Ahead entries
// before they are read into the nearest cache, and by Far into the one of the second level, neither
// where that is 0: of so many cache lines each. Where Key is that of a sparse operand it is that of
// its own entries along Var.
type Prefetch struct {
	Key, Var          string
	Ahead, Far, Lines int64
	Why               string
}

// Any tells whether it fetches anything.
func (p Prefetch) Any() bool { return p.Ahead > 0 || p.Far > 0 }

// Into is by how many entries it fetches into the cache of the second level, where far, or into the
// nearest one.
func (p Prefetch) Into(far bool) int64 {
	if far {
		return p.Far
	}
	return p.Ahead
}

// Gather is a loop over the entries of the access called Key at variable Var.
type Gather struct{ Key, Var, Why string }

// Kind is a kind of workspace.
type Kind uint8

const (
	HashTable  Kind = iota
	MarkedList      // a place and a mark for every coordinate, and the list of those marked
	Bitmap          // a place and a bit for every coordinate
	Array           // an array, filled everywhere or nowhere
	SortedList      // a list that is filled in order
	// a place and a mark for every coordinate, of which most are used: threads may fill it
	Marks
	Positions // a place for each position of an operand that a tile has
	Terms     // a list of all values that are added, which is sorted and summed in the end
)

var kindNames = [...]string{HashTable: "Hash", MarkedList: "List", Bitmap: "Bitmap", Array: "Dense",
	SortedList: "Sorted", Marks: "Marks", Positions: "Positions", Terms: "Terms"}

func (k Kind) String() string { return kindNames[k] }

// Form is how a workspace is stored. Once: a SortedList gets no coordinate twice. Rows: one over
// several variables is read with a place for each coordinate of all but the last, which has a list.
// Dense: a HashTable, or Terms, has keys of all variables but so many of the last, and behind each
// key a row of places along these, which is filled everywhere or nowhere; Rows is then said of the
// keys. Of, of these, is the operand for whose entries they have room from the beginning, "" for
// none. Of Positions, Key is the access whose positions have the places, and Len how many of them a
// tile has at most; Each, where it is not "", is the reason for which the consumer is a loop over
// all places, of constant length, with a sum that is added to the result as a row ends. Else it is
// one over rows, and over the places of each.
type Form struct {
	Kind  Kind
	Once  bool
	Rows  bool
	Dense int
	Of    string
	Key   string
	Len   int64
	Each  string
}

// Space is a workspace. Piece is the form of those that threads have of their own, where a loop on
// threads fills it. Said tells whether a schedule says its kind, Multiplied whether a product of
// matrices reads it or adds to it, for which it is an array.
type Space struct {
	Form             Form
	Piece            Form
	Why              string
	Said, Multiplied bool
}

// Result is what is known of the capacity that a result needs.
type Result struct {
	// Factor is the capacity at first, as a multiple of the entries of all sparse operands
	// together; Most bounds that number, 0 is no bound.
	Factor, Most int64
	// Fetched is how blocks of a Mapped result are fetched positions of its map before they are added
	// to, of which it may be none (Lines).
	Fetched Prefetch
	// Places are the variables for whose coordinates an array of places in a given
	// row is worth its memory.
	Places map[string]bool
}

// Fetched is how the rows of the access called key that a variable picks are fetched
// ahead; the zero value where they are not.
func (v *Value) Fetched(key, picks string) Prefetch {
	for _, p := range v.Prefetch {
		if p.Key == key && p.Var == picks {
			return p
		}
	}
	return Prefetch{}
}

// Gather tells whether loops over a variable along the access called key run in lanes
// though they gather.
func (v *Value) Gather(key, along string) bool {
	return slices.ContainsFunc(v.Gathers,
		func(g Gather) bool { return g.Key == key && g.Var == along })
}
