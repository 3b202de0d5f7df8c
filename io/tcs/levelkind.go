package tcs

import "fmt"

// LevelKind is what a kind of level is in memory and in a file. The compiler has a table of
// its own (codegen/format), of what loops can do with a level; the letter is what both share.
type LevelKind struct {
	Letter  byte
	Form    Form
	Repeats bool // a coordinate may stand several times among its siblings
	Padded  bool // a position may have no entry: its coordinate is -1
}

// Form is how the positions of a level count, and so which arrays it has.
type Form uint8

const (
	// Full: every coordinate of the range has a position under each parent, which is
	// parent*size + coordinate - offset. There are no arrays.
	Full Form = iota + 1
	// Segmented: the positions under parent p are pos[p] to pos[p+1], each with its
	// coordinate in crd.
	Segmented
	// Single: each parent has one position, of the same number, with its coordinate in crd.
	Single
)

// levelKinds is the table of kinds, by letter.
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

// LevelLetters are the letters of all kinds.
const LevelLetters = "dsuqcp"

// KindOf is the kind of a letter that CheckFormat has accepted.
func KindOf(letter byte) (k LevelKind) {
	if k = levelKinds[letter]; k.Form == 0 {
		unknownKind(letter)
	}
	return
}

func unknownKind(letter byte) {
	panic(fmt.Sprintf("BUG: tcs: %q is no level kind", letter))
}

// HasPos tells whether a level of the kind has a pos array.
func (k LevelKind) HasPos() bool { return k.Form == Segmented }

// HasCrd tells whether it has a crd array.
func (k LevelKind) HasCrd() bool { return k.Form != Full }

// AllDense tells whether levels of these kinds have a position for every coordinate, and
// store none.
func AllDense(kinds string) bool {
	for l := range len(kinds) {
		if KindOf(kinds[l]).HasCrd() {
			return false
		}
	}
	return true
}

// Singleton reports whether a level of that kind has one position a parent position.
func Singleton(kind byte) bool { return KindOf(kind).Form == Single }
