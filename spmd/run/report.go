package run

import (
	"distaff/kernels/target"
	"distaff/kernels/tune"
	"distaff/spmd/stats"
	"distaff/spmd/tuned"
)

// fillStats fills in the job's statistics from the statistics of all ranks.
func (r *Job) fillStats(ranks []stats.Rank) {
	st := &r.report.Stats
	st.Ranks, st.Threads = len(ranks), r.Reader.Env.Threads
	st.Compiler = r.Prepared.Compiler()
	st.Inputs = map[string]stats.Input{}
	for name, s := range r.Reader.Sources {
		if s.In.File != "" && s.Scalar == nil {
			if name == r.Statement.Old {
				name = r.Statement.Result
			}
			st.Inputs[name] = stats.Input{File: s.In.File, Checksum: s.Checksum}
		}
	}
	st.AddRanks(ranks)
	for _, x := range ranks {
		r.report.Allocated = append(r.report.Allocated, x.Allocated)
	}
	r.fillWork(ranks)
	if !r.Prepared.Problem.Whole {
		r.Reader.Env.Detail(stats.Spent(ranks))
	}
	st.Phases.Total = seconds(r.start)
}

// fillWork fills in the work of the leaves, and the share of the machine's limit that they reached.
// It does so only if statistics or details were requested.
func (r *Job) fillWork(ranks []stats.Rank) {
	if r.spec.StatsFile == "" && r.spec.Settings.Detail == nil {
		return
	}
	var m *tune.Model
	if r.spec.Stats.Target == target.CPU {
		var err error
		if m, err = tuned.Kept(); err != nil {
			r.Reader.Env.Detail("the cached machine model cannot be used: " + err.Error())
		}
	}
	r.report.Stats.Work = stats.WorkOf(ranks, m)
	r.Reader.Env.Detail(r.report.Stats.Work.String())
}
