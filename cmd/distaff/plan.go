package main

import (
	"bytes"
	"encoding/json"
	"io"

	"distaff/io/outfile"
	"distaff/spmd"
	"distaff/spmd/planview"
)

func planCommand() *command {
	return &command{
		name: "plan", args: "STATEMENT|FILE.dst",
		short: "prints what every rank would do, without running it",
		long: `Prints what every rank owns, fetches, computes and sends, step by step, with
bytes, messages, memory and balance. A plan runs and compiles nothing, and needs
no MPI. A plan reads only headers, except for a .tns file without sizes and a
.tcs file whose entries are divided among ranks.

In a plan, the bytes of dense tensors are exact. Bytes of sparse blocks are
estimates for evenly distributed entries, marked with ~. Bytes of the rows that
ranks read of a gathered operand are upper bounds, also marked with ~. Counts of
entries are exact for .tcs files, generated tensors, and files without repeated
coordinates that were read. The entries of a text file without a header are
estimated from its first lines.

A plan prints the first four ranks in full, with --json the first 4096, and with
-v all ranks. For a job file, the plan has each statement and the totals of the
whole file, with all passes of its repeats.

A plan is refused if the sizes alone would make its run fail: too many points of
fused loops, a bound that is false, or loops that would not end. After distaff
doctor --tune, a plan has the predicted time of each phase, in --json
predicted_seconds.

--why adds the commands of each leaf's schedule with their reasons, and the
bounds of the predicted time: the resources that the statement waits for. The
share of a bound is how much sooner the statement would end without it.
--why-not compares the plan with another one, part by part. Its value is
scheduling commands, or flags that replace the flags of the same name.`,
		examples: []string{`distaff plan "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --ranks=64`,
			`distaff plan "y(i) = A(i,j) * x(j)" -f=A:ds -g=A:uniform:1000000 ` +
				`-d=A:100000,100000 --split=j:2 --split=i:4 --order=j,i --ranks=4 --html=plan.html`,
			`distaff plan "y(i) = A(i,j) * x(j)" -i=A:matrix.tcs -g=x:dense --why ` +
				`--why-not=--threads=1`},
		flags: join(dataFlags(), placeFlags(), machineFlags(), runFlags(), talkFlags(),
			[]cliFlag{on("json", nil, catOutput, "prints JSON"),
				text("html", nil, catOutput,
					"`FILE` writes a page for a browser: the blocks of each rank, and what "+
						"each step sends"),
				on("why", nil, catOutput, "says why the plan is as it is: the schedule of each "+
					"leaf with reasons, and what bounds the predicted time"),
				list("why-not", nil, catOutput, "`COMMANDS|FLAGS` compares the plan with the "+
					"plan that these scheduling commands or flags would give; repeatable")}),
		action: planAction,
	}
}

const (
	// listedRanks is the number of ranks that the text form lists in full.
	listedRanks = 4
	// listedJSON is the number of ranks that JSON lists. JSON with more ranks is not indented.
	listedJSON = 4096
)

// planDetail returns the number of ranks whose steps a plan lists, or -1 for all ranks.
func (x *invocation) planDetail() int {
	switch {
	case x.flags.Bool("v"):
		return -1
	case x.flags.Bool("json"):
		return listedJSON
	case x.flags.String("html") != "":
		return planview.DrawnRanks
	}
	return listedRanks
}

// planFile plans each statement of a job file, in order.
func planFile(x *invocation) error {
	f, err := x.fileJob()
	if err != nil {
		return err
	}
	if err := x.apartFrom(f.Files(), "html", x.flags.String("html")); err != nil {
		return err
	}
	p, err := f.Plan(x.flags.Context, x.planDetail())
	if err != nil {
		return err
	}
	for _, it := range p.Items {
		if err := x.explain(it.Plan); err != nil {
			return err
		}
	}
	others, err := x.alternatives()
	if err != nil {
		return err
	}
	name := x.flags.Args().First()
	return x.tellPlan(p, others, f.Ranks,
		func() ([]byte, error) { return planview.FilePage(name, p) },
		func(w io.Writer) {
			for _, it := range p.Items {
				x.cutDetail(it.Plan)
			}
			printFilePlan(w, name, p)
			for _, a := range others {
				printFileAlternative(w, p, a)
			}
		})
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
	if err := x.apartFrom(j.Files(), "html", x.flags.String("html")); err != nil {
		return err
	}
	p, err := j.Plan(x.flags.Context, x.planDetail())
	if err != nil {
		return err
	}
	if err := x.explain(p); err != nil {
		return err
	}
	others, err := x.alternatives()
	if err != nil {
		return err
	}
	candidates := x.candidates(p)
	plan, err := withAlternatives(p, "candidates", candidates)
	if err != nil {
		return err
	}
	return x.tellPlan(plan, others, p.Ranks, func() ([]byte, error) { return planview.Page(p) },
		func(w io.Writer) {
			x.cutDetail(p)
			printPlan(w, p)
			printCandidates(w, p, candidates)
			for _, a := range others {
				printAlternative(w, p, a)
			}
		})
}

// explain explains a plan if --why is set. It does nothing if p is nil.
func (x *invocation) explain(p *spmd.Planned) error {
	if p == nil || !x.flags.Bool("why") {
		return nil
	}
	return p.Explain()
}

// cutDetail shortens a plan to the ranks whose steps are printed as text. It does nothing if p is
// nil or if -v is set.
func (x *invocation) cutDetail(p *spmd.Planned) {
	if p != nil && !x.flags.Bool("v") {
		p.PerRank = p.PerRank[:min(len(p.PerRank), listedRanks)]
	}
}

// tellPlan writes the plan's HTML page if --html is set, and prints the plan. others are the plans
// for --why-not.
func (x *invocation) tellPlan(plan any, others []alternative, ranks int, page func() ([]byte, error),
	print func(io.Writer)) error {
	w := x.stdout
	if path := x.flags.String("html"); path != "" {
		text, err := page()
		if err != nil {
			return err
		}
		if err := writeWhole(path, text); err != nil {
			return err
		}
		if outfile.Stdout(path) {
			w = x.stderr
		}
	}
	if !x.flags.Bool("json") {
		var out bytes.Buffer
		print(&out)
		_, err := w.Write(out.Bytes())
		return err
	}
	out := json.NewEncoder(w)
	if ranks <= listedJSON {
		out.SetIndent("", "  ")
	}
	all, err := withAlternatives(plan, "why_not", others)
	if err != nil {
		return err
	}
	return out.Encode(all)
}
