package forecast

import (
	"math"

	"distaff/codegen"
	"distaff/kernels/tune"
)

// Bytes of a workspace's key and of a place of its hash table, which has slots of these for each
// entry, and of the pairs by which entries are put in order.
const keyBytes, slots, pairBytes = 8, 3, 16

// buckets are those of a digit, each of which is cleared and summed for each time that entries are
// put in order by it, and aPass the steps that it takes to fill, sort, read and empty a workspace
// once, of a few entries, of which each waits for the one before.
const buckets, aPass = 256, 12

// insert adds what a workspace of values of so many bytes takes to what a leaf does. fixed says
// that its entries go to a pattern that is there already.
func insert(l *tune.Leaf, i codegen.Insert, value float64, fixed bool) {
	row, places := i.Row*value, i.Places
	if i.Listed {
		places = i.EntriesPerPass()
	}
	// picks adds accesses to an array: in order in each pass, or, without passes, in any order.
	phase := 0
	picks := func(bytes, count, run, passes float64, written, marked bool) {
		p := tune.Pick{Bytes: int64(bytes), Count: count, Run: run, Passes: passes, Reach: bytes,
			Written: written, Marked: marked, Phase: phase}
		if passes == 0 {
			p.Passes = count
		}
		l.Picks = append(l.Picks, p)
	}
	keys := float64(i.Keys)
	if i.Kept { // one behind the other, with their keys; of a row a value and a coordinate
		row = math.Min(row, 2*keyBytes)
		entry := row + keys*keyBytes
		picks(places*entry, i.Count*(keys+1), entry/(keys+1), i.Passes, true, false)
	} else {
		picks(places*row, i.Count, row, i.Passes, true, true)
	}
	passes := max(i.Passes, 1)
	sorted := i.EntriesPerPass() * passes
	if digits := i.RadixDigits(); digits > 0 {
		if !i.Kept {
			picks(slots*keyBytes*places, i.Count, keyBytes, 0, false, false)
		}
		for _, p := range l.Picks {
			phase = max(phase, p.Phase+1)
		}
		// Pairs are counted for each digit, and go from one array to another by it; then keys and values
		// are read in their order.
		picks(2*pairBytes*places, 2*sorted*(digits+keys), pairBytes, (digits+keys)*passes, true, false)
		l.Searches += 2 * buckets * digits * passes
		phase++
		all := places * (keyBytes*keys + row)
		picks(all, sorted*keys, keyBytes, 0, false, false)
		picks(all, sorted, row, 0, false, false)
	} else if i.Listed {
		l.Searches += aPass * passes
	}
	if !fixed {
		l.Found += i.PlacesFilled()
	}
	// half of the comparisons end otherwise than was foretold
	l.Ends, l.Searches = l.Ends+i.Comparisons()/2, l.Searches+i.Comparisons()
}
