// Package forms has the forms of code that are chosen by measurement.
package forms

import (
	"fmt"
	"slices"
)

// The prefetch distances of the forms: FarAhead in stored values, LastLevelAhead in rows, and
// StreamAhead in entries. They were the fastest when they were chosen.
const (
	FarAhead       = 64
	LastLevelAhead = 48
	StreamAhead    = 128
)

// Measured is a choice among forms of code that have the same meaning and add in the same order.
// Which form is fastest depends on the processor. Package kernels/tune measures it, unless Shipped
// is true. A form is a number.
type Measured struct {
	Name    string
	Forms   []int64 // the plain form first
	Default int64   // the form that is used without a measurement
	What    func(form int64) string
	// Shipped is true if package kernels/tune does not measure the choice. Which form is fastest
	// then depends on what else passes through the caches, so only whole jobs show it. Forms other
	// than the default are shipped for particular CPU models.
	Shipped bool
}

// FarRows is the name of a choice of a prefetch distance (see Measured). The choice is for rows
// that mostly do not stay in a core's caches. The distance is a number of stored values. Each row
// is prefetched twice: first into the second-level cache, at this distance before its use
// (strategy.Prefetch.Far), and then into the nearest cache, closer to its use
// (strategy.Prefetch.Ahead). A distance of 0 leaves prefetching to the processor. Blocks of a
// Mapped result are an exception: at a distance of 0 they are still prefetched into the nearest
// cache.
const FarRows = "far_rows_ahead"

// LastLevelRows is the name of a choice of a prefetch distance (see Measured), for rows in the
// last-level cache, which several cores share. If the distance is LastLevelAhead, rows are
// prefetched only into the cache nearest to the core. If it is FarAhead, rows are prefetched like
// rows in memory.
const LastLevelRows = "last_level_rows_ahead"

// Streams is the name of a choice of a prefetch distance (see Measured), for the entries of the
// only sparse operand if they come from memory (strategy.Prefetch.Ahead). The distance is a number
// of entries. The vector elements that the entries select are prefetched at a quarter of this
// distance. A distance of 0 leaves prefetching to the processor.
const Streams = "entries_ahead"

// Merges is the name of a Measured choice of how sums of sparse segments are merged. If its form is
// 1, sums of long segments are computed in windows of the coordinate range, and the coordinates of
// a window are sorted (strategy.Value.Windowed). If its form is 0, all segments are merged step by
// step.
const Merges = "window_merges"

// Measurements lists the choices whose best form is measured on each machine, or is shipped for CPU
// models. All forms of a choice compute the same values in the same order of sums.
//
// Some other choices also have such forms, but are not measured. The numbers are from a Zen 4:
//
//   - the distance of prefetching: 8, 16 and 32 stored values for the nearest cache differ by 3%,
//     and so do 48, 64 and 80 for the second-level cache;
//   - the cache for rows from memory: if they are prefetched into the nearest cache only, they take
//     1.2 to 2.2 times as long;
//   - prefetching if all selected rows are in a core's caches: it gains less than 5%;
//   - the widths of tiles: 16 and 32 values take the same time, and 64 take 15% longer;
//   - predicated merges: they are 1.8 times faster than branches, which the processor cannot
//     predict;
//   - workspaces with a place and a bit for each coordinate, if many values are added: they are 2.4
//     times faster than lists of marked places, and 3 times faster than hash tables;
//   - stores past the caches, for rows that are written once in a result larger than the caches:
//     they are 1.05 to 1.5 times faster than stores through the caches;
//   - copies past the caches, for results that are larger than a core's caches and would be evicted
//     before they are read;
//   - unrolling of loops over segments, which is left to the compiler.
//
// The number of lanes in sums, the number of chunks and the division of long rows are not such
// choices, because they determine the order of sums.
var Measurements = []Measured{
	{FarRows, []int64{0, FarAhead}, FarAhead, fetchedAhead, false},
	{LastLevelRows, []int64{LastLevelAhead, FarAhead}, FarAhead, fetchedAhead, true},
	{Streams, []int64{0, StreamAhead}, 0, fetchedAhead, false},
	{Merges, []int64{0, 1}, 0,
		func(n int64) string {
			return map[int64]string{0: "stepped through", 1: "merged in " +
				"windows"}[n]
		},
		false},
}

func fetchedAhead(n int64) string {
	if n == 0 {
		return "not fetched ahead"
	}
	return fmt.Sprintf("fetched %d stored values ahead", n)
}

// Set maps names of choices to the forms that were measured to be fastest.
type Set map[string]int64

// Known returns the forms in f that Measurements lists. Another version may have measured other
// choices or other forms.
func (f Set) Known() Set {
	out := Set{}
	for _, c := range Measurements {
		if form, ok := f[c.Name]; ok && slices.Contains(c.Forms, form) {
			out[c.Name] = form
		}
	}
	return out
}

// Of returns the form of a choice, and a clause that says why. The clause is "" if f does not have
// a known form of the choice. The form is then the default.
func (f Set) Of(name string) (form int64, why string) {
	n := slices.IndexFunc(Measurements, func(c Measured) bool { return c.Name == name })
	c := Measurements[n]
	if form, ok := f[name]; ok && slices.Contains(c.Forms, form) {
		return form, "; " + c.What(form) + " they were fastest on CPUs of this kind"
	}
	return c.Default, ""
}
