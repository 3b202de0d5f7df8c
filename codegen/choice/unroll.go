package choice

import (
	"distaff/codegen/analysis"
	"distaff/codegen/cin"
)

// Unroll is the choice to repeat a loop's body N times: unroll(i,N). unroll(i) does so for all
// iterations.
var Unroll = &Choice{
	Name: "unroll",
	Params: []Param{{Kind: KeptParam, Name: "i"},
		{Kind: NumberParam, Name: "N", Least: 1, Optional: true}},
	Meaning:           "copies the body of the loop N times",
	BeforeParallelize: true,
	Mark: func(f *analysis.Facts, o Order) (cin.Stmt, error) {
		return cin.MapLoops(f.Body, o.Loop.Var, func(l *cin.Forall) cin.Stmt {
			g := *l
			if g.Unroll = o.N; o.N == 0 {
				g.Unroll = cin.AllIterations
			}
			return &g
		}), nil
	},
}

// mostUnrolled is the largest trip count for which a loop is unrolled completely even if its actual
// trip count may be smaller.
const mostUnrolled = 64

// unrolled describes the short loops that a schedule unrolls completely. It returns a map from a
// variable of the statement to the number of copies of a loop's body. The loop determines the value
// of this variable.
func unrolled(f *analysis.Facts) map[string]int64 {
	out := map[string]int64{}
	cin.Paths(f.Stmt, func(path []*cin.Forall, _ *cin.Assign) {
		var loops []string
		for _, l := range path {
			loops = append(loops, l.Var)
			if l.Unroll != cin.AllIterations {
				continue
			}
			vars, _ := f.Determined(loops)
			for _, v := range vars {
				if n := f.MaxTrips(v); n <= mostUnrolled {
					out[v] = n
				}
			}
		}
	})
	return out
}
