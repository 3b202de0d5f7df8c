package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
)

func (v *verifier) sortBy(s *SortBy) error {
	if len(s.Keys) == 0 {
		return errors.New("no keys")
	}
	if err := firstError(want(tensor.Int64, s.Lo, "start"), want(tensor.Int64, s.Hi, "end"),
		v.stored(s.Perm)); err != nil {
		return err
	}
	if s.Perm.Elem != tensor.Int64 {
		return fmt.Errorf("%s holds %s, want int64", s.Perm.Name, s.Perm.Elem)
	}
	for _, k := range s.Keys {
		if err := v.known(k); err != nil {
			return err
		}
		if k == s.Perm || k.Elem != tensor.Int64 {
			return fmt.Errorf("%s cannot be a key: want another array, of int64", k.Name)
		}
	}
	return nil
}

// table checks the statements about tables.
func (v *verifier) table(s Stmt) error {
	switch s := s.(type) {
	case *AllocTable:
		return v.allocTable(s)
	case *Keep:
		return firstError(want(tensor.Int64, s.Index, "index"), v.entry(s.T, s.A), v.owned(s.A))
	case *Take:
		return firstError(want(tensor.Int64, s.Index, "index"), v.entry(s.T, s.A), v.make(s.A))
	case *FreeTable:
		return v.ownTable(s.T)
	}
	return nil
}

func (v *verifier) allocTable(s *AllocTable) error {
	if err := want(tensor.Int64, s.Len, "length"); err != nil {
		return err
	}
	if s.T == nil {
		return errors.New("a nil table")
	}
	if s.T.Elem == tensor.None || s.T.Elem.Size() == 0 {
		return fmt.Errorf("%s has no element type", s.T.Name)
	}
	if v.tables[s.T] {
		return v.ownTable(s.T)
	}
	v.tables[s.T] = true
	v.home[s.T] = v.innermost()
	return v.named(s.T.Name, s.T)
}

// ownTable returns an error unless t exists. Inside parallel loops, t must be made in the innermost
// parallel loop.
func (v *verifier) ownTable(t *Table) error {
	if t == nil || !v.tables[t] {
		return errors.New("a table that is not allocated before")
	}
	for _, l := range v.loops {
		if l.guarded() && !v.home[t].within(l) {
			return fmt.Errorf("%s is from outside the %s", t.Name, l)
		}
	}
	return nil
}

func (v *verifier) entry(t *Table, a *Array) error {
	switch {
	case t == nil || !v.tables[t]:
		return errors.New("a table that is not allocated before")
	case a == nil:
		return errors.New("a nil array")
	case a.Elem != t.Elem:
		return fmt.Errorf("%s holds arrays of %s, %s is of %s", t.Name, t.Elem, a.Name, a.Elem)
	}
	return nil
}

// marks checks the operands that Mark and Collect have in common.
func (v *verifier) marks(bits, words *Array, n *Var) error {
	if n == nil {
		return errors.New("a nil variable")
	}
	return firstError(v.holds(bits, tensor.Int64), v.holds(words, tensor.Int32),
		v.assign(&Assign{V: n, X: Int(0)}))
}

func (v *verifier) collect(s *Collect) error {
	return firstError(want(tensor.Int64, s.Len, "length"), want(tensor.Int64, s.Base, "base"),
		v.marks(s.Bits, s.Words, s.N), v.holds(s.Flags, tensor.Bool), v.holds(s.List, tensor.Int32))
}
