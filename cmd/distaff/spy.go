package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/cmd/front"
	"distaff/cmd/spy"
	"distaff/io/bins"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/io/tensor"
)

func spyCommand() *command {
	return &command{
		name: "spy", args: "FILE", short: "draws where a file has its entries",
		long: `Draws the positions of the entries of any readable file. A matrix is drawn with
mode 0 downwards and mode 1 across. For a tensor of higher order, spy draws each
pair of modes, or the pair that --modes names. A vector or a single mode is
drawn as a strip. Entries are counted in bins of equal width, including stored
zeros and every repeated coordinate. The legend has the size of a bin, and the
number of entries for each color. The file is read once, in memory that does not
depend on its size.

Without --out the picture consists of characters, and is as wide as the
terminal, or 80 characters wide without a terminal. If at most half of the bins
have an entry, the characters are dots; a fuller picture has shades. The picture
is ASCII if NO_COLOR is set, or if the locale (LC_ALL, LC_CTYPE or LANG) is
not UTF-8.`,
		examples: []string{
			"distaff spy matrix.mtx",
			"distaff spy matrix.mtx.gz --out=matrix.svg",
			"distaff spy b.tns --modes=0,2 --out=b.png",
		},
		flags: join([]cliFlag{
			text("modes", nil, "",
				"`M,N` the mode that goes down and the one that goes across, or one mode for a "+
					"strip; modes count from 0 (default: each pair)"),
			text("out", nil, "",
				"`FILE.svg|FILE.png` draws into a file; -.svg or -.png is standard output "+
					"(default: characters on standard output)"),
			text("memory-limit", nil, "",
				"`SIZE` of memory; K M G T are powers of 1024 (default: DISTAFF_MEMORY_LIMIT, "+
					"or a quarter of the machine's memory)"),
			text("progress", nil, "",
				"`auto|always|never` shows how far reading is (default: auto, on a terminal)"),
		}, readFlags(), talkFlags()),
		action: spyAction,
	}
}

func spyAction(x *invocation) error {
	if x.flags.Args().Len() != 1 {
		return argv.Errorf("spy takes one file; got %s",
			tensor.Count(x.flags.Args().Len(), "argument"))
	}
	path, out := x.flags.Args().First(), x.flags.String("out")
	ending := strings.ToLower(filepath.Ext(out))
	if x.flags.IsSet("out") && ending != ".svg" && ending != ".png" {
		return argv.Errorf(
			"--out=%s: got a name that ends in %q, want one that ends in .svg or .png", out, ending)
	}
	if err := x.apartFrom([]outfile.Use{convert.Reads(path, path)}, "out", out); err != nil {
		return err
	}
	modes, err := x.modes()
	if err != nil {
		return err
	}
	opt, err := conv.ReadOptions(x.flags, path)
	if err != nil {
		return err
	}
	opt.Note = x.line
	limit, err := conv.Limit(x.flags)
	if err != nil {
		return err
	}
	opt.Limit = limit.Max()
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	bar := front.NewProgress(x.stderr, mode, x.flags.Bool("q"))
	defer bar.Clear()
	s, err := convert.Open(path, opt)
	if err != nil {
		return err
	}
	defer s.Close()
	dims, _ := s.Dims()
	views, err := x.views(path, len(dims), modes)
	if err != nil {
		return err
	}
	page := spy.Page{Columns: front.Columns(x.stdout), Unicode: front.Unicode()}
	longest, most := page.Longest(len(views)), page.MaxBins()
	var f *outfile.File
	if out != "" {
		if f, err = convert.Create(out); err != nil {
			return err
		}
		defer f.Abort()
		most = spy.BinsOnLongerSide(len(views))
		longest = func([2]int64) int { return most }
	}
	stop := bar.Watch(path, s)
	counted, err := bins.Count(s, spy.Views(views, longest),
		bins.Options{Name: path, Most: 4 * most, Limit: limit, Stopped: x.flags.Context.Err})
	stop()
	if err != nil {
		return err
	}
	bar.Clear()
	picture := spy.New(path, counted)
	if f == nil {
		return picture.Text(x.stdout, page)
	}
	draw := picture.SVG
	if ending == ".png" {
		draw = picture.PNG
	}
	w := f.Buffered()
	if err := draw(w); err != nil {
		return f.Errorf(err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// modes returns the value of --modes, or nil if the flag is not set.
func (x *invocation) modes() ([]int, error) {
	if !x.flags.IsSet("modes") {
		return nil, nil
	}
	v := x.flags.String("modes")
	var modes []int
	for _, s := range strings.Split(v, ",") {
		m, err := strconv.Atoi(s)
		if err != nil || m < 0 {
			return nil, argv.Errorf(
				"--modes=%s: got %q, want the number of a mode, counted from 0", v, s)
		}
		modes = append(modes, m)
	}
	switch {
	case len(modes) > 2:
		return nil, argv.Errorf("--modes=%s: got %d modes, want two, or one for a strip", v,
			len(modes))
	case len(modes) == 2 && modes[0] == modes[1]:
		return nil, argv.Errorf(
			"--modes=%s: got mode %d twice, want two different modes", v, modes[0])
	}
	return modes, nil
}

// views returns the pairs of modes that the picture shows. modes is the value of --modes. If modes
// is nil, views returns all pairs. order is the number of modes of the tensor in the file at path.
func (x *invocation) views(path string, order int, modes []int) ([][2]int, error) {
	if order == 0 {
		return nil, argv.Errorf(
			"%s has a scalar, want a tensor with at least one mode (distaff show prints a "+
				"scalar)", tensor.Printable(path))
	}
	for _, m := range modes {
		if m >= order {
			return nil, argv.Errorf("--modes=%s: got mode %d, but %s has %s, counted from 0",
				x.flags.String("modes"), m, tensor.Printable(path), tensor.Count(order, "mode"))
		}
	}
	switch len(modes) {
	case 0:
		return spy.Modes(order), nil
	case 1:
		return [][2]int{{-1, modes[0]}}, nil
	}
	return [][2]int{{modes[0], modes[1]}}, nil
}
