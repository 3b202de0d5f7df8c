package oracle

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen/cin"
)

// TestFailedDraw checks the draw of a schedule if the compiler panics at a command. The draw ends
// with the schedule up to this command, and the cases that are then reduced contain that schedule.
func TestFailedDraw(t *testing.T) {
	c, err := ParseCase("A(i) = B(i)\nvariant 0\nresult A d - 2\ntensor B d float64 2\n0 1\n")
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	s, err := cin.Parse("forall(i, A(i) = B(i))")
	if err != nil {
		t.Fatal(err)
	}
	compile := func(list []string) (cin.Stmt, error) {
		if len(list) == 2 {
			panic("the second command")
		}
		return s, nil
	}
	for _, given := range [][]string{nil, {"unroll(i,2)", "unroll(i,3)", "unroll(i,4)"}} {
		p.Case.Schedule = given
		var drawn []string
		d := drawer{}
		cases := d.fixed(p, func() ([]string, error) {
			var err error
			if drawn, err = d.draw(source(p), p, compile); err == nil ||
				!strings.Contains(err.Error(), "panic: the second command") {
				t.Errorf("%v: got %v, want the panic as an error", given, err)
			}
			return drawn, err
		})
		if len(drawn) != 2 || given != nil && !slices.Equal(drawn, given[:2]) {
			t.Errorf("%v: drew %v, want 2 commands", given, drawn)
		}
		if len(cases) == 0 || !slices.Equal(cases[0].Schedule, drawn) {
			t.Errorf("%v: %d cases to make small, want the first with %v", given, len(cases), drawn)
		}
	}
}
