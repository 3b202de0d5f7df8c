package choice

import (
	"fmt"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Nontemporal is the choice to store values of the result past the caches: nontemporal(T). It
// applies to loops in vector lanes that write each value once. In a Mapped result, it applies to
// rows that are summed in tiles, but only when they are first written.
var Nontemporal = &Choice{
	Name:    "nontemporal",
	Params:  []Param{{Kind: ResultParam, Name: "T"}},
	Meaning: "stores the result T without going through caches",
	CPUOnly: "values are stored without going through a CPU's caches",
	Minor:   true,
	Default: defaultNontemporal,
	Follow: func(f *analysis.Facts, v *strategy.Value, _ Order) error {
		if err := storesRows(f); err != nil {
			return err
		}
		v.Nontemporal = true
		return nil
	},
}

// By default, rows whose length is not a whole number of cache lines are stored past the caches
// only if they have at least leastLines lines. In a shorter row, a large part of the values would
// be in lines that the row shares with its neighbours.
const leastLines = 8

// defaultNontemporal returns the instruction to store values of the result past the caches, if the
// values occupy more than the caches hold. A normal store to a line that is in no cache has two
// costs. It first reads the line, although the whole line is overwritten. It also evicts another
// line, which may be read again.
func defaultNontemporal(f *analysis.Facts, v *strategy.Value) []Chosen {
	n := resultValues(f)
	bytes := n * float64(f.Result.Type.Size())
	cached := streamedCaches * float64(f.Problem.Target.FarBytes)
	if f.Problem.Target.GPU || storesRows(f) != nil || bytes < cached ||
		f.Problem.Assembly == strategy.Mapped && len(v.Tiles) == 0 {
		return nil
	}
	row := f.Problem.Sizes[f.Vars[len(f.Vars)-1]] * f.Result.Type.Size()
	if row%strategy.CacheLine != 0 && row < leastLines*strategy.CacheLine {
		return nil
	}
	once := "is written once"
	if f.Problem.Assembly == strategy.Mapped {
		once = "each row is stored from registers when it is first written"
	}
	return []Chosen{{Order: Order{Name: cin.Target(f.Stmt).Name},
		Why: fmt.Sprintf("%s takes %s, a cache may keep %s, and %s",
			cin.Target(f.Stmt).Key(), size(bytes), size(cached), once)}}
}

// resultValues returns the number of the result's values, or 0 if it is not known. In a Mapped
// result it counts only the values at the positions of the operand that Problem.Share names.
func resultValues(f *analysis.Facts) float64 {
	n := 1.0
	if f.IsSparse() {
		n = 0
		if t := f.Sharer(f.Stmt); t != nil && t.Counts != nil {
			n = float64(t.Counts[f.LastCompressed])
		}
	}
	for _, v := range f.Vars[f.LastCompressed+1:] {
		n *= float64(f.Problem.Sizes[v])
	}
	return n
}

// storesRows returns an error with the reason if values of the result cannot be stored past the
// caches. This is the case if the result has sparse levels and does not share them, or if its last
// level is not dense.
func storesRows(f *analysis.Facts) error {
	key := cin.Target(f.Stmt).Key()
	switch {
	case f.Problem.Assembly != strategy.Dense && !f.SharesLevels():
		return fmt.Errorf(
			"%s is built in memory that grows, or added to; want a result that is written once",
			key)
	case f.LastDense() == "":
		return fmt.Errorf(
			"the last level of %s must be dense, because its values are stored several at a time",
			key)
	}
	return nil
}
