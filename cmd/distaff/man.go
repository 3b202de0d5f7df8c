package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/cmd/argv"
	"distaff/cmd/conv"
)

// manCommand returns the command that writes the man pages. make install runs this command.
func manCommand() *command {
	return &command{
		name: "man", args: "DIR", short: "writes the man pages into a folder", hidden: true,
		long: "Writes distaff.1 and distaff-COMMAND.1 for every command into DIR/man1, and\n" +
			"distaff-TOPIC.7 for every topic of help into DIR/man7.",
		flags:  talkFlags(),
		action: writeMan,
	}
}

func writeMan(x *invocation) error {
	if x.flags.Args().Len() != 1 {
		return argv.Errorf("man takes one folder")
	}
	dir := x.flags.Args().First()
	overview := &cli.App{Name: "distaff", UsageText: "distaff COMMAND [ARGUMENTS] [FLAGS]",
		Usage:       "compiles tensor index notation and runs it on tensors from files",
		Description: describe()}
	pages := []*cli.App{overview, tns2tcs().page("tns2tcs", "tns2tcs")}
	for _, c := range visible() {
		pages = append(pages, c.page("distaff-"+c.name, "distaff "+c.name))
	}
	if err := writePages(dir, 1, pages); err != nil {
		return err
	}
	pages = nil
	for _, t := range topics() {
		pages = append(pages, t.page())
	}
	return writePages(dir, 7, pages)
}

// writePages writes man pages of one section into its folder below dir.
func writePages(dir string, section int, pages []*cli.App) error {
	dir = filepath.Join(dir, fmt.Sprint("man", section))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	cli.MarkdownDocTemplate, cli.FlagStringer = manTemplate, manFlag
	for _, a := range pages {
		a.HideHelp, a.HideVersion = true, true
		a.Setup()
		text, err := a.ToManWithSection(section)
		if err != nil {
			return err
		}
		// A bare - is a hyphen, which no flag begins with.
		text = strings.NewReplacer(`\-`, `\-`, "-", `\-`).Replace(text)
		name := fmt.Sprint(a.Name, ".", section)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// manTemplate is the Markdown template of a man page. The template of package cli is not used,
// because it omits the names of flags' values.
const manTemplate = `% {{.App.Name}} {{.SectionNum}}

# NAME

{{.App.Name}} - {{.App.Usage}}

# SYNOPSIS

{{.App.UsageText}}

# DESCRIPTION

{{.App.Description}}
{{range .App.VisibleFlagCategories}}
# {{or .Name "Flags"}}
{{range .Flags}}{{.}}{{end}}{{else}}{{with .App.VisibleFlags}}
# FLAGS
{{range .}}{{.}}{{end}}{{end}}{{end}}
{{with index .App.Metadata "examples"}}# EXAMPLES

{{.}}{{end}}`

// markdown escapes the characters of a text that have a meaning in Markdown.
func markdown(s string) string { return special.ReplaceAllString(s, `\$0`) }

var special = regexp.MustCompile("[\\\\`*_{}\\[\\]()#+!:|<>~-]")

// manFlag returns the description of a flag in a man page.
func manFlag(f cli.Flag) string {
	head, usage := argv.Describe(f)
	return item(head, usage)
}

// item returns a list item in Markdown: a term and its meaning.
func item(term, means string) string {
	return "\n**" + markdown(term) + "**\n: " + markdown(means) + "\n"
}

// verbatim returns lines as Markdown that a man page prints unchanged.
func verbatim(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
}

// paragraphs returns the markdown of a text whose paragraphs are separated by blank lines. An
// indented paragraph is printed unchanged.
func paragraphs(s string) string {
	text := ""
	for _, part := range strings.Split(strings.Trim(s, "\n"), "\n\n") {
		if strings.HasPrefix(part, "  ") {
			text += verbatim(part) + "\n"
		} else {
			text += markdown(part) + "\n\n"
		}
	}
	return text
}

// describe returns the description for the man page distaff(1), which lists all commands that are
// not hidden.
func describe() string {
	text := "Each command and each topic has a page of its own. Pages docs/\\*.md are in the " +
		"source, and in share/doc/distaff of an installation.\n\n# COMMANDS\n"
	for _, c := range visible() {
		text += item("distaff-"+c.name+"(1)", c.short)
	}
	text += "\n# TOPICS\n"
	for _, t := range topics() {
		text += item("distaff-"+t.name+"(7)", t.short)
	}
	text += "\n# ENVIRONMENT\n"
	for _, e := range environment {
		text += item(e[0], e[1])
	}
	return text + "\n# EXIT STATUS\n\n0 done; 1 the run failed; 2 the command, statement, format, " +
		"sizes, schedule or placement is wrong; 3 input data is wrong; 4 a difference was found; " +
		"5 the memory limit would be passed; 130, 143 interrupted.\n"
}

// environment lists environment variables that users may set for distaff.
var environment = [][2]string{
	{"DISTAFF_CACHE", "the folder of compiled leaves (default: XDG_CACHE_HOME/distaff, or " +
		"~/.cache/distaff)"},
	{"DISTAFF_CC, DISTAFF_CFLAGS", "the C compiler, and further flags for it"},
	{"DISTAFF_BLAS",
		"the BLAS for products of dense operands: the path or name of an OpenBLAS, BLIS or MKL, " +
			"gonum, or none (default: the one that is linked in, or the first that is found)"},
	{"DISTAFF_MPICC, DISTAFF_MPI_WRAPPER",
		"the MPI compiler that builds the wrapper, or the wrapper itself"},
	{"DISTAFF_NVRTC, DISTAFF_CUBLAS, DISTAFF_CUSPARSE",
		"these CUDA libraries: a file or a folder, or none for DISTAFF_CUBLAS (default: the usual " +
			"folders, CUDA_HOME and CUDA_PATH)"},
	{"DISTAFF_MEMORY_LIMIT", "as --memory-limit"},
	{"DISTAFF_TMP", "as --tmp (default: TMPDIR)"},
	{"OMP_NUM_THREADS", "as --threads"},
	{"OMP_WAIT_POLICY, GOMP_SPINCOUNT",
		"how idle threads wait; without both, they sleep if there are more threads than cores"},
	{"NO_COLOR, LC_ALL, LC_CTYPE, LANG",
		"pictures in characters are plain ASCII if NO_COLOR is set, or if the locale (the " +
			"first of the others that is set) is not UTF-8"},
	{"CUDA_VISIBLE_DEVICES", "the GPUs that CUDA shows to the program"},
}

// tns2tcs returns the description of the program tns2tcs, which has a man page too.
func tns2tcs() *command {
	return &command{
		args: "IN.tns OUT.tcs", short: "converts a .tns file to a .tcs file",
		long: "Does what distaff convert does, for this one pair, on its own: in bounded " +
			"memory, sorting on disk what is larger.",
		examples: []string{"tns2tcs b.tns.gz b.tcs -f=sss"},
		flags:    conv.ProgramFlags(),
	}
}

// page returns the program that a man page describes. name is the name of the page, and call is
// what users type to start the program.
func (c *command) page(name, call string) *cli.App {
	a := &cli.App{Name: name, Usage: markdown(c.short), Description: paragraphs(c.long),
		Flags: c.flags, UsageText: markdown(call + " " + strings.TrimSpace(c.args+" [FLAGS]"))}
	if len(c.examples) > 0 {
		a.Metadata = map[string]any{"examples": verbatim(strings.Join(c.examples, "\n"))}
	}
	return a
}
