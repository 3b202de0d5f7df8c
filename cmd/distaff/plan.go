package main

import (
	"bytes"
	"encoding/json"
	"io"

	"distaff/cmd/argv"
	"distaff/io/outfile"
	"distaff/spmd"
)

func planCommand() *command {
	return &command{
		name: "plan", args: "STATEMENT|FILE.dst", short: "prints what every rank would do, without running it",
		long: `Prints what every rank owns, fetches, computes and sends, step by step, with
bytes, messages, memory and balance. It takes the flags of run; those that only
concern a run change nothing. It runs and compiles nothing, needs no MPI and reads headers
only, but for a .tns file without sizes, whose coordinates give them. Bytes of dense
tensors are those of a run. Those of sparse blocks are estimates, as if entries were spread
evenly; they are marked with ~. So are counts of entries, but for those of a .tcs file, a generated
tensor, and a file that was read and repeats no coordinate: repeats are summed, and headers do not
tell of them. Without a header a text file's entries are told from its first lines. Of many ranks the first four are printed in full, and all with -v. Of a job file it prints the
plan of each statement, where it stands, with what moves tensors from where others left them to where it wants them,
how often it runs, and what all of the file sends. Repeats count with all of their passes, also those that a condition may end.`,
		examples: []string{`distaff plan "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --ranks=64`,
			`distaff plan "y(i) = A(i,j) * x(j)" -f=A:ds -g=A:uniform:1000000 -d=A:100000,100000 --split=j:2 --split=i:4 --order=j,i --ranks=4 --html=plan.html`},
		flags: join(dataFlags(), placeFlags(), machineFlags(), runFlags(), talkFlags(),
			[]cliFlag{on("json", nil, catOutput, "prints JSON"), text("html", nil, catOutput, "`FILE` writes a page: which rank owns which block, in colors, and what each rank does")}),
		action: planAction,
	}
}

// listedRanks is how many ranks the text form lists in full.
const listedRanks = 4

// planDetail is how many ranks are listed in full; -1 for all.
func (x *invocation) planDetail() int {
	if x.Bool("v") || x.Bool("json") {
		return -1
	}
	return listedRanks
}

// planFile plans each statement of a job file, in its order.
func planFile(x *invocation) error {
	if x.IsSet("html") {
		return argv.Errorf("--html draws the plan of one statement; a job file has a plan for each of its own")
	}
	f, err := x.fileJob()
	if err != nil {
		return err
	}
	p, err := f.Plan(x.Context.Context, x.planDetail())
	if err != nil {
		return err
	}
	_, err = x.stdout.Write(x.planText(p, func(w io.Writer) { printFilePlan(w, x.Args().First(), p) }))
	return err
}

func planAction(x *invocation) error {
	if x.isJobFile() {
		return planFile(x)
	}
	statement, err := x.statement()
	if err != nil {
		return err
	}
	j, err := x.job(statement)
	if err != nil {
		return err
	}
	p, err := j.Plan(x.Context.Context, x.planDetail())
	if err != nil {
		return err
	}
	if path := x.String("html"); path != "" {
		page, err := planPage(p)
		if err != nil {
			return err
		}
		if err := writeWhole(path, page); err != nil {
			return err
		}
	}
	w := x.stdout
	if outfile.Stdout(x.String("html")) {
		w = x.stderr
	}
	_, err = w.Write(x.planText(p, func(w io.Writer) { printPlan(w, p) }))
	return err
}

// planText is a plan as --json has it, or else as print writes it.
func (x *invocation) planText(plan any, print func(io.Writer)) []byte {
	if !x.Bool("json") {
		var out bytes.Buffer
		print(&out)
		return out.Bytes()
	}
	b, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		panic("BUG: distaff: a plan does not marshal: " + err.Error())
	}
	return append(b, '\n')
}

// planQuantity is something that each rank has, does or takes.
type planQuantity struct {
	name   string
	values []int64 // a rank
	bytes  bool
}

// planQuantities are the quantities of a plan.
func planQuantities(p *spmd.Planned) []planQuantity {
	list := []planQuantity{
		{"steps", p.Steps, false},
		{"owned", p.Owned, true},
		{"sent", p.Comm.BytesSent, true},
		{"received", p.Comm.BytesReceived, true},
		{"messages", p.Comm.MessagesSent, false},
		{"memory", p.Memory, true},
	}
	if p.GPUMemory != nil {
		list = append(list, planQuantity{"GPU memory", p.GPUMemory, true})
	}
	if p.Largest != "" {
		list = append(list, planQuantity{"entries read of " + p.Largest, p.Balance.Nonzeros, false})
	}
	return list
}

// text prints a value; plain prints a count.
func (q planQuantity) text(n float64, plain func(float64) string) string {
	if q.bytes {
		return sizeOf(int64(n + 0.5))
	}
	return plain(n)
}

// planTotal is a line of the table of totals.
type planTotal struct {
	Name                  string
	Total, Min, Mean, Max string
	At                    string // the first rank with the most; "all" where all are equal
}

// total sums a quantity up over the ranks.
func (q planQuantity) total(plain func(float64) string) planTotal {
	var sum float64
	lo, hi := q.values[0], 0
	for r, x := range q.values {
		sum += float64(x)
		lo = min(lo, x)
		if x > q.values[hi] {
			hi = r
		}
	}
	at := "all"
	if lo < q.values[hi] {
		at = plain(float64(hi))
	}
	show := func(n float64) string { return q.text(n, plain) }
	return planTotal{q.name, show(sum), show(float64(lo)), show(sum / float64(len(q.values))), show(float64(q.values[hi])), at}
}
