package front

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"distaff/io/tcs"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Progress is a line on a terminal that is overwritten: how much of a file was
// read, how fast, and how long it will take. A nil Progress shows nothing.
type Progress struct {
	w     io.Writer
	mu    sync.Mutex
	file  string
	begun time.Time
	last  int64
	shown bool
}

// NewProgress is a Progress on w for --progress=always, for auto where w is a
// terminal and quiet is not set, and nil otherwise.
func NewProgress(w io.Writer, mode string, quiet bool) *Progress {
	if t, ok := w.(*Terminal); ok { // which would escape what moves the cursor
		w = t.w
	}
	if mode == "always" || mode != "never" && !quiet && IsTerminal(w) {
		return &Progress{w: w}
	}
	return nil
}

// Show replaces the line. total is 0 where it cannot be known.
func (p *Progress) Show(file string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if file != p.file || done < p.last { // another file, or a second pass
		p.file, p.begun = file, now
	}
	p.last, p.shown = done, true
	line := tcs.Printable(file) + ": " + tcs.Size(done)
	if total > 0 {
		line += fmt.Sprintf(" of %s (%d%%)", tcs.Size(total), int64(100*float64(done)/float64(total)))
	}
	if took := now.Sub(p.begun).Seconds(); took > 0.5 && done > 0 {
		rate := float64(done) / took
		line += ", " + tcs.Size(int64(rate)) + "/s"
		if total > done {
			line += fmt.Sprintf(", %s left", (time.Duration(float64(total-done)/rate+0.5) * time.Second))
		}
	}
	fmt.Fprint(p.w, "\r\033[K"+line)
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
		p.shown = false
	}
}
