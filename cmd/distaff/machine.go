package main

import (
	"fmt"
	"maps"
	"slices"

	"distaff/spmd"
)

// tellMachine reports the machine model m. If m is nil, it reports the model in the cache.
func tellMachine(tell *teller, m *spmd.Machine) {
	if m == nil {
		kept, err := spmd.MeasuredMachine()
		switch {
		case err != nil:
			tell.line("note", "machine",
				"the measured model cannot be used: %v; distaff doctor --tune measures again",
				err)
			return
		case kept == nil:
			tell.line("note", "machine",
				"not measured; distaff doctor --tune takes 3 seconds; until then there are no "+
					"predicted times, and statistics cannot compare with the machine's limits")
			return
		}
		m = kept
	}
	tell.machine = m
	tell.line("ok", "machine", "%s, at %s", m.CPU, threadCounts(m.Threads))
	if m.Disturbed() {
		tell.line("note", "machine",
			"%s, so that figures may be too low; distaff doctor --tune measures again",
			otherWorkText(m.OtherWork))
	}
	for _, l := range m.Levels {
		size := ""
		if l.Bytes > 0 {
			size = " of " + spmd.FormatSize(l.Bytes)
		}
		tell.line("", "",
			"%s%s: reads %s/s, writes %s/s; %s from one load to the next that depends on it",
			l.Name, size,
			pair(m, l.Read, bytesText), pair(m, l.Write, bytesText), timeText(l.Dependent))
	}
	for n, g := range m.Gathers {
		if n%3 == 0 || n == len(m.Gathers)-1 {
			tell.line("", "", "anywhere in %s: %s gathers/s of 8 bytes, %s of %d bytes",
				spmd.FormatSize(g.Bytes),
				pair(m, g.Values, countText), pair(m, g.Rows, countText), spmd.GatheredRow)
		}
	}
	tell.line("", "", "%s multiply-adds/s of float64, %s of float32",
		pair(m, m.MultiplyAdds64, countText), pair(m, m.MultiplyAdds32, countText))
	tell.line("", "", "memory that is written first: %s/s", pair(m, m.FirstTouch, bytesText))
	regions := ""
	if m.Threads > 1 {
		regions = ", a parallel region " + timeText(m.Region)
	}
	tell.line("", "",
		"an atomic addition takes %s, a leaf's call %s%s, a mispredicted branch %s, a loop "+
			"over a segment of one value %s", pair(m, m.Atomic, timeText), timeText(m.Call),
		regions, timeText(m.Branch), timeText(m.Segment))
	tell.line("", "",
		"a leaf compiles in %s; a .tcs file is loaded with %s/s and stored with %s/s, a text "+
			"file read with %s/s", timeText(m.Compile), bytesText(m.Files.Load),
		bytesText(m.Files.Store), bytesText(m.Files.Parse))
	for _, name := range slices.Sorted(maps.Keys(m.Forms)) {
		tell.line("", "", "form of leaves: %s=%d", name, m.Forms[name])
	}
	tellMessages(tell, m)
}

// otherWorkText formats the warning that other work was running while the machine was measured.
func otherWorkText(cpus float64) string {
	return fmt.Sprintf("other programs kept %.2g CPUs busy while this machine was measured", cpus)
}

// tellMessages prints the latency and the bandwidth of messages between ranks in a machine model.
func tellMessages(tell *teller, m *spmd.Machine) {
	for _, x := range m.Messages {
		tell.line("ok", "messages", "between %s: %s, and %s/s", x.Between, timeText(x.Latency),
			bytesText(x.Bandwidth))
	}
}

// threadCounts returns a text such as "1 and 8 threads". A line of the report has one value for
// each of these numbers of threads. threads is the larger number.
func threadCounts(threads int) string {
	if threads == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("1 and %d threads", threads)
}

// pair formats a value of the machine's description that depends on the number of threads. It
// returns the value with one thread and, if the machine has more threads, also the value with all
// threads. text formats one value.
func pair(m *spmd.Machine, p spmd.MachinePair, text func(float64) string) string {
	if m.Threads == 1 {
		return text(p.One)
	}
	return text(p.One) + " and " + text(p.All)
}

// scaled formats a number with three digits and a unit: the largest unit that the rounded number
// reaches. A unit is a thousand times the previous unit.
func scaled(x float64, units []string) string {
	k := 0
	for ; k+1 < len(units) && x >= 999.5; k++ {
		x /= 1000
	}
	return fmt.Sprintf("%.3g%s", x, units[k])
}

func bytesText(x float64) string {
	return scaled(x, []string{" B", " kB", " MB", " GB", " TB"})
}

func countText(x float64) string {
	return scaled(x, []string{"", " thousand", " million", " billion"})
}

// timeText formats seconds.
func timeText(x float64) string { return scaled(x*1e9, []string{" ns", " us", " ms", " s"}) }
