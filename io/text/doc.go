// Package text implements what the readers and writers of text formats have in common.
//
// A Source is a file that can be read from its start any number of times. Regular files are
// opened again; standard input and pipes are stored in a temporary file while they are read. A
// Source recognizes compressed files by their first bytes and decompresses them. In a tar archive,
// it reads one of the files.
//
// A Head reads the first lines of a Source one by one, for the header. A Pipe reads the rest.
// It cuts the text into blocks of about 256 KiB at line ends, parses the blocks in several
// goroutines, and returns the parsed blocks in file order. So errors appear in file order too.
// They have a file, line and column.
//
// A plain file can also be read in parts (PartedStream, Part). Each reader reads the lines that
// begin in its share of the bytes. It counts the lines before its share only if it must report a
// line number.
//
// Numbers are parsed by this package's own code: integers digit by digit, and floating-point
// numbers exactly, with the same bits as from strconv.ParseFloat (number.go).
//
// # Files
//
//	source.go   a file that can be read from its start any number of times
//	spool.go    a pipe that can be read from its start any number of times
//	packing.go  the kinds of compression
//	gunzip.go   the members of a gzip file
//	frames.go   the frames of a zstd file
//	xzblocks.go the blocks of an xz file
//	member.go   paths FILE:NAME, and the members of a tar archive
//	kept.go     the decompressed content of a file, kept for later readers
//	pipe.go     reading in blocks
//	head.go     header lines
//	entries.go  lines of entries
//	values.go   numbers into values of a type
//	stream.go   entries as a coo.Stream
//	lines.go    streams and parts of files without counts, which may lack the sizes
//	sample.go   an estimate of the number of entries
//	part.go     parts of a file, for several readers
//	locate.go   lines of given entries, for messages
//	print.go    values as text
//	emit.go     text formatted by several goroutines, in order
//	error.go    errors and exit codes
package text
