package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"distaff/cmd/argv"
	"distaff/io/outfile"
	"distaff/spmd"

	"golang.org/x/term"
)

func runCommand() *command {
	return &command{
		name: "run", args: "STATEMENT", short: "runs a statement on tensors from files",
		long: `Runs one statement of tensor index notation: loads its operands, computes, and
writes or prints the result. A scalar result without -o is printed, another one
is summed up in one line. Sizes come from the inputs; -d gives those that no
input knows. Exit codes: 0 done, 1 the run failed, 2 the command or statement is
wrong, 3 the data is wrong, 4 --check found a difference, 5 the memory limit
would be passed.`,
		examples: []string{
			`distaff run "A(i,l) = B(i,j,k) * C(j,l) * D(k,l)" -f=B:sss -i=B:b.tns -i=C:c.npy -i=D:d.npy -o=A:a.npy`,
			`distaff run "y(i) = A(i,j) * x(j)" -i=A:matrix.mtx -g=x:dense -o=y:y.mtx`,
			`distaff run "s = A(i,j) * A(i,j)" -i=A:matrix.mtx.gz`,
			`distaff run "C(i,j) = A(i,k) * B(k,j)" -g=A:uniform:1000000 -g=B:zipf:1000000:1.1 -d=A:100000,100000 -d=j:100000 -f=C:ds --check`,
		},
		flags:  join(dataFlags(), placeFlags(), machineFlags(), runFlags(), talkFlags()),
		action: run,
	}
}

func run(x *invocation) error {
	statement, err := x.statement()
	if err != nil {
		return err
	}
	if strings.HasSuffix(statement, ".dst") && !strings.Contains(statement, "=") {
		return argv.Errorf("%s: job files are not built yet; give the statement and its flags", statement)
	}
	if len(x.StringSlice("D")) > 0 {
		return argv.Errorf("-D sets a parameter of a job file, and %q is a statement", statement)
	}
	j, err := x.job(statement)
	if err != nil {
		return err
	}
	j.Checksums = x.IsSet("stats")
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	var bar *progress
	if mode == "always" || (mode == "" || mode == "auto") && !x.Bool("q") && isTerminal(x.stderr) {
		bar = &progress{w: x.stderr}
		j.Progress = bar.show
	}
	report, err := j.Run(x.Context.Context)
	bar.clear()
	var other *spmd.OtherRank
	if errors.As(err, &other) {
		return &silent{exitCode(err)}
	}
	if report == nil { // a failure, or a rank other than 0
		return err
	}
	// A difference that --check found is an error with a report.
	if path := x.String("stats"); path != "" {
		if werr := writeWhole(path, report.Stats.JSON()); werr != nil && err == nil {
			err = werr
		}
	}
	for _, line := range report.Lines {
		if _, werr := fmt.Fprintln(x.stdout, line); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// writeWhole writes a small file that appears whole or not at all.
func writeWhole(path string, text []byte) error {
	f, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Commit()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// progress is a line that is overwritten.
type progress struct {
	w     io.Writer
	mu    sync.Mutex
	shown bool
}

func (p *progress) show(file string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = true
	if total > 0 {
		fmt.Fprintf(p.w, "\r\033[K%s: %s of %s (%d%%)", file, spmd.FormatSize(done), spmd.FormatSize(total), done*100/total)
		return
	}
	fmt.Fprintf(p.w, "\r\033[K%s: %s", file, spmd.FormatSize(done))
}

// clear removes the line. A nil progress shows nothing.
func (p *progress) clear() {
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
