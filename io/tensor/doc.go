// Package tensor is the vocabulary of tensors that the compiler and the readers and writers of
// files have in common: types of elements (Type) and their values (Value), kinds of levels (Kind),
// storage formats (Format), sizes of modes, and the words of messages. It imports no other package
// of this module.
//
// A format describes how the coordinate tree of a tensor is stored: the kind of each level,
// outermost first, and the mode that each level stores. A level maps each position of its parent
// level to some positions of its own, and each of its positions has a coordinate. The parent of the
// outermost level is the root, which has only position 0. The positions of the last level number
// the values. A coordinate is present if there is a path to it from the root, whether its value is
// zero or not. Every coordinate of a dense level is on a path, and the padding of a padded
// singleton is on none.
//
// # Files
//
//	type.go    types of elements: names, sizes, promotion
//	value.go   one value of any type
//	kind.go    kinds of levels
//	format.go  formats: kinds and the order of the modes
//	sizes.go   sizes of modes, and arithmetic of counts that saturates
//	words.go   numbers, and text from outside, in messages
package tensor
