package schedule

import (
	"slices"
	"strings"

	"distaff/codegen/choice"
)

// bounds lists the types of bounds, as error messages list them.
var bounds = []string{"MinExact", "MinConstraint", "MaxExact", "MaxConstraint"}

// words lists the words of the language. They occur only after the first argument of a command.
var words = slices.Concat(bounds, choiceWords())

// choiceWords returns the words that the strategy's choices accept as arguments, such as CPUThread.
func choiceWords() (out []string) {
	for _, c := range choice.Choices {
		for _, p := range c.Params {
			out = append(out, p.Words...)
		}
	}
	return out
}

// scopes lists the names of TACO's enumeration types. TACO's C++ interface writes them before a
// word, as in ParallelUnit::CPUThread.
var scopes = []string{"ParallelUnit", "OutputRaceStrategy", "BoundType", "MergeStrategy",
	"AssembleStrategy"}

// synonyms maps names of commands in publications about TACO and DISTAL to the names that they have
// here.
var synonyms = map[string]string{"order": "reorder", "collapse": "fuse"}

// kernels maps DISTAL's names of libraries to the names that they have here.
var kernels = map[string]string{"CuBLAS::GeMM": choice.CuBLAS}

// spell changes a command to this language's spelling. It translates names and words that TACO and
// DISTAL write in another way, removes the braces around variables of reorder and fuse, and puts a
// bound's type after its number. The places that errors report still refer to the original text.
func (c *Command) spell() {
	if name, ok := synonyms[c.Name]; ok {
		c.Name = name
	}
	switch c.Name {
	case "reorder", "fuse":
		var flat []Arg
		for _, a := range c.Args {
			if a.List != nil {
				flat = append(flat, a.List...)
			} else {
				flat = append(flat, a)
			}
		}
		c.Args = flat
	case "substitute":
		if len(c.Args) == 2 {
			if name, ok := kernels[c.Args[1].Text]; ok {
				c.Args[1].Text = name
			}
		}
	}
	for k := range c.Args {
		scope, word, scoped := strings.Cut(c.Args[k].Text, "::")
		if k > 0 && scoped && slices.Contains(scopes, scope) {
			c.Args[k].Text = word
		}
	}
	if c.Name == "bound" && len(c.Args) == 4 && slices.Contains(bounds, c.Args[2].Text) {
		c.Args[2], c.Args[3] = c.Args[3], c.Args[2]
	}
}
