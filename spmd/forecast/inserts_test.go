package forecast

import (
	"math"
	"testing"

	"distaff/codegen/workload"
	"distaff/kernels/tune"
	_ "distaff/kernels/verified"
)

// TestInserts checks that a list with many entries is sorted by digits, without branches, and a
// list with few entries by comparisons. A list that keeps rows stores their values and coordinates.
func TestInserts(t *testing.T) {
	total := func(l tune.Leaf, written bool) (count, most float64) {
		for _, p := range l.Picks {
			if p.Written == written {
				count += p.Count
				most = math.Max(most, float64(p.Bytes))
			}
		}
		return count, most
	}
	for _, c := range []struct {
		name          string
		insert        workload.Insert
		digits        float64
		ends, sorted  bool
		picked, bytes float64 // in any order, and the most that any is of
	}{
		{"terms", workload.Insert{Count: 1e5, Row: 1, Places: 1e9, Passes: 1, Listed: true, Kept: true,
			Keys: 2, Sorted: true}, 4, false, true, 3e5, 24e5},
		{"terms of rows", workload.Insert{Count: 1e5, Row: 32, Places: 1e9, Passes: 1, Listed: true,
			Kept: true, Keys: 2, Sorted: true}, 4, false, true, 3e5, 32e5},
		{"few terms at a time", workload.Insert{Count: 1e5, Row: 1, Places: 1e9, Passes: 1e4, Listed: true,
			Kept: true, Keys: 2, Sorted: true}, 0, true, false, 0, 0},
		{"a list of marked places",
			workload.Insert{Count: 1e5, Row: 1, Places: 1e3, Passes: 1e3, Sorted: true}, 0, true, false, 0,
			0},
		{"a bitmap", workload.Insert{Count: 1e5, Row: 1, Places: 1e3, Passes: 1e3}, 0, false, false, 0, 0},
	} {
		var l tune.Leaf
		insert(&l, c.insert, 8, false)
		if got := c.insert.RadixDigits(); got != c.digits {
			t.Errorf("%s: got %v digits, want %v", c.name, got, c.digits)
		}
		if (l.Ends > 0) != c.ends {
			t.Errorf("%s: %v ends are not foretold", c.name, l.Ends)
		}
		count, most := total(l, false)
		if math.Abs(count-c.picked) > 1 || math.Abs(most-c.bytes) > 1 {
			t.Errorf("%s: %v are picked in any order, of %v bytes; want %v of %v", c.name, count, most,
				c.picked, c.bytes)
		}
		if writes, _ := total(l, true); writes < c.insert.Count ||
			(writes > 4*c.insert.Count) != c.sorted {
			t.Errorf("%s: %v are written in places", c.name, writes)
		}
		phases := map[int]bool{}
		for _, p := range l.Picks {
			phases[p.Phase] = true
		}
		if filled, sorted := 1, 3; c.digits == 0 && len(phases) != filled ||
			c.digits > 0 && len(phases) != sorted {
			t.Errorf("%s: got %d phases", c.name, len(phases))
		}
		if math.Abs(l.Found-c.insert.PlacesFilled()) > 1e-6 {
			t.Errorf("%s: got %v found, want %v", c.name, l.Found, c.insert.PlacesFilled())
		}
	}
}
