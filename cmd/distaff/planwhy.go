package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"distaff/cmd/argv"
	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/planview"
)

// printWhy prints why a plan is as it is. The plan must have been explained.
func printWhy(w io.Writer, p *spmd.Planned) {
	fmt.Fprintln(w, "\nwhy")
	for _, l := range planview.Why(p) {
		fmt.Fprintf(w, "%-7s %s\n", l.Label, tensor.Printable(l.Text))
	}
}

// alternative is another plan of the same job. Exactly one of Plan, File and Refused is set.
type alternative struct {
	Flags   string            `json:"flags"` // what the user gave to --why-not
	Plan    *spmd.Planned     `json:"plan,omitempty"`
	File    *spmd.PlannedFile `json:"file,omitempty"`
	Refused string            `json:"refused,omitempty"` // the error of planning it
}

// alternatives plans the job with each value of --why-not instead of flags that it replaces.
func (x *invocation) alternatives() (list []alternative, err error) {
	for _, given := range x.flags.StringSlice("why-not") {
		words, err := whyNotFlags(given)
		if err != nil {
			return nil, err
		}
		list = append(list, x.alternative(given, words))
	}
	return list, nil
}

// alternative plans the job with other flags. given is the text that the user sees for the flags.
func (x *invocation) alternative(given string, flags []string) alternative {
	a := alternative{Flags: given}
	err := x.planAgain(flags, func(y *invocation) (err error) {
		if y.isJobFile() {
			f, err := y.fileJob()
			if err != nil {
				return err
			}
			a.File, err = f.Plan(y.flags.Context, 0)
			return err
		}
		statement, err := y.statement()
		if err != nil {
			return err
		}
		j, err := y.job(statement)
		if err != nil {
			return err
		}
		a.Plan, err = j.Plan(y.flags.Context, 0)
		return err
	})
	if err != nil {
		a.Refused = err.Error()
	}
	return a
}

// candidateTime is the time limit for planning candidates.
const candidateTime = 2 * time.Second

// candidates plans a statement in other ways that a user could ask for: with fewer or more threads
// and ranks, as other networks of contractions, and with its loops in other orders. It returns the
// plans whose times are predicted and differ from p, starting with the fastest. p is the plan of the
// statement.
func (x *invocation) candidates(p *spmd.Planned) (list []alternative) {
	if _, known := p.Repeated(); !known || !x.flags.Bool("why") {
		return nil
	}
	begun := time.Now()
	for _, flags := range x.candidateFlags(p) {
		if time.Since(begun) > candidateTime {
			break
		}
		a := x.alternative(strings.Join(flags, " "), flags)
		if a.Plan == nil {
			continue
		}
		if _, known := a.Plan.Repeated(); known && planview.Difference(p, a.Plan) != "" {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b alternative) int {
		x, _ := a.Plan.Repeated()
		y, _ := b.Plan.Repeated()
		return cmp.Compare(x, y)
	})
	return list
}

// maxOrdered is the largest number of variables whose loops are ordered in all ways.
const maxOrdered = 4

// candidateFlags lists the flags of the plans that candidates makes.
func (x *invocation) candidateFlags(p *spmd.Planned) (list [][]string) {
	add := func(flags ...string) { list = append(list, flags) }
	serial := x.flags.String("threads") == "1"
	if !serial {
		add("--threads=1")
	}
	if p.Ranks > 1 {
		add(fmt.Sprint("--ranks=", p.Ranks/2))
	}
	add(fmt.Sprint("--ranks=", 2*p.Ranks))
	s, err := notation.Parse(x.flags.Args().First())
	if err != nil {
		return nil
	}
	n := notation.Normalize(s)
	if slices.ContainsFunc(n.Terms, func(t *notation.Term) bool { return len(t.Factors) > 2 }) {
		add("--network=direct")
		add("--network=pairwise")
	}
	if len(n.Vars) > maxOrdered || len(n.Vars) < 2 || len(p.Loops) > 0 ||
		slices.ContainsFunc([]string{"s", "split"}, x.flags.IsSet) {
		return list
	}
	for _, order := range permutations(n.Vars) {
		commands := "reorder(" + strings.Join(order, ",") + ")"
		if !serial {
			commands += ",parallelize(" + order[0] + ",CPUThread,NoRaces)"
		}
		add("-s=" + commands)
	}
	return list
}

// permutations returns all orders of the elements of a list, starting with the list itself.
func permutations(list []string) (out [][]string) {
	if len(list) <= 1 {
		return [][]string{list}
	}
	for k, first := range list {
		rest := slices.Delete(slices.Clone(list), k, k+1)
		for _, p := range permutations(rest) {
			out = append(out, append([]string{first}, p...))
		}
	}
	return out
}

// maxCandidates is the number of candidates that are printed.
const maxCandidates = 6

// printCandidates prints the candidates with their predicted times. For each it names the bound
// whose time differs most from the time in plan p.
func printCandidates(w io.Writer, p *spmd.Planned, list []alternative) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "other plans\tpredicted\tratio\tmost of the difference\t")
	for _, a := range list[:min(len(list), maxCandidates)] {
		r := planview.Compare(p, a.Plan)[0]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", tensor.Printable(a.Flags), r.Other, r.Ratio,
			planview.Difference(p, a.Plan))
	}
	t.Flush()
}

// whyNotFlags returns the flags in a value of --why-not. Spaces separate the flags. If the value
// begins without a dash, it has scheduling commands, and whyNotFlags returns the flag -s with them.
func whyNotFlags(given string) ([]string, error) {
	if !strings.HasPrefix(strings.TrimSpace(given), "-") {
		return []string{"-s=" + given}, nil
	}
	a, err := argv.NewTable(planCommand().flags).Arrange(strings.Fields(given))
	if err != nil {
		return nil, err
	}
	if len(a.Args) > 0 {
		return nil, argv.Errorf("--why-not=%s: want flags or scheduling commands, got the word %q",
			given, a.Args[0])
	}
	return a.Flags, nil
}

// planAgain calls action with the command line of x after it replaced flags by the given flags of
// the same name. A flag for a tensor, such as -f=A:ds, replaces only flags for this tensor.
func (x *invocation) planAgain(flags []string, action func(*invocation) error) error {
	c := planCommand()
	table := argv.NewTable(c.flags)
	old, err := table.Arrange(x.argv[1:])
	if err != nil {
		return err
	}
	words, err := table.Arrange(flags)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(old.Flags, func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return slices.Contains([]string{"--why", "--why-not", "--html", "--json", "--v"}, name) ||
			slices.ContainsFunc(words.Flags, func(g string) bool { return subject(f) == subject(g) })
	})
	n := slices.Index(old.Args, c.name)
	line := argv.Arranged{Flags: append(kept, words.Flags...), Args: slices.Delete(old.Args, n, n+1)}
	return c.run(x.flags.Context, line.List(), x.stdout, x.stderr, x.argv, action)
}

// subject returns what a flag sets: its name and, if its value begins with the name of a tensor,
// this name.
func subject(flag string) string {
	name, value, _ := strings.Cut(flag, "=")
	if of, _, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(of, "(,{") {
		return name + "=" + of
	}
	return name
}

// printAlternative compares the plan of a statement with an alternative.
func printAlternative(w io.Writer, p *spmd.Planned, a alternative) {
	fmt.Fprintf(w, "\nwith %s\n", tensor.Printable(a.Flags))
	if a.Refused != "" {
		fmt.Fprintf(w, "refused: %s\n", a.Refused)
		return
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "\tthis plan\tinstead\tratio\t")
	for _, r := range planview.Compare(p, a.Plan) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", r.Name, r.First, r.Other, r.Ratio)
	}
	t.Flush()
}

// printFileAlternative compares the plan of a job file with an alternative, statement by statement.
func printFileAlternative(w io.Writer, p *spmd.PlannedFile, a alternative) {
	if a.Refused != "" || len(a.File.Items) != len(p.Items) {
		printAlternative(w, nil, alternative{Flags: a.Flags,
			Refused: max(a.Refused, "its plan has other statements")})
		return
	}
	for k, it := range p.Items {
		if other := a.File.Items[k].Plan; it.Plan != nil && other != nil {
			fmt.Fprintf(w, "\nline %d", it.Line)
			printAlternative(w, it.Plan, alternative{Flags: a.Flags, Plan: other})
		}
	}
}

// withAlternatives returns the JSON form of a plan with one more field, which has the alternatives.
// If there are none, it returns the plan.
func withAlternatives(plan any, field string, list []alternative) (any, error) {
	if len(list) == 0 {
		return plan, nil
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields[field], err = json.Marshal(list)
	return fields, err
}
