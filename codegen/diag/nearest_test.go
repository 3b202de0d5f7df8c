package diag

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"run", "compile", "plan", "convert", "info", "show", "diff", "doctor", "cache"}
	for _, c := range []struct{ in, want string }{
		{"rnu", "run"}, {"complie", "compile"}, {"conv", "convert"}, {"docter", "doctor"}, {"xyzzy", ""},
	} {
		if got := Nearest(c.in, names); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
	for _, c := range []struct{ in, want string }{
		{"PLAN", "; did you mean plan?"}, {"cashe", "; did you mean cache?"}, {"xyzzy", ""},
	} {
		if got := DidYouMean(c.in, names); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
	if got := Either(names[:3]); got != "run, compile or plan" {
		t.Errorf("got %q", got)
	}
}
