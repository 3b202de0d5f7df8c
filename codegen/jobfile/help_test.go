package jobfile

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestHelp checks that the help has a form for each keyword of the parser, and no other.
func TestHelp(t *testing.T) {
	for _, c := range []struct {
		of       string
		help     Help
		keywords []string
	}{
		{"lines", Lines, append(slices.Clone(keywords), "STATEMENT")},
		{"clauses", Clauses, slices.Collect(maps.Keys(clauses))},
		{"indented lines", Indented, blockWords},
	} {
		var got []string
		for _, h := range c.help {
			word, _, _ := strings.Cut(h[0], " ")
			got = append(got, word)
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(c.keywords)); !slices.Equal(got, want) {
			t.Errorf("the help about %s has %v, want %v", c.of, got, want)
		}
	}
}
