// Command bench measures Distaff on the inputs that docs/bench-lines.md describes, and prints one
// table for each section, for example of leaves compared with handwritten kernels (hand/kernels.c).
// The two sides of a comparison take turns on the same tensors and threads, so that a change of the
// machine's speed affects both.
//
// go run ./scripts/bench [-only leaves] [-lines spmv] [-peers mkl] [-scale 1] [-threads 1,2]
// [-rounds 3]
//
// # Files
//
//	main.go         the command, and how it measures
//	inputs.go       the inputs
//	leaves.go       leaves against handwritten kernels and other libraries
//	predictions.go  the times that plans predict for leaves
//	modes.go        every mode from one copy
//	dense.go        dense contractions against OpenBLAS
//	assembly.go     assembly against compute alone
//	schedules.go    schedules against the default
//	networks.go     products of many tensors, contracted in every way
//	text.go         text files
//	load.go         loading
//	store.go        storing
//	ranks.go        several ranks against one
//	distributed.go  placed tensors at two ranks, against other libraries
//	latency.go      small jobs
//	programs.go     prepared statements
//	alone.go        leaves called by a loop in C
//	against.go      a leaf, a handwritten kernel and libraries, alternately
//	peers.go        other libraries
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
)

// section is a table of the report. It prints with bench.printf, asks bench.wants which of its
// lines to measure, and marks each figure that exceeds its limit with bench.over. If this machine
// lacks something that a section needs, the section prints a line about it or returns an error. An
// error ends the run.
type section struct {
	name, about string
	run         func(*bench) error
}

// sections lists the sections in the order of execution. Each is in a file of its own.
var sections = []section{
	{"leaves", "leaves against kernels written by hand and against other libraries, of which " +
		"the best has the line", leaves},
	{"predictions", "what plans predict of leaves by the machine's model, against what they " +
		"take at best", predictions},
	{"modes", "every mode from one copy, against the mode of its storage order", modes},
	{"dense", "dense contractions against OpenBLAS called directly for as many multiply-adds",
		dense},
	{"store", "storing a .tcs against write() of its bytes", store},
	{"load", "a .tcs file in the page cache: blocks at two ranks against read()", loads},
	{"ranks", "two ranks of one thread against one; splits of a reduction variable against none",
		ranks},
	{"distributed", "statements over placed tensors at two ranks of one thread, against other " +
		"libraries", distributed},
	{"schedules", "loops by schedules, against each other and written by hand", schedules},
	{"assembly", "leaves, which assemble their results, against compute alone", assembly},
	{"networks", "products of several tensors by default, against one nest and against " +
		"contractions two by two", networks},
	{"text", "text files against bufio.Scanner, strings.Fields and strconv", texts},
	{"latency", "the distaff command on a tiny statement", latency},
	{"programs", "prepared statements against their leaves, and conjugate gradients against " +
		"SciPy's", programs},
}

// bench is the state that the sections share.
type bench struct {
	ctx     context.Context
	scale   float64 // factor for sizes and counts
	threads []int   // numbers of threads to measure
	rounds  int     // number of turns of each side of a comparison
	repeat  int     // timed runs per turn
	lines   *regexp.Regexp
	peers   *regexp.Regexp         // the libraries to compare leaves with
	tensors map[string]*tcs.Tensor // inputs made so far (inputs.go)
	missed  int                    // number of figures over their limits
}

// wants reports whether the user selected the line with the given name (-lines).
func (b *bench) wants(name string) bool { return b.lines.MatchString(name) }

func (b *bench) printf(format string, args ...any) { fmt.Printf(format, args...) }

// over counts and marks the figures that exceed their limits. Call it for each figure that has a
// limit. If exceeded is true, it counts the figure and returns the mark to print after it.
// Otherwise it returns "".
func (b *bench) over(exceeded bool) string {
	if !exceeded {
		return ""
	}
	b.missed++
	return " over"
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

func main() {
	b := &bench{ctx: context.Background(), tensors: map[string]*tcs.Tensor{}}
	flag.Float64Var(&b.scale, "scale", 1, "sizes and counts times this")
	flag.IntVar(&b.rounds, "rounds", 3, "turns of each side")
	flag.IntVar(&b.repeat, "repeat", 3, "timed runs a turn")
	threads := flag.String("threads", fmt.Sprintf("1,%d", runtime.NumCPU()), "numbers of threads")
	only := flag.String("only", "", "a regular expression of sections: "+names())
	lines := flag.String("lines", "", "a regular expression of a section's lines")
	peers := flag.String("peers", "",
		"a regular expression of the libraries that leaves are compared with; none: no library")
	flag.Parse()
	if err := run(b, *threads, *only, *lines, *peers); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func names() string {
	var list []string
	for _, s := range sections {
		list = append(list, s.name)
	}
	return strings.Join(list, ", ")
}

func run(b *bench, threads, only, lines, peers string) error {
	for _, text := range strings.Split(threads, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-threads: %q is no number of threads", text)
		}
		if !slices.Contains(b.threads, n) {
			b.threads = append(b.threads, n)
		}
	}
	filter, err := regexp.Compile("(?i)^(" + only + ")")
	if err != nil {
		return err
	}
	if b.lines, err = regexp.Compile("(?i)" + lines); err != nil {
		return err
	}
	if b.peers, err = regexp.Compile("(?i)^(" + peers + ")"); err != nil {
		return err
	}
	some := false
	for _, s := range sections {
		if !filter.MatchString(s.name) {
			continue
		}
		if some {
			fmt.Println()
		}
		some = true
		fmt.Printf("%s: %s\n\n", s.name, s.about)
		if err := s.run(b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if !some {
		return fmt.Errorf("-only=%s names none of %s", only, names())
	}
	fmt.Printf("\n%d figures over their limits\n", b.missed)
	return nil
}
