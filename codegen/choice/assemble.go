package choice

import (
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Assemble is the choice of how a result with compressed levels of its own is built.
// assemble(T,Append) appends entries in order to memory that grows. Each chunk of a parallel loop
// builds its own piece, and the pieces are joined in order. assemble(T,Insert) makes two passes:
// the first counts the coordinates, and after a prefix sum of the counts the second writes the
// coordinates to their places. With Insert the memory of the result does not grow, and no pieces
// are joined. However, the code that finds coordinates runs twice.
//
// A result of dense levels, or of levels that it shares with an operand, has a place for each
// value. The command does not change how this result is written.
//
// In TACO, the counting loops get separate scheduling commands if a third argument is true, and no
// separate commands if it is false. Here the counting loops always have the same schedule as the
// computing loops, so the argument has no effect.
var Assemble = &Choice{
	Name: "assemble",
	Params: []Param{{Kind: ResultParam, Name: "T"},
		{Kind: WordParam, Words: []string{"Append", "Insert"}},
		{Kind: WordParam, Words: []string{"true", "false"}, Optional: true}},
	Meaning: "builds a sparse result in one or two passes",
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		if f.Problem.Target.GPU && !o.Inserts() && isAppended(f) {
			return nil, refused(1,
				"got Append, want Insert: on a GPU, a result with compressed levels must be "+
					"counted before it is written")
		}
		return f.Body, nil
	},
	Always: func(f *analysis.Facts, _ *strategy.Value) []Chosen {
		if f.Problem.Assembly != strategy.Append {
			return nil
		}
		return []Chosen{{Order: Order{Name: f.ResultName(), Word: "Append"},
			Why: "one pass: its arrays grow, and chunks of it are joined"}}
	},
	DecisionKey: func(*analysis.Facts, Order) string { return "" },
}

// Inserts reports whether o, an instruction of the choice Assemble, asks for two passes.
func (o Order) Inserts() bool { return strings.HasPrefix(o.Word, "Insert") }

// isAppended reports whether the result is built in order: it has compressed levels and does not
// share them with an operand.
func isAppended(f *analysis.Facts) bool { return !f.SharesLevels() && !f.Result.Format.AllDense() }
