// Package planview draws plans: a page of HTML that needs nothing else, with the ranks on their
// machine, the blocks of each tensor in the colors of the ranks that own them, the blocks that
// travel at each step as arrows, and what each rank does and takes. It also has the words and
// the sums that the page shares with the text form of a plan.
//
// A page is well-formed XML as well as HTML. It has a bounded size: of many blocks, ranks, steps or
// arrows it draws some, or several as one, and says so where it does.
//
// # Files
//
//	page.go      the page of a statement or a job file, and how much it draws
//	page.tmpl    the page's template, with its style
//	color.go     the colors of ranks, and their legend
//	layout.go    where the ranks of a machine are drawn
//	tensor.go    the picture of a tensor: slices that show two modes
//	axis.go      how a mode is cut, and which parts of it are drawn
//	flow.go      what travels before the steps, at each of them and after them
//	arrow.go     the way of an arrow from one rank to another
//	quantity.go  what each rank has, does or takes: totals and profiles
//	schedule.go  which rank runs what, and where tensors lie, in words
//	words.go     tensors and numbers in words
package planview
