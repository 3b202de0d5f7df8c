package jobs

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"distaff/codegen/jobfile"
	"distaff/io/tensor"
)

// runningTick is the interval between two calls of Options.Running.
const runningTick = time.Second / 5

// maxShown is the largest number of characters of a statement that running.text shows.
const maxShown = 60

// running is the position of a run in its file. One goroutine updates it and another one reads it.
type running struct {
	mu      sync.Mutex
	now     *jobfile.Statement // nil between statements
	repeats []repeated         // the repeats around it, outermost first
}

// repeated is a repeat that is running.
type repeated struct {
	t    *jobfile.Repeat
	pass int64 // the current pass, from 0
}

func (r *running) statement(s *jobfile.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = s
}

func (r *running) enter(t *jobfile.Repeat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeats = append(r.repeats, repeated{t: t})
}

// pass begins pass n of the innermost repeat, from 0.
func (r *running) pass(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeats[len(r.repeats)-1].pass = n
}

func (r *running) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repeats = r.repeats[:len(r.repeats)-1]
}

// text describes the statement that is running. It gives the line of the statement in the file, the
// current pass of each enclosing repeat, elapsed in seconds, leaf, and the text of the statement.
// elapsed is the time since the job began. leaf describes the progress of the statement's leaf, or
// is "" if the progress is unknown. Between statements, text describes the innermost repeat;
// outside of repeats it returns "".
func (r *running) text(f *jobfile.File, elapsed time.Duration, leaf string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil && len(r.repeats) == 0 {
		return ""
	}
	var at jobfile.Item = r.now
	if r.now == nil {
		at = r.repeats[len(r.repeats)-1].t
	}
	file, line, _ := f.Place(at.Span().Pos)
	words := []string{fmt.Sprintf("%s:%d", tensor.Printable(file), line)}
	for _, p := range r.repeats {
		words = append(words, fmt.Sprintf("pass %d of %d", p.pass+1, p.t.N))
	}
	words = append(words, fmt.Sprintf("%.0f s", elapsed.Seconds()))
	if leaf != "" {
		words = append(words, leaf)
	}
	text := strings.Join(words, ", ")
	if r.now != nil {
		statement := []rune(strings.Join(strings.Fields(r.now.Text), " "))
		if len(statement) > maxShown {
			statement = append(statement[:maxShown-3], []rune("...")...)
		}
		text += ": " + tensor.Printable(string(statement))
	}
	return text
}

// watch starts to call Options.Running at rank 0. The caller must call stop, which ends the calls.
func (r *execution) watch() (stop func()) {
	if r.o.Running == nil || r.p.Rank() != 0 {
		return func() {}
	}
	leaf := r.p.TrackLeaves()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(runningTick)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			took := time.Since(r.start)
			if text := r.running.text(r.names.f, took, leaf()); text != "" && took >= r.o.RunningAfter {
				r.o.Running(text)
			}
		}
	}()
	return func() { close(quit); <-ended }
}
