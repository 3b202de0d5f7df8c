package spmd

import (
	"cmp"

	"distaff/kernels/target"
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
	st.Ranks, st.Threads, st.Target = len(ranks), r.Threads, cmp.Or(r.job.Target, target.CPU)
	st.Compiler = r.prepared.Compiler()
	st.Inputs = map[string]InputStats{}
	for name, s := range r.Sources {
		if s.In.File != "" && s.Scalar == nil {
			if name == r.p.Old {
				name = r.p.Result
			}
			st.Inputs[name] = InputStats{File: s.In.File, Checksum: s.Checksum}
		}
	}
	st.AddRanks(ranks)
	for _, x := range ranks {
		r.report.Allocated = append(r.report.Allocated, x.Allocated)
	}
	r.fillWork(ranks)
	if !r.prepared.Problem.Whole {
		r.Detail(stats.Spent(ranks))
	}
	st.Phases.Total = seconds(r.start)
}

// fillWork says what the leaves had to do, and which share of the machine's limit they reached, where somebody asks.
func (r *rankJob) fillWork(ranks []stats.Rank) {
	if r.job.StatsFile == "" && r.job.Detail == nil {
		return
	}
	var m *Machine
	if cmp.Or(r.job.Target, target.CPU) == target.CPU {
		var err error
		if m, err = MeasuredMachine(); err != nil {
			r.Detail("the machine model in the cache is of no use: " + err.Error())
		}
	}
	r.report.Stats.Work = stats.WorkOf(ranks, m)
	r.Detail(r.report.Stats.Work.String())
}
