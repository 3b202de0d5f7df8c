package strategy

import (
	"fmt"

	"distaff/codegen/cin"
)

// Rows of less than leastLines cache lines are stored past the caches only where they are whole
// lines: of others a large part is in lines that two rows share.
const leastLines = 8

// nontemporal is why values of the result that are written once are stored past the caches: all of
// them are more than these hold. A store to a line that no cache has reads it first, though all of
// it is written, and takes the place of something that is read again.
func (f *facts) nontemporal(v *Value) string {
	n := f.values()
	bytes, cached := n*float64(f.result.Type.Size()), streamedCaches*float64(f.problem.Target.FarBytes)
	if f.problem.Target.GPU || f.storesRows() != nil || bytes < cached ||
		f.problem.Assembly == Mapped && len(v.Tiles) == 0 {
		return ""
	}
	row := f.problem.Sizes[f.vars[len(f.vars)-1]] * f.result.Type.Size()
	if row%CacheLine != 0 && row < leastLines*CacheLine {
		return ""
	}
	once := "is written once"
	if f.problem.Assembly == Mapped {
		once = "rows that a step is the first to come to are stored out of registers"
	}
	return fmt.Sprintf("%s takes %s, more than the %s that may stay in a cache, and %s",
		cin.Target(f.stmt).Key(), size(bytes), size(cached), once)
}

// values is the number of the result's values, 0 where that is not known.
func (f *facts) values() float64 {
	n := 1.0
	if f.sparse() {
		n = 0
		cin.Accesses(f.stmt, func(a *cin.Access) {
			if t := f.tensor(a.Name); a.Key() == f.problem.Share && t.Counts != nil {
				n = float64(t.Counts[f.deep])
			}
		})
	}
	for _, v := range f.vars[f.deep+1:] {
		n *= float64(f.problem.Sizes[v])
	}
	return n
}

// storesRows is nil where rows of the result, values one behind the other, are written at places
// that are given: else why not.
func (f *facts) storesRows() error {
	key := cin.Target(f.stmt).Key()
	switch {
	case f.problem.Assembly != Dense && !f.shared():
		return fmt.Errorf("%s is put together in memory that grows, or added to", key)
	case len(f.vars) == 0 || len(f.vars)-1 <= f.deep:
		return fmt.Errorf("the last level of %s is not dense: its values are written one by one", key)
	}
	return nil
}

// Nontemporal has values of the result that loops in lanes write once stored past the caches:
// nontemporal(T).
type Nontemporal struct{ Tensor string }

func (o Nontemporal) String() string { return fmt.Sprintf("nontemporal(%s)", o.Tensor) }

func (o Nontemporal) follow(f *facts, v *Value) error {
	if err := f.storesRows(); err != nil {
		return err
	}
	v.Nontemporal = soOrdered
	return nil
}
