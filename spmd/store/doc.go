// Package store writes the blocks of a distributed tensor to one file. All ranks write, in storage
// order, and the bytes are the same for every number of ranks (SuperTaco (2019), section 4.6).
//
// # Ways of writing
//
// Write uses the first way in writers.go that applies; every rank chooses the same one. In each way
// the ranks write at offsets of one shared file (sharedFile), and no rank needs memory for more
// than its share of the tensor:
//
//	dense.go     a dense result to .tcs or .npy: the values are arranged in windows of
//	             positions. Blocks of whole rows are written by their owners, directly from
//	             memory; other values are sent to the rank that writes their window.
//	concat.go    a sparse result to .tcs that is cut in its outermost stored mode only: the
//	             arrays of the file are the concatenated arrays of the blocks, with
//	             positions shifted
//	rows.go      a sparse result to .tcs whose last level is compressed, under dense levels,
//	             compressed levels or both, cut in any modes: windows of rows. A row is the
//	             concatenation of the blocks' parts, in the order of the blocks' boxes
//	merged.go    any other result to .tcs, in two passes over the merged entries: one counts,
//	             unless the cuts give the counts, and one fills (coo.CountPart, coo.Join,
//	             Joined.WritePart)
//	listed.go    entries as text (.tns, .mtx), or an array that includes the zeros (.npy)
//
// The last two divide the result into pieces, one for each rank. A run (run.go) is the entries of a
// block in the order of the file, accessible by position: the block itself, or a copy sorted by
// coordinates. cutPoints takes samples of all runs at equal distances, and chooses coordinates that
// cut the result into pieces. Pieces therefore hold about equal numbers of stored entries, however
// skewed the coordinates are, and entries with equal coordinates stay together. An exchange
// (exchange.go) sends each rank the parts of all runs that belong to its piece, in batches, with
// two buffers for each pair of ranks. A tournament tree (spmd/merge) merges the parts into one
// stream.
//
// # Rows
//
// A row is the entries of the last level under one coordinate of the levels above. The key of a row
// is the linear position of that coordinate. If the levels above are dense, every key has a row.
// Otherwise rows are listed: only keys with entries are stored. Both kinds go through the same
// steps:
//
//	rows.go      cuts the keys into windows, and gives consecutive windows to each rank
//	rowkeys.go   finds the rows of a block, and the keys of listed rows
//	rowcount.go  counts the nodes of the levels above listed rows, in a pass over the keys
//	rowparts.go  packs the blocks' parts of a window into messages
//	parcels.go   sends the messages. Ranks of one process send nothing and read each other's
//	             blocks (nearby.go)
//	rowfile.go   assembles and writes the rows of a window: placed by position, or merged by
//	             key if they are listed
//	rowlist.go   rows in memory: places and merges them
//
// Blocks between keys, whose boxes may overlap, are written as disjoint boxes (Blocks.Boxed).
//
// Files that must be written in order are written by rank 0, which gets the whole result as one
// stream (gather.go). These are pipes, compressed files, .npz files, and files that some rank
// cannot open.
//
// # Files
//
// Rank 0 creates the file, without a name if the system supports that, and sends a handle to the
// other ranks (outfile.Handle). All ranks write their spans at the same time. In mode Ordered one
// rank writes after another, and each opens the file after the previous rank has closed it, as NFS
// requires. Rank 0 gathers the checksums of the spans and compares the spans with the layout, so
// that a file with a gap is reported as a bug. The caller gives the file its name when all ranks
// are done.
//
// # Other files
//
//	write.go     Write, and the modes of writing one file
//	blocks.go    the blocks of one tensor and their ranks
//	box.go       boxes in the linear order of an array
//	cost.go      the memory that writing needs, before there are blocks
//	cut.go       chooses the cuts between pieces
//	exchange.go  sends the parts of runs to the ranks of their pieces
//	union.go     merges sorted lists of keys
//	column.go    writes a column of a file through a buffer
//	buffers.go   how much memory windows may use
//	sharedfile.go  the shared file as one rank writes it
//	spool.go     text that is kept until its offset is known
//	unsign.go    removes the sign of zeros that are sums
//	summary.go   counts the entries of the whole tensor
package store
