package choice

import (
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Temporaries is the choice to compute the sums of the result T in temporaries, and to store only
// the finished sums in T: temporaries(T). The temporaries are scalars and workspaces. The default
// schedule has this command. Without it, the loops are nested so that each sum adds directly to the
// result, if that is possible. The temporaries are put into the statement before the commands are
// applied, so this command must come first.
var Temporaries = &Choice{
	Name:    "temporaries",
	Params:  []Param{{Kind: ResultParam, Name: "T"}},
	Meaning: "sums in scalars or workspaces; must come first",
	First:   true,
	Minor:   true,
	Default: func(f *analysis.Facts, _ *strategy.Value) []Chosen {
		var temps []string
		cin.Walk(f.Body, func(s cin.Stmt) {
			if w, ok := s.(*cin.Where); ok {
				temps = append(temps, cin.Target(w.Producer).Key())
			}
		})
		why := "terms are summed in loops of their own"
		if len(temps) > 0 {
			why = "sums are taken in " + strings.Join(temps, ", ")
		}
		return []Chosen{{Order: Order{Name: f.ResultName()}, Why: why}}
	},
}
