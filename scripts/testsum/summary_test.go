package main

import (
	"strings"
	"testing"
	"time"
)

// events are the events of three packages that run in parallel: one fails a test and skips one, one
// passes, and the build of one fails.
const events = `{"Action":"start","Package":"p/a"}
{"Action":"run","Package":"p/a","Test":"TestA"}
{"Action":"start","Package":"p/b"}
{"Action":"run","Package":"p/b","Test":"TestB"}
{"Action":"output","Package":"p/a","Test":"TestA","Output":"    a_test.go:7: got 1, want 2\n"}
{"Action":"fail","Package":"p/a","Test":"TestA","Elapsed":1}
{"Action":"run","Package":"p/a","Test":"TestS"}
{"Action":"output","Package":"p/a","Test":"TestS","Output":"    a_test.go:9: no GPU\n"}
{"Action":"skip","Package":"p/a","Test":"TestS","Elapsed":0}
{"Action":"pass","Package":"p/b","Test":"TestB","Elapsed":2}
{"Action":"output","Package":"p/b","Output":"ok  \tp/b\t(cached)\n"}
{"Action":"pass","Package":"p/b","Elapsed":2.04}
{"Action":"fail","Package":"p/a","Elapsed":3}
{"ImportPath":"p/c","Action":"build-output","Output":"c.go:1: no such thing\n"}
{"ImportPath":"p/c","Action":"build-fail"}
{"Action":"start","Package":"p/c"}
{"Action":"output","Package":"p/c","Output":"FAIL\tp/c [build failed]\n"}
{"Action":"fail","Package":"p/c","Elapsed":0}
{"Action":"skip","Package":"p/none","Elapsed":0}`

func TestLinesAsPackagesEnd(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out, 3, 0)
	for _, line := range strings.Split(events, "\n") {
		s.add(line, s.start.Add(5*time.Second))
		if strings.Contains(line, "2.04") && !strings.HasSuffix(out.String(),
			"pass  p/b                                  2.0 s  1 passed (cached)\n") {
			t.Errorf("when p/b ended, got %q", out.String())
		}
	}
	if s.close(time.Second, time.Minute) {
		t.Error("got that all is well")
	}
	want := `--- FAIL p/a TestA
    a_test.go:7: got 1, want 2
pass  p/b                                  2.0 s  1 passed (cached)
fail  p/a                                  3.0 s  0 passed, 1 failed, 1 skipped
c.go:1: no such thing
FAIL	p/c [build failed]
fail  p/c                                  0.0 s  0 passed, 1 failed
skipped, and why:
     1  no GPU
0 s; 1 s of processor time, builds included
1 passed, 2 failed, 1 skipped
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestWhatRuns(t *testing.T) {
	var log, screen strings.Builder
	a, b := newSummary(&log, 3, 0), newSummary(&screen, 0, 40)
	for _, s := range []*summary{a, b} {
		s.add(`{"Action":"run","Package":"distaff/spmd","Test":"TestOf/which/the/name/is/long"}`,
			s.start)
		s.tick(s.start.Add(59 * time.Second))
		s.tick(s.start.Add(65 * time.Second))
	}
	if got, want := log.String(),
		"...   1:05, 0 of 3 packages; spmd TestOf/which/the/name/is/long\n"; got != want {
		t.Errorf("in a log: got %q, want %q", got, want)
	}
	if got, want := screen.String(),
		"\r\x1b[K0:59, 0 packages; spmd TestOf/which/..."+"\r\x1b[K1:05, 0 packages; spmd "+
			"TestOf/which/..."; got != want {
		t.Errorf("on a terminal: got %q, want %q", got, want)
	}
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		used, budget time.Duration
		ok           bool
	}{{2, 1, false}, {1, 1, true}, {2, 0, true}} {
		s := newSummary(&strings.Builder{}, 0, 0)
		s.total.passed = 1
		if got := s.close(c.used, c.budget); got != c.ok {
			t.Errorf("%d of %d: got %v, want %v", c.used, c.budget, got, c.ok)
		}
	}
}
