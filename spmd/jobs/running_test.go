package jobs

import (
	"testing"
	"time"

	"distaff/codegen/jobfile"
)

// TestRunning checks the line about what runs: the position, the passes, the seconds and the
// statement.
func TestRunning(t *testing.T) {
	f, err := jobfile.Parse("dir/job.dst",
		"a = 1\nrepeat 3 {\n  repeat 4 {\n    a = a + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1\n  }\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	var r running
	leaf := ""
	told := func(want string) {
		t.Helper()
		if got := r.text(f, 2600*time.Millisecond, leaf); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	told("")
	r.statement(f.Items[0].(*jobfile.Statement))
	told("dir/job.dst:1, 3 s: a = 1")
	leaf = "40% of loop 2"
	told("dir/job.dst:1, 3 s, 40% of loop 2: a = 1")
	leaf = ""
	r.statement(nil)
	outer := f.Items[1].(*jobfile.Repeat)
	inner := outer.Body[0].(*jobfile.Repeat)
	r.enter(outer)
	r.pass(1)
	told("dir/job.dst:2, pass 2 of 3, 3 s")
	r.enter(inner)
	r.pass(3)
	r.statement(inner.Body[0].(*jobfile.Statement))
	told(
		"dir/job.dst:4, pass 2 of 3, pass 4 of 4, 3 s: a = a + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1...")
	r.statement(nil)
	r.leave()
	r.leave()
	told("")
}
