package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"distaff/io/tcs"
	"distaff/spmd"
)

func sizeOf(n int64) string { return tcs.Size(n) }

// sizesOf prints sizes: 3 x 4.
func sizesOf(sizes []int64) string {
	if len(sizes) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", " x ")
}

// compact prints a count, with one digit after the point where it is no whole number, and two
// that count below one.
func compact(n float64) string {
	if n == float64(int64(n)) {
		return strconv.FormatInt(int64(n), 10)
	}
	if n < 1 {
		return strconv.FormatFloat(n, 'g', 2, 64)
	}
	return strconv.FormatFloat(n, 'f', 1, 64)
}

// counted is a count of things.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// about marks what is an estimate.
func about(exact bool, s string) string {
	if exact {
		return s
	}
	return "~" + s
}

// planLoops are the block loops in a line.
func planLoops(p *spmd.Planned) string {
	var parts []string
	for _, l := range p.Loops {
		s := fmt.Sprintf("%s in %d", l.Var, len(l.Cuts)-1)
		if l.Extended {
			s += " (a sum, with partial results)"
		} else if l.Reduction {
			s += " (a sum, added in place)"
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "one block"
	}
	s := strings.Join(parts, ", ")
	if len(p.Map) == 0 {
		return s + "; all at rank 0"
	}
	return s + "; " + strings.Join(p.Map, ", ") + " decides the rank"
}

// exactTensors tells of each tensor whether its bytes are no estimates.
func exactTensors(p *spmd.Planned) map[string]bool {
	exact := map[string]bool{}
	for _, t := range p.Tensors {
		old, ok := exact[t.Name]
		exact[t.Name] = t.Exact && (old || !ok)
	}
	return exact
}

// printPlan prints the plan as text.
func printPlan(w io.Writer, p *spmd.Planned) {
	fmt.Fprintf(w, "%s\nranks   %d\nblocks  %s\n\n", p.Statement, p.Ranks, planLoops(p))
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "tensor\tstorage\tsizes\tblocks\tentries\tbytes\t")
	for _, x := range p.Tensors {
		note := x.Source
		if x.Broadcast {
			note = strings.TrimSpace(note + " broadcast to all ranks")
		}
		fmt.Fprintf(t, "%s\t%s %s\t%s\t%d\t%s\t%s\t%s\n", tensorLabel(x), x.Format, x.Type, sizesOf(x.Sizes), x.Blocks,
			about(x.Counted, strconv.FormatInt(x.Entries, 10)), about(x.Exact, sizeOf(x.Bytes)), tcs.Printable(note))
	}
	t.Flush()
	fmt.Fprintln(w)
	t = tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "a rank\ttotal\tmin\tmean\tmax\t")
	for _, q := range planQuantities(p) {
		l := q.total(compact)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t\n", l.Name, l.Total, l.Min, l.Mean, l.Max)
	}
	t.Flush()
	if p.Estimated {
		fmt.Fprintln(w, "~ and what rests on it: estimated, as if entries were spread evenly")
	}
	if p.Least > 0 {
		fmt.Fprintf(w, "a rank takes %s of memory at least: a run with a lower limit is refused\n", sizeOf(p.Least))
	}
	if p.MemoryLimit > 0 {
		if most := slices.Max(p.Memory); most > p.MemoryLimit {
			fmt.Fprintf(w, "a rank would want %s, and --memory-limit is %s\n", sizeOf(most), sizeOf(p.MemoryLimit))
		}
	}
	exact := exactTensors(p)
	for _, r := range p.PerRank {
		printRank(w, p, r, exact)
	}
	if n := p.Ranks - len(p.PerRank); n > 0 {
		fmt.Fprintf(w, "\n%s: -v prints all\n", tcs.Count(n, "more rank"))
	}
}

func tensorLabel(x spmd.PlannedTensor) string {
	if len(x.Vars) == 0 {
		return x.Name
	}
	return x.Name + "(" + strings.Join(x.Vars, ",") + ")"
}

func printRank(w io.Writer, p *spmd.Planned, r spmd.PlannedRank, exact map[string]bool) {
	n := r.Rank
	fmt.Fprintf(w, "\nrank %d: %s, owns %s, sends %s in %s, receives %s, memory %s\n", n, counted(p.Steps[n], "step"), sizeOf(p.Owned[n]),
		sizeOf(p.Comm.BytesSent[n]), counted(p.Comm.MessagesSent[n], "message"), sizeOf(p.Comm.BytesReceived[n]), sizeOf(p.Memory[n]))
	size := func(b spmd.PlannedBlock) string { return about(exact[b.Tensor], sizeOf(b.Bytes)) }
	for _, b := range r.Owns {
		fmt.Fprintf(w, "  owns   %v, %s\n", b, size(b))
	}
	for k, s := range r.Steps {
		at := []string{fmt.Sprint("step ", k)}
		for v, c := range s.Ranges {
			at = append(at, fmt.Sprintf("%s=%d:%d", p.Loops[v].Var, c[0], c[1]))
		}
		what := "adds to the result"
		if s.First {
			what = "begins the result"
		}
		fmt.Fprintf(w, "  %s: terms %s, %s\n", strings.Join(at, " "), strings.Trim(fmt.Sprint(s.Terms), "[]"), what)
		for _, f := range s.Fetches {
			switch {
			case f.From == n:
				fmt.Fprintf(w, "    has    %v\n", f.PlannedBlock)
			case f.All:
				fmt.Fprintf(w, "    gets   %v, %s, by the broadcast of rank %d\n", f.PlannedBlock, size(f.PlannedBlock), f.From)
			default:
				fmt.Fprintf(w, "    gets   %v, %s, from rank %d\n", f.PlannedBlock, size(f.PlannedBlock), f.From)
			}
		}
	}
	for _, s := range r.Sends {
		to := fmt.Sprintf("to rank %d", s.To)
		if s.All {
			to = "to all ranks"
		}
		fmt.Fprintf(w, "  sends  %v, %s, %s\n", s.PlannedBlock, size(s.PlannedBlock), to)
	}
	for _, s := range r.Sums {
		switch {
		case s.Final && s.From == n:
			fmt.Fprintf(w, "  sends  %v, %s, complete, to rank %d\n", s.PlannedBlock, size(s.PlannedBlock), s.To)
		case s.Final:
			fmt.Fprintf(w, "  gets   %v, %s, complete, from rank %d\n", s.PlannedBlock, size(s.PlannedBlock), s.From)
		case s.From == s.To:
			fmt.Fprintf(w, "  adds   %v, two partial results of its own\n", s.PlannedBlock)
		case s.From == n:
			fmt.Fprintf(w, "  sends  %v, %s, partial, to rank %d\n", s.PlannedBlock, size(s.PlannedBlock), s.To)
		default:
			fmt.Fprintf(w, "  adds   %v, %s, partial, from rank %d\n", s.PlannedBlock, size(s.PlannedBlock), s.From)
		}
	}
}
