package cin

import (
	"fmt"
	"slices"

	"distaff/codegen/provenance"
)

// Verify returns an error for the first broken rule:
//
//   - A variable is bound by exactly one Forall around each of its uses. A variable that the
//     schedule replaced is bound if it has its own Forall, or if every variable derived from it has
//     one.
//   - A temporary is not read in its own producer, and not assigned in its consumer. A read in the
//     consumer has as many variables as the temporary.
//   - The statements of a Seq have the same target.
//   - A loop on a GPU unit is at a place where MisplacedUnit allows it. The loop names a strategy
//     for races and has no chunks.
func Verify(s Stmt) error {
	if f, why := MisplacedUnit(s); f != nil {
		return fmt.Errorf("forall over %s: %s", f.Var, why)
	}
	v := &verifier{temps: map[string]int{}, relations: Relations(s)}
	return v.stmt(Body(s))
}

// verifier checks a statement and keeps the names that are in scope at the current place.
type verifier struct {
	relations *provenance.Graph

	bound []string
	temps map[string]int // the number of modes of each temporary in scope
	owned []string       // temporaries whose producers are being checked: they cannot be read
}

func (v *verifier) stmt(s Stmt) error {
	switch s := s.(type) {
	case *Forall:
		if slices.Contains(v.bound, s.Var) {
			return fmt.Errorf(
				"forall over %s inside another forall over it; want different variables", s.Var)
		}
		if r := v.relations.ReplacedBy(s.Var); r != nil && v.relations.MadeBy(s.Var) != nil {
			return fmt.Errorf("forall over %s, but %s replaced this variable", s.Var, r)
		}
		if s.Unit.OnGPU() && (s.Race == Unsaid || s.Chunk != 0) {
			return fmt.Errorf(
				"forall over %s on %s must have a race strategy and no chunks", s.Var, s.Unit)
		}
		n := len(v.bound)
		v.bound = append(v.bound, s.Var)
		if u := v.relations.ConsumerVar(s.Var); u != s.Var {
			if slices.Contains(v.bound, u) {
				return fmt.Errorf(
					"forall over %s inside a forall over %s, which replaces it", s.Var, u)
			}
			v.bound = append(v.bound, u)
		}
		for _, u := range v.relations.Filled(v.bound) {
			v.bound = append(v.bound, v.relations.FullyDerived(u)...)
		}
		err := v.stmt(s.Body)
		v.bound = v.bound[:n]
		return err
	case *Where:
		return v.where(s)
	case *Seq:
		return v.seq(s)
	case *Assign:
		if err := v.access(s.LHS, true); err != nil {
			return err
		}
		var err error
		ExprAccesses(s.RHS, func(a *Access) {
			if err == nil {
				err = v.access(a, false)
			}
		})
		return err
	}
	return fmt.Errorf("unknown statement %T", s)
}

func (v *verifier) where(s *Where) error {
	t := Target(s.Producer)
	if _, ok := v.temps[t.Name]; ok {
		return fmt.Errorf(
			"temporary %s inside the consumer of another temporary with this name", t.Name)
	}
	v.owned = append(v.owned, t.Name)
	err := v.stmt(s.Producer)
	v.owned = v.owned[:len(v.owned)-1]
	if err != nil {
		return err
	}
	v.temps[t.Name] = len(t.Vars)
	err = v.stmt(s.Consumer)
	delete(v.temps, t.Name)
	return err
}

func (v *verifier) seq(s *Seq) error {
	if len(s.List) == 0 {
		return fmt.Errorf("an empty seq")
	}
	for _, t := range s.List {
		if got, want := Target(t).Key(), Target(s).Key(); got != want {
			return fmt.Errorf("the parts of a sequence must assign the same variable; got %s and %s",
				want, got)
		}
		if err := v.stmt(t); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) access(a *Access, left bool) error {
	for _, x := range a.Vars {
		if slices.Contains(v.bound, x) {
			continue
		}
		for _, y := range v.relations.FullyDerived(x) {
			if !slices.Contains(v.bound, y) {
				return fmt.Errorf("%s reads %s outside the loop over %s",
					a.Key(), a.Name, y)
			}
		}
	}
	if left {
		if _, ok := v.temps[a.Name]; ok {
			return fmt.Errorf("temporary %s must not be assigned in its consumer", a.Name)
		}
		return nil
	}
	if slices.Contains(v.owned, a.Name) {
		return fmt.Errorf("temporary %s must not be read in its producer", a.Name)
	}
	if n, ok := v.temps[a.Name]; ok && n != len(a.Vars) {
		return fmt.Errorf("temporary %s has %d modes, but is read with %d",
			a.Name, n, len(a.Vars))
	}
	return nil
}
