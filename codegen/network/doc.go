// Package network finds how a product of many tensors is summed: in which order its
// factors are multiplied, with which intermediates, in which loops, and which of these
// loops producers and consumers share (Raje et al., "CoNST: Code Generator for Sparse
// Tensor Networks", 2024).
//
// A contraction multiplies a few items, each a factor of the product or an intermediate
// made before, and sums the variables that nothing else has. Its loops are over all
// variables of its items. Somewhere on the way down these loops, before each or behind all of
// them, a producer may stand: the contraction of some of the items into an intermediate, which
// takes their place. The loops around it are the producer's too, so that the intermediate has
// only those of its variables that are not bound there:
//
//	r j { X{p q i: A(p,q,i) * B(r,j,p)} Y{q k i: X(q,i) * C(r,q,k)} k i: Y(k,i) * D(r,j,k) }
//
// The last loops of a contraction of two items that are dense there may be one product of matrices,
// which costs far less than they do.
//
// A producer stands inside loops over its own intermediate's variables only, so nothing is
// computed twice. A sparse factor is walked in its storage order, or converted before.
//
// What is still to be done depends on the items at hand and on the set of the variables that
// are bound, and not on the order in which that came about: whether a sparse level can be
// walked, and how many iterations a loop has, are questions about sets. So the best
// way is found by dynamic programming over pairs of these (Search), exactly, for up to five
// factors with eight variables and where there are few enough; past that, a beam chooses trees by
// their contractions alone, and the loops of each are found exactly.
//
// # Files
//
//	problem.go  what is to be multiplied, and the ways that may be asked for
//	density.go  how many coordinates factors and intermediates have, from statistics
//	cost.go     what loops and intermediates cost
//	moved.go    what it costs to bring near what loops read
//	gemm.go     the innermost loops of a contraction as a product of dense matrices
//	search.go   the search
//	spent.go    what ways to do the same take, and which of them are kept
//	beam.go     trees of products that are too large for it
//	plan.go     what is found: contractions, their loops and producers
//	steps.go    products of any size, contracted from left to right or by a tree
//	tree.go     the text of a tree, both ways
//	way.go      the ways as users say them
//	print.go    a plan as text
package network
