// Command gpubench measures leaves for the target cuda on the inputs of docs/gpu.md, and prints one
// table for each section. It compares SpMV, SpMM and SDDMM with cuSPARSE's best algorithm, MTTKRP
// and SDDMM with the memory bandwidth that the card reaches in a copy, and the schedules of source
// 004 with each other. Times are medians of the launched work by CUDA events. Results are compared
// with loops on the CPU. cuSPARSE is opened at run time. If it is missing, its columns are empty.
//
// go run ./scripts/gpubench [-only spmv,skew] [-lines uniform] [-scale 1] [-rounds 21] [-cusparse
// PATH] [-emit FOLDER] [-dry]
//
// The program needs libcuda and libnvrtc at run time, and no Go: the result of `go build` can be
// copied to a machine with a GPU. With -dry it interprets the leaves with all checks, which is
// slow. With a -scale of 0.0005 that takes seconds. The times then mean nothing, and no limits
// apply.
//
// # Files
//
//	main.go       the command
//	report.go     lines of a table
//	inputs.go     the inputs
//	reference.go  results by loops on the CPU
//	leaf.go       statements, compiled and timed
//	peers.go      cuSPARSE and the card's bandwidth
//	peers.c       the C part of peers.go, with the header peers.h
//	schedules.go  schedules of Senanayake's thesis
//	matrices.go   sections of sparse matrices and vectors
//	columns.go    sections of dense operands with columns
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"distaff/kernels"
	gpu "distaff/kernels/cuda"
	"distaff/kernels/interpret"
)

// section is a table.
type section struct {
	name, about string
	run         func(*bench) error
}

var sections = []section{
	{"spmv", "y(i) = A(i,j)*x(j) against cuSPARSE's best", (*bench).spmv},
	{"skew", "rows of k*c^i entries: a warp a row (A.10) against entries cut evenly (A.2); " +
		"Senanayake (2020), figure 8-7", (*bench).skew},
	{"shortwide", "100 rows of 10000 entries: entries cut evenly against a warp a row; source " +
		"004, section 8.5", (*bench).shortWide},
	{"unroll", "loads unrolled (A.2) against none (A.11); Senanayake (2020), section 8.3",
		(*bench).unroll},
	{"spmm", "C(i,k) = A(i,j)*B(j,k) of 128 columns against cuSPARSE's best", (*bench).spmm},
	{"mttkrp", "A(i,j) = B(i,k,l)*C(k,j)*D(l,j) of 32 columns against the memory's bandwidth",
		(*bench).mttkrp},
	{"hugeslice", "the same with half of the entries in one slice, against even slices",
		(*bench).hugeSlice},
	{"sddmm", "Y(i,j) = A(i,j)*C(i,k)*D(j,k) against the memory's bandwidth, and cuSPARSE",
		(*bench).sddmm},
}

// bench is the state that the sections share.
type bench struct {
	ctx     context.Context
	out     io.Writer
	scale   float64
	rounds  int
	lines   *regexp.Regexp
	emit    string // folder for the kernels' source; "" means none
	dry     bool   // leaves are interpreted
	backend kernels.Backend
	peers   *peers  // nil if there are none
	speed   float64 // bandwidth of the memory in bytes per second
	missed  int     // number of figures beyond their limits, wrong results and failures
	noted   map[string]bool
}

func (b *bench) printf(format string, args ...any) { fmt.Fprintf(b.out, format, args...) }

func main() {
	b := &bench{ctx: context.Background(), out: os.Stdout, noted: map[string]bool{}}
	only := flag.String("only", "", "sections, by names with commas between: "+strings.Join(names(),
		","))
	lines := flag.String("lines", "", "a regular expression of a section's lines")
	sparse := flag.String("cusparse", "", "cuSPARSE's library, if the loader does not find it")
	flag.Float64Var(&b.scale, "scale", 1, "sizes times this")
	flag.IntVar(&b.rounds, "rounds", 21, "timed runs of each side")
	flag.StringVar(&b.emit, "emit", "", "a folder that the kernels' CUDA C++ is written to")
	flag.BoolVar(&b.dry, "dry", false, "interpret the leaves, without a GPU")
	flag.Parse()
	if err := run(b, *only, *lines, *sparse); err != nil {
		fmt.Fprintln(os.Stderr, "gpubench:", err)
		os.Exit(1)
	}
}

func names() []string {
	var list []string
	for _, s := range sections {
		list = append(list, s.name)
	}
	return list
}

func run(b *bench, only, lines, sparse string) (err error) {
	if b.lines, err = regexp.Compile("(?i)" + lines); err != nil {
		return err
	}
	wanted := names()
	if only != "" {
		wanted = strings.Split(only, ",")
	}
	for _, w := range wanted {
		if !slices.Contains(names(), w) {
			return fmt.Errorf("-only: there is no section %q", w)
		}
	}
	if err := b.open(sparse); err != nil {
		return err
	}
	for _, s := range sections {
		if !slices.Contains(wanted, s.name) {
			continue
		}
		at := time.Now()
		b.printf("\n%s: %s\n", s.name, s.about)
		if err := s.run(b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		b.printf("%s took %.1f s\n", s.name, time.Since(at).Seconds())
	}
	if b.missed > 0 {
		return fmt.Errorf("%d figures miss their limits or are wrong", b.missed)
	}
	return nil
}

// note prints a message of the backend that is not an error, such as a compiler's warning. It
// prints equal messages only once.
func (b *bench) note(s string) {
	if !b.noted[s] {
		b.noted[s] = true
		b.printf("%s\n", s)
	}
}

// open opens the backend that runs leaves. Unless -dry is set, it also opens cuSPARSE and measures
// the card's memory bandwidth. sparse is the path of the cuSPARSE library. If it is "", open tries
// sparseNames.
func (b *bench) open(sparse string) (err error) {
	if b.dry {
		b.backend, b.speed = interpret.Backend{}, 1e9
		return nil
	}
	if b.peers, err = openPeers(sparse); err != nil {
		return err
	}
	b.printf("%s\n", b.peers.describe())
	if b.speed, err = b.peers.bandwidth(); err != nil {
		return err
	}
	b.printf("a copy within the card: %.0f GB/s, read and written\n", b.speed*1e-9)
	if b.backend, err = gpu.New(gpu.Config{Log: b.note}); err != nil {
		return err
	}
	b.printf("%s\n", b.backend.Name())
	return nil
}
