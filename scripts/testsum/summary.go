package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// counts holds numbers of tests.
type counts struct{ passed, failed, skipped int }

// pkg is a package whose tests are running.
type pkg struct {
	counts
	tests []string // running tests, in the order of their starts
}

// A summary prints events as they arrive.
type summary struct {
	out      io.Writer
	packages int // number of packages with tests; 0 if unknown
	width    int // width of the terminal; 0 if out is not a terminal
	total    counts
	ended    int // number of packages that ended
	running  map[string]*pkg
	output   map[string][]string // by package and test
	reasons  map[string]int      // reasons of skips and their numbers
	start    time.Time
	said     time.Time // time of the last line
}

func newSummary(out io.Writer, packages, width int) *summary {
	now := time.Now()
	return &summary{out: out, packages: packages, width: width, start: now, said: now,
		running: map[string]*pkg{}, output: map[string][]string{}, reasons: map[string]int{}}
}

// add processes a line of the command's output.
func (s *summary) add(line string, now time.Time) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		s.say(now, line) // go's own message about a package that cannot be listed
		return
	}
	if e.Action == "build-output" {
		s.say(now, strings.TrimSuffix(e.Output, "\n"))
	}
	if e.Package == "" { // an event of a build
		return
	}
	p := s.running[e.Package]
	if p == nil {
		p = &pkg{}
		s.running[e.Package] = p
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		s.output[key] = append(s.output[key], e.Output)
	case "run":
		p.tests = append(p.tests, e.Test)
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.end(e, p, now)
		} else {
			s.endTest(e, p, now)
		}
		delete(s.output, key)
	}
}

func (s *summary) endTest(e event, p *pkg, now time.Time) {
	p.tests = slices.DeleteFunc(p.tests, func(t string) bool { return t == e.Test })
	switch out := s.output[e.Package+" "+e.Test]; e.Action {
	case "pass":
		p.passed++
	case "fail":
		p.failed++
		s.say(now, "--- FAIL "+e.Package+" "+e.Test+"\n"+strings.TrimSuffix(strings.Join(out, ""),
			"\n"))
	case "skip":
		p.skipped++
		s.reasons[reason(out)]++
	}
}

func (s *summary) end(e event, p *pkg, now time.Time) {
	delete(s.running, e.Package)
	if e.Action == "skip" { // a package without tests
		return
	}
	s.ended++
	if e.Action == "fail" {
		if p.failed == 0 { // not a test's failure, but a build, a crash, TestMain or the time limit
			p.failed++
			s.say(now, strings.TrimSuffix(strings.Join(s.output[e.Package+" "], ""), "\n"))
			for _, test := range p.tests {
				s.say(now, "--- not ended: "+test+"\n"+strings.TrimSuffix(
					strings.Join(s.output[e.Package+" "+test], ""), "\n"))
			}
		}
	}
	s.total.passed += p.passed
	s.total.failed += p.failed
	s.total.skipped += p.skipped
	line := fmt.Sprintf("%-4s  %-32s %7.1f s  %s", e.Action, e.Package, e.Elapsed, p.counts)
	if slices.ContainsFunc(s.output[e.Package+" "],
		func(out string) bool { return strings.Contains(out, "(cached)") }) {
		line += " (cached)"
	}
	s.say(now, line)
}

func (c counts) String() string {
	text := fmt.Sprintf("%d passed", c.passed)
	if c.failed > 0 {
		text += fmt.Sprintf(", %d failed", c.failed)
	}
	if c.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return text
}

// say prints one or several lines, and overwrites the line that shows the running tests.
func (s *summary) say(now time.Time, text string) {
	if s.width > 0 {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
	fmt.Fprintln(s.out, text)
	s.said = now
}

// tick shows the running tests: each second on a terminal, and elsewhere after a minute without a
// line.
func (s *summary) tick(now time.Time) {
	if s.width == 0 {
		if now.Sub(s.said) >= time.Minute {
			s.say(now, "...   "+s.state(now))
		}
		return
	}
	line := []rune(s.state(now))
	if len(line) >= s.width {
		line = append(line[:s.width-4], []rune("...")...)
	}
	fmt.Fprint(s.out, "\r\x1b[K", string(line))
}

// state returns the time, the number of packages that ended, and the running tests.
func (s *summary) state(now time.Time) string {
	seconds := int(now.Sub(s.start).Seconds())
	text := fmt.Sprintf("%d:%02d, %d", seconds/60, seconds%60, s.ended)
	if s.packages > 0 {
		text += fmt.Sprintf(" of %d", s.packages)
	}
	text += " packages"
	var names []string
	for name, p := range s.running {
		if len(p.tests) > 0 {
			names = append(names, strings.TrimPrefix(name, "distaff/")+" "+p.tests[len(p.tests)-1])
		}
	}
	if len(names) == 0 {
		return text + "; builds"
	}
	slices.Sort(names)
	return text + "; " + strings.Join(names, ", ")
}

// close prints the totals and reports whether everything passed.
func (s *summary) close(used, budget time.Duration) bool {
	now := time.Now()
	if len(s.reasons) > 0 {
		var list []string
		for r, n := range s.reasons {
			list = append(list, fmt.Sprintf("  %4d  %s", n, r))
		}
		slices.Sort(list)
		s.say(now, "skipped, and why:\n"+strings.Join(list, "\n"))
	}
	ok := s.total.failed == 0 && s.total.passed > 0
	s.say(now, fmt.Sprintf("%.0f s; %.0f s of processor time, builds included",
		now.Sub(s.start).Seconds(), used.Seconds()))
	if budget > 0 && used > budget {
		ok = false
		s.say(now, fmt.Sprintf(
			"FAIL  the tests may take %.0f s of processor time: what is slow is to be mended, "+
				"or belongs to `make fuzz`", budget.Seconds()))
	}
	s.say(now, fmt.Sprintf("%d passed, %d failed, %d skipped", s.total.passed, s.total.failed,
		s.total.skipped))
	return ok
}

// reason returns the message of a skip, which is its last line with "file.go:line: ".
func reason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		s := strings.TrimSpace(lines[i])
		if _, msg, ok := strings.Cut(s, ".go:"); ok {
			if _, m, ok := strings.Cut(msg, ": "); ok {
				return m
			}
		}
	}
	return "(no reason given)"
}
