// Package text is what the readers and writers of text formats share.
//
// A Source is a file that can be read from its start any number of times:
// regular files are opened again, standard input and pipes are kept in a
// temporary file as they are read; gzip and zstd are recognized by their first
// bytes and undone. A Head reads the first lines of a Source one by one, which
// is how headers are read; what follows goes to a Pipe, which cuts it into
// blocks of about 256 KiB at line ends, has several goroutines parse them, and
// hands the parsed blocks on in file order. Errors so appear in file order too,
// and carry file, line and column.
//
// A plain file can also be read in parts (Parted, Part): each reader takes the
// lines that begin in its share of the bytes, and counts the lines above them
// only when it has to name one.
//
// Numbers are parsed by hand: integers digit by digit, floating-point numbers
// exactly, to the bits that strconv.ParseFloat gives (number.go).
//
// # Files
//
//	source.go   a file that is read from its start any number of times
//	spool.go    a pipe as one
//	gunzip.go   the members of a gzip file
//	kept.go     what a compressed file holds, kept
//	pipe.go     reading in blocks
//	head.go     header lines
//	entries.go  lines of entries
//	values.go   numbers into values of a type
//	stream.go   entries as a coo.Stream
//	sample.go   about how many entries there are
//	part.go     parts of a file, for several readers
//	locate.go   lines of given entries, for messages
//	print.go    values as text
//	emit.go     text made by several threads, in order
//	error.go    errors and exit codes
package text
