// Package argv reads a command line the way Distaff's commands want it: flags
// stand anywhere, one dash or two, `-x=v` and `-x v` alike, a flag with
// several values is repeated and a comma never separates two of them.
//
// The package that parses flags underneath stops at the first argument that is
// no flag. So Arrange first rewrites the arguments into one shape, every flag
// as --name=value, then --, then what is left; it also reports what that
// package would report badly: an unknown flag (with the nearest name), a flag
// without its value or with an empty one, a value for a flag that takes none, two
// values for a flag that takes one.
package argv

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/diag"

	"github.com/urfave/cli/v2"
)

// Error is a mistake on the command line. Its exit code is 2.
type Error struct{ Msg string }

func (e *Error) Error() string { return e.Msg }

// ExitCode is that of a wrong command.
func (e *Error) ExitCode() int { return 2 }

// Errorf makes an Error.
func Errorf(format string, args ...any) error {
	return &Error{diag.Sprintf(format, args...)}
}

// A Table maps every spelling of a flag to its main name and kind.
type Table map[string]flag

type flag struct {
	name string
	bool bool
	one  bool   // one value, which is not empty; what the values of a list may be is the command's affair
	want string // the value, for messages
	said bool   // help tells of it
}

// NewTable lists the flags that a command knows.
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

// Arranged is a command line in order.
type Arranged struct {
	Flags []string // each --name or --name=value
	Args  []string // the others, in order
}

// List is the arranged command line as arguments.
func (a *Arranged) List() []string {
	out := append([]string{}, a.Flags...)
	if len(a.Args) > 0 {
		out = append(append(out, "--"), a.Args...)
	}
	return out
}

// bare tells an argument from a flag. "-" and "-.tns" are arguments: standard
// input or output.
func bare(arg string) bool {
	return arg == "-" || strings.HasPrefix(arg, "-.") || !strings.HasPrefix(arg, "-")
}

// Arrange puts flags first. "--" ends the flags.
func (t Table) Arrange(args []string) (*Arranged, error) {
	var a Arranged
	once := map[string]given{}
	for k := 0; k < len(args); k++ {
		arg := args[k]
		if arg == "--" {
			a.Args = append(a.Args, args[k+1:]...)
			break
		}
		if bare(arg) {
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
					return nil, Errorf("%s: got %q, want no value, true or false", Dashed(name), value)
				}
				value = strconv.FormatBool(on)
				a.Flags = append(a.Flags, "--"+f.name+"="+value)
			} else {
				value = "true"
				a.Flags = append(a.Flags, "--"+f.name)
			}
			if err := f.given(once, arg, value); err != nil {
				return nil, err
			}
			continue
		}
		if !hasValue {
			if k+1 >= len(args) || t.isFlag(args[k+1]) {
				return nil, Errorf("%s wants a value: %s=%s", Dashed(name), Dashed(name), f.want)
			}
			k++
			value = args[k]
			arg += "=" + value
		}
		if f.one && value == "" {
			return nil, Errorf("%s=: got no value, want %s=%s", Dashed(name), Dashed(name), f.want)
		}
		if f.one {
			if err := f.given(once, arg, value); err != nil {
				return nil, err
			}
		}
		a.Flags = append(a.Flags, "--"+f.name+"="+value)
	}
	return &a, nil
}

// given is a flag of one value as it stands on the command line.
type given struct{ arg, value string }

// given refuses a second value of a flag that takes one; the same value again is none.
func (f flag) given(once map[string]given, arg, value string) error {
	old, ok := once[f.name]
	if ok && old.value != value {
		return Errorf("got %s and %s: want one value for %s", old.arg, arg, Dashed(f.name))
	}
	once[f.name] = given{arg, value}
	return nil
}

// Positional finds the first argument that is no flag and no flag's value, and
// its index, or -1. Flags that the table lacks are taken to have no value.
func (t Table) Positional(args []string) int {
	for k := 0; k < len(args); k++ {
		arg := args[k]
		switch {
		case arg == "--":
			if k+1 < len(args) {
				return k + 1
			}
			return -1
		case bare(arg):
			return k
		}
		name, _, hasValue := split(arg)
		if f, ok := t[name]; ok && !f.bool && !hasValue {
			k++
		}
	}
	return -1
}

// isFlag tells a flag that the table knows, or "--", from a value.
func (t Table) isFlag(arg string) bool {
	if arg == "--" {
		return true
	}
	if bare(arg) {
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
	shown := arg
	if i := strings.IndexByte(arg, '='); i >= 0 {
		shown = arg[:i]
	}
	if near := Nearest(name, names); near != "" {
		return Errorf("there is no flag %s; did you mean %s?", strconv.Quote(shown), Dashed(near))
	}
	return Errorf("there is no flag %s", strconv.Quote(shown))
}

func split(arg string) (name, value string, hasValue bool) {
	arg = strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	return strings.Cut(arg, "=")
}

// Dashed is a flag as it is written: -i, --ranks.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// meant has values that are said elsewhere, with ours.
var meant = map[string]string{"gpu": "cuda", "nvidia": "cuda"}

// Choice reads a flag that is one of some words, "" where it is not given.
func Choice(x *cli.Context, flag string, words ...string) (string, error) {
	v := x.String(flag)
	if !x.IsSet(flag) {
		return "", nil
	}
	if slices.Contains(words, v) {
		return v, nil
	}
	near, lower := "", strings.ToLower(v)
	if n := meant[lower]; slices.Contains(words, n) {
		near = "; did you mean " + n + "?"
	} else if n := Nearest(lower, words); n != "" {
		near = "; did you mean " + n + "?"
	}
	return "", Errorf("--%s=%s: got %q, want %s%s", flag, v, v, strings.Join(words, ", "), near)
}

// Nearest is the name closest to what was typed by edit distance, or "" where
// none is close. Ties go to the first in alphabetical order.
func Nearest(typed string, names []string) string {
	best, bestDist := "", 1+len(typed)/3
	if len(typed) == 1 {
		return ""
	}
	for _, n := range names {
		if len(n) == 1 {
			continue
		}
		d := distance(typed, n)
		// A long name's beginning is a likely slip too: --mem for --memory-limit.
		if len(typed) >= 3 && strings.HasPrefix(n, typed) {
			d = min(d, 1)
		}
		if d < bestDist || d == bestDist && (best == "" || n < best) {
			best, bestDist = n, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of neighbours as one step.
func distance(a, b string) int {
	prev2, prev := []int(nil), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, cur
	}
	return prev[len(b)]
}
