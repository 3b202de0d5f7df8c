package main

import (
	"bytes"
	"encoding/json"

	"distaff/spmd"
)

func planCommand() *command {
	return &command{
		name: "plan", args: "STATEMENT", short: "prints what every rank would do, without running it",
		long: `Prints what every rank owns, fetches, computes and sends, step by step, with
bytes, messages, memory and balance. It takes the flags of run; those that only
concern a run change nothing. It runs and compiles nothing, needs no MPI and reads headers
only, but for a .tns file without sizes, whose coordinates give them. Bytes of dense
tensors are those of a run. Those of sparse blocks are estimates, as if entries were spread
evenly; they are marked with ~. Of many ranks the first four are printed in full, and all with -v.`,
		examples: []string{`distaff plan "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --ranks=64`,
			`distaff plan "y(i) = A(i,j) * x(j)" -f=A:ds -g=A:uniform:1000000 -d=A:100000,100000 --split=j:2 --split=i:4 --order=j,i --ranks=4 --html=plan.html`},
		flags: join(dataFlags(), placeFlags(), machineFlags(), runFlags(), talkFlags(),
			[]cliFlag{on("json", nil, catOutput, "prints JSON"), text("html", nil, catOutput, "`FILE` writes a page with the grid of blocks and the tables")}),
		action: planAction,
	}
}

// listedRanks is how many ranks the text form lists in full.
const listedRanks = 4

func planAction(x *invocation) error {
	statement, err := x.statement()
	if err != nil {
		return err
	}
	j, err := x.job(statement)
	if err != nil {
		return err
	}
	detail := listedRanks
	if x.Bool("v") || x.Bool("json") {
		detail = -1
	}
	p, err := j.Plan(x.Context.Context, detail)
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
	var out bytes.Buffer
	if x.Bool("json") {
		e := json.NewEncoder(&out)
		if err := e.Encode(p); err != nil {
			panic("BUG: distaff: a plan does not marshal: " + err.Error())
		}
	} else {
		printPlan(&out, p)
	}
	_, err = x.stdout.Write(out.Bytes())
	return err
}

// planTotal is a line of the table of totals.
type planTotal struct {
	Name                  string
	Total, Min, Mean, Max string
}

// planTotals are the quantities of a plan that ranks have each for itself.
func planTotals(p *spmd.Planned) []planTotal {
	plain := func(n float64) string { return compact(n) }
	size := func(n float64) string { return sizeOf(int64(n + 0.5)) }
	line := func(name string, v []int64, show func(float64) string) planTotal {
		var sum float64
		lo, hi := v[0], v[0]
		for _, x := range v {
			sum += float64(x)
			lo, hi = min(lo, x), max(hi, x)
		}
		return planTotal{name, show(sum), show(float64(lo)), show(sum / float64(len(v))), show(float64(hi))}
	}
	lines := []planTotal{
		line("steps", p.Steps, plain),
		line("owned", p.Owned, size),
		line("sent", p.Comm.BytesSent, size),
		line("received", p.Comm.BytesReceived, size),
		line("messages", p.Comm.MessagesSent, plain),
		line("memory", p.Memory, size),
	}
	if p.Largest != "" {
		lines = append(lines, line("entries of "+p.Largest, p.Balance.Nonzeros, plain))
	}
	return lines
}
