package strategy

import (
	"fmt"
	"slices"
)

// Choice is a choice among forms of code that have the same meaning and add in the same order.
// Which of them is fastest is a matter of the processor: package kernels/tune measures it. A form
// is a number.
type Choice struct {
	Name    string
	Forms   []int64 // the plain one first
	Default int64   // where nothing was measured
	What    func(form int64) string
	// Shipped says that package kernels/tune does not measure it: which form is fastest goes by what
	// else comes through the caches, so that jobs alone tell, and forms other than the default are
	// those shipped for models of CPU.
	Shipped bool
}

// FarRows is how many stored values ahead rows are fetched that do not stay in a core's caches:
// those most of which do not so many into the cache of the second level (Prefetch.Far), and all
// nearAhead into the nearest (Prefetch.Ahead); 0 leaves that to the processor.
const FarRows = "far_rows_ahead"

// LastLevelRows is how many stored values ahead those of these rows are fetched that lie in the
// cache of the last level, of which cores have parts: lastLevelAhead into the nearest cache alone,
// or farAhead as those that lie in memory.
const LastLevelRows = "last_level_rows_ahead"

// Streams is how many entries ahead those of the one sparse operand are fetched where they come
// from memory, and what they pick of vectors a fourth of that (Prefetch.Ahead); 0 leaves that to
// the processor.
const Streams = "entries_ahead"

// Merges is 1 where sums of sparse segments are made in windows, whose coordinates are sorted
// (Value.Windowed), and 0 where they are stepped through.
const Merges = "window_merges"

// Choices are all that there are. What else has several forms of the same meaning and the same
// order of sums is no choice, since one form was the best by far, or none by 5%, as measured on a
// Zen 4:
//
//   - how far ahead rows are fetched, if they are: 8, 16 and 32 stored values for the nearest cache
//     differ by 3%, and so do
//     48, 64 and 80 for that of the second level;
//   - rows out of memory that come into the nearest cache alone, which takes 1.2 to 2.2 times as
//     long;
//   - where all rows that are picked lie in a core's caches: to fetch them ahead gains less than 5%;
//   - the widths of tiles: 16 and 32 values take as long, 64 take 15% longer;
//   - predicated merges: they are 1.8 times as fast as branches, which nothing foretells;
//   - workspaces with a place and a bit for each coordinate, where many values are added: they are
//     2.4 times as fast as lists
//     of what is marked, and 3 times as fast as hash tables;
//   - stores past the caches of rows that are written once, where the result is larger than the
//     caches: 1.05 to 1.5 times as fast;
//   - copies past the caches, of results that are larger than the caches of a core, which hold
//     nothing of them when they are read;
//   - unrolling of loops over segments, which is left to the compiler.
//
// Lanes within sums, numbers of chunks, and where rows that are too long are cut decide the order
// of sums.
var Choices = []Choice{
	{FarRows, []int64{0, farAhead}, farAhead, fetchedAhead, false},
	{LastLevelRows, []int64{lastLevelAhead, farAhead}, farAhead, fetchedAhead, true},
	{Streams, []int64{0, streamAhead}, 0, fetchedAhead, false},
	{Merges, []int64{0, 1}, 0,
		func(n int64) string { return map[int64]string{0: "stepped through", 1: "merged in windows"}[n] },
		false},
}

func fetchedAhead(n int64) string {
	if n == 0 {
		return "not fetched ahead"
	}
	return fmt.Sprintf("fetched %d stored values ahead", n)
}

// Forms are those that were measured to be fastest, by the names of their choices.
type Forms map[string]int64

// Known are the forms that there are in this table: a model of another table may tell of others.
func (f Forms) Known() Forms {
	out := Forms{}
	for _, c := range Choices {
		if form, ok := f[c.Name]; ok && slices.Contains(c.Forms, form) {
			out[c.Name] = form
		}
	}
	return out
}

// form is that of a choice, and the reason for it: "" for the default.
func (f Forms) form(name string) (form int64, why string) {
	n := slices.IndexFunc(Choices, func(c Choice) bool { return c.Name == name })
	c := Choices[n]
	if form, ok := f[name]; ok && slices.Contains(c.Forms, form) {
		return form, "; " + c.What(form) + " they were fastest on CPUs of this kind"
	}
	return c.Default, ""
}
