package front

import (
	"strings"
	"testing"
)

// TestProgressWork checks that the line shows how much of some work is done, and disappears when
// the work ends.
func TestProgressWork(t *testing.T) {
	var w strings.Builder
	p := NewProgress(&w, "always", false)
	p.Work("check of C", 0, 0)
	p.Work("check of C", 1, 3)
	p.Work("", 0, 0)
	p.Work("", 0, 0) // nothing is left to remove
	const line = "\r\033[K"
	if got, want := w.String(), line+"check of C"+line+"check of C: 33%"+line; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if NewProgress(&w, "auto", false) != nil || NewProgress(&w, "never", false) != nil {
		t.Error("got progress on what is no terminal, or with never; want none")
	}
	if got := left(2, 1, 4); got != ", 6s left" {
		t.Errorf("got %q left, want 6s", got)
	}
}
