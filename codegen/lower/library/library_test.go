package library_test

import (
	"strings"
	"testing"

	"distaff/codegen/cin"
	"distaff/codegen/lower/library"
	"distaff/codegen/lower/scope"
	"distaff/codegen/strategy"
)

// TestUncalled refuses a schedule if the leaf does not call a function that the schedule names.
func TestUncalled(t *testing.T) {
	s, err := cin.Parse("forall(i, forall(j, y(i) += A(i,j) * x(j)))")
	if err != nil {
		t.Fatal(err)
	}
	f := &strategy.Extern{Name: "dot", Vars: "j"}
	l := &scope.Leaf{Called: map[*strategy.Extern]bool{}, Spec: &scope.Spec{Stmt: s,
		Strategy: &strategy.Value{Stmt: s, Loops: map[*cin.Forall]*strategy.Loop{
			s.(*cin.Forall).Body.(*cin.Forall): {Extern: f}}}}}
	refusal := func() (r *scope.Refusal) {
		defer func() { r, _ = recover().(*scope.Refusal) }()
		library.RefuseUncalled(l)
		return nil
	}
	if r := refusal(); r == nil || r.Var != "j" || !strings.Contains(r.Why, "dot would not be called") {
		t.Errorf("got %v, want a refusal of the loop over j", r)
	}
	l.Called[f] = true
	if r := refusal(); r != nil {
		t.Errorf("got %v, want no refusal", r)
	}
}
