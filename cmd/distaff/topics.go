package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"distaff/codegen/jobfile"
	"distaff/codegen/schedule"
	"distaff/io/convert"
	"distaff/io/gen"
	"distaff/io/tensor"
)

// topicFiles has the text of each topic. The first line summarizes the topic. newTopic replaces
// each name in double braces by a generated table or list.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// topic is a subject that help explains, other than a command.
type topic struct {
	name  string
	short string // what the topic is about, in one line
	text  string
}

func topics() []topic {
	var out []topic
	for _, name := range []string{"notation", "formats", "schedules", "jobs", "placement", "files"} {
		out = append(out, newTopic(name))
	}
	return out
}

func newTopic(name string) topic {
	raw, err := topicFiles.ReadFile("topics/" + name + ".txt")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var levels [][2]string
	for _, k := range tensor.Kinds {
		levels = append(levels, [2]string{k.String(), k.Words()})
	}
	short, text, _ := strings.Cut(string(raw), "\n\n")
	return topic{name, short, strings.NewReplacer(
		"{{levels}}", table(levels),
		"{{types}}", strings.Replace(tensor.TypeList, ", complex64", ",\ncomplex64", 1),
		"{{commands}}", table(schedule.Help()),
		"{{lines}}", table(jobfile.Lines),
		"{{whole}}", strings.Join(jobfile.Linalgs(), " "),
		"{{clauses}}", table(jobfile.Clauses),
		"{{indented}}", table(jobfile.Indented),
		"{{files}}", table(convert.Help()),
		"{{kinds}}", gen.Forms,
	).Replace(text)}
}

// table returns a line for each row: a term and its meaning. If the term is long, or the line would
// have more than 80 columns, the term has lines of its own, above its meaning.
func table(rows [][2]string) string {
	const indent, longest, columns = 2, 31, 80
	width := 0
	for _, r := range rows {
		if len(r[0]) <= longest {
			width = max(width, len(r[0]))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		term, means := r[0], r[1]
		if width < len(term) || indent+width+2+len(means) > columns {
			for len(term) > columns-indent {
				cut := strings.LastIndex(term[:columns-indent], " ")
				fmt.Fprintf(&b, "  %s\n", term[:cut])
				term = term[cut+1:]
			}
			fmt.Fprintf(&b, "  %s\n", term)
			term = ""
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", width, term, means)
	}
	return b.String()
}

func findTopic(name string) (topic, bool) {
	all := topics()
	k := slices.IndexFunc(all, func(t topic) bool { return t.name == name })
	if k < 0 {
		return topic{}, false
	}
	return all[k], true
}

// help prints the topic.
func (t topic) help(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n\n%s", t.name, t.short, t.text)
	return err
}

// page returns the program whose man page explains the topic.
func (t topic) page() *cli.App {
	return &cli.App{Name: "distaff-" + t.name, Usage: markdown(t.short),
		UsageText: markdown("distaff help " + t.name), Description: paragraphs(t.text)}
}
