package format

// Caps lists the properties and capabilities of a level kind. They come from Chou, Kjolstad and
// Amarasinghe ("Format abstraction", 2018), as far as the compiler needs them, except Padded, which
// describes the padded singleton of TACO's tool.
type Caps struct {
	Unique     bool // siblings have different coordinates
	Branchless bool // exactly one position for each parent position
	Padded     bool // coordinate -1 marks a position without an entry

	HasPos bool // stores a pos array: pos[p] to pos[p+1] are the children of parent position p
	HasCrd bool // stores a crd array: the coordinate at each position
	// Locate: the position of a coordinate is computed directly. A loop over such a level counts
	// coordinates. A loop over another level counts positions and loads their coordinates.
	Locate bool
}

var caps = map[Kind]Caps{
	Dense:               {Unique: true, Locate: true},
	Compressed:          {Unique: true, HasPos: true, HasCrd: true},
	CompressedNonunique: {HasPos: true, HasCrd: true},
	Singleton:           {Unique: true, Branchless: true, HasCrd: true},
	SingletonNonunique:  {Branchless: true, HasCrd: true},
	SingletonPadded:     {Unique: true, Branchless: true, Padded: true, HasCrd: true},
}

// Valid reports whether k is the letter of a kind.
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
	Singleton: "singleton", SingletonNonunique: "singleton with repeats",
	SingletonPadded: "padded singleton",
}

// Word returns the kind in words, such as "compressed with repeats".
func (k Kind) Word() string { return words[k] }

// String returns the letter of the kind.
func (k Kind) String() string { return string(rune(k)) }
