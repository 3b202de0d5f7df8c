// Package store writes the blocks of a distributed tensor to one file, by all
// ranks, in storage order, with the same bytes at every number of ranks
// (source 000, section 4.6).
//
// # Who calls whom
//
// Write takes the first of the ways in writers.go that applies, the same one at every
// rank. Each ends in ranks that write at offsets of one file (a site), without any of
// them holding more than its share:
//
//	dense.go     a dense result to .tcs or .npy: the values are laid out in windows
//	             of positions. Blocks that are whole rows are written by their owners,
//	             straight from memory; others travel to the rank of their window.
//	concat.go    a sparse result to .tcs, cut in its outermost stored mode only: the
//	             file's arrays are the blocks' one after another, positions shifted
//	rows.go      a sparse result to .tcs of a compressed last level, under dense levels,
//	             compressed levels, or both, cut in any modes: windows of rows. A row is the
//	             blocks' parts, copied one after another in the order of the blocks' boxes
//	merged.go    any other result to .tcs, in two passes over the merged entries: one
//	             counts, where the cuts alone do not tell, and one fills (coo.CountPart,
//	             coo.Join, Joined.WritePart)
//	listed.go    entries as text (.tns, .mtx), or an array filled out with zeros (.npy)
//
// The last two take the entries as pieces of the result. A run (run.go) is a
// block's entries in the order wanted, found by position: the block itself, or
// a copy sorted by coordinate. Cut points are coordinates: cutPoints takes even
// samples of all runs, so that pieces hold equal counts of stored entries, however
// skewed their coordinates are; entries of one coordinate stay together. An exchange
// sends every rank the runs' parts of its piece, in batches that two buffers a
// pair of ranks bound; a tournament tree (spmd/merge) makes them one stream.
//
// # Rows
//
// A row is what the last level stores under one coordinate of the levels above; its key is
// the linear position of that coordinate. If the levels above are dense, every key is a row.
// Else rows are listed: only keys with entries are stored. Both go through the same steps:
//
//	rows.go      cuts the keys in windows, and gives each rank consecutive ones
//	rowkeys.go   which rows a block has, and the keys of listed rows
//	rowcount.go  counts the nodes of the levels above listed rows, in a pass over the keys alone
//	rowparts.go  the blocks' parts of a window, as they travel
//	parcels.go   the traffic of windows; ranks of one process read each other's blocks
//	             (nearby.go) and send nothing
//	rowfile.go   a window's rows put together and written: placed by position, or, if listed,
//	             merged by key
//	rowlist.go   rows in memory: placed and merged
//
// Blocks between keys, whose boxes may overlap, are written as the disjoint boxes that
// each is made of (Blocks.Boxed).
//
// What goes out in order only (pipes, compressed files, .npz, and files that the
// ranks cannot all open) is one piece, at rank 0 (gather.go); it passes through.
//
// # Files
//
// Rank 0 creates the file, without a name if the system has such files, and
// passes a handle to the others (outfile.Handle). Every rank writes its spans at
// once, or, where Ordered says so, one rank after another, each opening the file
// when the one before has closed it, as NFS wants. The spans' checksums meet at
// rank 0, which holds them against the layout: a file with a gap is a bug, not an
// output. Naming the file is left to the caller, after all ranks are through.
//
// # Other files
//
//	write.go     Write, and modes of writing one file
//	blocks.go    blocks of one tensor, at their ranks
//	box.go       boxes in an array's linear order
//	cost.go      what it moves and holds, before there are blocks
//	cut.go       where pieces are cut
//	exchange.go  runs' parts to the ranks of their pieces
//	union.go     sorted lists of keys, merged
//	column.go    a column of a file, through a buffer
//	buffers.go   how much memory windows take
//	site.go      the file as one rank writes it
//	spool.go     text that waits for its place
//	unsign.go    zeros of sums, which have no sign
//	summary.go   counts of the whole tensor
package store
