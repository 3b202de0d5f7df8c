package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"distaff/spmd"
)

// ranked is one line of the table: a job at two ranks of one thread. It is compared with the same
// job at one rank or, if split is set, with two ranks that do not split the reduction variable.
type ranked struct {
	name, stmt string
	input      string // input in ranksFiles, for the first operand on the right of the statement
	operand    string
	dense      string // the other operand
	formats    map[string]string
	sizes      map[string][]int64
	split      []string // split of the measured side; the other side has none
	// bounds returns the memory rate that limits the speed of two ranks. It is nil for a line with
	// a split.
	bounds func(l spmd.MachineLevel) spmd.MachinePair
	limit  float64 // largest time with the split, relative to the time without
}

// The speedup of two ranks over one must be at least leastSpeedup. It must also be at least
// r*allowed, where r is the memory bandwidth of two cores divided by the bandwidth of one core.
const leastSpeedup, allowed = 1.5, 0.9

// splitRounds is the smallest number of runs of a job whose loops are split over the ranks. Such a
// job needs several runs, because the time of a run depends on where in physical memory its arrays
// are.
const splitRounds = 5

// ranksFiles are the generated input files. Each section that uses them makes them in its own
// folder.
var ranksFiles = map[string]struct {
	nnz    int64
	format string
	dims   []int64
}{
	"spmv":   {50000000, "ds", []int64{5000000, 5000000}},
	"square": {9000000, "ds", []int64{30000, 30000}},
	"ttm":    {12500000, "sss", []int64{500000, 50000, 5000}},
}

func reads(l spmd.MachineLevel) spmd.MachinePair  { return l.Read }
func writes(l spmd.MachineLevel) spmd.MachinePair { return l.Write }

// speedup returns the smallest accepted speedup of two ranks over one. Lines that compare a split
// reduction variable with an unsplit one have a limit of their own instead. m is the model of this
// machine, which contains its memory bandwidths. If m is nil, speedup returns leastSpeedup.
func (k *ranked) speedup(m *spmd.Machine) float64 {
	if m == nil {
		return leastSpeedup
	}
	bandwidth := k.bounds(m.Levels[len(m.Levels)-1])
	return max(leastSpeedup, allowed*bandwidth.At(2)/bandwidth.At(1))
}

var ranksTable = []ranked{
	{"SpMV 5M, 50M", "y(i) = A(i,j)*x(j)", "spmv", "A", "x", nil, nil, nil, reads, 0},
	{"TTM 12.5M, 32", "Y(i,j,k) = A(i,j,l)*C(k,l)", "ttm", "A", "C", map[string]string{"Y": "ssd"},
		map[string][]int64{"k": {columns}}, nil, writes, 0},
	{"SpMV 30k, j in 20", "y(i) = A(i,j)*x(j)", "square", "A", "x", nil, nil,
		[]string{"i:2", "j:20"}, nil, 1.3},
	{"TTM, l in 20", "Y(i,j,k) = A(i,j,l)*C(k,l)", "ttm", "A", "C", map[string]string{"Y": "ssd"},
		map[string][]int64{"k": {columns}}, []string{"i:2", "l:20"}, nil, 1.3},
}

// ranks prints the section of jobs at two ranks in this process. If mpirun and a built bin/distaff
// exist, it also times them under mpirun. Sizes shrink with the scale. At a small scale vectors and
// results fit the caches, so the figures do not count.
func ranks(b *bench) error {
	dir, err := os.MkdirTemp("", "distaff-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	machine, err := spmd.MeasuredMachine()
	if err != nil {
		return err
	}
	if machine == nil {
		b.printf("(this machine was not measured, by distaff doctor --tune: two ranks are held "+
			"to %v times the speed of one)\n", leastSpeedup)
	}
	b.printf("%-20s %-8s %12s %12s %7s %6s\n", "job", "ranks", "base ms", "2 ranks ms", "ratio",
		"limit")
	for _, k := range ranksTable {
		if !b.wants(k.name) {
			continue
		}
		file, err := b.rankFile(dir, k.input)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if err := b.rankLine(k, machine, file, "local", b.localRanks); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if launcher := mpirun(); launcher != "" {
			run := func(j *spmd.Job) (*outcome, error) { return b.mpiRanks(j, dir, launcher) }
			if err := b.rankLine(k, machine, file, "mpirun", run); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	if mpirun() == "" {
		b.printf("(no mpirun with bin/distaff: make build, scripts/install-mpi.sh)\n")
	}
	return nil
}

// rankFile returns a generated file, and makes it at first use.
func (b *bench) rankFile(dir, name string) (string, error) {
	path := filepath.Join(dir, name+".tcs")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f := ranksFiles[name]
	var dims []int64
	for _, d := range f.dims {
		dims = append(dims, b.scaled(d))
	}
	vars := "i,j,k"[:2*len(dims)-1]
	j := &spmd.Job{Statement: "T(" + vars + ") = S(" + vars + ")",
		Sizes:   map[string][]int64{"S": dims},
		Formats: map[string]string{"T": f.format, "S": f.format},
		Inputs:  map[string]spmd.Input{"S": spmd.Generated(fmt.Sprint("uniform:", b.scaled(f.nnz)))},
		Outputs: []spmd.Output{{Tensor: "T", File: path}}}
	_, err := j.Run(b.ctx)
	return path, err
}

// job returns the job for one of the two times that a line of the table compares. file contains the
// sparse operand, and split lists how variables are split.
func (k *ranked) job(file string, ranks int, split []string) *spmd.Job {
	j := &spmd.Job{Statement: k.stmt, Formats: k.formats, Sizes: k.sizes,
		Inputs: map[string]spmd.Input{k.operand: spmd.File(file), k.dense: spmd.Generated("dense")}}
	j.Ranks, j.Threads, j.Splits, j.TrustInput = ranks, 1, split, true
	return j
}

func (b *bench) rankLine(k ranked, machine *spmd.Machine, file, how string,
	run func(*spmd.Job) (*outcome, error)) error {
	job := func(ranks int, split []string) *spmd.Job {
		j := k.job(file, ranks, split)
		j.Warmup, j.Repeat = 1, b.repeat
		return j
	}
	base, rounds := 2, max(b.rounds, splitRounds)
	if k.split == nil {
		base, rounds = 1, b.rounds
	}
	var before, after []float64
	for range rounds {
		x, err := run(job(base, nil))
		if err != nil {
			return err
		}
		y, err := run(job(2, k.split))
		if err != nil {
			return err
		}
		before, after = append(before, x.times...), append(after, y.times...)
	}
	ratio, limit, over := median(after)/median(before), k.limit, false
	if k.split == nil {
		ratio, limit = 1/ratio, k.speedup(machine)
		over = ratio < limit
	} else {
		over = ratio > limit
	}
	b.printf("%-20s %-8s %12.2f %12.2f %7.2f %6.2f%s\n", k.name, how, 1e3*median(before),
		1e3*median(after), ratio, limit, b.over(over))
	return nil
}

// outcome holds the compute times of a job and the sum of its result's values.
type outcome struct {
	times []float64
	sum   float64
	stats *spmd.Stats // nil for a peer
}

// told returns the outcome of a job from its statistics and from the line that it printed, which
// ends with the sum of the result.
func told(s *spmd.Stats, line string) (*outcome, error) {
	_, sum, ok := strings.Cut(line, ", sum ")
	value, err := strconv.ParseFloat(strings.TrimSpace(sum), 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("no sum of a result in %q", line)
	}
	return &outcome{s.Phases.Compute, value, s}, nil
}

func (b *bench) localRanks(j *spmd.Job) (*outcome, error) {
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, err
	}
	return told(&report.Stats, strings.Join(report.Lines, "\n"))
}

// mpirun returns the path of the launcher, or "" unless it and a built distaff exist. Peers run
// under Open MPI's launcher.
func mpirun() string {
	if _, err := os.Stat("bin/distaff"); err != nil {
		return ""
	}
	for _, name := range []string{"mpirun.openmpi", "mpirun"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// mpiRanks runs the job by bin/distaff under mpirun, with each rank on a core of its own.
func (b *bench) mpiRanks(j *spmd.Job, dir, launcher string) (*outcome, error) {
	path := filepath.Join(dir, "stats.json")
	argv := append([]string{"-n", fmt.Sprint(j.Ranks), "--bind-to", "core", "bin/distaff", "run",
		"--stats=" + path}, flags(j)...)
	cmd := exec.CommandContext(b.ctx, launcher, argv...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", launcher, strings.Join(argv, " "), err,
			errs.String())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s spmd.Stats
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return told(&s, string(out))
}

func flags(j *spmd.Job) []string {
	argv := []string{j.Statement, fmt.Sprintf("--threads=%d", j.Threads),
		fmt.Sprintf("--warmup=%d", j.Warmup), fmt.Sprintf("--repeat=%d", j.Repeat)}
	if j.TrustInput {
		argv = append(argv, "--trust-input")
	}
	if j.Machine != "" {
		argv = append(argv, "-m="+j.Machine)
	}
	for name, in := range j.Inputs {
		if in.File != "" {
			argv = append(argv, "-i="+name+":"+in.File)
		} else {
			argv = append(argv, "-g="+name+":"+in.Generate)
		}
	}
	for name, f := range j.Formats {
		argv = append(argv, "-f="+name+":"+f)
	}
	for name, sizes := range j.Sizes {
		text := strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ",")
		argv = append(argv, "-d="+name+":"+text)
	}
	for flag, values := range map[string][]string{"-p=": j.Placements, "-s=": j.Schedule,
		"--split=": j.Splits} {
		for _, v := range values {
			argv = append(argv, flag+v)
		}
	}
	return argv
}
