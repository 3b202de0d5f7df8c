package format

// Caps is what a level kind is and can do (the properties and capabilities of
// Chou, Kjolstad and Amarasinghe, "Format abstraction", 2018, and the padded
// singleton of TACO's tool).
type Caps struct {
	Full       bool // holds every coordinate of its range
	Ordered    bool // coordinates ascend within a parent position
	Unique     bool // a coordinate stands at most once among its siblings
	Branchless bool // exactly one position for each parent position
	Compact    bool // positions have no gaps: position p+1 follows p
	Padded     bool // coordinate -1 marks a position without an entry

	HasPos bool // stores a pos array: pos[p] to pos[p+1] are the children of parent position p
	HasCrd bool // stores a crd array: the coordinate at each position

	// CoordIter: coordinates are counted from the range and positions computed.
	// PosIter: positions are counted and coordinates loaded. A kind has one.
	CoordIter, PosIter bool
	Locate             bool // the position of a coordinate is computed at once
	Insert             bool // a result may be written at any coordinate, in any order
	Append             bool // a result may be written in ascending order
}

var caps = map[Kind]Caps{
	Dense: {Full: true, Ordered: true, Unique: true, Compact: true,
		CoordIter: true, Locate: true, Insert: true, Append: true},
	Compressed: {Ordered: true, Unique: true, Compact: true,
		HasPos: true, HasCrd: true, PosIter: true, Append: true},
	CompressedNonunique: {Ordered: true, Compact: true,
		HasPos: true, HasCrd: true, PosIter: true, Append: true},
	Singleton: {Ordered: true, Unique: true, Branchless: true, Compact: true,
		HasCrd: true, PosIter: true, Append: true},
	SingletonNonunique: {Ordered: true, Branchless: true, Compact: true,
		HasCrd: true, PosIter: true, Append: true},
	SingletonPadded: {Ordered: true, Unique: true, Branchless: true, Padded: true,
		HasCrd: true, PosIter: true, Insert: true, Append: true},
}

// Valid tells whether k is the letter of a kind.
func (k Kind) Valid() bool { _, ok := caps[k]; return ok }

// Caps returns the kind's properties and capabilities.
func (k Kind) Caps() Caps {
	c, ok := caps[k]
	if !ok {
		panic("BUG: no level kind " + string(k))
	}
	return c
}

var words = map[Kind]string{
	Dense: "dense", Compressed: "compressed", CompressedNonunique: "compressed with repeats",
	Singleton: "singleton", SingletonNonunique: "singleton with repeats", SingletonPadded: "padded singleton",
}

// Word is the kind in words, such as "compressed with repeats".
func (k Kind) Word() string { return words[k] }

// String is the letter.
func (k Kind) String() string { return string(rune(k)) }
