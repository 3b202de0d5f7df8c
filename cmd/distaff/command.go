package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
	"distaff/codegen/diag"
)

// command is one of distaff's commands: its texts for help, man pages and completion, and its
// action.
type command struct {
	name     string
	args     string // e.g. STATEMENT, or IN OUT
	short    string
	long     string
	examples []string
	flags    []cli.Flag
	words    []string // completions of an argument
	hidden   bool
	// ranks reports whether every rank that a launcher started must run this command line. If it is
	// nil, only rank 0 runs the command.
	ranks  func(words []string) bool
	action func(*invocation) error
}

func commands() []*command {
	return []*command{
		runCommand(), compileCommand(), planCommand(), convertCommand(), infoCommand(),
		showCommand(), diffCommand(), spyCommand(), doctorCommand(), cacheCommand(),
		completionCommand(), versionCommand(), manCommand(), wrappersCommand(),
	}
}

func find(commands []*command, name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

// overview prints the list of commands.
func overview(commands []*command, w io.Writer) error {
	fmt.Fprint(w, `distaff compiles one line of tensor index notation and runs it on tensors from files.

Usage: distaff COMMAND [ARGUMENTS] [FLAGS]     (flags stand anywhere)

Commands:
`)
	for _, c := range commands {
		if !c.hidden {
			fmt.Fprintf(w, "  %-11s %s\n", c.name, c.short)
		}
	}
	fmt.Fprint(w, `  help        prints this, or what a command or a topic is

Topics, as in distaff help formats:
`)
	for _, t := range topics() {
		fmt.Fprintf(w, "  %-11s %s\n", t.name, t.short)
	}
	_, err := fmt.Fprint(w, `
Pages docs/*.md are in the source, and in share/doc/distaff of an installation.

Example: distaff run "y(i) = A(i,j) * x(j)" -i=A:matrix.mtx -g=x:dense -o=y:y.mtx
`)
	return err
}

// helpCommand implements `distaff help [COMMAND|TOPIC]`.
func helpCommand(args []string, commands []*command, stdout io.Writer) error {
	args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	switch len(args) {
	case 0:
		return overview(commands, stdout)
	case 1:
		if c := find(commands, args[0]); c != nil {
			return c.help(stdout)
		}
		if t, ok := findTopic(args[0]); ok {
			return t.help(stdout)
		}
		var names, about []string
		for _, c := range commands {
			if !c.hidden {
				names = append(names, c.name)
			}
		}
		for _, t := range topics() {
			about = append(about, t.name)
		}
		if near := diag.Nearest(args[0], slices.Concat(names, about)); near != "" {
			return argv.Errorf("there is no command or topic %q; did you mean %s?", args[0], near)
		}
		return argv.Errorf("there is no command or topic %q; the commands are %s; the topics are %s",
			args[0], strings.Join(names, ", "), strings.Join(about, ", "))
	}
	return argv.Errorf("help takes one command or topic; got %d arguments", len(args))
}

// help prints the whole help text of the command.
func (c *command) help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "distaff %s: %s\n\nUsage: %s\n\n%s\n", c.name, c.short, c.usage(),
		strings.TrimSpace(c.long))
	for _, cat := range categories {
		flags := c.category(cat)
		if len(flags) == 0 {
			continue
		}
		if cat == "" {
			cat = "Flags"
		}
		fmt.Fprintf(&b, "\n%s:\n", cat)
		for _, f := range flags {
			b.WriteString(argv.Help(f))
		}
	}
	if len(c.examples) > 0 {
		b.WriteString("\nExamples:\n")
		for _, e := range c.examples {
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *command) usage() string {
	return strings.Join(strings.Fields("distaff "+c.name+" "+c.args+" [FLAGS]"), " ")
}

func (c *command) category(cat string) []cli.Flag {
	var out []cli.Flag
	for _, f := range c.flags {
		if categoryOf(f) == cat {
			out = append(out, f)
		}
	}
	return out
}

func categoryOf(f cli.Flag) string { return f.(cli.CategorizableFlag).GetCategory() }

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
