package stats

import (
	"fmt"
	"math"

	"distaff/io/tensor"
	"distaff/kernels/tune"
)

// Work is the work of the leaves in one run, over all ranks.
type Work struct {
	// Bytes is the size of the operands, each array read once without the values that are not used,
	// and of the result, written once.
	Bytes int64 `json:"bytes"`
	// Flops counts multiplications and additions of real numbers.
	Flops int64 `json:"flops"`
	// Estimated means that Flops is an estimate, because it depends on how the patterns of operands
	// meet. They were assumed to be spread evenly.
	Estimated bool `json:"estimated,omitempty"`
	// Share is the least time that the machine model allows, divided by the time that the leaves of
	// the last repeat took. It is nil if the machine was not measured, or if leaves do not run on
	// its CPUs.
	Share *float64 `json:"share_of_limit,omitempty"`

	least, took float64 // in seconds, if Share is not nil
}

// WorkOf adds up the work of the ranks. If m is not nil, it also computes Share: the least time
// that the machine model m predicts for this work, divided by the time that the leaves took.
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
	for _, host := range all { // the ranks of a machine share its memory
		w.least = max(w.least, m.Least(host.Work, host.Threads))
	}
	share := w.least / w.took
	w.Share = &share
	return w
}

// String returns a line about the work.
func (w *Work) String() string {
	about := ""
	if w.Estimated {
		about = "about "
	}
	line := fmt.Sprintf(
		"roofline: the leaves move at least %s and do %s%.4g multiplications and additions",
		tensor.Bytes(w.Bytes), about, float64(w.Flops))
	if w.Share == nil {
		return line + "; this machine has not been measured, so there is no model to compare " +
			"with (distaff doctor --tune measures it)"
	}
	return line + fmt.Sprintf(
		": %.3g ms by the machine model, but they took %.3g ms, which is %.0f%% of its limit",
		1e3*w.least, 1e3*w.took, 100**w.Share)
}
