package schedule

import (
	"slices"
	"testing"
)

// TestHelp checks that the help lists each command once.
func TestHelp(t *testing.T) {
	var names []string
	for k, c := range commands {
		names = append(names, c.name)
		if h := Help()[k]; h[0] == "" || h[1] == "" {
			t.Errorf("%s: got %q in help, want a usage and a meaning", c.name, h)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, slices.Compact(Names())) {
		t.Errorf("got %v in help, want the commands %v", names, Names())
	}
}
