package forecast

import (
	"math"

	"distaff/codegen/workload"
	"distaff/kernels/tune"
)

// These constants determine the cost of a workspace. keyBytes is the size, in bytes, of a key, and
// also of a slot of a hash table. A hash table has about slotsPerEntry slots for each entry.
// pairBytes is the size, in bytes, of one element of the arrays that sort entries.
const keyBytes, slotsPerEntry, pairBytes = 8, 3, 16

// buckets is the number of different values of one digit in the radix sort of a workspace's
// entries. Each pass of the sort clears an array with one count for each value, and then sums the
// counts.
//
// stepsPerPass is the number of steps in one use of a workspace with few entries. Each of these
// steps depends on the step before. One use consists of filling, sorting, reading and emptying the
// workspace.
const buckets, stepsPerPass = 256, 12

// insert adds to l, which describes the work of a leaf, the cost of workspace i. value is the size
// of a value in bytes. fixed says that the entries are stored into a pattern that exists already.
func insert(l *tune.Leaf, i workload.Insert, value float64, fixed bool) {
	row, places := i.Row*value, i.Places
	if i.Listed {
		places = i.EntriesPerPass()
	}
	// addPick adds accesses to an array. They are in order within each pass. If passes is 0 they
	// are in any order.
	phase := 0
	addPick := func(bytes, count, run, passes float64, written, marked bool) {
		p := tune.Pick{Bytes: int64(bytes), Count: count, Run: run, Passes: passes, Reach: bytes,
			Written: written, Marked: marked, Phase: phase}
		if passes == 0 {
			p.Passes = count
		}
		l.Picks = append(l.Picks, p)
	}
	keys := float64(i.Keys)
	if i.Kept { // values and keys are stored one after another; a row is a value and a coordinate
		row = math.Min(row, 2*keyBytes)
		entry := row + keys*keyBytes
		addPick(places*entry, i.Count*(keys+1), entry/(keys+1), i.Passes, true, false)
	} else {
		addPick(places*row, i.Count, row, i.Passes, true, true)
	}
	passes := max(i.Passes, 1)
	sorted := i.EntriesPerPass() * passes
	if digits := i.RadixDigits(); digits > 0 {
		if !i.Kept {
			addPick(slotsPerEntry*keyBytes*places, i.Count, keyBytes, 0, false, false)
		}
		for _, p := range l.Picks {
			phase = max(phase, p.Phase+1)
		}
		// For each digit, pairs are counted and copied to another array in its order. Then keys and
		// values are read in the final order.
		addPick(2*pairBytes*places, 2*sorted*(digits+keys), pairBytes, (digits+keys)*passes, true, false)
		l.Searches += 2 * buckets * digits * passes
		phase++
		all := places * (keyBytes*keys + row)
		addPick(all, sorted*keys, keyBytes, 0, false, false)
		addPick(all, sorted, row, 0, false, false)
	} else if i.Listed {
		l.Searches += stepsPerPass * passes
	}
	if !fixed {
		l.Found += i.PlacesFilled()
	}
	// half of the comparisons end in a mispredicted branch
	l.Ends, l.Searches = l.Ends+i.Comparisons()/2, l.Searches+i.Comparisons()
}
