package tcs

import "fmt"

// LevelKind describes how a kind of level is stored, in memory and in a file. The compiler has
// a table of its own (codegen/format) that describes what loops can do with a level. The two
// tables share only the letters.
type LevelKind struct {
	Letter  byte
	Form    Form
	Repeats bool // siblings may have equal coordinates
	Padded  bool // a position may have no entry; its coordinate is -1
}

// Form is the rule by which the positions of a level are numbered. It determines which arrays
// the level has.
type Form uint8

const (
	// Full: every coordinate of the range has a position below each parent. The position is
	// parent*size + coordinate - offset. The level has no arrays.
	Full Form = iota + 1
	// Segmented: the positions below parent p are pos[p] to pos[p+1]-1. The coordinate of each
	// is in crd.
	Segmented
	// Single: the only position below parent p is p. Its coordinate is in crd.
	Single
)

// levelKinds is the table of level kinds, indexed by letter. Form is 0 for other letters.
var levelKinds = func() (table [256]LevelKind) {
	for _, k := range []LevelKind{
		{Letter: 'd', Form: Full},
		{Letter: 's', Form: Segmented},
		{Letter: 'u', Form: Segmented, Repeats: true},
		{Letter: 'q', Form: Single},
		{Letter: 'c', Form: Single, Repeats: true},
		{Letter: 'p', Form: Single, Padded: true},
	} {
		table[k.Letter] = k
	}
	return table
}()

// LevelLetters are the letters of all level kinds.
const LevelLetters = "dsuqcp"

// KindOf returns the level kind of a letter. It panics if CheckFormat would refuse the letter.
func KindOf(letter byte) (k LevelKind) {
	if k = levelKinds[letter]; k.Form == 0 {
		unknownKind(letter)
	}
	return
}

func unknownKind(letter byte) {
	panic(fmt.Sprintf("BUG: tcs: %q is no level kind", letter))
}

// HasPos reports whether levels of this kind have a pos array.
func (k LevelKind) HasPos() bool { return k.Form == Segmented }

// HasCrd reports whether levels of this kind have a crd array.
func (k LevelKind) HasCrd() bool { return k.Form != Full }

// AllDense reports whether all the level kinds are dense: no level stores coordinates.
func AllDense(kinds string) bool {
	for l := range len(kinds) {
		if KindOf(kinds[l]).HasCrd() {
			return false
		}
	}
	return true
}

// Singleton reports whether a level of that kind has exactly one position below each parent.
func Singleton(kind byte) bool { return KindOf(kind).Form == Single }
