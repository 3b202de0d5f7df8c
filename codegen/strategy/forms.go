package strategy

import (
	"fmt"
	"slices"
)

// Choice is a choice among forms of code that have the same meaning and add in the same order. Which of them is
// fastest is a matter of the processor: package kernels/tune measures it. A form is a number.
type Choice struct {
	Name    string
	Forms   []int64 // the plain one first
	Default int64   // where nothing was measured
	What    func(form int64) string
}

// FarRows is how many stored values ahead rows are fetched that lie in no cache of a core (Prefetch.Ahead); 0 leaves that to the
// processor.
const FarRows = "far_rows_ahead"

// NearRows is FarRows of rows that lie in an outer cache: of operands of Target.FarBytes at most, and of NearBytes at
// least.
const (
	NearRows  = "near_rows_ahead"
	NearBytes = 1 << 18
)

// Choices are all that there are.
var Choices = []Choice{
	{FarRows, []int64{0, 8, 16, 32}, prefetchAhead, fetchedAhead},
	{NearRows, []int64{0, 8, 16, 32}, 0, fetchedAhead},
}

func fetchedAhead(n int64) string {
	if n == 0 {
		return "not fetched ahead"
	}
	return fmt.Sprintf("fetched %d stored values ahead", n)
}

// Forms are those that were measured to be fastest, by the names of their choices.
type Forms map[string]int64

// Known are the forms that there are in this table: a model of another table may tell of others.
func (f Forms) Known() Forms {
	out := Forms{}
	for _, c := range Choices {
		if form, ok := f[c.Name]; ok && slices.Contains(c.Forms, form) {
			out[c.Name] = form
		}
	}
	return out
}

// form is that of a choice, and the reason for it: "" for the default.
func (f Forms) form(name string) (form int64, why string) {
	n := slices.IndexFunc(Choices, func(c Choice) bool { return c.Name == name })
	c := Choices[n]
	if form, ok := f[name]; ok && slices.Contains(c.Forms, form) {
		return form, "; " + c.What(form) + " they were fastest on this CPU"
	}
	return c.Default, ""
}
