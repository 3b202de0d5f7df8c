package jobfile

import (
	"strings"

	"distaff/codegen/schedule"
)

// String returns the file as a text without comments. If no flag changed the file, Parse of this
// text returns the same file, except for places.
func (f *File) String() string {
	p := &printer{}
	p.items(f.Items)
	return p.out.String()
}

type printer struct {
	out    strings.Builder
	indent string
}

func (p *printer) line(words ...string) {
	p.out.WriteString(p.indent + strings.Join(words, " ") + "\n")
}

// indented prints lines that are indented under the previous line.
func (p *printer) indented(lines func()) {
	old := p.indent
	p.indent += "  "
	lines()
	p.indent = old
}

func (p *printer) items(items []Item) {
	for _, it := range items {
		it.print(p)
	}
}

func (t *Param) print(p *printer) { p.line("param", t.Name, "=", t.text) }

func (t *Machine) print(p *printer) {
	if t.Text != "" {
		p.line("machine", t.Name, "=", `"`+t.Text+`"`)
		return
	}
	p.line("machine", t.Name+sizeList(t.Extents))
}

func sizeList(sizes []Size) string {
	words := make([]string, len(sizes))
	for k, s := range sizes {
		words[k] = s.String()
	}
	return "(" + strings.Join(words, ", ") + ")"
}

func (t *Tensor) print(p *printer) {
	head := t.Name
	if t.Order > 0 {
		head += sizeList(t.Sizes)
	}
	if t.Format != "" {
		head += ": " + t.Format
	}
	words := []string{"tensor", head}
	if t.Type != "" {
		words = append(words, "type", t.Type)
	}
	if t.Placement != nil {
		words = append(words, "place", t.Placement.Placement.String())
	}
	switch {
	case t.From != "":
		words = append(words, "from", `"`+t.From+`"`)
		if t.IndexBase != "" {
			words = append(words, "index-base", t.IndexBase)
		}
		if t.Duplicates != "" {
			words = append(words, "duplicates", t.Duplicates)
		}
	case t.from != "":
		words = append(words, "from", t.from)
	case t.FromKind != "" || t.FromNumber != "":
		words = append(words, "from", t.FromKind+t.FromNumber)
	}
	if t.To != "" {
		words = append(words, "to", `"`+t.To+`"`)
	}
	p.line(words...)
}

func (s *Statement) print(p *printer) {
	p.line(s.raw.String())
	p.indented(func() {
		for _, c := range s.Schedule {
			p.line(c.text())
		}
		for _, b := range s.lines {
			p.line(b.word, b.value)
		}
	})
}

// text returns a command as in the file, on one line.
func (c *Command) text() string {
	list, err := schedule.Parse([]string{c.raw})
	if err != nil || len(list) != 1 {
		panic("BUG: jobfile: a command that was parsed is none")
	}
	return list[0].Name + "(" + argsText(list[0].Args) + ")"
}

func argsText(args []schedule.Arg) string {
	words := make([]string, len(args))
	for k, a := range args {
		switch {
		case a.List != nil:
			words[k] = "{" + argsText(a.List) + "}"
		case strings.HasPrefix(a.Text, `"`):
			words[k] = a.Text
		default: // only the blank characters of a schedule separate words
			words[k] = strings.Join(wordsOf(a.Text), " ")
		}
	}
	return strings.Join(words, ", ")
}

func (t *Linalg) print(p *printer) { p.line(t.String()) }

func (t *Place) print(p *printer) { p.line("place", t.Name, t.Placement.Placement.String()) }

func (t *Print) print(p *printer) { p.line("print", t.Name) }

func (t *Repeat) print(p *printer) {
	words := []string{"repeat", t.count.String()}
	if t.Until != nil {
		words = append(words, "until", t.Until.String())
	}
	if t.Fail {
		words = append(words, "or fail")
	}
	p.line(append(words, "{")...)
	p.indented(func() { p.items(t.Body) })
	p.line("}")
}

func (t *If) print(p *printer) { t.printFrom(p, "if") }

// printFrom prints t with the given words before its condition: "if" or "} else if".
func (t *If) printFrom(p *printer, words string) {
	p.line(words, t.Cond.String(), "{")
	p.indented(func() { p.items(t.Then) })
	switch {
	case t.chained:
		t.Else[0].(*If).printFrom(p, "} else if")
		return
	case len(t.Else) > 0:
		p.line("} else {")
		p.indented(func() { p.items(t.Else) })
	}
	p.line("}")
}

func (t *Leave) print(p *printer) { p.line(t.Word(), "if", t.Cond.String()) }
