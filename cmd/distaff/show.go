package main

import (
	"bufio"
	"io"
	"strconv"
	"unsafe"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tensor"
)

// readFlags returns the flags that control how show, info, diff and spy read a file.
func readFlags() []cliFlag {
	return []cliFlag{
		text("d", al("dims"), "", "`N,N,...` sizes, one for each mode, for a file without sizes"),
		text("t", al("type"), "",
			"`TYPE` reads values as "+tensor.TypeList),
		text("index-base", nil, "",
			"`0|1` the first coordinate in .tns, .csv, .tsv and edge-list files (default: 1)"),
		text("delimiter", nil, "", "`comma|semicolon|tab|bar|space` what separates the columns of "+
			".csv, .tsv and edge-list files (default: the first line decides)"),
		text("tmp", nil, "", "`DIR` for temporary files (default: DISTAFF_TMP, or TMPDIR)"),
		text("threads", nil, "", "`N` threads (default: all cores)"),
	}
}

// sorting returns the options for sorting the entries of a file.
func sorting(opt coo.Options) coo.Config {
	return coo.Config{Limit: convert.DefaultLimit(), Tmp: opt.Tmp, Threads: opt.Threads}
}

func showCommand() *command {
	return &command{
		name: "show", args: "FILE", short: "prints the entries of a file",
		long: `Prints the entries of a file in the order of the file: coordinates, from 1, then
the value. Zeros that are stored only because a level is dense are left out.`,
		examples: []string{"distaff show b.tcs --head=10", "distaff show matrix.mtx.gz"},
		flags: join([]cliFlag{text("head", nil, "", "`N` prints only the first N entries")},
			readFlags(), talkFlags()),
		action: show,
	}
}

func show(x *invocation) error {
	if x.flags.Args().Len() != 1 {
		return argv.Errorf("show takes one file; got %d arguments", x.flags.Args().Len())
	}
	head, err := x.count("head", 0)
	if err != nil {
		return err
	}
	if !x.flags.IsSet("head") {
		head = -1
	}
	opt, err := conv.ReadOptions(x.flags, x.flags.Args().First())
	if err != nil {
		return err
	}
	opt.Note = x.line
	s, err := convert.Open(x.flags.Args().First(), opt)
	if err != nil {
		return err
	}
	defer s.Close()
	w := bufio.NewWriter(x.stdout)
	if err := printEntries(w, s, head, x.flags.Context.Err); err != nil {
		w.Flush()
		return err
	}
	return w.Flush()
}

// printEntries prints entries of a stream, beginning with the first. head is the number of entries
// to print, or negative for all. From time to time printEntries calls stopped, and ends with the
// error that stopped returns, if any.
func printEntries(w *bufio.Writer, s coo.Stream, head int64, stopped func() error) error {
	var b coo.Batch
	size := int(s.Type().Size())
	for head != 0 {
		if err := stopped(); err != nil {
			return err
		}
		err := s.Next(&b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for k := 0; k < b.N && head != 0; k++ {
			for m := range b.Coords {
				w.WriteString(strconv.FormatInt(b.Coords[m][k]+1, 10))
				w.WriteByte(' ')
			}
			v := s.Type().Load(unsafe.Pointer(&b.Vals[k*size]))
			w.WriteString(v.Text())
			if err := w.WriteByte('\n'); err != nil {
				return err
			}
			head--
		}
	}
	return nil
}
