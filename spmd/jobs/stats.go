package jobs

import (
	"encoding/json"
	"time"

	"distaff/spmd/stats"
)

// fileStats are the statistics of a job file: those of a job, whose repeats are the passes over the
// file, and what each statement took. Communication is that of the whole job.
type fileStats struct {
	stats.Stats
	Statements []Taken `json:"statements"`
}

// statistics is the text of the job's statistics, at rank 0. Collective.
func (r *run) statistics() ([]byte, error) {
	ranks, err := r.p.Statistics()
	if err != nil || r.p.Rank() != 0 {
		return nil, err
	}
	s := fileStats{Statements: r.report.Statements}
	s.Version, s.Argv, s.Statement, s.Schedule = r.o.Version, r.o.Argv, r.f.Name, "default"
	s.Ranks, s.Threads, s.Target = len(ranks), r.p.Threads(), r.o.Target
	s.Inputs = map[string]stats.Input{}
	for _, t := range r.f.Tensors {
		if in, ok := r.input(t); ok && in.File != "" && t.FromNumber == "" {
			s.Inputs[t.Name] = stats.Input{File: in.File}
		}
	}
	s.Phases.Compute, s.Phases.Total = r.report.Passes, time.Since(r.start).Seconds()
	s.AddRanks(ranks)
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("BUG: jobs: statistics do not marshal: " + err.Error())
	}
	return append(b, '\n'), nil
}
