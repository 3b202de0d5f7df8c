package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/planview"
)

// printFilePlan prints the plan of a job file as text.
func printFilePlan(w io.Writer, file string, p *spmd.PlannedFile) {
	for k, s := range p.Items {
		if k > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:%d: %s\n", tensor.Printable(cmp.Or(s.File, file)), s.Line,
			tensor.Count(s.Runs, "run"))
		if s.Plan == nil {
			fmt.Fprintln(w, s.Text)
			if s.Memory > 0 {
				fmt.Fprintf(w, "rank 0 computes it, and needs %s besides the operands\n",
					tensor.Bytes(s.Memory))
			}
		} else {
			printPlan(w, s.Plan)
		}
		if len(s.Moves) == 0 {
			continue
		}
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "moves\ttimes\tmessages\tbytes\t")
		for _, m := range s.Moves {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", m.Tensor, tensor.Number(m.Times),
				planview.About(m.Exact, tensor.Number(m.Messages)),
				planview.About(m.Exact, sizeOf(m.Bytes)))
		}
		t.Flush()
	}
	fmt.Fprintf(w, "\n%s, all runs with what moves%s\n", tensor.Printable(file),
		map[bool]string{true: ", at most: conditions decide what runs"}[p.AtMost])
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "a rank\ttotal\tmin\tmean\tmax\t")
	for _, q := range planview.Traffic(p.Comm) {
		l := q.Total(planview.Compact)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", l.Name, l.Total, l.Min, l.Mean, l.Max)
	}
	t.Flush()
	if p.Saturated {
		fmt.Fprintln(w, "counts above 9.2e18 (2^63) are shown as if they were equal")
	}
	if p.Estimated {
		fmt.Fprintln(w, "estimated, as if the entries of sparse tensors were spread evenly")
	}
}
