package strategy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/cin"
)

// Order is a choice that a scheduling command makes. String returns the command.
type Order interface {
	fmt.Stringer
	// follow puts the choice into a strategy, or returns an error that says why this is impossible.
	follow(f *facts, v *Value) error
}

// soOrdered is the reason that a strategy gives for a choice of the schedule.
const soOrdered = "so ordered"

// Ref names loops over Var: the Nth loop in the order of the text, counted from 1, or all loops
// that the context allows if N is 0.
type Ref struct {
	Var string
	N   int
}

func (r Ref) String() string {
	if r.N == 0 {
		return r.Var
	}
	return fmt.Sprintf("%s[%d]", r.Var, r.N)
}

// ParseRef parses the name of a loop.
func ParseRef(text string) (Ref, bool) {
	name, rest, numbered := strings.Cut(text, "[")
	if !numbered {
		return Ref{Var: text}, true
	}
	n, err := strconv.Atoi(strings.TrimSuffix(rest, "]"))
	return Ref{name, n}, err == nil && n > 0 && strings.HasSuffix(rest, "]")
}

// Outermost returns the loops in s that r names and that are not inside other loops.
func (r Ref) Outermost(s cin.Stmt) (out []*cin.Forall) {
	top := outermost(s)
	n := 0
	cin.Walk(s, func(t cin.Stmt) {
		if l, ok := t.(*cin.Forall); ok && l.Var == r.Var {
			if n++; (r.N == 0 || r.N == n) && slices.Contains(top, l) {
				out = append(out, l)
			}
		}
	})
	return out
}

// loops returns the outermost loops on threads that r names.
func (f *facts) loops(r Ref) ([]*cin.Forall, error) {
	list := slices.DeleteFunc(r.Outermost(f.stmt),
		func(l *cin.Forall) bool { return l.Unit != cin.CPUThread || l.Race != cin.Unsaid })
	if len(list) == 0 {
		return nil,
			fmt.Errorf(
				"no outermost loop over %s runs on threads in chunks of equal work; parallelize(%s,CPUThread,NoRaces,Work) has one", r, r)
	}
	return list, nil
}

// Check returns nil if o can be followed after the orders in before, or an error that says why it
// cannot be.
func Check(p *Problem, before []Order, o Order) error {
	f := newFacts(p)
	v := f.plain()
	for _, b := range before {
		if b.follow(f, v) != nil {
			return nil // the caller has refused that order, or will do so
		}
	}
	return o.follow(f, v)
}

// Follow returns the strategy of a schedule: the plain strategy, changed by the orders. If order
// number n cannot be followed, it returns n and an error that says why.
func Follow(p *Problem, orders []Order) (v *Value, n int, err error) {
	v = Plain(p)
	f := newFacts(p)
	f.spaces = v.Spaces
	for n, o := range orders {
		if err := o.follow(f, v); err != nil {
			return nil, n, err
		}
	}
	return v, 0, nil
}

// access returns the access that text names. text is a tensor's name, or an access if the tensor
// has several.
func (f *facts) access(text string) (*cin.Access, *Tensor, error) {
	var found []*cin.Access
	cin.Accesses(f.stmt, func(a *cin.Access) {
		if f.tensor(a.Name) == nil || a.Name != text && a.Key() != text {
			return
		}
		if !slices.ContainsFunc(found, func(b *cin.Access) bool { return b.Key() == a.Key() }) {
			found = append(found, a)
		}
	})
	switch len(found) {
	case 0:
		return nil, nil, fmt.Errorf("got %s, want a tensor of the statement, or one of its accesses",
			text)
	case 1:
		return found[0], f.tensor(found[0].Name), nil
	}
	return nil, nil, fmt.Errorf("%s appears at different variables; name the access", text)
}
