package strategy

import (
	"strings"

	"distaff/codegen/cin"
)

// Temporaries is the choice to compute sums in temporaries before storing them, as the default
// schedule does: temporaries(T). The temporaries are scalars if the loops around the sum determine
// the place, and workspaces over a row if a factor can be moved out of the sum. The statement is
// built with the temporaries before the commands are applied. Without the command, every sum adds
// directly to the result whenever the loops can be nested in that way.
var Temporaries = &Choice{
	Name:    "temporaries",
	Params:  []Param{{Kind: ResultParam, Name: "T"}},
	Meaning: "sums in scalars or workspaces; must come first",
	First:   true,
	Minor:   true,
	Default: func(f *facts, _ *Value) []Chosen {
		var temps []string
		cin.Walk(f.body, func(s cin.Stmt) {
			if w, ok := s.(*cin.Where); ok {
				temps = append(temps, cin.Target(w.Producer).Key())
			}
		})
		why := "terms are summed in loops of their own"
		if len(temps) > 0 {
			why = "sums are taken in " + strings.Join(temps, ", ")
		}
		return []Chosen{{Order: Order{Name: f.resultName()}, Why: why}}
	},
}
