package strategy

import (
	"testing"

	"distaff/codegen/notation"
)

func TestAssemblyOf(t *testing.T) {
	for _, c := range []struct {
		levels string
		p      Pattern
		insert bool
		want   Assembly
	}{
		{"", Pattern{}, false, Dense},
		{"dd", Pattern{Fixed: true}, true, Dense},
		{"ds", Pattern{}, false, Append},
		{"sd", Pattern{}, true, TwoPass},
		{"ds", Pattern{Fixed: true}, false, FixedPattern},
		{"ds", Pattern{Shared: true}, true, SharedPattern},
		{"dsd", Pattern{Shared: true, Accumulate: true}, false, Mapped},
	} {
		f, err := notation.ParseFormat(c.levels)
		if err != nil {
			t.Fatal(err)
		}
		if got := AssemblyOf(f, c.p, c.insert); got != c.want {
			t.Errorf("%q, %+v, insert %v: got %v, want %v", c.levels, c.p, c.insert, got, c.want)
		}
	}
}
