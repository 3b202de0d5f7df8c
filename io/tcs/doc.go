// Package tcs implements the tensor in memory: a header and level arrays. It is what every leaf
// takes. A .tcs file has the same layout; package tcsfile reads and writes it.
//
// # Model
//
// A tensor of R modes is stored as a coordinate tree of R levels, outermost first. Level l
// stores one mode. A node of the tree at level l is a position, an integer from 0. Above level
// 0 there is one position, the root. The values are an array over the positions of the last
// level. The kind of a level determines how the children of a parent position p are found:
//
//	d  dense: children p*Size+k for k in [0, Size), coordinate Offset+k; no arrays
//	s  compressed: children [Pos[p], Pos[p+1]), coordinates Crd[q], strictly increasing
//	u  compressed with repeats: as s, coordinates may repeat
//	q  singleton: the one child p, coordinate Crd[p]
//	c  singleton with repeats: as q
//	p  padded singleton: as q; Crd[p] = -1 marks that p has no child
//
// A u or c level repeats its coordinate once for each entry of the singletons that follow it. If a
// level of another kind follows, its coordinates do not repeat. If it is the last level of a chain
// of repeating levels, equal coordinates are kept as separate entries (see tensor.Format.Repeats).
// Below a padded position, singletons hold -1, compressed levels are empty and values are zero.
//
// # Blocks
//
// A block is a tensor whose Box is smaller than its Dims. Its coordinates are coordinates of
// the whole tensor. There are two ways to make one. A View keeps the level sizes and positions
// of the whole tensor: its arrays are slices, and Array.First is the position of the first
// element of a slice. A block that was assembled by itself has its dense Offset and Size cut to
// its Box, and its arrays have First 0.
//
// # Memory
//
// Arrays are stored outside the Go heap: in mapped files, or in memory from Alloc that a Limit
// counts. Memory is reference counted. Close releases the memory that a tensor holds; a view
// holds the memory that it shows. A tensor from a file has a Source, which reports whether the
// file changed. If the elements are read from the file when they are needed, it also has a Demand.
//
// # Files
//
//	tensor.go     Tensor and Array
//	shape.go      which arrays a tensor has, and their layout
//	levelparts.go how the positions of each kind are cut
//	value.go      value types
//	source.go     the file that a tensor is read from
//	array.go      elements of an array
//	cursor.go     entries in storage order
//	view.go       blocks that share memory
//	keys.go       tuples of coordinates, and the positions between two of them
//	nothing.go    a tensor without entries or memory
//	validate.go   which tensors are valid
//	check.go      checks of the arrays
//	checkpart.go  the same checks, divided among several readers
//	pads.go       padded levels
//	stats.go      statistics
//	narrow.go     arrays in 32 bits
//	widen.go      arrays in 64 bits
//	memory.go     memory, and the limit that counts it
//	faults.go     mapped files that shrink while several goroutines read
//	errors.go     errors and exit codes
package tcs
