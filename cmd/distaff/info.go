package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
	"distaff/cmd/front"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd"
)

func infoCommand() *command {
	return &command{
		name: "info", args: "FILE", short: "tells what a file of tensors holds",
		long: `Prints a file's sizes, value type, storage, widths of numbers, statistics and
checksum. For a matrix, info also prints the diagonal, the bandwidth, and how
many entries off the diagonal have a mirror image, in the pattern and with the
same value. Symmetry is not computed for more than 33554432 entries. In a .tcs
file of more than 64 MiB, info reads only the header, unless --verify is given.
With --verify, info reads the whole file, and checks checksums and level arrays
(exit 3 if they are wrong). Files of other formats are read to their end.`,
		examples: []string{"distaff info b.tcs", "distaff info b.tcs --verify",
			"distaff info matrix.mtx.gz --json"},
		flags: join([]cliFlag{
			on("verify", nil, "", "reads and checks the whole file"),
			on("json", nil, "", "prints JSON"),
			text("progress", nil, "",
				"`auto|always|never` shows how far reading is (default: auto, on a terminal)"),
		}, readFlags(), talkFlags()),
		action: info,
	}
}

// fileInfo is the output of info.
type fileInfo struct {
	File     string      `json:"file"`
	Format   string      `json:"format"` // the format of the file
	Sizes    []int64     `json:"sizes"`
	Type     string      `json:"type"`
	Levels   string      `json:"levels"` // in the syntax of -f
	Dense    bool        `json:"dense"`
	Entries  int64       `json:"entries"`
	Bytes    int64       `json:"bytes,omitempty"` // size of the arrays
	Sorted   *bool       `json:"sorted,omitempty"`
	Reversed bool        `json:"reversed,omitempty"` // sorted with the last mode first
	Box      [][2]int64  `json:"box,omitempty"`
	Splits   []tcs.Split `json:"splits,omitempty"`
	Storage  []levelInfo `json:"storage,omitempty"`
	Modes    []modeInfo  `json:"modes,omitempty"`
	Matrix   *matrixInfo `json:"matrix,omitempty"`
	Checksum string      `json:"checksum,omitempty"`
	Zstd     bool        `json:"zstd,omitempty"`
	Verified bool        `json:"verified,omitempty"`

	// NotComputed maps each omitted result to the reason.
	NotComputed map[string]string `json:"not_computed,omitempty"`
}

// levelInfo describes a storage level of a .tcs file.
type levelInfo struct {
	Kind      string `json:"kind"`
	Mode      int    `json:"mode"`
	Size      int64  `json:"size"`
	Offset    int64  `json:"offset"`
	Positions int64  `json:"positions"`
	PosBits   int    `json:"pos_bits,omitempty"`
	CrdBits   int    `json:"crd_bits,omitempty"`
	Empty     int64  `json:"empty"` // parents without children
	Most      int64  `json:"most"`  // largest number of children of a parent
}

// modeInfo describes how a file's entries are distributed in a mode.
type modeInfo struct {
	Mode   int      `json:"mode"`
	Filled int64    `json:"filled"`
	Empty  int64    `json:"empty"`
	Most   int64    `json:"most"`
	Mean   float64  `json:"mean"`
	Skew   float64  `json:"skew"`
	Gini   *float64 `json:"gini,omitempty"` // nil if the entries were not read
}

func info(x *invocation) error {
	if x.flags.Args().Len() != 1 {
		return argv.Errorf("info takes one file; got %d arguments", x.flags.Args().Len())
	}
	path := x.flags.Args().First()
	opt, err := conv.ReadOptions(x.flags, path)
	if err != nil {
		return err
	}
	opt.Note = x.line
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	bar := front.NewProgress(x.stderr, mode, x.flags.Bool("q"))
	defer bar.Clear()
	kind, err := convert.FormatOf(path)
	if err != nil {
		return err
	}
	out := &fileInfo{File: path, Format: kind.Name}
	if convert.Ext(path) == ".tcs" {
		err = out.fromTensor(path, opt, x.flags.Bool("verify"))
	} else {
		err = out.fromStream(path, opt, bar)
	}
	if err != nil {
		return err
	}
	bar.Clear()
	if x.flags.Bool("json") {
		b, err := json.MarshalIndent(out, "", "  ")
		if err != nil {
			panic("BUG: distaff: info does not marshal: " + err.Error())
		}
		_, err = fmt.Fprintf(x.stdout, "%s\n", b)
		return err
	}
	return out.print(x.stdout)
}

// fromTensor sets the fields of f from the header of a .tcs file. If verify is set or the arrays
// are small, it also reads the arrays and sets the fields that depend on them.
func (f *fileInfo) fromTensor(path string, opt coo.Options, verify bool) error {
	t, err := convert.OpenTensor(path, opt.Tmp)
	if err != nil {
		return err
	}
	defer t.Close()
	if opt.Dims != nil && !slices.Equal(opt.Dims, t.Header.Dims) {
		return argv.Errorf("-d=%s: the file %s already has the sizes %s; leave out -d",
			joinSizes(opt.Dims), tensor.Printable(path),
			joinSizes(t.Header.Dims))
	}
	if opt.Type != tensor.None && opt.Type != t.Header.Type {
		return argv.Errorf(
			"-t=%v: %s has values of type %v, which info cannot convert; use distaff convert",
			opt.Type, tensor.Printable(path), t.Header.Type)
	}
	f.Sizes, f.Type, f.Levels, f.Dense = t.Header.Dims, t.Header.Type.String(), t.Format().String(),
		t.Dense()
	f.Bytes, f.Checksum, f.Zstd, f.Splits = t.Bytes(), tcsfile.Checksum(t), t.Compressed(), t.Header.Splits
	if !t.Header.Whole() {
		f.Box = t.Header.Box
	}
	st, _ := tcsfile.Stats(t)
	f.Entries = st.Entries
	for l, lev := range t.Levels {
		i := levelInfo{Kind: string(lev.Kind), Mode: lev.Mode, Size: lev.Size, Offset: lev.Offset,
			Positions: t.Positions(l),
			PosBits:   8 * int(lev.Pos.Width), CrdBits: 8 * int(lev.Crd.Width)}
		if l < len(st.Levels) {
			i.Empty, i.Most = st.Levels[l].Empty, st.Levels[l].Most
		}
		f.Storage = append(f.Storage, i)
	}
	if len(t.Levels) > 0 && st.Entries > 0 {
		lev := t.Levels[0]
		r := t.Header.Range(lev.Mode)
		n := r[1] - r[0]
		mean := float64(st.Entries) / float64(max(n, 1))
		// The header has statistics only of the outermost mode.
		f.Modes = append(f.Modes, modeInfo{Mode: lev.Mode, Filled: n - st.EmptySlices,
			Empty: st.EmptySlices, Most: st.MaxSlice, Mean: mean,
			Skew: float64(st.MaxSlice) / mean})
	}
	return f.read(t, opt, verify)
}

// read reads the arrays of a .tcs file and sets the fields of f that depend on them. It does so
// only if verify is set or the arrays are small.
func (f *fileInfo) read(t *tcs.Tensor, opt coo.Options, verify bool) error {
	if !verify && t.Bytes() > readMost {
		f.unread(t.Order(), tooLarge(t.Bytes()))
		return nil
	}
	if err := convert.Ready(t, opt); err != nil {
		if verify {
			return err
		}
		f.unread(t.Order(), err.Error())
		return nil
	}
	f.Verified = verify
	if !t.Header.Whole() {
		f.unread(t.Order(), "the file holds a block of a tensor")
		return nil
	}
	return f.fromEntries(t, sorting(opt))
}

// fromStream sets the fields of f from a file of another format, which it reads to its end.
func (f *fileInfo) fromStream(path string, opt coo.Options, bar *front.Progress) error {
	s, err := convert.Open(path, opt)
	if err != nil {
		return err
	}
	defer s.Close()
	defer bar.Watch(path, s)()
	survey, err := coo.SurveyOf(s)
	if err != nil {
		return err
	}
	f.Sizes, f.Type, f.Levels, f.Entries = survey.Dims, s.Type().String(),
		convert.Formatted(s).String(), survey.Entries
	f.Sorted, f.Reversed = &survey.Sorted, survey.Reversed && !survey.Sorted
	if d, ok := s.(coo.DenseReporter); ok {
		f.Dense = d.Dense()
	}
	f.survey(survey)
	if err := f.matrix(survey, s, sorting(opt)); err != nil {
		return err
	}
	f.Checksum, err = spmd.FileSum(path)
	return err
}

func (f *fileInfo) print(w io.Writer) error {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", what, fmt.Sprintf(format, args...))
	}
	line("file", "%s", tensor.Printable(f.File))
	line("format", "%s", f.Format)
	line("sizes", "%s", sizesOf(f.Sizes))
	line("type", "%s", f.Type)
	if len(f.Sizes) > 0 {
		line("levels", "%s", f.Levels)
	}
	line("entries", "%d%s", f.Entries, f.density())
	if f.Sorted != nil {
		order := "sorted by coordinate, mode 0 first"
		if f.Reversed {
			order = fmt.Sprintf("sorted by coordinate, mode %d first", len(f.Sizes)-1)
		} else if !*f.Sorted {
			order = "not sorted by coordinate, or with repeats"
		}
		line("order", "%s", order)
	}
	if f.Bytes > 0 {
		line("arrays", "%s", spmd.FormatSize(f.Bytes))
	}
	if f.Box != nil {
		line("box", "%v", f.Box)
	}
	for m, s := range f.Splits {
		if s.Count > 1 {
			line("split", "mode %d: block %d of %d", m, s.Index, s.Count)
		}
	}
	for l, lev := range f.Storage {
		s := fmt.Sprintf("%s mode %d, size %d, %s", lev.Kind, lev.Mode, lev.Size,
			tensor.Count(lev.Positions, "position"))
		if lev.Offset != 0 {
			s += fmt.Sprintf(", from %d", lev.Offset)
		}
		if lev.PosBits > 0 {
			s += fmt.Sprintf(", pos %d bits", lev.PosBits)
		}
		if lev.CrdBits > 0 {
			s += fmt.Sprintf(", crd %d bits", lev.CrdBits)
		}
		if lev.Kind != "d" {
			s += fmt.Sprintf(", at most %d a parent, %s empty", lev.Most,
				tensor.Count(lev.Empty, "parent"))
		}
		line(fmt.Sprintf("level %d", l), "%s", s)
	}
	for _, s := range f.Modes {
		text := fmt.Sprintf("%d filled, %d empty, at most %s, %.4g on average, skew %.4g", s.Filled,
			s.Empty, tensor.Count(s.Most, "entry"), s.Mean, s.Skew)
		if s.Gini != nil {
			text += fmt.Sprintf(", Gini %.3g", *s.Gini)
		}
		line(fmt.Sprintf("mode %d", s.Mode), "%s", text)
	}
	if f.Matrix != nil {
		f.Matrix.text(line)
	}
	f.printWithout(line)
	if f.Checksum != "" {
		line("checksum", "%s", f.Checksum)
	}
	if f.Zstd {
		line("compressed", "zstd")
	}
	if f.Verified {
		line("verified", "checksums and arrays are correct")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// density formats the number of entries as a share of the number of coordinates.
func (f *fileInfo) density() string {
	space := 1.0
	for _, d := range f.Sizes {
		space *= float64(d)
	}
	if len(f.Sizes) == 0 || space == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.3g%% of all coordinates)", 100*float64(f.Entries)/space)
}
