package tensor

// Kind is the kind of a level, by TACO's letter. It determines how the coordinates of the level are
// stored and what a loop can do with the level. The properties come from Chou, Kjolstad and
// Amarasinghe ("Format abstraction for sparse tensor algebra compilers", 2018). Only properties
// that the compiler needs are included. The kind p comes from TACO's command line tool.
type Kind byte

const (
	Dense               Kind = 'd' // every coordinate of [offset, offset+size)
	Compressed          Kind = 's' // pos/crd segments, unique sorted coordinates
	CompressedNonunique Kind = 'u' // pos/crd segments, a coordinate may repeat
	Singleton           Kind = 'q' // one coordinate for each parent position
	SingletonNonunique  Kind = 'c' // the same, but a coordinate may repeat
	// one slot for each parent position; the coordinate -1 marks padding: a slot without an entry
	SingletonPadded Kind = 'p'
)

// Kinds lists the level kinds.
var Kinds = []Kind{Dense, Compressed, CompressedNonunique, Singleton, SingletonNonunique,
	SingletonPadded}

// Form is the rule that numbers the positions of a level. It determines the arrays of the level.
type Form uint8

const (
	// Full: every coordinate of the range has a position below each parent. The position is
	// parent*size + coordinate - offset. The level has no arrays.
	Full Form = iota + 1
	// Segmented: the positions below parent p are pos[p] to pos[p+1]-1. crd has the coordinate of
	// each position.
	Segmented
	// Single: the only position below parent p is p. crd has its coordinate.
	Single
)

// kinds is the table of level kinds, indexed by letter. form is 0 for other letters.
var kinds = [256]struct {
	words   string
	form    Form
	repeats bool
	padded  bool
}{
	Dense:               {words: "dense", form: Full},
	Compressed:          {words: "compressed", form: Segmented},
	CompressedNonunique: {words: "compressed with repeats", form: Segmented, repeats: true},
	Singleton:           {words: "singleton", form: Single},
	SingletonNonunique:  {words: "singleton with repeats", form: Single, repeats: true},
	SingletonPadded:     {words: "padded singleton", form: Single, padded: true},
}

// IsValid reports whether k is the letter of a kind.
func (k Kind) IsValid() bool { return kinds[k].form != 0 }

// Form returns the rule that numbers the positions of the level. It panics if k is not the letter
// of a kind.
func (k Kind) Form() Form {
	f := kinds[k].form
	if f == 0 {
		k.panic()
	}
	return f
}

func (k Kind) panic() { panic("BUG: no level kind " + string(rune(k))) }

// IsUnique reports whether the kind excludes repeats of a coordinate. It returns false for u and c.
func (k Kind) IsUnique() bool { return !kinds[k].repeats }

// IsSingle reports whether the level has exactly one position for each parent position.
func (k Kind) IsSingle() bool { return k.Form() == Single }

// IsPadded reports whether a position may have no entry; its coordinate is then -1.
func (k Kind) IsPadded() bool { return kinds[k].padded }

// HasPos reports whether the level has a pos array. The children of parent position p are the
// positions from pos[p] to pos[p+1]-1.
func (k Kind) HasPos() bool { return k.Form() == Segmented }

// HasCrd reports whether the level has a crd array, which holds the coordinate of each position.
func (k Kind) HasCrd() bool { return k.Form() != Full }

// CanLocate reports whether the position of a coordinate can be computed. A loop over such a level
// counts coordinates. A loop over any other level counts positions and loads their coordinates.
func (k Kind) CanLocate() bool { return k.Form() == Full }

// IsDenseOrCompressed reports whether the level is dense or compressed. The results of leaves have
// only such levels.
func (k Kind) IsDenseOrCompressed() bool { return k == Dense || k == Compressed }

// Words returns the kind in words, such as "compressed with repeats".
func (k Kind) Words() string { return kinds[k].words }

// String returns the letter of the kind.
func (k Kind) String() string { return string(rune(k)) }
