// Package network finds a plan for a product of many tensors: the order of the multiplications, the
// intermediates, the loops, and the loops that producers and consumers share (Raje et al., "CoNST:
// Code Generator for Sparse Tensor Networks", 2024).
//
// A contraction multiplies a few items. Each item is a factor of the product or an intermediate
// that was made before. The contraction sums the variables that neither another item nor the result
// has, and its loops run over all variables of its items. A producer may run before the first of
// these loops or inside any of them. It contracts some of the items into an intermediate, which
// replaces them. The producer and the contraction share the loops around the producer, so the
// intermediate lacks the variables of the shared loops:
//
//	r j { X{p q i: A(p,q,i) * B(r,j,p)} Y{q k i: X(q,i) * C(r,q,k)} k i: Y(k,i) * D(r,j,k) }
//
// If the last loops of a contraction multiply two items that are dense along them, the loops may be
// one product of matrices, which costs far less.
//
// The loops around a producer all run over variables of its contraction, so nothing is computed
// twice. A sparse factor is walked in its storage order, or converted first.
//
// The rest of a nest depends only on the remaining items and on the set of bound variables (the
// variables of the loops that are already open). It does not depend on the order in which they
// came, because the two sets determine whether a sparse level can be walked and how many iterations
// a loop has. Search therefore finds the best plan by dynamic programming over these states. It is
// exact for up to five factors with eight variables, and for larger products if they have few
// states. For other products a beam search chooses trees by the costs of their contractions, and
// the loops of each tree are searched exactly. Products with more than MaxFactors factors or
// MaxVars variables are contracted two at a time, in the order that package pairs finds, or by a
// given tree.
//
// # Files
//
//	problem.go  the product, what is known of its tensors, and restrictions of the plan
//	density.go  how many coordinates factors and intermediates have, from statistics
//	cost.go     costs of loops and intermediates
//	moved.go    costs of bringing data into caches
//	gemm.go     the innermost loops of a contraction as a product of dense matrices
//	search.go   the search
//	spent.go    costs in two parts, and the alternatives that are kept
//	beam.go     trees of products that are too large for the search
//	plan.go     plans: contractions, their loops and producers
//	steps.go    products of any size, contracted by a tree
//	large.go    trees of products of any size; contractions of dense items
//	tree.go     the text of a tree, both ways
//	way.go      the values of --network
//	print.go    a plan as text
package network
