// Command distaff compiles one line of tensor index notation to C and runs it on tensors from
// files. See docs/reference.md, or distaff help.
//
// # Files
//
//	main.go        the entry: selects the command; exit codes
//	library.go     the commands in the shared library (package libdistaff)
//	command.go     the table of commands, and help
//	topics.go      help about topics; their texts are in topics/
//	flags.go       flags that commands share
//	einsum.go      statements from --einsum and --broadcast
//	jobfile.go     a spmd.FileJob from a job file and flags, and its run
//	job.go         a spmd.Job from flags
//	run.go         run
//	compile.go     compile, with its --emit stages
//	plan.go        plan; planprint.go, its text; planfile.go, the plan of a job file; planwhy.go,
//	               why a plan is as it is, and other plans of the same job
//	convert.go     convert
//	show.go        show; how show, info, diff and spy read a file
//	info.go        info
//	entries.go     statistics of entries for info: modes, and the structure of a matrix
//	diff.go        diff
//	spy.go         spy
//	cache.go       cache
//	doctor.go      doctor; machine.go, its report of the machine model
//	wrappers.go    wrappers: builds the MPI wrappers for installation
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
	"distaff/codegen/diag"
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
	if n := len(args) - 1; n > 1 && args[n] == askWords {
		return complete(args[1:n], stdout)
	}
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
	return c.run(ctx, arranged.List(), stdout, stderr, args, c.action)
}

// run parses the flags of a command line and calls action with the parsed flags. words has the
// command line without the command's name, with its flags first. given is the command line as the
// user wrote it.
func (c *command) run(ctx context.Context, words []string, stdout, stderr io.Writer,
	given []string, action func(*invocation) error) error {
	app := &cli.App{
		Name: "distaff", Writer: stdout, ErrWriter: stderr,
		HideHelp: true, HideVersion: true, HideHelpCommand: true,
		DisableSliceFlagSeparator: true,
		Flags:                     c.flags,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError: func(_ *cli.Context, err error, _ bool) error {
			return argv.Errorf("%v", err)
		},
		Action: func(x *cli.Context) error {
			return action(&invocation{flags: x, name: c.name, stdout: stdout, stderr: stderr,
				argv: given})
		},
	}
	return app.RunContext(ctx, append([]string{"distaff"}, words...))
}

// takesPart reports whether every rank that a launcher started must run this command line. words
// has the words of the line, and words[at] is the command. If at is negative, the line has no
// command.
func takesPart(commands []*command, words []string, at int) bool {
	if at < 0 {
		return false
	}
	c := find(commands, words[at])
	return c != nil && c.ranks != nil && c.ranks(words) && !flagIn(words, "help", "h")
}

// flagIn reports whether one of the words before "--" is a flag with one of these names.
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

// invocation is a command line that is being run.
type invocation struct {
	flags          *cli.Context
	name           string // of the command
	stdout, stderr io.Writer
	argv           []string
	file           *jobfile.File // the command's job file; nil if it has none
	operands       []string      // the operands of --einsum, in the form of -i
	result         string        // the name of the result of --einsum, or ""
	reads          []outfile.Use // files that the command reads; its job's only after apartFrom
}

// apart returns an error if a file that the command or its job writes is also used for something
// else. Writing would destroy what the other use needs (see outfile.Apart). Commands call apart
// before they write. job has the files that the job uses, and writes has the files that the command
// itself writes.
func (x *invocation) apart(job []outfile.Use, writes ...outfile.Use) error {
	return outfile.Apart(slices.Concat(x.reads, job, writes)...)
}

// apartFrom is like apart, for a command that writes a single file and none of the job's outputs.
// It returns an error if the command reads this file, for example as an input of the job. path is
// the path of the file, which is the value of the flag called flag. If path is "", the command
// writes no file.
func (x *invocation) apartFrom(job []outfile.Use, flag, path string) error {
	for _, u := range job {
		if !u.Writes {
			x.reads = append(x.reads, u)
		}
	}
	if path == "" {
		return nil
	}
	return x.apart(nil, outfile.Use{What: "--" + flag + "=" + path, Path: path, Writes: true})
}

// note prints a message to standard error, unless -q is set.
func (x *invocation) note(format string, args ...any) {
	if !x.flags.Bool("q") {
		fmt.Fprintf(x.stderr, "distaff: "+format+"\n", args...)
	}
}

// line prints s as a note.
func (x *invocation) line(s string) { x.note("%s", s) }

// noCommand runs a command line without a command: it prints help, the version, or an error.
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
		return argv.Errorf("got no command; distaff help lists them")
	}
	overview(commands, stderr)
	return &front.Silent{Code: 2}
}

// unknownCommand returns the error for a first word that is not a command: a statement, as
// TACO's users write it, subscripts of einsum, or a typing error.
func unknownCommand(name string, names []string) error {
	if strings.Contains(name, "=") || strings.Contains(name, "->") {
		return argv.Errorf(
			"the statement must come after a command: either distaff run %q or distaff "+
				"compile %q", name, name)
	}
	if strings.HasSuffix(name, ".dst") {
		return argv.Errorf("the job file must come after a command, as in distaff run %s", name)
	}
	if _, ok := findTopic(name); ok {
		return argv.Errorf(
			"%s is a topic of the help, not a command; use distaff help %s", name, name)
	}
	if near := diag.Nearest(name, names); near != "" {
		return argv.Errorf("there is no command %q; did you mean %s?", name, near)
	}
	return argv.Errorf("there is no command %q; the commands are %s", name,
		strings.Join(names, ", "))
}
