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

// rankJob is a statement that runs at ranks of one thread. In its operands, # is replaced by an
// input. The job generates an operand whose input is dense, and reads other operands from .tcs
// files.
type rankJob struct {
	stmt, formats, operands string
	sizes                   map[string][]int64
	splits                  []string // splits of variables over the ranks
	machine                 string
	placements              string // separated by ;
	schedule                string
}

// kernel returns the statement over an input.
func (k rankJob) kernel(input string) kernel {
	return kernel{stmt: k.stmt, formats: k.formats,
		operands: strings.ReplaceAll(k.operands, "#", input)}
}

// ranked returns a maker of the job that runs k's statement over the given input. The job runs at
// the given number of ranks.
func (b *bench) ranked(k rankJob, input string, ranks int) maker {
	return func(int) *spmd.Job {
		j := b.job(kernel{stmt: k.stmt, formats: k.formats}, 1)
		j.Ranks, j.TrustInput, j.Keep, j.Sizes, j.Splits = ranks, true, false, k.sizes, k.splits
		if j.Machine = k.machine; k.schedule != "" {
			j.Placements, j.Schedule = strings.Split(k.placements, "; "), []string{k.schedule}
		}
		for _, o := range k.kernel(input).list() {
			if o.input == "dense" {
				j.Inputs[o.name] = spmd.Generated("dense")
			} else {
				j.Inputs[o.name] = spmd.File(b.file(o.input, ".tcs", writeTCS))
			}
		}
		return j
	}
}

// rankedLine is one line of the table: a job at two ranks. It is compared with the same job at one
// rank or, if split is set, with two ranks that do not split the reduction variable.
type rankedLine struct {
	name  string
	job   rankJob
	split []string // split of the measured side; the other side has none
	// bounds returns the memory rate that limits the speed of two ranks. It is nil if split is set.
	bounds func(l spmd.MachineLevel) spmd.MachinePair
	limit  float64 // largest time with the split, relative to the time without
}

// The speedup of two ranks over one must be at least leastSpeedup. It must also be at least
// r*allowed, where r is the memory bandwidth of two cores divided by the bandwidth of one core.
const leastSpeedup, allowed = 1.5, 0.9

// splitRounds is the smallest number of turns of a job whose loops are split over the ranks. Such a
// job needs several turns, because its time depends on where in physical memory its arrays are.
const splitRounds = 5

// rankedTable returns the lines of the group ranks.
func rankedTable() []rankedLine {
	spmv := rankJob{stmt: "y(i) = A(i,j)*x(j)", operands: "A=spmv x=dense"}
	square := rankJob{stmt: spmv.stmt, operands: "A=square x=dense"}
	ttm := rankJob{stmt: "Y(i,j,k) = A(i,j,l)*C(k,l)", formats: "Y:ssd", operands: "A=ttm C=dense",
		sizes: map[string][]int64{"k": {columns}}}
	reads := func(l spmd.MachineLevel) spmd.MachinePair { return l.Read }
	writes := func(l spmd.MachineLevel) spmd.MachinePair { return l.Write }
	return []rankedLine{
		{"SpMV 5M, 50M", spmv, nil, reads, 0},
		{"TTM 12.5M, 32", ttm, nil, writes, 0},
		{"SpMV 30k, j in 20", square, []string{"i:2", "j:20"}, nil, 1.3},
		{"TTM, l in 20", ttm, []string{"i:2", "l:20"}, nil, 1.3},
	}
}

// speedup returns the smallest accepted speedup of two ranks over one. m is the model of this
// machine, which contains its memory bandwidths. If m is nil, speedup returns leastSpeedup.
func (k *rankedLine) speedup(m *spmd.Machine) float64 {
	if m == nil {
		return leastSpeedup
	}
	bandwidth := k.bounds(m.Levels[len(m.Levels)-1])
	return max(leastSpeedup, allowed*bandwidth.At(2)/bandwidth.At(1))
}

func openRanks(b *bench) bool {
	if b.machine = must(spmd.MeasuredMachine()); b.machine == nil {
		b.printf("(this machine was not measured, by distaff doctor --tune: two ranks are held "+
			"to %v times the speed of one)\n", leastSpeedup)
	}
	b.openWays()
	return true
}

// ranks returns the lines of jobs at two ranks in this process and, if mpirun and a built
// bin/distaff exist, under mpirun. Sizes shrink with the scale. At a small scale vectors and
// results fit the caches, so the figures do not count.
func ranks(b *bench) (rows []row) {
	for _, k := range rankedTable() {
		base, ranks, rounds, split := ", 1 rank", 1, 0, k.job
		if split.splits = k.split; k.split != nil {
			base, ranks, rounds = ", unsplit, 2 ranks", 2, splitRounds
		}
		before, after := b.ranked(k.job, "", ranks), b.ranked(split, "", 2)
		rows = append(rows, row{name: k.name,
			jobs: []timedJob{{base, []int{ranks}, before}, {", 2 ranks", []int{2}, after}}})
		for _, w := range b.ways {
			rows = append(rows, row{name: k.name, threads: once, rounds: rounds,
				sides: func(int) []side { return []side{w.side(before, false), w.side(after, false)} },
				line: func(_ int, t []times) {
					x, y := t[0].median(), t[1].median()
					ratio, limit := y/x, k.limit
					over := ratio > limit
					if k.split == nil {
						ratio, limit = x/y, k.speedup(b.machine)
						over = ratio < limit
					}
					b.line(b.over(over), k.name, w.name, 1e3*x, 1e3*y, ratio, limit)
				}})
		}
	}
	return rows
}

// way is a way to start the ranks of a job: in this process, or under mpirun.
type way struct {
	name string
	run  func(*spmd.Job) outcome
}

// side returns the side that runs a job. If summed is true, the sum of its result is compared with
// other sides.
func (w way) side(job maker, summed bool) side {
	return func() outcome {
		o := w.run(job(1))
		o.summed = summed
		return o
	}
}

// openWays finds the ways to start ranks. mpirun and a built bin/distaff are needed for the second.
// Open MPI's launcher is preferred, because peers run under it.
func (b *bench) openWays() {
	b.ways = []way{{"local", func(j *spmd.Job) outcome {
		report := must(j.Run(b.ctx))
		return told(&report.Stats, strings.Join(report.Lines, "\n"))
	}}}
	for _, name := range []string{"mpirun.openmpi", "mpirun"} {
		launcher, err := exec.LookPath(name)
		if _, missing := os.Stat("bin/distaff"); err != nil || missing != nil {
			continue
		}
		b.ways = append(b.ways, way{"mpirun", func(j *spmd.Job) outcome {
			return b.mpiRanks(j, launcher)
		}})
		return
	}
	b.printf("(no mpirun with bin/distaff: make build, scripts/install-mpi.sh)\n")
}

// told returns the outcome of a job from its statistics and from the line that it printed, which
// ends with the sum of the result.
func told(s *spmd.Stats, line string) outcome {
	_, sum, _ := strings.Cut(line, ", sum ")
	return outcome{s.Phases.Compute, must(strconv.ParseFloat(strings.TrimSpace(sum), 64)), true, s}
}

// mpiRanks runs the job by bin/distaff under mpirun, with each rank on a core of its own.
func (b *bench) mpiRanks(j *spmd.Job, launcher string) outcome {
	path := filepath.Join(b.dir, "stats.json")
	line := must(output(append([]string{launcher, "-n", fmt.Sprint(j.Ranks), "--bind-to", "core",
		"bin/distaff", "run", "--stats=" + path}, flags(j)...)))
	var s spmd.Stats
	check(json.Unmarshal(must(os.ReadFile(path)), &s))
	return told(&s, line)
}

// output runs a command with more variables in its environment, and returns what it prints.
func output(argv []string, env ...string) (string, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1",
		"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), env...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return string(out), err
}

// flags returns the arguments of distaff run for a job.
func flags(j *spmd.Job) []string {
	argv := []string{j.Statement, fmt.Sprintf("--threads=%d", j.Threads),
		fmt.Sprintf("--warmup=%d", j.Warmup), fmt.Sprintf("--repeat=%d", j.Repeat),
		fmt.Sprintf("--trust-input=%t", j.TrustInput)}
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
		argv = append(argv, "-d="+name+":"+strings.Trim(strings.ReplaceAll(fmt.Sprint(sizes), " ",
			","), "[]"))
	}
	for flag, values := range map[string][]string{"-p=": j.Placements, "-s=": j.Schedule,
		"--split=": j.Splits} {
		for _, v := range values {
			argv = append(argv, flag+v)
		}
	}
	return argv
}

// placed is one line of the table: a job over placed tensors at two ranks of one thread, compared
// with another library at two ranks or with another job.
type placed struct {
	name    string
	job     rankJob
	input   string
	peer    string // the peer and its function, "petsc spmv"; "" if there is none
	against *rankJob
	least   float64 // smallest accepted speedup
}

// distributedRanks is the number of ranks of each side.
const distributedRanks = 2

// placedTable returns the lines of the group distributed.
func placedTable() []placed {
	byRows := func(tensors string) string {
		return "divide(i,io,ii,M.x),distribute(io),communicate({" + tensors + "},io)"
	}
	byEntries := func(tensors string) string { // each rank gets equally many entries of B
		return "fuse(i,j,f),pos(f,fp,B),divide(fp,fpo,fpi,M.x),distribute(fpo),communicate({" + tensors +
			"},fpo)"
	}
	// A rank has half of the columns. It first uses its own half of B, while the other half
	// arrives.
	summa := rankJob{stmt: "A(i,j) = B(i,k) * C(k,j)", operands: "B=# C=#2", formats: "A:dd",
		machine: "1x2", placements: "A(x,y) -> M(x,y); B(x,y) -> M(x,y); C(x,y) -> M(x,y)",
		schedule: "distribute({i,j},{io,jo},{ii,ji},M),divide(k,ko,ki,M.y)," +
			"reorder(io,jo,ko,ii,ji,ki),rotate(ko,{jo},kr),communicate({A,C},jo),communicate(B,kr)," +
			"substitute({ii,ji,ki},gemm)"}
	spmv := rankJob{stmt: "a(i) = B(i,j) * c(j)", operands: "B=# c=vec:#:1",
		placements: "a(x) -> M(x); B(x,y) -> M(x); c(x) -> M(x)", schedule: byRows("a,B,c")}
	// Each rank's part of the vector has two chunks of columns, which fit a cache. A rank starts
	// with the chunks of its own part while the next chunks arrive.
	chunks := spmv
	chunks.schedule = "divide(i,io,ii,M.x),divide(j,jo,ji,M.x),divide(ji,jc,jj,2)," +
		"reorder(io,jo,jc,ii,jj),distribute(io),rotate(jo,{io},jr),communicate(a,io)," +
		"communicate({B,c},jc)"
	spmvEntries := spmv
	spmvEntries.placements, spmvEntries.schedule = "B(x,y) -> M(~(x,y)); c(x) -> M(x)",
		byEntries("a,B,c")
	spmm := rankJob{stmt: "A(i,k) = B(i,j) * C(j,k)", operands: "B=# C=mat:#:1",
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x)", schedule: byRows("A,B,C")}
	spmmEntries := rankJob{stmt: spmm.stmt, operands: spmm.operands, formats: "A:dd",
		placements: "B(x,y) -> M(~(x,y)); C(x,y) -> M(x)", schedule: byEntries("A,B,C")}
	spadd3 := rankJob{stmt: "A(i,j) = B(i,j) + C(i,j) + D(i,j)", operands: "B=# C=#2 D=#3",
		formats:    "A:ds",
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x); D(x,y) -> M(x)",
		schedule:   byRows("A,B,C,D")}
	sddmm := rankJob{stmt: "A(i,j) = B(i,j) * C(i,k) * D(j,k)",
		operands: "B=# C=mat:#:0 D=mat:#:1", formats: "A:ds",
		placements: "A(x,y) -> M(x); B(x,y) -> M(x); C(x,y) -> M(x); D(x,y) -> M(*)",
		schedule:   byRows("A,B,C,D")}
	sddmmEntries := sddmm
	sddmmEntries.placements = "A(x,y) -> M(~(x,y)); B(x,y) -> M(~(x,y)); C(x,y) -> M(*); " +
		"D(x,y) -> M(*)"
	sddmmEntries.schedule = byEntries("A,B,C,D")
	return []placed{
		{"product 4096", summa, "m", "scalapack gemm", nil, 1.15},
		{"SpMV a", spmv, "a", "petsc spmv", nil, 1.1},
		{"SpMV b", chunks, "b", "petsc spmv", nil, 1.3},
		{"SpMV b non-zeros", spmvEntries, "b", "petsc spmv", nil, 1.3},
		{"SpMM 32 a", spmm, "a", "petsc spmm", nil, 3},
		{"SpMM 32 b", spmm, "b", "petsc spmm", nil, 2},
		{"SpMM 32 b non-zeros", spmmEntries, "b", "petsc spmm", nil, 2},
		{"SpAdd3 a", spadd3, "a", "petsc spadd3", nil, 10},
		{"SpAdd3 b", spadd3, "b", "petsc spadd3", nil, 10},
		{"SDDMM 32 b non-zeros", sddmmEntries, "b", "", &sddmm, 1.5},
		{"SDDMM 32 z non-zeros", sddmmEntries, "z", "", &sddmm, 1.5},
	}
}

func openDistributed(b *bench) bool {
	b.openWays()
	b.find(func(p *peer) bool { return p.name == "scalapack" || p.name == "petsc" })
	return true
}

// distributed returns the lines of jobs over placed tensors. Distaff runs as ranks of this process.
// If mpirun and a built bin/distaff exist, it also runs under mpirun, as the other libraries do.
func distributed(b *bench) (rows []row) {
	for _, k := range placedTable() {
		ranks, ours := []int{distributedRanks}, b.ranked(k.job, k.input, distributedRanks)
		r := row{name: k.name, jobs: []timedJob{{"", ranks, ours}}}
		if k.against != nil {
			r.jobs = append(r.jobs, timedJob{", by rows", ranks,
				b.ranked(*k.against, k.input, distributedRanks)})
		}
		rows = append(rows, r)
		peer, function, _ := strings.Cut(k.peer, " ")
		for _, w := range b.ways {
			sides, name := []side{w.side(ours, true)}, "-"
			if k.against != nil {
				sides, name = append(sides, w.side(r.jobs[1].job, true)), "by rows"
			}
			for _, p := range b.libs {
				if p.name == peer {
					sides, name = append(sides, b.peer(p, k.job.kernel(k.input), function,
						distributedRanks)), peer
				}
			}
			rows = append(rows, row{name: k.name, threads: once,
				sides: func(int) []side { return sides },
				line:  func(_ int, t []times) { b.placedLine(k, w.name, name, t) }})
		}
	}
	for _, w := range b.ways {
		rows = append(rows, row{name: "SpMV banded", threads: once, measure: func(int) { b.band(w) }})
	}
	return rows
}

// placedLine prints the speedup of a placed job over its baseline. The limit applies to the speedup
// of the median times. The speedup of the minimum times is printed too, because other load on the
// machine changes it less. Without a baseline, only the job was measured.
func (b *bench) placedLine(k placed, how, name string, t []times) {
	ours := t[0].median()
	if len(t) == 1 {
		b.line("", k.name, how, 1e3*ours, name, nil, nil, nil, k.least)
		return
	}
	faster := t[1].median() / ours
	b.line(b.over(faster < k.least), k.name, how, 1e3*ours, name, 1e3*t[1].median(),
		t[1].best()/t[0].best(), faster, k.least)
}

// bandWidth is the largest distance of an entry of the banded matrix from the diagonal.
const bandWidth = 100

// band runs SpMV on a banded matrix, and checks that the ranks receive only the vector's entries
// within the band.
func (b *bench) band(w way) {
	spmv := placedTable()[1].job
	spmv.operands, spmv.formats = "B=dense c=dense", "B:ds"
	j, n := b.ranked(spmv, "", distributedRanks)(1), b.scaled(200_000)
	j.Inputs["B"] = spmd.Generated(fmt.Sprint("banded:", bandWidth))
	j.Sizes = map[string][]int64{"B": {n, n}}
	got, over, want := w.run(j), false, 8*min(bandWidth, n/2)
	for rank, bytes := range got.stats.Comm.BytesReceived {
		over = over || bytes != want || got.stats.Comm.BytesSent[rank] != bytes
	}
	b.printf("%-22s %-8s %12.2f a rank receives %v bytes, %d of a band%s\n", "SpMV banded", w.name,
		1e3*got.times.median(), got.stats.Comm.BytesReceived, want, b.over(over))
}
