// Command distaff compiles one line of tensor index notation to C and runs it
// on tensors from files. See docs/reference.md, or distaff help.
//
// # Files
//
//	main.go        the entry: which command runs, exit codes
//	command.go     the table of commands, and what help says of them
//	flags.go       flags that commands share
//	jobfile.go     a spmd.FileJob from a job file and flags, and its run
//	job.go         a spmd.Job from flags
//	run.go         run
//	compile.go     compile, with its --emit stages
//	plan.go        plan; planprint.go, its text; planfile.go, the plan of a job file
//	convert.go     convert
//	show.go        show, and how show, info, diff and spy read a file
//	info.go        info
//	entries.go     what info reads of the entries: modes, and where those of a matrix lie
//	diff.go        diff
//	spy.go         spy
//	cache.go       cache
//	doctor.go      doctor; machine.go, what it tells of the machine model
//	wrappers.go    wrappers: the MPI wrappers, built ahead
//	version.go     version
//	completion.go  shell completion
//	man.go         man pages
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	_ "distaff/cmd/limits"
	"distaff/codegen/jobfile"
	"distaff/io/outfile"
	"distaff/spmd"
	"distaff/spmd/comm"
)

func main() {
	spmd.ServeCompiler()
	os.Exit(mainExit(os.Args, os.Stdout, os.Stderr))
}

// mainExit runs one command line and returns its exit code.
func mainExit(args []string, stdout, stderr io.Writer) int {
	out, words := front.NewTerminal(stdout), front.NewTerminal(stderr)
	defer out.Flush()
	defer words.Flush()
	stdout, stderr = out, words
	return front.Main("distaff", stderr, func(ctx context.Context) error {
		err := dispatch(ctx, args, stdout, stderr)
		err = spmd.EndLaunched(ctx, err, func(err error) {
			var rank *comm.RankError
			if errors.As(err, &rank) {
				fmt.Fprintln(stderr, front.Clip(err.Error()))
			} else {
				front.Report("distaff", err, stderr)
			}
		})
		var other *spmd.OtherRank
		if errors.As(err, &other) {
			return &front.Silent{Code: front.ExitCode(err)}
		}
		return err
	})
}

// dispatch finds the command, arranges its flags and runs it.
func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	commands := commands()
	var all []cli.Flag
	var names []string
	for _, c := range commands {
		all = append(all, c.flags...)
		if !c.hidden {
			names = append(names, c.name)
		}
	}
	rest := args[1:]
	at := argv.NewTable(all).Positional(rest)
	if !takesPart(commands, rest, at) && front.Idle("distaff", stderr) {
		return nil
	}
	if at < 0 {
		return noCommand(rest, commands, stdout, stderr)
	}
	name := rest[at]
	if name == "help" {
		return helpCommand(slices.Delete(slices.Clone(rest), at, at+1), commands, stdout)
	}
	c := find(commands, name)
	if c == nil {
		return unknownCommand(name, names)
	}
	rest = slices.Delete(slices.Clone(rest), at, at+1)
	if at > 0 && rest[at-1] == "--" {
		rest = slices.Delete(rest, at-1, at)
	}
	arranged, err := argv.NewTable(c.flags).Arrange(rest)
	if err != nil {
		return err
	}
	if slices.Contains(arranged.Flags, "--help") {
		return c.help(stdout)
	}
	app := &cli.App{
		Name: "distaff", Writer: stdout, ErrWriter: stderr,
		HideHelp: true, HideVersion: true, HideHelpCommand: true,
		DisableSliceFlagSeparator: true,
		Flags:                     c.flags,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(_ *cli.Context, err error, _ bool) error { return argv.Errorf("%v", err) },
		Action: func(x *cli.Context) error {
			return c.action(&invocation{Context: x, name: name, stdout: stdout, stderr: stderr, argv: args})
		},
	}
	return app.RunContext(ctx, append([]string{"distaff"}, arranged.List()...))
}

// takesPart reports whether the command line, whose command is its word at, is a job of all ranks
// that a launcher has started.
func takesPart(commands []*command, words []string, at int) bool {
	if at < 0 {
		return false
	}
	c := find(commands, words[at])
	return c != nil && c.ranks != nil && c.ranks(words) && !flagIn(words, "help", "h")
}

// flagIn reports whether one of the words before "--" is a flag of those names.
func flagIn(words []string, names ...string) bool {
	for _, w := range words {
		if w == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if strings.HasPrefix(w, "-") && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// invocation is one command as it runs.
type invocation struct {
	*cli.Context
	name           string // the command's
	stdout, stderr io.Writer
	argv           []string
	file           *jobfile.File // that the command is about; nil for a statement
	reads          []outfile.Use // files that the command reads beside what its job does
}

// apart refuses files of the command and its job that are one, before anything runs: one would
// be lost. writes are the files that the command writes itself.
func (x *invocation) apart(job []outfile.Use, writes ...outfile.Use) error {
	return outfile.Apart(slices.Concat(x.reads, job, writes)...)
}

// told is apart for a command that writes none of its job's files, but the file out of a flag;
// "" for none.
func (x *invocation) told(job []outfile.Use, flag, out string) error {
	for _, u := range job {
		if !u.Writes {
			x.reads = append(x.reads, u)
		}
	}
	if out == "" {
		return nil
	}
	return x.apart(nil, outfile.Use{What: "--" + flag + "=" + out, Path: out, Writes: true})
}

// note prints a line of diagnostics, unless -q.
func (x *invocation) note(format string, args ...any) {
	if !x.Bool("q") {
		fmt.Fprintf(x.stderr, "distaff: "+format+"\n", args...)
	}
}

// line is note of a line as it is.
func (x *invocation) line(s string) { x.note("%s", s) }

// noCommand serves a command line of flags alone.
func noCommand(args []string, commands []*command, stdout, stderr io.Writer) error {
	for _, a := range args {
		switch strings.TrimLeft(a, "-") {
		case "h", "help":
			return overview(commands, stdout)
		case "version", "V":
			return printVersion(stdout)
		}
	}
	if len(args) > 0 {
		return argv.Errorf("there is no command here; distaff help lists them")
	}
	overview(commands, stderr)
	return &front.Silent{Code: 2}
}

// unknownCommand explains a first word that is no command: a TACO user's
// statement, einsum's subscripts, or a slip of the finger.
func unknownCommand(name string, names []string) error {
	if strings.Contains(name, "=") || strings.Contains(name, "->") {
		return argv.Errorf("a command comes before the statement: distaff run %q runs it on data, and distaff compile %q prints its code", name, name)
	}
	if strings.HasSuffix(name, ".dst") {
		return argv.Errorf("a command comes before the job file: distaff run %s", name)
	}
	if near := argv.Nearest(name, names); near != "" {
		return argv.Errorf("there is no command %q; did you mean %s?", name, near)
	}
	return argv.Errorf("there is no command %q; the commands are %s", name, strings.Join(names, ", "))
}
