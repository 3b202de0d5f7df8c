package cin

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/provenance"
)

// Verify returns an error for the first broken rule:
//
//   - Outside a Span, a variable is bound by exactly one Forall around each of its uses. A variable
//     that the schedule replaced is bound if it has its own Forall, or if every variable derived
//     from it has one.
//   - A temporary is not read in its own producer, and not assigned in its consumer. A read in the
//     consumer has as many variables as the temporary.
//   - The statements of a Seq have the same target.
//   - A Forall with a Cut is on CPU threads and outside all loops. The number of chunks of a
//     Partial or Reduction is at least 1. The Own of Rows is a variable of the target.
//   - A Span is outside all loops, and its levels are different variables of its access. Around an
//     assignment inside a Span are, in this order: at most one Chunks, a Positions, at most one
//     Coord of the last level, and an At. All of them name the position of the Span. Loops are
//     inside the At. The target of the At has the variables of all levels. Only the target and the
//     access of the Span may have variables of levels that no Coord binds.
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

	span *Span // the span around the current place, or nil
	step int   // spanStep's number of the innermost node inside the span, or 0
	// target is the name of the target of the At around the current place.
	target string
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
		if s.Unit.OnGPU() && (s.Race == Unsaid || s.Chunk != 0 && s.Unit != GPUBlock) {
			return fmt.Errorf("forall over %s on %s must have a race strategy, and chunks only on "+
				"GPUBlock", s.Var, s.Unit)
		}
		if why := v.wrongCut(s); why != "" {
			return fmt.Errorf("forall over %s: %s", s.Var, why)
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
	case *Span:
		return v.spanned(s)
	case *Chunks, *Positions, *Coord, *At:
		return v.inSpan(s)
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

// wrongCut returns the reason why f must not have its Cut, or "" if it may.
func (v *verifier) wrongCut(f *Forall) string {
	switch c := f.Cut; {
	case c == (Cut{}):
	case f.Unit != CPUThread || len(v.bound) > 0:
		return "only an outermost loop on CPUThread can be cut"
	case (c.How == Partial || c.How == Reduction) && c.N < 1:
		return "got " + c.text() + ", want at least 1"
	case c.How == Rows && !slices.Contains(Target(f).Vars, c.Own):
		return c.Own + " is not a variable of " + Target(f).Key()
	}
	return ""
}

// spanned checks a span and the statement inside it.
func (v *verifier) spanned(s *Span) error {
	if len(v.bound) > 0 || v.span != nil {
		return fmt.Errorf("the span of %s is inside a loop", s.Pos)
	}
	for k, u := range s.Levels {
		if !slices.Contains(s.Access.Vars, u) || slices.Contains(s.Levels[:k], u) {
			return fmt.Errorf("the span of %s: want different variables of %s as levels, got %s",
				s.Pos, s.Access.Key(), strings.Join(s.Levels, " "))
		}
	}
	v.span, v.step = s, 0
	err := v.stmt(s.Body)
	v.span = nil
	return err
}

// spanStep returns the position variable of s, a node inside a span, and the step of s. A node that
// is nested more deeply has a larger step, from 1 for Chunks to 4 for At.
func spanStep(s Stmt) (pos string, step int) {
	switch s := s.(type) {
	case *Chunks:
		return s.Pos, 1
	case *Positions:
		return s.Pos, 2
	case *Coord:
		return s.Pos, 3
	case *At:
		return s.Pos, 4
	}
	panic("BUG: cin: no node of a span")
}

// inSpan checks a node inside a span, and the statement inside the node.
func (v *verifier) inSpan(s Stmt) error {
	pos, step := spanStep(s)
	outer := v.step
	loops := len(v.bound) // around s, inside the span
	if outer == 3 {
		loops-- // the variable of a Coord
	}
	switch {
	case v.span == nil || v.span.Pos != pos:
		return fmt.Errorf("%s) is outside the span of %s", head(s), pos)
	case step <= outer || loops > 0 || step > 2 && outer < 2:
		return fmt.Errorf("%s) is at the wrong place in the span of %s", head(s), pos)
	}
	n := len(v.bound)
	switch s := s.(type) {
	case *Coord:
		if last := v.span.Levels[len(v.span.Levels)-1]; s.Var != last {
			return fmt.Errorf("%s): want %s, the variable of the last level", head(s), last)
		}
		v.bound = append(v.bound, s.Var)
	case *At:
		target := Target(s)
		for _, u := range v.span.Levels {
			if !slices.Contains(target.Vars, u) {
				return fmt.Errorf("%s): %s has no variable %s", head(s), target.Key(), u)
			}
		}
		v.target = target.Name
	}
	v.step = step
	err := v.stmt(Inner(s))
	v.bound, v.step = v.bound[:n], outer
	return err
}

// isMoved reports whether an At around the current place has moved access a past the level of
// variable u. An At moves two accesses: the access of the span around the At, and the target of the
// assignment inside.
func (v *verifier) isMoved(a *Access, u string) bool {
	return v.span != nil && v.step == 4 && slices.Contains(v.span.Levels, u) &&
		(a.Key() == v.span.Access.Key() || a.Name == v.target)
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
		if slices.Contains(v.bound, x) || v.isMoved(a, x) {
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
