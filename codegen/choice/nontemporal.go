package choice

import (
	"fmt"

	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Nontemporal is the choice to store values of the result past the caches: nontemporal(T). It
// applies to loops in vector lanes that write each value once.
var Nontemporal = &Choice{
	Name:    "nontemporal",
	Params:  []Param{{Kind: ResultParam, Name: "T"}},
	Meaning: "stores the result T without going through caches",
	CPUOnly: "values are stored without going through a CPU's caches",
	Minor:   true,
	Default: defaultNontemporal,
	Follow: func(f *facts, v *strategy.Value, _ Order) error {
		if err := storesRows(f); err != nil {
			return err
		}
		v.Nontemporal = true
		return nil
	},
}

// Rows whose length is not a whole number of cache lines are stored past the caches only if they
// have at least leastLines lines. In a shorter row, a large part of the values would be in lines
// that the row shares with its neighbours.
const leastLines = 8

// defaultNontemporal returns the instruction to store values of the result past the caches. The
// values must be written once and occupy more than the caches hold. A normal store to a line that
// is in no cache first reads the line, although all of it is overwritten, and evicts something that
// may be read again.
func defaultNontemporal(f *facts, v *strategy.Value) []Chosen {
	n := resultValues(f)
	bytes, cached := n*float64(f.result.Type.Size()), streamedCaches*float64(f.problem.Target.FarBytes)
	if f.problem.Target.GPU || storesRows(f) != nil || bytes < cached ||
		f.problem.Assembly == strategy.Mapped && len(v.Tiles) == 0 {
		return nil
	}
	row := f.problem.Sizes[f.vars[len(f.vars)-1]] * f.result.Type.Size()
	if row%strategy.CacheLine != 0 && row < leastLines*strategy.CacheLine {
		return nil
	}
	once := "is written once"
	if f.problem.Assembly == strategy.Mapped {
		once = "each row is stored from registers when it is first written"
	}
	return []Chosen{{Order: Order{Name: cin.Target(f.stmt).Name},
		Why: fmt.Sprintf("%s takes %s, a cache may keep %s, and %s",
			cin.Target(f.stmt).Key(), size(bytes), size(cached), once)}}
}

// resultValues returns the number of the result's values, or 0 if it is not known.
func resultValues(f *facts) float64 {
	n := 1.0
	if f.isSparse() {
		n = 0
		if t := f.share(f.stmt); t != nil && t.Counts != nil {
			n = float64(t.Counts[f.deep])
		}
	}
	for _, v := range f.vars[f.deep+1:] {
		n *= float64(f.problem.Sizes[v])
	}
	return n
}

// storesRows returns an error with the reason if the result is not written in rows of consecutive
// values, each value once. A result in memory that grows, or a result that is added to, is not
// written in this way.
func storesRows(f *facts) error {
	key := cin.Target(f.stmt).Key()
	switch {
	case f.problem.Assembly != strategy.Dense && !f.shared():
		return fmt.Errorf(
			"%s is built in memory that grows, or added to; want a result that is written once",
			key)
	case len(f.vars) == 0 || len(f.vars)-1 <= f.deep:
		return fmt.Errorf(
			"the last level of %s must be dense, because its values are stored several at a time",
			key)
	}
	return nil
}
