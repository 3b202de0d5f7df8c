package main

import (
	"fmt"
	"math"
	"os"
	"slices"

	"distaff/kernels/cc"
)

// against holds the times of one kernel: our leaf's, the handwritten kernel's, and each library's
// by name.
type against struct {
	kernel       kernel
	threads      int
	ours, byHand []float64
	theirs       map[string][]float64
}

// leaves prints the section that compares leaves with handwritten kernels and with other libraries.
func leaves(b *bench) error {
	object, err := b.object(hand)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list := b.libraries(dir)
	b.printf("%-28s %7s %9s %9s %9s %9s   %-10s %9s %9s %8s %8s\n", "kernel", "threads", "distaff",
		"median", "by hand", "median", "peer", "best", "median", "of hand", "of peer")
	var all []against
	for _, k := range table() {
		if !b.wants(k.name) {
			continue
		}
		var files []string
		if slices.ContainsFunc(list, func(p *peer) bool { return p.runs(k, 1) }) {
			if files, err = b.dumpAll(dir, k); err != nil {
				return err
			}
		}
		for _, n := range b.threads {
			a, err := b.inTurn(k, n, object, list, files)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			a.print(b)
			all = append(all, a)
		}
		for _, f := range files {
			os.Remove(f)
		}
	}
	b.meanOf(all)
	b.everyPeer(all, list)
	return nil
}

// turnSeconds is about the smallest duration of a turn of timed runs. A fast leaf is run more often
// in a turn, but at most mostRuns times. With only a few runs of a millisecond, even the best time
// would be distorted by other load on the machine.
const (
	turnSeconds = 0.05
	mostRuns    = 50
)

// filling returns a copy of b that makes more timed runs in each turn, so that a turn lasts about
// turnSeconds or longer, if mostRuns allows it. timed holds the times of some of the kernel's runs,
// in seconds.
func (b *bench) filling(timed []float64) *bench {
	t := *b
	t.repeat = max(b.repeat, int(min(turnSeconds/slices.Min(timed), mostRuns)))
	return &t
}

// inTurn times a kernel in rounds. In each round, Distaff, the handwritten kernel and each library
// take one turn.
func (b *bench) inTurn(k kernel, threads int, object *cc.Object, list []*peer,
	files []string) (against, error) {
	a := against{kernel: k, threads: threads, theirs: map[string][]float64{}}
	first, made, err := b.ours(k, threads)
	if err != nil {
		return a, err
	}
	if err := made.Close(); err != nil {
		return a, err
	}
	b = b.filling(first)
	for range b.rounds {
		x, result, err := b.ours(k, threads)
		if err != nil {
			return a, err
		}
		mine := total(result)
		y, sum, err := b.byHand(k, threads, result, object)
		if err == nil {
			err = sameSum(mine, sum, "by hand")
		}
		if err != nil {
			return a, err
		}
		if err := result.Close(); err != nil {
			return a, err
		}
		a.ours, a.byHand = append(a.ours, x...), append(a.byHand, y...)
		for _, p := range list {
			if !p.runs(k, threads) {
				continue
			}
			times, sum, err := p.run(peerFunction(k), threads, b.repeat, files)
			if err == nil {
				err = sameSum(mine, sum, p.name)
			}
			if err != nil {
				return a, err
			}
			a.theirs[p.name] = append(a.theirs[p.name], times...)
		}
	}
	return a, nil
}

// best returns the library with the smallest time, and its times. The name is "" if no library was
// timed.
func (a against) best() (name string, times []float64) {
	for p, t := range a.theirs {
		if name == "" || slices.Min(t) < slices.Min(times) {
			name, times = p, t
		}
	}
	return name, times
}

// ratio returns Distaff's best time divided by the best time of another side. times are the other
// side's measurements. ratio uses best times because other load on the machine can only add time.
func (a against) ratio(times []float64) float64 {
	return slices.Min(a.ours) / slices.Min(times)
}

// print prints the line of a kernel: for Distaff and the handwritten kernel the best and the median
// time in milliseconds, and the ratios of the best times.
func (a against) print(b *bench) {
	ofHand := a.ratio(a.byHand)
	b.printf("%-28s %7d %9.2f %9.2f %9.2f %9.2f", a.kernel.name, a.threads, 1e3*slices.Min(a.ours),
		1e3*median(a.ours), 1e3*slices.Min(a.byHand), 1e3*median(a.byHand))
	over := b.over(ofHand > a.kernel.limit)
	if over != "" {
		over += " hand"
	}
	name, times := a.best()
	if name == "" {
		b.printf("   %-10s %9s %9s %8.2f %8s%s\n", "-", "-", "-", ofHand, "-", over)
		return
	}
	ofPeer := a.ratio(times)
	if mark := b.over(ofPeer > a.kernel.peer); mark != "" {
		over += mark + " peer"
	}
	b.printf("   %-10s %9.2f %9.2f %8.2f %8.2f%s\n", name, 1e3*slices.Min(times), 1e3*median(times),
		ofHand, ofPeer, over)
}

// meanLimit is the largest accepted value of the mean that meanOf prints: the geometric mean over
// all kernels of our time divided by the time of the best library.
const meanLimit = 0.5

// meanOf prints the geometric mean over all kernels of a ratio: our time divided by the time of the
// best library.
func (b *bench) meanOf(all []against) {
	sum, n := 0.0, 0
	for _, a := range all {
		if name, times := a.best(); name != "" {
			sum += math.Log(a.ratio(times))
			n++
		}
	}
	if n == 0 {
		return
	}
	mean := math.Exp(sum / float64(n))
	b.printf("\nof the best peer, in the geometric mean of %d lines: %.2f, of %.2f at most%s\n", n,
		mean, meanLimit, b.over(mean > meanLimit))
}

func (b *bench) everyPeer(all []against, list []*peer) {
	if len(list) == 0 {
		return
	}
	b.printf("\n%-28s %7s %10s", "best of each", "threads", "distaff")
	for _, p := range list {
		b.printf(" %10s", p.name)
	}
	b.printf("\n")
	for _, a := range all {
		b.printf("%-28s %7d %10.2f", a.kernel.name, a.threads, 1e3*slices.Min(a.ours))
		for _, p := range list {
			if t := a.theirs[p.name]; len(t) > 0 {
				b.printf(" %10.2f", 1e3*slices.Min(t))
			} else {
				b.printf(" %10s", "-")
			}
		}
		b.printf("\n")
	}
}
