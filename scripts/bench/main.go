// Command bench measures Distaff on the inputs that docs/bench-lines.md describes, and prints one
// table for each group of lines, for example of leaves compared with handwritten kernels
// (hand/kernels.c). The sides of a comparison take turns on the same tensors and threads, so that a
// change of the machine's speed affects all sides.
//
// go run ./scripts/bench [-only leaves] [-lines spmv] [-peers mkl] [-scale 1] [-threads 1,2]
// [-rounds 3] [-list]
//
// The group gpu needs libcuda and libnvrtc at run time, and no Go and no C compiler: the result of
// `go build` can be copied to a machine with a GPU. With -dry the leaves of this group are
// interpreted with all checks, which is slow. With a -scale of 0.0002 that takes seconds. Times of
// interpreted leaves mean nothing and have no limits.
//
// # Files
//
//	main.go      the groups, and how their lines are measured and printed; predictions
//	inputs.go    the inputs
//	generate.go  matrices and tensors with given numbers of entries in each row
//	kernels.go   statements by Distaff and by functions written by hand
//	leaves.go    the groups leaves, assembly, modes and dense
//	networks.go  the groups networks and schedules
//	choices.go   the group choice
//	ranks.go     the groups ranks and distributed
//	files.go     the groups load, store, text and latency
//	programs.go  the group programs
//	peers.go     other libraries
//	gpu.go       the group gpu
//	gpudense.go  the lines of that group about dense products
//	cusparse.go  cuSPARSE and the card's bandwidth
//	cusparse.c   the C part of cusparse.go and gpudense.go, with the header cusparse.h
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"distaff/io/tcs"
	"distaff/kernels/cc"
	"distaff/spmd"
)

// group is a table of the report. columns has the name and the format of each column, for example
// "threads %7d|ratio %7.2f". open, if not nil, prepares the group and prints notes before the
// table. It returns false if this machine cannot measure the group, and says why.
type group struct {
	name, about, columns string
	open                 func(*bench) bool
	rows                 func(*bench) []row
}

// row is a line of a table, or several lines if it has several numbers of threads. The sides take
// turns, and then the function line prints their times. If measure is not nil, measure does all
// this instead. If both line and measure are nil, the row prints nothing, and only the group
// predictions uses its jobs.
type row struct {
	name    string // what -lines selects by; "" for a summary of the rows before
	threads []int  // nil means the numbers that -threads lists
	rounds  int    // the smallest number of turns
	sides   func(threads int) []side
	line    func(threads int, t []times)
	measure func(threads int)
	jobs    []timedJob // the jobs that the group predictions compares with their plans
}

// groups returns the groups in the order of execution.
func groups() []group {
	const ratio = "ratio %7.2f|limit %6.2f"
	return []group{
		{"leaves", "leaves against kernels written by hand and against other libraries, of which " +
			"the best has the line", "kernel %-28s|threads %7d|distaff %9.2f|median %9.2f|" +
			"by hand %9.2f|median %9.2f|peer %-12s|best %9.2f|median %9.2f|of hand %8.2f|of peer %8.2f",
			(*bench).libraries, leaves},
		{"predictions", "what plans predict of leaves by the machine's model, against what they " +
			"take at best", "section %-12s|line %-42s|threads %7d|predicted ms %12.2f|" +
			"measured ms %12.2f|off by %7.2f|limit %6.2f", measuredMachine, predictions},
		{"modes", "every mode from one copy, against the mode of its storage order",
			"kernel %-22s|threads %8d|distaff ms %12.2f|own order %12.2f|" + ratio, nil, modes},
		{"dense", "dense contractions against OpenBLAS called directly for as many multiply-adds",
			"contraction %-36s|threads %8d|distaff GF/s %12.1f|direct GF/s %12.1f|ratio %7.2f|" +
				"least %6.2f", openBLAS, dense},
		{"store", "storing a .tcs against write() of its bytes",
			"result %-22s|ranks %8d|MB %8d|store ms %12.2f|write ms %12.2f|" + ratio, nil, store},
		{"load", "a .tcs file in the page cache: blocks at two ranks against read()",
			"blocks %-22s|ranks %8d|distaff ms %12.2f|read ms %12.2f|" + ratio +
				"|MB a rank %9.0f|limit %9.0f", nil, loads},
		{"ranks", "two ranks of one thread against one; splits of a reduction variable against none",
			"job %-20s|ranks %-8s|base ms %12.2f|2 ranks ms %12.2f|" + ratio, openRanks, ranks},
		{"distributed", "statements over placed tensors at two ranks of one thread, against other " +
			"libraries", "job %-22s|ranks %-8s|distaff ms %12.2f|other %-10s|other ms %12.2f|" +
			"by least %8.2f|faster %7.2f|at least %8.2f", openDistributed, distributed},
		{"schedules", "loops by schedules, against each other and written by hand",
			"statement %-15s|schedule %-27s|threads %8d|distaff ms %12.2f|by hand ms %12.2f|" + ratio,
			nil, schedules},
		{"assembly", "leaves, which assemble their results, against compute alone",
			"kernel %-22s|threads %8d|distaff ms %12.2f|values ms %12.2f|ratio %7.2f|" +
				"by hand ms %12.2f|" + ratio + "|values by hand %15.2f", nil, assembly},
		{"networks", "products of several tensors by default, against one nest and against " +
			"contractions two by two", "product %-20s|threads %7d|auto ms %10.2f|direct ms %10.2f|" +
			"pairwise ms %12.2f|to best %7.2f|limit %6.2f|faster %7.1f|least %6.0f|auto KB %11.1f|" +
			"pairw. KB %11.1f|smaller %7.0f|least %6.0f|peak KB %11.1f|predicted %11.1f|auto is %s",
			nil, networks},
		{"choice", "what the default schedule chooses, against other schedules, formats and statements " +
			"that compute the same", "statement %-38s|threads %7d|default ms %10.3f|best ms %10.3f|" +
			"to best %7.2f|limit %6.2f|slowest %8.1f|best is %s", nil, chosen},
		{"text", "text files against bufio.Scanner, strings.Fields and strconv",
			"text %-28s|distaff ms %12.2f|scanner ms %12.2f|" + ratio, nil, texts},
		{"latency", "the distaff command on a tiny statement", "tiny SpMV, start to exit %-28s|" +
			"median ms %12.1f|least ms %12.1f|most ms %12.1f|limit ms %9.0f", nil, latency},
		{"programs", "prepared statements against their leaves, and conjugate gradients against " +
			"SciPy's", "program %-46s|unit %-4s|threads %8d|distaff %12.2f|other %12.2f|" +
			"by least %9.2f|figure %9.2f|limit %7.2f", nil, programs},
		{"gpu", "leaves on a GPU, against cuSPARSE's best algorithm, the bandwidth of its memory, and " +
			"each other", "line %-36s|schedule %-26s|ms %10.4f|peer ms %10.4f|peer %-28s|ratio %7.3f|" +
			"GB/s %8.1f|share %7.3f", openGPU, onGPU},
	}
}

// bench is the state that the groups share.
type bench struct {
	ctx     context.Context
	out     io.Writer
	scale   float64 // factor for sizes and counts
	threads []int   // numbers of threads to measure
	rounds  int     // number of turns of each side of a comparison
	repeat  int     // timed runs per turn
	lines   *regexp.Regexp
	peers   *regexp.Regexp // the libraries to compare leaves with
	list    bool           // names of lines are printed, and nothing is measured
	dry     bool           // leaves of the group gpu are interpreted

	columns []string               // formats of the columns of the group
	dir     string                 // a folder for files of the group
	tensors map[string]*tcs.Tensor // inputs that the group has made (inputs.go)
	objects map[string]*cc.Object  // compiled C, by its text
	libs    []*peer                // libraries that the group compares with
	ways    []way                  // how the group starts ranks
	machine *spmd.Machine          // the model of this machine, or nil
	gpu     *device
	missed  int // number of figures over their limits
	wrong   int // number of lines of a GPU that failed or have wrong results
}

func (b *bench) printf(format string, args ...any) { fmt.Fprintf(b.out, format, args...) }

// over counts a figure that exceeds its limit, and returns the mark to print after it. If exceeded
// is false, it returns "".
func (b *bench) over(exceeded bool) string {
	if !exceeded {
		return ""
	}
	b.missed++
	return " over"
}

// verb matches the format of a column.
var verb = regexp.MustCompile(`%(-?[0-9]*)(\.[0-9]+)?[a-z]`)

// head prints the names of the columns.
func (b *bench) head(columns string) {
	b.columns = nil
	var names []any
	for _, c := range strings.Split(columns, "|") {
		name, format, _ := strings.Cut(c, " %")
		names, b.columns = append(names, name), append(b.columns, "%"+format)
	}
	b.line("", names...)
}

// line prints a line of the table with a value for each column, followed by mark. A missing
// value is nil. A column of numbers may have a text instead.
func (b *bench) line(mark string, values ...any) {
	for k, v := range values {
		format := b.columns[k]
		if v == nil {
			v = "-"
		}
		if _, text := v.(string); text {
			format = verb.ReplaceAllString(format, "%${1}s")
		}
		if k > 0 {
			b.printf(" ")
		}
		b.printf(format, v)
	}
	b.printf("%s\n", mark)
}

// outcome holds the measurements of one side of a comparison in one turn: the seconds of its runs
// and, if summed is set, the sum of its result's values.
type outcome struct {
	times  times
	sum    float64
	summed bool
	stats  *spmd.Stats // nil if the side is not a job
}

// side runs one of the computations that a line compares, and returns its measurements. The sides
// of a comparison take turns.
type side func() outcome

// clocked returns a side that measures one call of f.
func clocked(f func() error) side {
	return func() outcome {
		at := time.Now()
		check(f())
		return outcome{times: times{time.Since(at).Seconds()}}
	}
}

// turns lets the sides take the given number of turns alternately, and returns the seconds of each
// side's runs. In each round, if sides return sums of their results, the sums must be about equal
// (see sameSum).
func turns(rounds int, sides ...side) []times {
	all := make([]times, len(sides))
	for range rounds {
		var first *outcome
		for k, s := range sides {
			o := s()
			if all[k] = append(all[k], o.times...); o.summed && first == nil {
				first = &o
			} else if o.summed {
				check(sameSum(first.sum, o.sum))
			}
		}
	}
	return all
}

// sameSum returns an error unless the sums of two results differ by at most a millionth.
func sameSum(mine, other float64) error {
	if !(math.Abs(mine-other) <= 1e-6*math.Abs(mine)) {
		return fmt.Errorf("results differ: the sum is %v, not %v", other, mine)
	}
	return nil
}

// times are the seconds of runs.
type times []float64

func (t times) median() float64 { return slices.Sorted(slices.Values(t))[len(t)/2] }
func (t times) best() float64   { return slices.Min(t) }

func main() {
	b := &bench{ctx: context.Background(), out: os.Stdout}
	flag.Float64Var(&b.scale, "scale", 1, "sizes and counts times this")
	flag.IntVar(&b.rounds, "rounds", 3, "turns of each side")
	flag.IntVar(&b.repeat, "repeat", 3, "timed runs a turn")
	flag.BoolVar(&b.list, "list", false, "print the names of the lines, and measure nothing")
	flag.BoolVar(&b.dry, "dry", false, "interpret the leaves of the group gpu, without a GPU")
	threads := flag.String("threads", fmt.Sprintf("1,%d", runtime.NumCPU()), "numbers of threads")
	only := flag.String("only", "", "a regular expression of groups: "+names())
	lines := flag.String("lines", "", "a regular expression of a group's lines")
	peers := flag.String("peers", "",
		"a regular expression of the libraries that leaves are compared with; none: no library")
	flag.Parse()
	b.run(*threads, *only, *lines, *peers)
	if b.wrong > 0 {
		os.Exit(1)
	}
}

// running has the name of the line that is being measured, and the folder of its files.
var running struct{ line, dir string }

// check ends the program if there is an error. The functions of this command call it where nothing
// else can be done about an error, and return none.
func check(err error) {
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	os.RemoveAll(running.dir)
	fmt.Fprintf(os.Stderr, "bench: %s%v\n", running.line, err)
	os.Exit(1)
}

// must returns v, unless there is an error, which ends the program.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func names() string {
	var list []string
	for _, g := range groups() {
		list = append(list, g.name)
	}
	return strings.Join(list, ", ")
}

// run measures and prints the groups and lines that the flags select.
func (b *bench) run(threads, only, lines, peers string) {
	for _, text := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail(fmt.Errorf("-threads: %q is no number of threads", text))
		}
		if !slices.Contains(b.threads, n) {
			b.threads = append(b.threads, n)
		}
	}
	filter := must(regexp.Compile("(?i)^(" + only + ")"))
	b.lines = must(regexp.Compile("(?i)" + lines))
	b.peers = must(regexp.Compile("(?i)^(" + peers + ")"))
	some := false
	for _, g := range groups() {
		if filter.MatchString(g.name) {
			some = true
			b.group(g)
			b.printf("\n")
		}
	}
	if !some {
		fail(fmt.Errorf("-only=%s names none of %s", only, names()))
	}
	b.printf("%d figures over their limits\n", b.missed)
}

// group prints one table.
func (b *bench) group(g group) {
	b.dir = must(os.MkdirTemp("", "bench-"+g.name+"-"))
	running.dir, running.line = b.dir, g.name+": "
	defer os.RemoveAll(b.dir)
	b.tensors, b.objects = map[string]*tcs.Tensor{}, map[string]*cc.Object{}
	defer b.forget()
	b.printf("%s: %s\n\n", g.name, g.about)
	if g.open != nil && !g.open(b) && !b.list {
		return
	}
	b.head(g.columns)
	for _, r := range g.rows(b) {
		if r.name != "" && !b.lines.MatchString(r.name) {
			continue
		}
		if r.threads == nil {
			r.threads = b.threads
		}
		for _, n := range r.threads {
			running.line = g.name + ": " + r.name + ": "
			b.row(g, r, n)
		}
		check(os.RemoveAll(filepath.Join(b.dir, "row")))
	}
	running.line = ""
}

// once is the value of row.threads for rows that do not depend on -threads. Such a row has one
// line.
var once = []int{1}

// row measures a row and prints its line for a number of threads.
func (b *bench) row(g group, r row, threads int) {
	switch {
	case r.measure == nil && r.line == nil:
	case b.list && r.name != "":
		b.printf("%s\t%s\t%d\n", g.name, r.name, threads)
	case r.measure != nil:
		r.measure(threads)
	case r.sides == nil:
		r.line(threads, nil)
	default:
		r.line(threads, turns(max(b.rounds, r.rounds), r.sides(threads)...))
	}
}

// medianOff and worstOff are the largest accepted factors between a predicted and a measured time:
// for the median of all jobs, and for each job.
const medianOff, worstOff = 1.3, 2

func measuredMachine(b *bench) bool {
	if b.machine = must(spmd.MeasuredMachine()); b.machine == nil {
		b.printf("this machine was not measured: distaff doctor --tune\n")
	}
	return b.machine != nil
}

// predictions returns the lines that compare the times that plans predict with the best measured
// times, for the jobs of other groups and for messages between ranks of this process.
func predictions(b *bench) (rows []row) {
	var all times
	for _, g := range groups() {
		if g.name == "predictions" {
			continue
		}
		for _, r := range g.rows(b) {
			for _, t := range r.jobs {
				line := r.name + t.suffix
				rows = append(rows, row{name: g.name + " " + line, threads: t.threads,
					measure: func(n int) { all = append(all, b.prediction(g.name, line, t, n)) }})
			}
		}
	}
	return append(rows, row{threads: once, line: func(int, []times) {
		if len(all) > 0 {
			off := all.median()
			b.printf("\nthe median of %d is off by %.2f times, of %.2f at most%s\n", len(all), off,
				medianOff, b.over(off > medianOff))
		}
	}})
}

// prediction prints a line of the table and returns the factor between prediction and measurement.
func (b *bench) prediction(group, line string, t timedJob, threads int) float64 {
	j := t.job(threads)
	p := must(j.Plan(b.ctx, 0))
	best := turns(b.rounds, b.timesOf(func(int) *spmd.Job { return j }, threads))[0].best()
	predicted := *p.Time.Compute
	if p.Time.Messages != nil {
		predicted += *p.Time.Messages
	}
	off := math.Max(predicted/best, best/predicted)
	b.line(b.over(off > worstOff), group, line, threads, 1e3*predicted, 1e3*best, off,
		float64(worstOff))
	return off
}
