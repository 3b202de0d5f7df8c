package jobs

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"distaff/codegen/jobfile"
	"distaff/spmd/comm"
	"distaff/spmd/input"
	"distaff/spmd/stats"
)

// fileStats holds the statistics of a job file. The fields of Stats that describe a repeat describe
// a run of the whole file here, and not a repeat command of the file.
type fileStats struct {
	stats.Stats
	Statements []Taken `json:"statements"`
}

// statistics returns the text of the job's statistics at rank 0. It must be called before outputs
// replace files that were read. Every rank must call it.
func (r *execution) statistics() ([]byte, error) {
	parts := []comm.Counters{} // without the traffic of prints and outputs
	eachMove(r.names.f.Items, func(it jobfile.Item) { parts = append(parts, r.traffic[it]) })
	spent := r.p.Spent()
	ranks, err := r.p.StatisticsWith(
		stats.Rank{Load: spent.Load.Seconds(), Compile: spent.Compile.Seconds(), Nonzeros: r.largest.Here,
			Compute: r.compute}, parts...)
	if err != nil || r.p.Rank() != 0 {
		return nil, err
	}
	n := 0
	eachMove(r.names.f.Items, func(it jobfile.Item) {
		if took := r.took[it]; took != nil {
			for _, x := range ranks {
				took.Comm.Add(x.Parts[n])
			}
		}
		n++
	})
	s := fileStats{Statements: r.report.Statements}
	s.Version, s.Argv, s.Statement = r.o.Version, r.o.Argv, r.names.f.Name
	s.Schedule, s.Compiler = r.allSchedules()
	s.Ranks, s.Threads = len(ranks), r.p.Threads()
	s.Target, s.TargetReason = r.p.Target()
	s.Inputs = map[string]stats.Input{}
	for _, t := range r.names.f.Tensors {
		in, ok := r.names.input(t)
		if !ok || in.File == "" || t.Order == 0 && jobfile.IsNumber(in.File) {
			continue
		}
		sum, err := input.Checksum(in.File, r.p.Tmp())
		if err != nil {
			return nil, err
		}
		s.Inputs[t.Name] = stats.Input{File: in.File, Checksum: sum}
	}
	s.Phases.Store, s.Phases.Total = time.Since(r.storing).Seconds(), time.Since(r.start).Seconds()
	s.Phases.Compute = make([]float64, len(r.compute))
	for _, x := range ranks {
		for n, t := range x.Compute {
			s.Phases.Compute[n] = max(s.Phases.Compute[n], t)
		}
	}
	s.AddRanks(ranks)
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("BUG: jobs: statistics do not marshal: " + err.Error())
	}
	return append(b, '\n'), nil
}

// allSchedules returns the schedules and the compilers of all statements, each one once.
func (r *execution) allSchedules() (schedule, compiler string) {
	var schedules, compilers []string
	for _, t := range r.report.Statements {
		if t.Schedule != "" && !slices.Contains(schedules, t.Schedule) {
			schedules = append(schedules, t.Schedule)
		}
		if t.Compiler != "" && !slices.Contains(compilers, t.Compiler) {
			compilers = append(compilers, t.Compiler)
		}
	}
	return strings.Join(schedules, "; "), strings.Join(compilers, "; ")
}

// eachMove calls f with every statement, function of whole matrices and place, in the order of the
// file. Only the traffic of these items is counted.
func eachMove(items []jobfile.Item, f func(it jobfile.Item)) {
	for it := range jobfile.All(items) {
		switch it.(type) {
		case *jobfile.Statement, *jobfile.Linalg, *jobfile.Place:
			f(it)
		}
	}
}
