// Package argv parses command lines as Distaff's commands need it. Flags may be anywhere and begin
// with one or two dashes; `-x=v` and `-x v` are equivalent. A flag with several values is repeated:
// a comma never separates two values.
//
// The flag library stops at the first argument that is not a flag. So Arrange first rewrites the
// arguments: all flags as --name=value, then "--", then all other arguments. Arrange also reports
// errors that the library reports badly: an unknown flag (with the nearest name), a flag without a
// value or with an empty one, a value for a flag that takes none, and two values for a flag that
// takes one.
package argv

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"

	"github.com/urfave/cli/v2"
)

// Error is an error in the command line. Its exit code is 2.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// ExitCode returns 2, the code for a wrong command.
func (e *Error) ExitCode() int { return 2 }

// Errorf returns an Error.
func Errorf(format string, args ...any) error {
	return &Error{diag.Sprintf(format, args...)}
}

// Table maps every spelling of a flag to its description.
type Table map[string]flag

type flag struct {
	name string
	bool bool
	one  bool   // takes one value, which must not be empty; commands check the values of lists
	want string // the name of the value, for messages
	said bool   // whether help shows the flag
}

// NewTable returns a table of flags. It contains the given flags of a command and the flag --help.
func NewTable(flags []cli.Flag) Table {
	help := flag{name: "help", bool: true, said: true}
	t := Table{"help": help, "h": help}
	for _, f := range flags {
		_, isBool := f.(*cli.BoolFlag)
		_, isOne := f.(*cli.StringFlag)
		v, ok := f.(cli.VisibleFlag)
		names := f.Names()
		for _, n := range names {
			t[n] = flag{names[0], isBool, isOne, placeholder(f), !ok || v.IsVisible()}
		}
	}
	return t
}

// Arranged is a command line with its flags first.
type Arranged struct {
	Flags []string // each is --name or --name=value
	Args  []string // the other arguments, in order
}

// List returns the command line: the flags and, if there are arguments, "--" and the arguments.
func (a *Arranged) List() []string {
	out := append([]string{}, a.Flags...)
	if len(a.Args) > 0 {
		out = append(append(out, "--"), a.Args...)
	}
	return out
}

// isBare reports whether arg is neither a flag nor "--". "-" and "-.tns" are not flags: they are
// standard input or output.
func isBare(arg string) bool {
	return arg == "-" || strings.HasPrefix(arg, "-.") || !strings.HasPrefix(arg, "-")
}

// Arrange returns the command line with its flags moved to the front. Everything after "--" is an
// argument.
func (t Table) Arrange(args []string) (*Arranged, error) {
	var a Arranged
	once := map[string]given{}
	for k := 0; k < len(args); k++ {
		arg := args[k]
		if arg == "--" {
			a.Args = append(a.Args, args[k+1:]...)
			break
		}
		if isBare(arg) {
			a.Args = append(a.Args, arg)
			continue
		}
		name, value, hasValue := split(arg)
		f, ok := t[name]
		if !ok {
			return nil, t.unknown(arg, name)
		}
		if f.bool {
			if hasValue {
				on, err := strconv.ParseBool(value)
				if err != nil {
					return nil, Errorf(
						"%s: got %q, want either no value, or true or false", Dashed(name),
						value)
				}
				value = strconv.FormatBool(on)
				a.Flags = append(a.Flags, "--"+f.name+"="+value)
			} else {
				value = "true"
				a.Flags = append(a.Flags, "--"+f.name)
			}
			if err := f.checkOnce(once, arg, value); err != nil {
				return nil, err
			}
			continue
		}
		if !hasValue {
			if k+1 >= len(args) || t.isFlag(args[k+1]) {
				return nil, Errorf("%s must have a value: %s=%s",
					Dashed(name), Dashed(name), f.want)
			}
			k++
			value = args[k]
			arg += "=" + value
		}
		if f.one && value == "" {
			return nil, Errorf("%s=: got no value, want %s=%s", Dashed(name), Dashed(name), f.want)
		}
		if f.one {
			if err := f.checkOnce(once, arg, value); err != nil {
				return nil, err
			}
		}
		a.Flags = append(a.Flags, "--"+f.name+"="+value)
	}
	return &a, nil
}

// given is a flag on the command line. arg is the flag and its value, in the form -x=v even if the
// command line has -x v. value is the value alone. If the flag takes no value and has none, arg is
// the flag alone and value is "true".
type given struct{ arg, value string }

// checkOnce returns an error if the command line already gave the flag with a different value. once
// maps the name of each flag so far to the given argument and value. If checkOnce succeeds, it
// stores arg and value in once.
func (f flag) checkOnce(once map[string]given, arg, value string) error {
	old, ok := once[f.name]
	if ok && old.value != value {
		return Errorf("got both %s and %s, want one value for %s", old.arg, arg, Dashed(f.name))
	}
	once[f.name] = given{arg, value}
	return nil
}

// Positional returns the index of the first argument that is neither a flag nor the value of a
// flag, or -1. It assumes that unknown flags have no value.
func (t Table) Positional(args []string) int {
	for k := 0; k < len(args); k++ {
		arg := args[k]
		switch {
		case arg == "--":
			if k+1 < len(args) {
				return k + 1
			}
			return -1
		case isBare(arg):
			return k
		}
		name, _, hasValue := split(arg)
		if f, ok := t[name]; ok && !f.bool && !hasValue {
			k++
		}
	}
	return -1
}

// isFlag reports whether arg is "--" or a flag in the table.
func (t Table) isFlag(arg string) bool {
	if arg == "--" {
		return true
	}
	if isBare(arg) {
		return false
	}
	name, _, _ := split(arg)
	_, ok := t[name]
	return ok
}

func (t Table) unknown(arg, name string) error {
	var names []string
	for n, f := range t {
		if f.said {
			names = append(names, n)
		}
	}
	shown, _, _ := strings.Cut(arg, "=")
	if ours, ok := taco[name]; ok {
		return Errorf("there is no flag %s; instead of TACO's flag use %s", strconv.Quote(shown), ours)
	}
	if near := diag.Nearest(name, names); near != "" {
		return Errorf("there is no flag %s; did you mean %s?", strconv.Quote(shown), Dashed(near))
	}
	return Errorf("there is no flag %s", strconv.Quote(shown))
}

func split(arg string) (name, value string, hasValue bool) {
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	return strings.Cut(arg, "=")
}

// taco maps the name of a flag of TACO to advice: what to use instead. If a user gives such a flag
// to a command that does not have it, the error contains the advice.
var taco = map[string]string{
	"time":                  "--repeat=N with --stats=FILE.json, which has the times",
	"write-time":            "--stats=FILE.json",
	"write-source":          "distaff compile STATEMENT --emit=c --out=FILE.c",
	"write-compute":         "distaff compile STATEMENT --emit=c --out=FILE.c",
	"write-assembly":        "distaff compile STATEMENT --emit=c --out=FILE.c",
	"read-source":           `-s='substitute({i,j},"file.c:name")'`,
	"print-compute":         "distaff compile STATEMENT --emit=c",
	"print-assembly":        "distaff compile STATEMENT --emit=c",
	"print-kernels":         "distaff compile STATEMENT --emit=c",
	"print-lattice":         "distaff compile STATEMENT --emit=lattice",
	"print-concrete":        "distaff compile STATEMENT --emit=cin",
	"print-iteration-graph": "distaff compile STATEMENT --emit=provenance",
	"print-nocolor":         "no flag: compile prints without colors",
	"nocolor":               "no flag: compile prints without colors",
	"cuda":                  "--target=cuda", "nthreads": "--threads=N", "verify": "--check",
	"O":      "-o=T:FILE for each tensor",
	"c":      "no flag: one leaf both assembles and computes",
	"prefix": "no flag: --emit=go writes a package that has its own name",
}

// Dashed returns a flag as it is written on the command line: -i, --ranks.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// synonyms maps a word of other programs to Distaff's word for the same thing.
var synonyms = map[string]string{"gpu": "cuda", "nvidia": "cuda"}

// Choice returns the value of a flag, which must be one of words. It returns "" if the flag is
// not set.
func Choice(x *cli.Context, flag string, words ...string) (string, error) {
	v := x.String(flag)
	if !x.IsSet(flag) {
		return "", nil
	}
	if slices.Contains(words, v) {
		return v, nil
	}
	near, lower := "", strings.ToLower(v)
	if n := synonyms[lower]; slices.Contains(words, n) {
		near = "; did you mean " + n + "?"
	} else {
		near = diag.DidYouMean(lower, words)
	}
	return "", Errorf("--%s=%s: got %q, want %s%s", flag, v, v, strings.Join(words, ", "), near)
}
