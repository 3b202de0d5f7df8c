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

// fileStats are the statistics of a job file: those of a job, whose repeats are the runs of the
// whole file, and what each statement took.
type fileStats struct {
	stats.Stats
	Statements []Taken `json:"statements"`
}

// statistics is the text of the job's statistics, at rank 0. It comes before outputs take the
// place of files that were read. Collective.
func (r *execution) statistics() ([]byte, error) {
	parts := []comm.Counters{} // and not what prints and outputs send
	moving(r.names.f.Items, func(it jobfile.Item) { parts = append(parts, r.traffic[it]) })
	spent := r.p.Spent()
	ranks, err := r.p.StatisticsWith(
		stats.Rank{Load: spent.Load.Seconds(), Compile: spent.Compile.Seconds(), Nonzeros: r.largest.Here,
			Compute: r.compute}, parts...)
	if err != nil || r.p.Rank() != 0 {
		return nil, err
	}
	n := 0
	moving(r.names.f.Items, func(it jobfile.Item) {
		if s, ok := it.(*jobfile.Statement); ok {
			for _, x := range ranks {
				r.took[s].Comm.Add(x.Parts[n])
			}
		}
		n++
	})
	s := fileStats{Statements: r.report.Statements}
	s.Version, s.Argv, s.Statement = r.o.Version, r.o.Argv, r.names.f.Name
	s.Schedule, s.Compiler = r.inAll()
	s.Ranks, s.Threads, s.Target = len(ranks), r.p.Threads(), r.o.Target
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

// inAll are the schedules and the compilers of all statements, each once.
func (r *execution) inAll() (schedule, compiler string) {
	var schedules, compilers []string
	for _, t := range r.report.Statements {
		if !slices.Contains(schedules, t.Schedule) {
			schedules = append(schedules, t.Schedule)
		}
		if t.Compiler != "" && !slices.Contains(compilers, t.Compiler) {
			compilers = append(compilers, t.Compiler)
		}
	}
	return strings.Join(schedules, "; "), strings.Join(compilers, "; ")
}

// moving calls f with every statement and place, in the order of the file.
func moving(items []jobfile.Item, f func(it jobfile.Item)) {
	for _, it := range items {
		switch it := it.(type) {
		case *jobfile.Statement, *jobfile.Place:
			f(it)
		case *jobfile.Repeat:
			moving(it.Body, f)
		}
	}
}
