package choice

import "distaff/codegen/cin"

// Unroll is the choice to repeat a loop's body N times: unroll(i,N). unroll(i) does so for all
// iterations.
var Unroll = &Choice{
	Name: "unroll",
	Params: []Param{{Kind: KeptParam, Name: "i"},
		{Kind: NumberParam, Name: "N", Least: 1, Optional: true}},
	Meaning: "copies the body of the loop N times",
	Early:   true,
	Mark: func(f *facts, o Order) (cin.Stmt, error) {
		return cin.MapLoops(f.body, o.Loop.Var, func(l *cin.Forall) cin.Stmt {
			g := *l
			if g.Unroll = o.N; o.N == 0 {
				g.Unroll = cin.AllIterations
			}
			return &g
		}), nil
	},
}
