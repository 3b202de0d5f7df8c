package front

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"distaff/io/coo"
	"distaff/io/tensor"

	"golang.org/x/term"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	if t, ok := w.(*Terminal); ok {
		w = t.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Progress is a line on a terminal that is overwritten again and again. It shows how much of a file
// was read, the rate, and the time left; or how much of some work was done; or which statement
// runs. Watch and Clear of a nil Progress do nothing.
type Progress struct {
	w     io.Writer
	mu    sync.Mutex
	file  string
	begun time.Time
	last  int64
	shown bool
	told  time.Time // when Show or Work was called last
}

// NewProgress returns a Progress on w, or nil if no progress must be shown. If mode is "always",
// it returns a Progress. If mode is "never", it returns nil. With any other mode, it returns a
// Progress if w is a terminal and quiet is false.
func NewProgress(w io.Writer, mode string, quiet bool) *Progress {
	if t, ok := w.(*Terminal); ok { // a Terminal would escape the characters that move the cursor
		w = t.w
	}
	if mode == "always" || mode != "never" && !quiet && IsTerminal(w) {
		return &Progress{w: w}
	}
	return nil
}

// Show replaces the line. done and total are bytes; total is 0 if it is unknown.
func (p *Progress) Show(file string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.since(file, done)
	line := tensor.Printable(file) + ": " + tensor.Bytes(done)
	if total > 0 {
		line += fmt.Sprintf(" of %s (%d%%)", tensor.Bytes(total),
			int64(100*float64(done)/float64(total)))
	}
	if took > 0.5 && done > 0 {
		line += ", " + tensor.Bytes(int64(float64(done)/took)) + "/s"
	}
	fmt.Fprint(p.w, "\r\033[K"+line+left(took, done, total))
}

// Work replaces the line by the name of some work (what) and the share of it that is done. If what
// is "", it removes the line.
func (p *Progress) Work(what string, done, total int64) {
	if what == "" {
		p.Clear()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.since(what, done)
	line := what
	if total > 0 {
		line += fmt.Sprintf(": %d%%", int64(100*float64(done)/float64(total)))
	}
	fmt.Fprint(p.w, "\r\033[K"+line+left(took, done, total))
}

// Running replaces the line by the text what, which names the running statement. It does nothing
// if Show or Work was called in the last half second.
func (p *Progress) Running(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.told) > time.Second/2 {
		p.shown = true
		fmt.Fprint(p.w, "\r\033[K"+what)
	}
}

// since records the work that the line now shows (what) and the finished amount of it (done). It
// returns the number of seconds since the line began to show this work.
func (p *Progress) since(what string, done int64) float64 {
	now := time.Now()
	if what != p.file || done < p.last { // another file, or a second pass
		p.file, p.begun = what, now
	}
	p.last, p.shown, p.told = done, true, now
	return now.Sub(p.begun).Seconds()
}

// left returns the estimated time left as text, or "" if it is unknown.
func left(took float64, done, total int64) string {
	if took <= 0.5 || done <= 0 || total <= done {
		return ""
	}
	return fmt.Sprintf(", %s left",
		time.Duration(float64(total-done)*took/float64(done)+0.5)*time.Second)
}

// Watch shows the progress of reading a stream until stop is called.
func (p *Progress) Watch(file string, s coo.Stream) (stop func()) {
	if p == nil {
		return func() {}
	}
	return coo.Watch(s, time.Second/5, func(done, total int64) { p.Show(file, done, total) })
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
