package choice

import (
	"fmt"
	"maps"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/forms"
	"distaff/codegen/strategy"
)

// These are words that the command mergeby takes. Each one names a way to merge the entries of
// several operands in a loop.
const (
	Predicated = "Predicated"
	Windows    = "Windows"
	OneBody    = "OneBody"
)

// MergeBy chooses how a loop finds the coordinates of several operands: mergeby(i,HOW).
//
//	Predicated  computes a sum of floats over a union without branches: it evaluates all terms, and
//	            predicates choose the terms that are added
//	Windows     divides the range into windows, and in each window collects the coordinates of all
//	            operands and sorts them; loops for results that are not appended to are Predicated
//	OneBody     uses one loop body for all cases of present and absent operands
//
// The other two words of the command mergeby, TwoFinger and Gallop, belong to the choice Gallop.
var MergeBy = &Choice{
	Name: "mergeby",
	Params: []Param{{Kind: IndexParam, Name: "i"},
		{Kind: WordParam, Words: []string{twoFinger, gallop, Predicated, Windows, OneBody}}},
	Meaning: "says how a loop merges several sparse operands",
	Default: defaultMerges,
	Always:  oneBodies,
	Follow:  followMerge,
	DecisionKey: func(f *analysis.Facts, o Order) string {
		return o.Word + " " + f.LoweredVar(o.Loop.Var)
	},
}

func followMerge(f *analysis.Facts, v *strategy.Value, o Order) error {
	x := f.LoweredVar(o.Loop.Var)
	found := false
	if o.Word == OneBody {
		eachMerge(f, f.Stmt, scope{}, func(u string, _ int) { found = found || u == x })
		if !found {
			return fmt.Errorf("the loop over %s must merge several sparse operands", o.Loop)
		}
		v.OneBody[x] = true
		return nil
	}
	floatSums(f, func(u string, _ *cin.Assign) { found = found || u == x })
	if !found {
		return fmt.Errorf(
			"the loop over %s must contain only a sum of floats in which each term depends on "+
				"one operand",
			o.Loop)
	}
	v.Predicated[x] = true
	v.Windowed[x] = o.Word == Windows
	return nil
}

// floatSums calls fn for each loop whose body assigns a sum or difference of floats, with the
// loop's variable. The loop need not merge.
func floatSums(f *analysis.Facts, fn func(v string, s *cin.Assign)) {
	if !f.Problem.Compute.IsFloat() {
		return
	}
	cin.Walk(f.Stmt, func(s cin.Stmt) {
		if l, ok := s.(*cin.Forall); ok {
			if a, ok := l.Body.(*cin.Assign); ok {
				if b, ok := a.RHS.(*cin.Binary); ok && (b.Op == '+' || b.Op == '-') {
					fn(f.LoweredVar(l.Var), a)
				}
			}
		}
	})
}

// defaultMerges returns the instructions for loops whose bodies are sums of floats. They matter in
// merge loops where each term depends on one operand. All terms are computed, and an absent term is
// replaced by a number that does not change a sum. The reason is that the data determine which
// terms are present, so a branch would often be mispredicted. windowed may choose windows for loops
// over long segments.
func defaultMerges(f *analysis.Facts, _ *strategy.Value) (out []Chosen) {
	how := map[string]Chosen{}
	floatSums(f, func(v string, s *cin.Assign) {
		how[v] = Chosen{Order: Order{Word: Predicated}.of(v), Minor: true,
			Why: "which of the terms of " + cin.ExprString(s.RHS) + " are present depends on the data"}
	})
	windowed(f, how)
	for _, v := range slices.Sorted(maps.Keys(how)) {
		out = append(out, how[v])
	}
	return out
}

// windowedSegment is the smallest average number of entries for which segments are merged in
// windows. The windows of shorter segments are nearly empty, and take longer than single steps.
const windowedSegment = 4

// windowed changes the merge instructions in orders, which are listed by variable. A variable whose
// segments are long gets windows. windowed does so only if windows were measured to be faster on
// this processor (forms.Merges).
func windowed(f *analysis.Facts, orders map[string]Chosen) {
	by, why := f.Problem.Target.Forms.Of(forms.Merges)
	if by == 0 || f.Problem.Target.GPU {
		return
	}
	floatSums(f, func(v string, s *cin.Assign) {
		n, long := 0, true
		cin.ExprAccesses(s.RHS, func(a *cin.Access) {
			t := f.Tensor(a.Name)
			if t == nil || t.Order() == 0 || f.LoweredVar(t.LevelVars(a)[t.Order()-1]) != v ||
				!t.Kind(t.Order()-1).HasPos() {
				return
			}
			n++
			long = long && t.HasSegments(windowedSegment)
		})
		if n > 1 && long {
			orders[v] = Chosen{Order: Order{Word: Windows}.of(v), Minor: true,
				Why: fmt.Sprintf(
					"which of the terms of %s are present depends on the data, and segments "+
						"have at least %d entries on average%s",
					cin.ExprString(s.RHS), windowedSegment, why)}
		}
	})
}
