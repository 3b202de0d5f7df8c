package choice

import (
	"fmt"
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Workspace is the choice of how a workspace is stored: workspace(W,KIND). Every workspace has a
// default kind (inorder.go), which an instruction changes.
//
//	Hash       a hash table
//	List       an array with a place for each coordinate, and a list of the coordinates with values
//	Bitmap     an array with a place for each coordinate, and a bit for each
//	Dense      an array that is filled either everywhere or nowhere
//	Sorted     a list that is filled in order
//	Marks      an array with a place for each coordinate, and a mark for each
//	Positions  an array with a place for each position of an operand in a tile
//	Terms      a list of all added terms, which is sorted at the end
//	Table      an array with a place and a mark for each coordinate; loops that visit other operands
//	           look coordinates up there
var Workspace = &Choice{
	Name:        "workspace",
	Params:      []Param{{Kind: NameParam, Name: "W"}, {Kind: WordParam, Words: strategy.KindNames[:]}},
	Meaning:     "says how a workspace is stored",
	Follow:      followWorkspace,
	DecisionKey: func(_ *analysis.Facts, o Order) string { return o.Name },
	Made:        workspaceKinds,
}

// workspaceKinds returns the instructions that give the workspaces of v their kinds.
func workspaceKinds(f *analysis.Facts, v *strategy.Value) (out []Chosen) {
	eachWorkspace(f.Stmt, func(t *cin.Access, _ *cin.Where) {
		s := v.Spaces[t.Name]
		inTile := v.Row.Width > 0 && t.Vars[0] == v.Row.Var // the workspace is then itself a tile
		out = append(out, Chosen{Order{Name: t.Name, Word: s.Form.Kind.String()}, s.Why,
			inTile || s.Multiplied})
	})
	return out
}

// filledTogether returns the parallel loop that fills the workspace with the given name, if no two
// of its chunks write to the same place. It returns nil if there is no such loop.
func filledTogether(f *analysis.Facts, v *strategy.Value, name string) *cin.Forall {
	for _, l := range f.Parallel() {
		if cin.Target(l).Name == name && l.Race == cin.Unsaid && v.Of(l).Cut.How == cin.Blocks {
			return l
		}
	}
	return nil
}

func followWorkspace(f *analysis.Facts, v *strategy.Value, o Order) error {
	kind := strategy.Kind(slices.Index(strategy.KindNames[:], o.Word))
	s, ok := v.Spaces[o.Name]
	if !ok {
		return fmt.Errorf(
			"got %s, want a workspace of the statement over index variables", o.Name)
	}
	if s.Multiplied && kind != strategy.Array {
		return fmt.Errorf("%s; workspace %s is one of them", gemmNeedsArrays, o.Name)
	}
	s.Why, s.Said = "so ordered", true
	var err error
	eachWorkspace(f.Stmt, func(t *cin.Access, w *cin.Where) {
		if t.Name != o.Name {
			return
		}
		producer := w.Producer
		s.Form = strategy.Form{Kind: kind, Rows: byRows(f, t)}
		switch kind {
		case strategy.HashTable:
			if s.Form = hashTable(f, producer, t); f.Problem.Target.GPU {
				s.Form = strategy.Form{Kind: kind}
			}
		case strategy.MarkedList, strategy.Bitmap, strategy.Marks:
			s.Form.Rows = s.Form.Rows || kind == strategy.Marks && len(t.Vars) > 1
			if n := f.Places(t.Vars); n > MaxPlaces {
				err = fmt.Errorf(
					"%[2]s has %.4[3]g coordinates, but a workspace with a place for every "+
						"coordinate can have at most %[1]d",
					MaxPlaces, t.Key(), n)
			}
		case strategy.Table:
			s.Form, err = tableForm(f, t, producer)
		case strategy.Array:
			err = asArray(f, producer, t)
		case strategy.SortedList:
			ok, once := inOrder(f, producer)
			s.Form.Once = once
			if !ok {
				err = fmt.Errorf("a Sorted workspace must get its entries in order, but the loops do "+
					"not store the "+
					"entries of %s in the order of its variables", t.Key())
			}
		case strategy.Positions:
			s.Form, err = positional(f, w, t)
		case strategy.Terms:
			if form, _, ok := termRows(f, w, t); ok {
				s.Form = form
			} else if _, ok := f.TermsAdded(producer, t); ok {
				s.Form.Of = allTermsOf(f, producer, t)
			} else {
				err = fmt.Errorf(
					"a list of all values added to %s is only for products of one operand's "+
						"entries with dense operands", t.Key())
			}
		}
	})
	if err != nil {
		return err
	}
	if l := filledTogether(f, v, o.Name); l != nil && !s.Shared() {
		return fmt.Errorf(
			"threads fill %s together, in chunks of the loop over %s, so it must be an array, "+
				"or have marks", o.Name, l.Var)
	}
	if kind != strategy.Positions && isCutApart(f, o.Name) {
		return fmt.Errorf(
			"%s is filled and read by loops that are divided differently; want a place for "+
				"each position", o.Name)
	}
	v.Spaces[o.Name] = s
	return nil
}
