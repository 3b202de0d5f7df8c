// Package format describes how a tensor's coordinate tree is stored: one level
// kind a storage level, outermost first, and the order of modes.
package format

// Kind is a level kind, by TACO's letter.
type Kind byte

const (
	Dense               Kind = 'd' // every coordinate of [offset, offset+size)
	Compressed          Kind = 's' // pos/crd segments, unique sorted coordinates
	CompressedNonunique Kind = 'u' // pos/crd segments, a coordinate may repeat
	Singleton           Kind = 'q' // one coordinate a parent position
	SingletonNonunique  Kind = 'c' // one a parent position, repeats among siblings kept
	SingletonPadded     Kind = 'p' // one slot a parent position; coordinate -1 marks padding, an absent entry
)

// Format is the storage of one tensor.
type Format struct {
	Levels []Kind
	// Order[l] is the mode that level l stores. len(Order) == len(Levels).
	Order []int
}
