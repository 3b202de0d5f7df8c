// Package conv implements the conversion of files as a command, for distaff convert and for
// tns2tcs, which converts only .tns to .tcs.
package conv

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/codegen/notation"
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/spmd"
)

// ProgramFlags returns the flags of a program that only converts: Flags and -q.
func ProgramFlags() []cli.Flag {
	return append(Flags(), &cli.BoolFlag{Name: "q", Aliases: []string{"quiet"},
		Usage: "prints only errors"})
}

// Flags returns the flags of a conversion.
func Flags() []cli.Flag {
	text := func(usage, name string, aliases ...string) cli.Flag {
		return &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage}
	}
	return []cli.Flag{
		text("`LEVELS[:ORDER]` storage of a .tcs file; other outputs write what it stores "+
			"(default: the format of a .tcs input; dense for a dense file; otherwise s, ds, sss, ...)",
			"f", "format"),
		text("`TYPE` "+tensor.TypeList+" (default: the input's)", "t", "type"),
		text("`N,N,...` sizes, one for each mode, for a file without sizes", "d", "dims"),
		text("`0|1` the first coordinate in a .tns, .csv, .tsv or edge-list input (default: 1)",
			"index-base"),
		text("`comma|semicolon|tab|bar|space` what separates the columns of a .csv, .tsv or "+
			"edge-list input (default: the first line decides)", "delimiter"),
		text("`sum|error` how repeated coordinates are treated (default: sum)", "duplicates"),
		&cli.BoolFlag{Name: "fit-dense",
			Usage: "dense levels cover only the range from the smallest to the largest coordinate"},
		&cli.BoolFlag{Name: "trust-input",
			Usage: "skips the checks of a .tcs input's checksums and arrays: a bad file may then " +
				"crash the program or give garbage; the output still gets its name only at " +
				"the end"},
		text("`SIZE` of memory; K M G T are powers of 1024 (default: DISTAFF_MEMORY_LIMIT, or "+
			"a quarter of the machine's memory)", "memory-limit"),
		text("`DIR` for temporary files (default: DISTAFF_TMP, or TMPDIR)", "tmp"),
		text("`N` threads (default: all cores)", "threads"),
		text(
			"`auto|always|never` shows bytes, rate and time left (default: auto, which means "+
				"on a terminal)",
			"progress"),
	}
}

// Delimiters maps the words of --delimiter to bytes. DelimiterNames lists the words.
var (
	Delimiters = map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|',
		"space": ' '}
	DelimiterNames = []string{"comma", "semicolon", "tab", "bar", "space"}
)

// choice returns the value of a flag that must be one of words, or def if the flag is not set.
func choice(x *cli.Context, flag, def string, words ...string) (string, error) {
	v, err := argv.Choice(x, flag, words...)
	if err == nil {
		return cmp.Or(v, def), nil
	}
	if hint := checkUnnamed("--"+flag, x.String(flag), strings.Join(words, "|"),
		func(rest string) bool { return slices.Contains(words, rest) }); hint != nil {
		err = hint
	}
	return "", err
}

// checkUnnamed returns an error if the value v of a flag has the form NAME:VALUE and VALUE is
// correct. The commands run and plan accept this form, so a user might write it here by mistake.
// Here the flag takes only VALUE, because a file has only one tensor. isValue reports whether a
// text is a correct value. want describes a correct value in the error.
func checkUnnamed(flag, v, want string, isValue func(rest string) bool) error {
	name, rest, ok := strings.Cut(v, ":")
	if !ok || !notation.IsName(name) || !isValue(rest) {
		return nil
	}
	return argv.Errorf(
		"%s=%s: got the name of a tensor, %s, but a file has only one tensor; want %s=%s, as "+
			"in %s=%s", flag, v, name, flag, want, flag, rest)
}

// ReadOptions parses the flags for reading files: -t, -d, --index-base, --delimiter, --trust-input,
// --tmp and --threads, if the command has them. files are the files that will be read.
func ReadOptions(x *cli.Context, files ...string) (coo.Options, error) {
	var o coo.Options
	if v := x.String("t"); v != "" {
		t, ok := tensor.ParseType(v)
		if err := checkUnnamed("-t", v, "TYPE",
			func(rest string) bool { _, ok := tensor.ParseType(rest); return ok }); err != nil {
			return o, err
		}
		if !ok {
			_, err := notation.ParseType(v)
			return o, argv.Errorf("-t=%s: %v", v, err)
		}
		o.Type = t
	}
	if v := x.String("d"); v != "" {
		var err error
		if err := checkUnnamed("-d", v, "N,N,...", func(rest string) bool {
			_, err := tensor.ParseSizes(rest)
			return err == nil
		}); err != nil {
			return o, err
		}
		if o.Dims, err = tensor.ParseSizes(v); err != nil {
			return o, argv.Errorf("-d=%s: %v", v, err)
		}
		o.Order = len(o.Dims)
		o.DimsFrom = slices.Repeat([]string{"-d"}, o.Order)
	}
	base, err := choice(x, "index-base", "1", "0", "1")
	if err != nil {
		return o, err
	}
	if o.ZeroBased = base == "0"; o.ZeroBased {
		if err := convert.Based(files...); err != nil {
			return o, err
		}
	}
	delimiter, err := choice(x, "delimiter", "", DelimiterNames...)
	if err != nil {
		return o, err
	}
	o.Delimiter = Delimiters[delimiter]
	o.Trust = x.Bool("trust-input")
	if o.Tmp, err = Tmp(x); err != nil {
		return o, err
	}
	if v := x.String("threads"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return o, argv.Errorf("--threads=%s: got %q, want a whole number of at least 1", v, v)
		}
		if most := kernels.MostThreads(); n > most {
			return o, argv.Errorf(
				"--threads=%d: want at most %d, which is either 8 times the %d hardware "+
					"threads of this machine or 64", n, most, kernels.HardwareThreads())
		}
		o.Threads = n
	}
	return o, nil
}

// Tmp returns the folder for temporary files, which must exist: the value of --tmp or, without that
// flag, of DISTAFF_TMP. If neither is set it returns "", which means TMPDIR.
func Tmp(x *cli.Context) (string, error) {
	from, v := "--tmp", x.String("tmp")
	if v == "" {
		from, v = "DISTAFF_TMP", os.Getenv("DISTAFF_TMP")
	}
	if v == "" {
		return "", nil
	}
	st, err := os.Stat(v)
	if err == nil && !st.IsDir() {
		err = errors.New("no folder")
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return "", fmt.Errorf("%s=%s: %w; want a folder for temporary files", from,
			tensor.Printable(v), err)
	}
	return v, nil
}

// Limit returns the memory limit: the value of --memory-limit or, without that flag, of
// DISTAFF_MEMORY_LIMIT. The default is a quarter of the machine's memory.
func Limit(x *cli.Context) (*tcs.Limit, error) {
	from, v := "--memory-limit", x.String("memory-limit")
	if !x.IsSet("memory-limit") {
		from, v = "DISTAFF_MEMORY_LIMIT", os.Getenv("DISTAFF_MEMORY_LIMIT")
		if v == "" {
			return convert.DefaultLimit(), nil
		}
	}
	n, err := spmd.ParseSize(v)
	if err != nil {
		return nil, argv.Errorf("%s: %v", from, err)
	}
	return tcs.NewLimit(n), nil
}

// Run converts file in to file out, with the flags of x.
func Run(x *cli.Context, in, out string, stderr io.Writer, quiet bool) error {
	if err := outfile.Apart(convert.Reads(in, in), convert.Writes(out, out)); err != nil {
		return err
	}
	var o convert.Options
	var err error
	if o.Read, err = ReadOptions(x, in); err != nil {
		return err
	}
	if v := x.String("f"); v != "" {
		f, err := notation.ParseFormat(v)
		if err != nil {
			levels := func(s string) bool { _, err := notation.ParseFormat(s); return err == nil }
			name, _, _ := strings.Cut(v, ":")
			if hint := checkUnnamed("-f", v, "LEVELS[:ORDER]", levels); hint != nil &&
				!levels(name) {
				err = hint
			}
			return err
		}
		o.Format, o.HasFormat = f, true
		if o.Read.Order == 0 {
			o.Read.Order = f.NumModes()
		}
	}
	dup, err := choice(x, "duplicates", "sum", "sum", "error")
	if err != nil {
		return err
	}
	if dup == "error" {
		o.Duplicates = coo.Refuse
	}
	if !quiet {
		o.Read.Note = func(s string) { fmt.Fprintln(stderr, "distaff: "+s) }
	}
	o.FitDense = x.Bool("fit-dense")
	o.Write = convert.WriteOptions{Threads: o.Read.Threads, Tmp: o.Read.Tmp}
	if o.Write.Limit, err = Limit(x); err != nil {
		return err
	}
	mode, err := choice(x, "progress", "auto", "auto", "always", "never")
	if err != nil {
		return err
	}
	if bar := front.NewProgress(stderr, mode, quiet); bar != nil {
		defer bar.Clear()
		o.Progress = func(done, total int64) { bar.Show(in, done, total) }
	}
	return convert.File(in, out, o)
}
