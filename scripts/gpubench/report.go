package main

import (
	"fmt"
	"slices"
)

// tolerance is the largest accepted relative error of a result: the norm of its difference from the
// reference, divided by the norm of the reference. It is not 0, because sums are computed in
// different orders.
const tolerance = 1e-10

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// header begins a table.
func (b *bench) header() {
	b.printf("%-26s %-26s %10s %10s %-22s %7s %8s %7s\n", "input", "schedule", "ms", "peer ms",
		"peer", "ratio", "GB/s", "share")
}

// line is a line of a table. bytes is the number of bytes that a run must move at least.
type line struct {
	input, schedule string
	ours            ours
	want            []float64
	bytes           float64
	peer            string
	peerMS          float64 // 0 if there is none
	// Limits; 0 means none.
	minRatio float64 // smallest ratio of the peer's time to ours
	minShare float64 // smallest share of the memory's bandwidth
}

// print checks a line's result, prints the line, and counts the limits that it misses.
func (b *bench) print(l line) {
	mark, limits := "", !b.dry
	miss := func(is bool, text string) {
		if is {
			b.missed++
			mark += "  " + text
		}
	}
	share := l.bytes / b.speed * 1e3 / l.ours.ms
	ratio, peer := "", ""
	if l.peerMS > 0 {
		x := l.peerMS / l.ours.ms
		ratio, peer = fmt.Sprintf("%.3f", x), fmt.Sprintf("%.4f", l.peerMS)
		miss(limits && l.minRatio > 0 && x < l.minRatio, fmt.Sprintf("below %.2f", l.minRatio))
	}
	miss(limits && l.minShare > 0 && share < l.minShare,
		fmt.Sprintf("share below %.2f", l.minShare))
	if l.want != nil {
		d := difference(l.ours.result, l.want)
		miss(!(d <= tolerance), fmt.Sprintf("WRONG: differs by %.1e", d))
	}
	b.printf("%-26s %-26s %10.4f %10s %-22s %7s %8.1f %7.3f%s\n", l.input, l.schedule, l.ours.ms,
		peer, l.peer, ratio, l.bytes/l.ours.ms*1e-6, share, mark)
}

// failed prints the line of a statement that was refused, or failed, under a schedule. The
// measurement then continues with the next line.
func (b *bench) failed(input, schedule string, err error) {
	b.missed++
	b.printf("%-26s %-26s failed: %v\n", input, schedule, err)
}
