package choice

import (
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/strategy"
)

// Layout is the choice to read a dense operand from a copy whose levels are in another order:
// layout(T(i,j),M,N). The modes are counted from 0, the outermost first. The copy is put into the
// statement before the commands are applied, because the other commands refer to it.
var Layout = &Choice{
	Name:    "layout",
	Params:  []Param{{Kind: NameParam, Name: "T(i, j)"}, {Kind: ModesParam, Name: "M, N"}},
	Meaning: "reads a dense T with its modes in another order",
	Default: copies,
}

// copies returns the instructions to read operands from copies.
func copies(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	for _, c := range f.Problem.Copies {
		var words []string
		for _, m := range c.Modes {
			words = append(words, strconv.Itoa(m))
		}
		out = append(out,
			Chosen{Order: Order{Name: c.Access, Word: strings.Join(words, ",")}, Why: c.Why})
	}
	return out
}

// maxModes is the largest number of arguments of a command that lists modes.
const maxModes = 100

// Modes returns the order of modes that the arguments of a layout command ask for, outermost first.
// An error is a Fault.
func Modes(args []string) (modes []int, err error) {
	o, err := Layout.read(nil, args)
	if err != nil {
		return nil, err
	}
	for _, text := range strings.Split(o.Word, ",") {
		m, _ := strconv.Atoi(text)
		modes = append(modes, m)
	}
	return modes, nil
}

// checkMode returns an error if argument k of a layout command is wrong. text is the argument. It
// must be the number of a mode, less than n, which is the number of modes that the command lists.
// earlier has the preceding arguments, separated by commas. They must not name the same mode.
func checkMode(k int, text string, n int, earlier string) error {
	m, err := strconv.Atoi(text)
	given := slices.ContainsFunc(strings.Split(earlier, ","), func(t string) bool {
		x, err := strconv.Atoi(t)
		return err == nil && x == m
	})
	if err != nil || m < 0 || m >= n || given {
		return misspelt(k, "got %s, want each mode once, counted from 0, the outermost first", text)
	}
	return nil
}
