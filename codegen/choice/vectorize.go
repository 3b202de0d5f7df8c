package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Vectorize is the choice whether innermost loops over a variable run in vector lanes. A schedule
// writes vectorize(i) for loops over i along contiguous memory, and vectorize(i,T) for loops over
// the entries of T. The latter loops must only sum gathered values. A sum in lanes adds its values
// in another order, so its rounding can differ.
var Vectorize = &Choice{
	Name:    "vectorize",
	Params:  []Param{{Kind: IndexParam, Name: "i"}, {Kind: NameParam, Name: "T", Optional: true}},
	Meaning: "runs innermost loops in vector lanes",
	CPUOnly: "the loop would run in vector lanes of a CPU",
	Minor:   true,
	Default: defaultLanes,
	Follow:  followVectorize,
}

func followVectorize(f *analysis.Facts, v *strategy.Value, o Order) error {
	x := f.LoweredVar(o.Loop.Var)
	if o.Name == "" {
		v.Lanes[x] = true
		return nil
	}
	a, t, err := f.Access(o.Name)
	if err != nil {
		return err
	}
	for k, u := range t.LevelVars(a) {
		if u == x && !t.Kind(k).CanLocate() {
			v.Gathers = append(v.Gathers, strategy.Gather{Key: a.Key(), Var: u})
			return nil
		}
	}
	return fmt.Errorf("the level of %s that stores %s must be compressed", a.Key(), o.Loop)
}

// defaultLanes returns the vectorize commands of the default schedule: for all loops along
// contiguous memory, and for loops over long segments of sparse levels.
func defaultLanes(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	for _, v := range slices.Sorted(slices.Values(cin.LoopVars(f.Stmt))) {
		out = append(out, Chosen{Order: Order{}.of(v),
			Why: "the innermost loops over " + v + " run along contiguous memory"})
	}
	gatheredLevels(f, func(a *cin.Access, v string, mean float64) {
		out = append(out, Chosen{Order: Order{Name: f.ShortName(a.Key())}.of(v),
			Why: fmt.Sprintf("segments of %s have %.1f entries on average", a.Key(), mean)})
	})
	return out
}

// gatheredSegment limits the loops that gather values in vector lanes by default. The segments of
// such a loop must have at least this number of entries on average. The lanes hold several partial
// sums, so an addition need not wait for the one before it. At the end the partial sums must be
// added up, which costs more than the lanes save in short segments.
const gatheredSegment = 256

// gatheredLevels calls fn for each sparse level whose segments are long enough to gather in lanes,
// with the level's variable and the average number of entries in a segment.
func gatheredLevels(f *analysis.Facts, fn func(a *cin.Access, v string, mean float64)) {
	seen := map[[2]string]bool{}
	for _, x := range f.Operands(f.Stmt) {
		t, a := x.Tensor, x.Access
		if t.Counts == nil {
			continue
		}
		for k, v := range x.Vars {
			above := int64(1)
			if k > 0 {
				above = t.Counts[k-1]
			}
			if t.Kind(k).CanLocate() || seen[[2]string{a.Key(), v}] ||
				t.Counts[k] < gatheredSegment*max(above, 1) {
				continue
			}
			seen[[2]string{a.Key(), v}] = true
			fn(a, v, float64(t.Counts[k])/float64(max(above, 1)))
		}
	}
}
