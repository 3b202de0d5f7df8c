package jobs

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"distaff/codegen/jobfile"
	"distaff/io/tensor"
)

// runningTick is how often it is told what runs.
const runningTick = time.Second / 5

// maxShown is how many characters of a statement are told.
const maxShown = 60

// running is where in a file its run is. One goroutine moves it on and another one reads it.
type running struct {
	mu      sync.Mutex
	now     *jobfile.Statement // nil between statements
	repeats []repeated         // around it, the outermost first
}

// repeated is a repeat on its way.
type repeated struct {
	t    *jobfile.Repeat
	pass int64 // from 0
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

// text says what runs: its line, the passes of the repeats around it, for how many seconds the job
// has run, how far its leaf is (leaf, "" if that is unknown), and the statement. It is "" between
// statements outside of repeats.
func (r *running) text(f *jobfile.File, took time.Duration, leaf string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil && len(r.repeats) == 0 {
		return ""
	}
	var at jobfile.Item = r.now
	if r.now == nil {
		at = r.repeats[len(r.repeats)-1].t
	}
	line, _ := f.Position(at.Span().Pos)
	words := []string{fmt.Sprintf("%s:%d", tensor.Printable(f.Name), line)}
	for _, p := range r.repeats {
		words = append(words, fmt.Sprintf("pass %d of %d", p.pass+1, p.t.N))
	}
	words = append(words, fmt.Sprintf("%.0f s", took.Seconds()))
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

// watch tells Options.Running what runs, at rank 0, until stop is called.
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
