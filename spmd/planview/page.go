package planview

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// openRanks is the largest number of ranks for which a page shows the table of ranks expanded.
const openRanks = 64

// budget limits how much a page draws. The statements of a page share it equally, but each gets a
// minimum, because a smaller picture would show nothing.
type budget struct {
	blocks int // blocks of tensors
	arrows int // arrows, and lines about ranks
	rows   int // rows of the table of ranks
	bars   int // bars of the profile of a quantity
}

// share returns the budget of one statement on a page that shows the given number of statements.
func share(statements int) budget {
	part := func(all, least int) int { return max(all/max(statements, 1), least) }
	return budget{blocks: part(12<<10, 256), arrows: part(6<<10, 128), rows: part(1<<10, 16),
		bars: min(part(1<<10, 32), profileBars)}
}

// page is the data of the template.
type page struct {
	Title    string
	Legend   template.HTML
	Sections []*section
	File     *fileTotals // nil if the page shows one statement
}

// section is a section of the page. It describes a statement, or what a job file does between
// statements.
type section struct {
	// the line in the job file and the number of runs; "" if the page shows one statement
	Place  string
	Text   string
	Moves  []transfer
	Stage  *stage         // the drawing of Moves
	Plan   *statementPlan // nil if no statement is planned
	Anchor string
}

// transfer says in words how often and how much one tensor is moved.
type transfer struct{ Tensor, Times, Messages, Bytes string }

// fileTotals are the totals of a job file.
type fileTotals struct {
	Note   string
	Totals []Total
}

// statementPlan is the drawing of a statement's plan.
type statementPlan struct {
	Ranks, Schedule string
	Estimated       bool
	Several         bool // there are several ranks
	Tensors         []tensorRow
	Pictures        []blocks
	Stage           *stage
	Sums            bool // the stage has arrows of sums
	Memory          []string
	Totals          []pageTotal
	Rows            []rankRow
	More            string // says which rows the table of ranks leaves out
	Open            bool   // the table of ranks is open
	Why             []Line // nil if the plan was not explained
}

// tensorRow is a row of the table of tensors.
type tensorRow struct{ Label, Storage, Sizes, Blocks, Entries, Bytes, Source string }

// rankRow is a row of the table of ranks.
type rankRow struct {
	Rank, Fill string
	Cells      []string
}

// pageTotal is a row of the table of totals. Its profile is a small chart of the quantity by rank.
type pageTotal struct {
	Total
	Profile template.HTML // "" if there is one rank
}

// Page returns the page of a statement's plan. The plan must list the steps of all ranks, or of
// DrawnRanks ranks if there are more.
func Page(p *forecast.Planned) ([]byte, error) {
	d := &page{Title: p.Statement, Legend: legend(p.Ranks)}
	d.Sections = []*section{{Plan: newStatementPlan(p, share(1))}}
	return d.html()
}

// FilePage returns the page of a job file's plan, with a section for each item of the file.
func FilePage(file string, p *jobs.Planned) ([]byte, error) {
	ranks := len(p.Comm.BytesSent)
	d := &page{Title: tensor.Printable(file), Legend: legend(ranks)}
	statements := 0
	for _, it := range p.Items {
		if it.Plan != nil {
			statements++
		}
	}
	for k, it := range p.Items {
		s := &section{Place: fmt.Sprintf("line %d%s, %s", it.Line, ofFile(it.File), countOf(it.Runs, "run")),
			Text:   it.Text,
			Anchor: fmt.Sprintf("statement-%d", k)}
		s.Stage = newStage(transfers(it, machineOf(p.Items, k)))
		for _, m := range it.Moves {
			s.Moves = append(s.Moves,
				transfer{m.Tensor, grouped(m.Times), About(m.Exact, grouped(m.Messages)),
					About(m.Exact, tensor.Bytes(m.Bytes))})
		}
		if it.Plan != nil {
			s.Plan = newStatementPlan(it.Plan, share(statements))
		}
		d.Sections = append(d.Sections, s)
	}
	d.File = &fileTotals{Note: "Totals over all runs of all statements, including moves of " +
		"tensors between statements."}
	if p.AtMost {
		d.File.Note += " If conditions leave items out, they are smaller."
	}
	if p.Estimated {
		d.File.Note += " Entries of sparse tensors are assumed to be spread evenly."
	}
	for _, q := range Traffic(p.Comm) {
		d.File.Totals = append(d.File.Totals, q.Total(number))
	}
	return d.html()
}

// ofFile returns the words for a line of an included file, or "" if file is "".
func ofFile(file string) string {
	if file == "" {
		return ""
	}
	return " of " + file
}

// machineOf returns the plan whose machine is drawn for the moves of item k. This is the plan of
// item k. If the item has no plan, it is the plan of the nearest item in the list that has one,
// before or after item k. If no item has one, the plan is empty.
func machineOf(items []jobs.PlannedItem, k int) *forecast.Planned {
	for away := range items {
		for _, n := range []int{k - away, k + away} {
			if n >= 0 && n < len(items) && items[n].Plan != nil {
				return items[n].Plan
			}
		}
	}
	return &forecast.Planned{}
}

// sentence joins the lines about a plan with semicolons into one sentence.
func sentence(lines []Line) string {
	var list []string
	for _, l := range lines {
		if l.Label != "" {
			l.Text = l.Label + ": " + l.Text
		}
		list = append(list, l.Text)
	}
	s := strings.Join(list, "; ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// newStatementPlan draws a plan.
func newStatementPlan(p *forecast.Planned, r budget) *statementPlan {
	x := newFlow(p, r.arrows)
	d := &statementPlan{Ranks: countOf(p.Ranks, "rank"), Schedule: sentence(Schedule(p)),
		Estimated: p.Estimated, Several: p.Ranks > 1, Open: p.Ranks <= openRanks,
		Stage: newStage(x), Sums: x.drawsSums()}
	l := newLayout(p, cellLine)
	for _, line := range MemoryNotes(p) {
		d.Memory = append(d.Memory, strings.ToUpper(line[:1])+line[1:]+".")
	}
	for _, t := range p.Tensors {
		source := tensor.Printable(t.Source)
		if t.Result {
			source = "result"
		}
		if lies := WherePlaced(p, t); lies != "" {
			source += ", " + tensor.Printable(lies)
		}
		d.Tensors = append(d.Tensors,
			tensorRow{Label(t), t.Format + " " + t.Type, extents(t.Sizes), grouped(t.Blocks),
				About(t.Counted, grouped(t.Entries)), About(t.Exact, tensor.Bytes(t.Bytes)), source})
		d.Pictures = append(d.Pictures, draw(p, t, r.blocks/len(p.Tensors)))
	}
	d.table(p, r, l)
	if p.Leaves != nil {
		d.Why = Why(p)
	}
	return d
}

// table fills d.Totals and d.Rows with the quantities of plan p. If d.Rows does not have all ranks,
// table sets d.More. r limits the number of rows and the number of bars in a profile. l gives the
// coordinates of each rank.
func (d *statementPlan) table(p *forecast.Planned, r budget, l *layout) {
	quantities := Quantities(p)
	for _, q := range quantities {
		t := pageTotal{Total: q.Total(number)}
		if p.Ranks > 1 {
			t.Profile = drawProfile(q.Name, profile(q.Values, r.bars))
		}
		d.Totals = append(d.Totals, t)
	}
	for rank := range min(p.Ranks, r.rows) {
		row := rankRow{Rank: grouped(int64(rank)) + l.coordinates(rank),
			Fill: hex(rankColor(rank, p.Ranks))}
		for _, q := range quantities {
			row.Cells = append(row.Cells, q.text(float64(q.Values[rank]), number))
		}
		d.Rows = append(d.Rows, row)
	}
	if r.rows < p.Ranks {
		d.More = fmt.Sprintf("The first %s of %s ranks; --json has all.", grouped(int64(r.rows)),
			grouped(int64(p.Ranks)))
	}
}

//go:embed page.tmpl
var pageText string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// html returns the text of the page.
func (d *page) html() ([]byte, error) {
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, d); err != nil {
		return nil, err
	}
	return []byte(strings.TrimLeft(b.String(), "\n")), nil
}
