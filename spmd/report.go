package spmd

import (
	"cmp"

	"distaff/kernels"
	"distaff/spmd/stats"
)

// fillStats makes the statistics of all ranks' own.
func (r *rankJob) fillStats(ranks []stats.Rank) {
	st := &r.report.Stats
	st.Version, st.Argv, st.Statement = Version(), r.job.Argv, r.job.Statement
	if st.Argv == nil {
		st.Argv = []string{}
	}
	st.Schedule = r.job.scheduleText()
	st.Ranks, st.Threads, st.Target = len(ranks), r.Threads, cmp.Or(r.job.Target, kernels.DefaultTarget)
	st.Compiler = r.prepared.Compiler()
	st.Inputs = map[string]InputStats{}
	for name, s := range r.Sources {
		if s.In.File != "" && s.Scalar == nil {
			st.Inputs[name] = InputStats{File: s.In.File, Checksum: s.Checksum}
		}
	}
	largest := r.largest(ranks)
	seen := map[string]bool{}
	for _, x := range ranks {
		if !seen[x.Host] {
			seen[x.Host] = true
			st.Hosts = append(st.Hosts, x.Host)
		}
		st.Comm.BytesSent = append(st.Comm.BytesSent, x.Sent)
		st.Comm.BytesReceived = append(st.Comm.BytesReceived, x.Received)
		st.Comm.MessagesSent = append(st.Comm.MessagesSent, x.Messages)
		n := int64(0)
		if largest >= 0 {
			n = x.Used[largest]
		}
		st.Balance.Nonzeros = append(st.Balance.Nonzeros, n)
		st.PeakRSS = append(st.PeakRSS, x.PeakRSS)
		r.report.Allocated = append(r.report.Allocated, x.Allocated)
		st.Phases.Load, st.Phases.Compile = max(st.Phases.Load, x.Load), max(st.Phases.Compile, x.Compile)
	}
	if !r.prepared.Problem.Whole {
		r.Detail(stats.Spent(ranks))
	}
	st.Phases.Total = seconds(r.start)
}

// largest is the operand with most stored entries: the first of equals, but a sparse one
// before a dense one. It is -1 where there is none. What += adds to does not count.
func (r *rankJob) largest(ranks []stats.Rank) int {
	largest, most := -1, int64(-1)
	for i, o := range r.prepared.Problem.Operands {
		n := int64(0)
		for _, x := range ranks {
			n += x.Owned[i]
		}
		sparser := largest >= 0 && n == most && !r.Formats[o.Tensor].AllDense() && r.Formats[r.prepared.Problem.Operands[largest].Tensor].AllDense()
		if o.Tensor != r.p.Result && (n > most || sparser) {
			largest, most = i, n
		}
	}
	return largest
}
