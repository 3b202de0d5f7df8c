// Package tcs is the tensor: a header and level arrays, in memory as in the
// .tcs file, so that a file is mapped, not read. docs/tcs.md has the format.
//
// # Model
//
// A tensor of R modes is stored as a coordinate tree of R levels, outermost
// first. Level l stores one mode; a node of the tree at level l is a position,
// an integer from 0. The root is one position above level 0, and the values
// are an array over the positions of the last level. A level's kind says how
// the children of a parent position p are found:
//
//	d  dense: children p*Size+k for k in [0, Size), coordinate Offset+k; no arrays
//	s  compressed: children [Pos[p], Pos[p+1]), coordinates Crd[q], strictly increasing
//	u  compressed with repeats: as s, coordinates may repeat
//	q  singleton: the one child p, coordinate Crd[p]
//	c  singleton with repeats: as q
//	p  padded singleton: as q; Crd[p] = -1 marks that p has no child
//
// A u or c level repeats its coordinate once for each entry of the singletons
// that follow it; followed by a level of another kind its coordinates do not
// repeat. Where it is the last level of such a chain of repeats, equal
// coordinates are kept as entries of their own (see Shape.KeepsRepeats).
// Below a padded position, singletons hold -1, compressed levels are empty and
// values are zero.
//
// # Blocks
//
// A block is a tensor whose Box is smaller than its Dims. Coordinates are
// always those of the whole tensor. Box and dense Offset and Size may differ:
// a View keeps the whole tensor's level sizes and positions, and its arrays are
// slices that know the position of their first element (Array.First); a block
// that was assembled on its own has Offset and Size cut to its Box, and First 0.
//
// # Memory
//
// Arrays lie outside the Go heap: in mapped files or in memory from Alloc,
// counted by a Limit. Memory is reference counted; a tensor releases what it
// holds in Close, and views hold what they show.
package tcs
