package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/planview"
)

func sizeOf(n int64) string { return tensor.Bytes(n) }

// sizesOf formats sizes: 3 x 4.
func sizesOf(sizes []int64) string {
	if len(sizes) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", " x ")
}

// counted formats a number of things.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return tensor.Number(n) + " " + noun
}

// printPlan prints the plan as text.
func printPlan(w io.Writer, p *spmd.Planned) {
	fmt.Fprintf(w, "%s\n%-7s %d\n", p.Statement, "ranks", p.Ranks)
	for _, l := range planview.Schedule(p) {
		fmt.Fprintf(w, "%-7s %s\n", l.Label, l.Text)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "tensor\tstorage\tsizes\tblocks\tentries\tbytes\t")
	for _, x := range p.Tensors {
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%d\t%s\t%s\t%s\n", planview.Label(x), x.Format, x.Type,
			sizesOf(x.Sizes), x.Blocks,
			planview.About(x.Counted, strconv.FormatInt(x.Entries, 10)),
			planview.About(x.Exact, sizeOf(x.Bytes)),
			tensor.Printable(strings.Join(tensorNotes(p, x), ", ")))
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "a rank\ttotal\tmin\tmean\tmax\t")
	for _, q := range planview.Quantities(p) {
		l := q.Total(planview.Compact)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", l.Name, l.Total, l.Min, l.Mean, l.Max)
	}
	t.Flush()
	if p.Estimated {
		fmt.Fprintln(w, "~ marks estimates, which assume that entries are spread evenly")
	}
	for _, line := range planview.MemoryNotes(p) {
		fmt.Fprintln(w, line)
	}
	printTimes(w, p)
	if p.Leaves != nil {
		printWhy(w, p)
	}
	exact := planview.Exact(p)
	for _, r := range p.PerRank {
		printRank(w, p, r, exact)
	}
	if n := p.Ranks - len(p.PerRank); n > 0 {
		fmt.Fprintf(w, "\n%s: -v prints all\n", tensor.Count(n, "more rank"))
	}
}

func printTimes(w io.Writer, p *spmd.Planned) {
	if p.Time == nil {
		fmt.Fprintln(w,
			"times: not predicted, because this machine has not been measured (distaff doctor "+
				"--tune)")
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "phase\tpredicted\t")
	for _, l := range p.Time.Text() {
		fmt.Fprintf(t, "%s\t%s\t%s\n", l[0], l[1], l[2])
	}
	t.Flush()
	if p.Time.OtherWork > 0 {
		fmt.Fprintf(w, "times are probably shorter: %s\n", otherWorkText(p.Time.OtherWork))
	}
}

// tensorNotes returns, in words, where a tensor comes from and where its parts are placed.
func tensorNotes(p *spmd.Planned, x spmd.PlannedTensor) (notes []string) {
	broadcast := ""
	if x.Broadcast {
		broadcast = "broadcast to all ranks"
	}
	from := strings.TrimSpace(x.Source + " " + broadcast)
	for _, s := range []string{from, planview.WherePlaced(p, x)} {
		if s != "" {
			notes = append(notes, s)
		}
	}
	return notes
}

func printRank(w io.Writer, p *spmd.Planned, r spmd.PlannedRank, exact map[string]bool) {
	n := r.Rank
	fmt.Fprintf(w, "\nrank %d: %s, owns %s, sends %s in %s, receives %s, memory %s\n", n,
		counted(p.Steps[n], "step"), sizeOf(p.Owned[n]),
		sizeOf(p.Comm.BytesSent[n]), counted(p.Comm.MessagesSent[n], "message"),
		sizeOf(p.Comm.BytesReceived[n]), sizeOf(p.Memory[n]))
	size := func(b spmd.PlannedBlock) string {
		return planview.About(exact[b.Tensor], sizeOf(b.Bytes))
	}
	for _, b := range r.Owns {
		fmt.Fprintf(w, "  owns   %v, %s\n", b, size(b))
	}
	for _, m := range r.Moves {
		name := m.Tensor
		gathered := slices.ContainsFunc(p.Tensors, func(x spmd.PlannedTensor) bool {
			return x.Name == name && x.Gathered
		})
		other := fmt.Sprintf("to rank %d", m.To)
		if m.To == n {
			other = fmt.Sprintf("from rank %d", m.From)
		}
		fmt.Fprintf(w, "  moves  %v, %s, %s, before the first step\n", m.PlannedBlock,
			planview.About(exact[name] && !gathered, sizeOf(m.Bytes)), other)
	}
	for k, s := range r.Steps {
		at := []string{fmt.Sprint("step ", k)}
		for v, c := range s.Ranges {
			if l := p.Loops[v]; l.Entries != "" {
				at = append(at, fmt.Sprintf("%s in part %d of %d", l.Entries, c[0]+1, l.Parts))
			} else {
				at = append(at, fmt.Sprintf("%s=%d:%d", l.Var, c[0], c[1]))
			}
		}
		what := "adds to the result"
		if s.First {
			what = "begins the result"
		}
		fmt.Fprintf(w, "  %s: terms %s, %s\n", strings.Join(at, " "),
			strings.Trim(fmt.Sprint(s.Terms), "[]"), what)
		for _, f := range s.Fetches {
			switch {
			case f.From == n:
				fmt.Fprintf(w, "    has    %v\n", f.PlannedBlock)
			case f.All:
				fmt.Fprintf(w, "    gets   %v, %s, by the broadcast of rank %d\n", f.PlannedBlock,
					size(f.PlannedBlock), f.From)
			default:
				fmt.Fprintf(w, "    gets   %v, %s, from rank %d\n", f.PlannedBlock,
					size(f.PlannedBlock), f.From)
			}
		}
	}
	for _, s := range r.Sends {
		to := fmt.Sprintf("to rank %d", s.To)
		switch {
		case s.All:
			to = "to all ranks"
		case s.Forwarded:
			to += ", with the same multicast"
		}
		fmt.Fprintf(w, "  sends  %v, %s, %s\n", s.PlannedBlock, size(s.PlannedBlock), to)
	}
	for _, s := range r.Sums {
		switch {
		case s.Final && s.From == n && s.Forwarded:
			fmt.Fprintf(w, "  sends  %v, %s, complete, to rank %d, with the same multicast\n",
				s.PlannedBlock, size(s.PlannedBlock), s.To)
		case s.Final && s.From == n:
			fmt.Fprintf(w, "  sends  %v, %s, complete, to rank %d\n", s.PlannedBlock,
				size(s.PlannedBlock), s.To)
		case s.Final:
			fmt.Fprintf(w, "  gets   %v, %s, complete, from rank %d\n", s.PlannedBlock,
				size(s.PlannedBlock), s.From)
		case s.From == s.To:
			fmt.Fprintf(w, "  adds   %v, two partial results of its own\n", s.PlannedBlock)
		case s.From == n:
			fmt.Fprintf(w, "  sends  %v, %s, partial, to rank %d\n", s.PlannedBlock,
				size(s.PlannedBlock), s.To)
		default:
			fmt.Fprintf(w, "  adds   %v, %s, partial, from rank %d\n", s.PlannedBlock,
				size(s.PlannedBlock), s.From)
		}
	}
}
