// Package planview draws plans as an HTML page without external files. The page shows the ranks of
// the machine, the blocks of each tensor in the colors of their owners, the blocks that travel at
// each step as arrows, and what each rank computes, sends and holds. The package also has the words
// and sums that the page shares with the text form of a plan.
//
// A page is well-formed XML as well as HTML. Its size is bounded: if there are too many blocks,
// ranks, steps or arrows, it draws only some, or several as one, and says so.
//
// # Files
//
//	page.go      the page of a statement or a job file, and how much it draws
//	page.tmpl    the page's template and style
//	color.go     the colors of ranks, and their legend
//	layout.go    the positions of ranks in a picture
//	tensor.go    the picture of a tensor: slices that show two modes
//	axis.go      the cuts of a mode, and which ranges are drawn
//	flow.go      the blocks that travel before, at and after each step
//	arrow.go     the path of an arrow from one rank to another
//	quantity.go  numbers for each rank: totals and profiles
//	schedule.go  the schedule, and the placement of tensors, in words
//	why.go       why a plan is as it is, in words
//	words.go     tensors and numbers in words
package planview
