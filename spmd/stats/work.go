package stats

import (
	"fmt"
	"math"

	"distaff/io/tcs"
	"distaff/kernels/tune"
)

// Work is what the leaves of a run have to do at least, of all ranks together.
type Work struct {
	// Bytes are those of operands, each array read once, but for values that are not used, and of the
	// result, written once.
	Bytes int64 `json:"bytes"`
	// Flops are multiplications and additions; of complex values those of their parts.
	Flops int64 `json:"flops"`
	// Estimated says that patterns of operands meet, which were taken to be spread evenly: Flops is no
	// exact count.
	Estimated bool `json:"estimated,omitempty"`
	// Share is the least time that the machine model allows, as a share of the time that the leaves of
	// the last repeat took; nil where the machine was not measured, or leaves do not run on its CPUs.
	Share *float64 `json:"share_of_limit,omitempty"`

	least, took float64 // seconds, where Share is there
}

// WorkOf adds up the ranks' work, and holds the time that it took to a machine model; m is nil
// where there is none.
func WorkOf(ranks []Rank, m *tune.Model) *Work {
	w, all, flops := &Work{}, map[string]*Rank{}, 0.0
	for n := range ranks {
		r := &ranks[n]
		w.Bytes += r.Work.Read + r.Work.Written
		flops += r.Work.Flops
		w.Estimated = w.Estimated || r.Estimated
		w.took = max(w.took, r.Spent.Leaf.Seconds())
		host := all[r.Host]
		if host == nil {
			host = &Rank{Work: tune.Work{Single: r.Work.Single}}
			all[r.Host] = host
		}
		host.Work.Add(r.Work)
		host.Threads += r.Threads
		if m != nil {
			w.least = max(w.least, m.Least(r.Work, r.Threads))
		}
	}
	w.Flops = int64(min(math.Round(flops), 1<<62))
	if m == nil || w.took <= 0 {
		return w
	}
	for _, host := range all { // ranks of a machine share its memory
		w.least = max(w.least, m.Least(host.Work, host.Threads))
	}
	share := w.least / w.took
	w.Share = &share
	return w
}

// String is the work in a line.
func (w *Work) String() string {
	about := ""
	if w.Estimated {
		about = "about "
	}
	line := fmt.Sprintf(
		"roofline: the leaves move %s at least and do %s%.4g multiplications and additions",
		tcs.Size(w.Bytes), about, float64(w.Flops))
	if w.Share == nil {
		return line + "; of the machine no model says what that takes (distaff doctor --tune measures it)"
	}
	return line + fmt.Sprintf(
		": %.3g ms by the machine model, and took %.3g ms, so that they reached %.0f%% of its limit",
		1e3*w.least, 1e3*w.took, 100**w.Share)
}
