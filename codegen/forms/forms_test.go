package forms

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestSet checks which forms a set gives: a known form with a reason, and otherwise the default.
func TestSet(t *testing.T) {
	s := Set{FarRows: 0, Streams: StreamAhead + 1, "other_choice": 1}
	if form, why := s.Of(FarRows); form != 0 || !strings.Contains(why, "not fetched ahead") {
		t.Errorf("%s: got %d%s, want the measured form 0", FarRows, form, why)
	}
	for name, want := range map[string]int64{Streams: 0, LastLevelRows: FarAhead, Merges: 0} {
		if form, why := s.Of(name); form != want || why != "" {
			t.Errorf("%s: got %d%s, want the default %d", name, form, why, want)
		}
	}
	if got, want := s.Known(), (Set{FarRows: 0}); !maps.Equal(got, want) {
		t.Errorf("known forms: got %v, want %v", got, want)
	}
}

// TestMeasurements checks the table of choices: the default is one of the forms, and each form has
// a text of its own.
func TestMeasurements(t *testing.T) {
	for _, c := range Measurements {
		texts := map[string]bool{}
		for _, form := range c.Forms {
			texts[c.What(form)] = true
		}
		if !slices.Contains(c.Forms, c.Default) || texts[""] || len(texts) != len(c.Forms) {
			t.Errorf("%s: got forms %d with texts %v and default %d", c.Name, c.Forms,
				slices.Sorted(maps.Keys(texts)), c.Default)
		}
	}
}
