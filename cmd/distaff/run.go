package main

import (
	"fmt"

	"distaff/cmd/front"
	"distaff/io/outfile"
	textio "distaff/io/text"
)

func runCommand() *command {
	return &command{
		name: "run", args: "STATEMENT|FILE.dst",
		short: "runs a statement, or a job file, on tensors from files",
		long: `Runs one statement of tensor index notation: loads its operands, computes, and
writes or prints the result. If the argument is a job file (FILE.dst), run
executes all of its statements over tensors that stay in memory (docs/jobs.md).
A scalar result without -o is printed; any other result is summarized in one
line. Sizes come from the inputs, and -d gives sizes that no input has. The exit
code is 0 if the run is done, 1 if it failed, 2 if the command or statement is
wrong, 3 if the data is wrong, 4 if --check found a difference, and 5 if the
memory limit would be exceeded.`,
		examples: []string{
			`distaff run "A(i,l) = B(i,j,k) * C(j,l) * D(k,l)" -f=B:sss -i=B:b.tns ` +
				`-i=C:c.npy -i=D:d.npy -o=A:a.npy`,
			`distaff run "y(i) = A(i,j) * x(j)" -i=A:matrix.mtx -g=x:dense -o=y:y.mtx`,
			`distaff run "s = A(i,j) * A(i,j)" -i=A:matrix.mtx.gz`,
			`distaff run "C(i,j) = A(i,k) * B(k,j)" -g=A:uniform:1000000 ` +
				`-g=B:zipf:1000000:1.1 -d=A:100000,100000 -d=j:100000 -f=C:ds --check`,
			`distaff run job.dst -D n=4096 -i=A:matrix.mtx -o=x:x.npy --ranks=4`,
		},
		flags:  join(dataFlags(), placeFlags(), machineFlags(), runFlags(), talkFlags()),
		action: run,
		ranks:  func([]string) bool { return true },
	}
}

func run(x *invocation) error {
	if x.isJobFile() {
		return runFile(x)
	}
	statement, err := x.statement()
	if err != nil {
		return err
	}
	j, err := x.job(statement)
	if err != nil {
		return err
	}
	j.Checksums, j.StatsFile = x.flags.IsSet("stats"), x.flags.String("stats")
	if err := x.apart(j.Files()); err != nil {
		return err
	}
	mode, err := x.choice("progress", "auto", "always", "never")
	if err != nil {
		return err
	}
	bar := front.NewProgress(x.stderr, mode, x.flags.Bool("q"))
	if bar != nil {
		j.Progress, j.Working = bar.Show, bar.Work
	}
	report, err := j.Run(x.flags.Context)
	bar.Clear()
	if report == nil { // an error, or a rank other than 0
		return err
	}
	// If --check found a difference, there is an error and a report.
	w := x.stdout
	if outfile.Stdout(j.StatsFile) {
		w = x.stderr
	}
	for _, o := range j.Outputs {
		// A tensor is written there, and lines would damage it.
		if textio.Stdin(o.File) || outfile.Stdout(o.File) {
			w = x.stderr
		}
	}
	for _, line := range report.Lines {
		if _, werr := fmt.Fprintln(w, line); werr != nil && err == nil {
			err = werr
		}
	}
	return err
}

// writeWhole writes a small file. A regular file appears complete or not at all.
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
