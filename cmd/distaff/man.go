package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
)

// manCommand writes the man pages; make install runs it.
func manCommand() *command {
	return &command{
		name: "man", args: "DIR", short: "writes the man pages into a folder", hidden: true,
		long:   "Writes distaff.1 and distaff-COMMAND.1 for every command into DIR.",
		flags:  talkFlags(),
		action: writeMan,
	}
}

func writeMan(x *invocation) error {
	if x.flags.Args().Len() != 1 {
		return argv.Errorf("man wants one folder")
	}
	dir := x.flags.Args().First()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	pages := map[string]string{"distaff.1": manOverview(visible())}
	for _, c := range visible() {
		pages["distaff-"+c.name+".1"] = c.man("distaff-"+c.name, "distaff "+c.name)
	}
	pages["tns2tcs.1"] = tns2tcs().man("tns2tcs", "tns2tcs")
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// roff escapes text for troff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for k, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[k] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func manOverview(commands []*command) string {
	var b strings.Builder
	b.WriteString(".TH DISTAFF 1\n.SH NAME\ndistaff \\- compiles tensor index notation and runs " +
		"it on tensors from files\n")
	b.WriteString(".SH SYNOPSIS\n.B distaff\n.I COMMAND\n[ARGUMENTS] [FLAGS]\n.SH COMMANDS\n")
	for _, c := range commands {
		fmt.Fprintf(&b, ".TP\n.BR distaff\\-%s (1)\n%s\n", c.name, roff(c.short))
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, e := range environment {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", e[0], roff(e[1]))
	}
	b.WriteString(".SH EXIT STATUS\n0 done; 1 the run failed; 2 the command, statement, format, " +
		"sizes, schedule or placement is wrong; 3 input data is wrong; " +
		"4 a difference was found; 5 the memory limit would be passed; 130, 143 interrupted.\n")
	return b.String()
}

// environment lists the environment variables that distaff reads.
var environment = [][2]string{
	{"DISTAFF_CACHE", "the folder of compiled leaves (default: XDG_CACHE_HOME/distaff)"},
	{"DISTAFF_CC, DISTAFF_CFLAGS", "the C compiler, and further flags for it"},
	{"DISTAFF_BLAS",
		"the BLAS for products of dense operands: the path or name of an OpenBLAS, BLIS or MKL, " +
			"gonum, or none; else one that is linked in, or the first that is found"},
	{"DISTAFF_MPICC, DISTAFF_MPI_WRAPPER",
		"the MPI compiler that builds the wrapper, or the wrapper itself"},
	{"DISTAFF_MEMORY_LIMIT", "as --memory-limit"},
	{"DISTAFF_TMP", "as --tmp (default: TMPDIR)"},
	{"OMP_NUM_THREADS", "threads a rank"},
	{"NO_COLOR, LC_ALL, LC_CTYPE, LANG",
		"pictures in characters are plain ASCII where NO_COLOR is set, or the first of the " +
			"others that is set says no UTF-8"},
	{"CUDA_VISIBLE_DEVICES", "as elsewhere"},
}

// tns2tcs describes the program tns2tcs.
func tns2tcs() *command {
	return &command{
		args: "IN.tns OUT.tcs", short: "converts a .tns file to a .tcs file",
		long: "Does what distaff convert does, for this one pair, on its own: in bounded " +
			"memory, sorting on disk what is larger.",
		examples: []string{"tns2tcs b.tns.gz b.tcs -f=sss"},
		flags:    conv.Flags(),
	}
}

// man returns the man page named page of the command line name.
func (c *command) man(page, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n", strings.ToUpper(roff(page)), roff(page),
		roff(c.short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n%s\n.SH DESCRIPTION\n", name,
		roff(strings.TrimSpace(c.args+" [FLAGS]")))
	for _, part := range strings.Split(strings.TrimSpace(c.long), "\n\n") {
		if strings.HasPrefix(part, "  ") {
			fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(part))
		} else {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(part))
		}
	}
	for _, cat := range categories {
		flags := c.category(cat)
		if len(flags) == 0 {
			continue
		}
		if cat == "" {
			cat = "Flags"
		}
		fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(roff(cat)))
		for _, f := range flags {
			head, usage := argv.Describe(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(head), roff(usage))
		}
	}
	if len(c.examples) > 0 {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for _, e := range c.examples {
			fmt.Fprintf(&b, "%s\n", roff(e))
		}
		b.WriteString(".fi\n")
	}
	return b.String()
}
