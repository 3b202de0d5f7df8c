package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"distaff/spmd"
)

// medianOff and worstOff are the largest accepted factors between a predicted and a measured time:
// for the median of all jobs, and for each job.
const medianOff, worstOff = 1.3, 2

// forecast is a line of this section: a job that another section times too.
type forecast struct {
	section, name string
	job           func(threads int) (*spmd.Job, error)
	threads       []int // nil means the numbers of threads asked for
}

// forecasts returns the lines of this section.
func (b *bench) forecasts(dir string) []forecast {
	var list []forecast
	of := func(k kernel, schedule ...string) func(int) (*spmd.Job, error) {
		return func(threads int) (*spmd.Job, error) {
			j, err := b.job(k, threads)
			if err == nil {
				j.Schedule = schedule
			}
			return j, err
		}
	}
	for _, k := range table() {
		list = append(list, forecast{"leaves", k.name, of(k), nil})
	}
	for _, t := range []string{"c", "d", "e", "f"} {
		for mode := range inputs[t].dims {
			k := mttkrp(t, mode)
			list = append(list, forecast{"modes", strings.TrimSuffix(k.name, ", one copy"), of(k),
				nil})
		}
		for _, columns := range []string{"", ",l"} {
			for mode := range inputs[t].dims[1:] {
				name, k := summed(t, t, mode, columns)
				list = append(list, forecast{"modes", name, of(k), nil})
			}
		}
	}
	for _, c := range contractions {
		list = append(list, forecast{"dense", c.name,
			func(threads int) (*spmd.Job, error) { return b.contraction(c, b.square(), threads) },
			nil})
	}
	for _, c := range contests() {
		threads := []int{slices.Max(b.threads)}
		if c.one {
			threads = []int{1}
		}
		for _, s := range c.runs {
			k := kernel{name: c.name, stmt: c.stmt, inputs: c.inputs}
			list = append(list, forecast{"schedules", c.name + ", " + s.name,
				func(n int) (*spmd.Job, error) {
					for _, in := range c.inputs {
						if err := b.made(in); err != nil {
							return nil, fmt.Errorf("input %s: %w", in, err)
						}
					}
					return of(k, s.schedule)(n)
				}, threads})
		}
	}
	for _, p := range products() {
		if !p.lacks() {
			list = append(list, forecast{"networks", p.name, func(threads int) (*spmd.Job, error) {
				if err := b.productInputs(p); err != nil {
					return nil, err
				}
				return b.networkJob(p, ways[0], threads), nil
			}, nil})
		}
	}
	return append(list, b.forecastsOfRanks(dir)...)
}

// forecastsOfRanks returns the jobs of the sections ranks and distributed. They run on one or two
// ranks of one thread each, and read files in dir.
func (b *bench) forecastsOfRanks(dir string) []forecast {
	var list []forecast
	add := func(section, name string, threads int, job func() (*spmd.Job, error)) {
		list = append(list, forecast{section, name, func(int) (*spmd.Job, error) { return job() },
			[]int{threads}})
	}
	for _, k := range ranksTable {
		base, ranks := "1 rank", 1
		if k.split != nil {
			base, ranks = "unsplit, 2 ranks", 2
		}
		for _, side := range []struct {
			name  string
			ranks int
			split []string
		}{{base, ranks, nil}, {"2 ranks", 2, k.split}} {
			add("ranks", k.name+", "+side.name, side.ranks, func() (*spmd.Job, error) {
				file, err := b.rankFile(dir, k.input)
				return k.job(file, side.ranks, side.split), err
			})
		}
	}
	for _, k := range placedTable {
		add("distributed", k.name, distributedRanks, func() (*spmd.Job, error) {
			files, _, err := b.placedFiles(k, dir, false)
			return b.placedJob(k.job, files), err
		})
		if k.against.stmt != "" {
			add("distributed", k.name+", by rows", distributedRanks, func() (*spmd.Job, error) {
				files, _, err := b.placedFiles(k, dir, false)
				return b.placedJob(k.against, files), err
			})
		}
	}
	return list
}

// predictions prints the section that compares the times that plans predict with the best measured
// times, for the leaves of other sections and for messages between ranks of this process.
func predictions(b *bench) error {
	machine, err := spmd.MeasuredMachine()
	if err != nil {
		return err
	}
	if machine == nil {
		b.printf("this machine was not measured: distaff doctor --tune\n")
		return nil
	}
	b.printf("%-12s %-42s %7s %12s %12s %7s %6s\n", "section", "line", "threads", "predicted ms",
		"measured ms", "off by", "limit")
	dir, err := os.MkdirTemp("", "bench-predictions-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []float64
	for _, f := range b.forecasts(dir) {
		if !b.wants(f.section + " " + f.name) {
			continue
		}
		threads := f.threads
		if threads == nil {
			threads = b.threads
		}
		for _, n := range threads {
			off, err := b.prediction(f, n)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", f.section, f.name, err)
			}
			all = append(all, off)
		}
	}
	if len(all) == 0 {
		return nil
	}
	off := median(all)
	b.printf("\nthe median of %d is off by %.2f times, of %.2f at most%s\n", len(all), off,
		medianOff, b.over(off > medianOff))
	return nil
}

// prediction prints a line of the table and returns the factor between prediction and measurement.
func (b *bench) prediction(f forecast, threads int) (float64, error) {
	j, err := f.job(threads)
	if err != nil {
		return 0, err
	}
	p, err := j.Plan(b.ctx, 0)
	if err != nil {
		return 0, err
	}
	best := 0.0
	for range b.rounds {
		j.Repeat, j.Warmup = b.repeat, 1
		report, err := j.Run(b.ctx)
		if err != nil {
			return 0, err
		}
		if report.Result != nil {
			if err := report.Result.Close(); err != nil {
				return 0, err
			}
		}
		took := slices.Min(report.Stats.Phases.Compute)
		best = min(cmp.Or(best, took), took)
	}
	predicted := *p.Time.Compute
	if p.Time.Messages != nil {
		predicted += *p.Time.Messages
	}
	off := math.Max(predicted/best, best/predicted)
	b.printf("%-12s %-42s %7d %12.2f %12.2f %7.2f %6.2f%s\n", f.section, f.name, threads,
		1e3*predicted, 1e3*best, off, float64(worstOff), b.over(off > worstOff))
	return off, nil
}
