package tune

import (
	"math"
	"testing"
)

// TestSeconds compares predictions with figures computed by hand. In each case, one part of the
// work determines the time.
func TestSeconds(t *testing.T) {
	m := &Model{Threads: 2, Levels: []Level{
		{Name: "L1", Bytes: 1000, Shared: 1, Read: Pair{1000, 2000}, Write: Pair{500, 1000},
			Dependent: 2},
		{Name: "memory", Read: Pair{10, 15}, Write: Pair{5, 8}, Dependent: 12},
	}, Gathers: []Gather{{Bytes: 1, Values: Pair{10, 20}, Rows: Pair{5, 10}},
		{Bytes: 1000, Values: Pair{10, 20}, Rows: Pair{5, 10}},
		{Bytes: 4000, Values: Pair{1, 1.5}, Rows: Pair{0.25, 0.5}}},
		MultiplyAdds64: Pair{8, 16}, MultiplyAdds32: Pair{16, 32}, Branch: 3, Segment: 0.5,
		Atomic: Pair{4, 7}, Call: 0.5, Region: 0.25}
	for _, c := range []struct {
		name    string
		leaf    Leaf
		threads int
		want    float64
	}{
		{"nothing", Leaf{}, 1, 0.5},
		{"arrays in a cache", Leaf{Work: Work{Read: 500}}, 1, 0.5 + 0.5},
		{"multiply-adds", Leaf{Work: Work{Read: 500, Flops: 1600}}, 1, 100 + 0.5},
		{"multiplications that no addition joins",
			Leaf{Work: Work{Read: 500, Flops: 1600}, Alone: 800}, 1, 150 + 0.5},
		{"of float32", Leaf{Work: Work{Flops: 1600, Single: true}}, 1, 50 + 0.5},
		{"steps on two threads", Leaf{Steps: 10}, 2, 10 + 0.75},
		{"what is gone through is read before it is written",
			Leaf{Work: Work{Read: 4000, Written: 1000}}, 1, 400 + 200 + 0.5},
		{"on two threads", Leaf{Work: Work{Read: 3600, Written: 1600}}, 2, 240 + 200 + 0.75},
		{"as much as a cache holds, a quarter of which comes from memory",
			Leaf{Work: Work{Read: 1000}}, 1, 750./1000 + 250./10 + 0.5},
		{"twice as much, written too", Leaf{Work: Work{Read: 1500, Written: 500}}, 1,
			1500*(0.25/1000+0.75/10) + 500*(0.25/500+0.75/5) + 0.5},
		{"two and a half times as much", Leaf{Work: Work{Read: 2500}}, 1, 250 + 0.5},
		{"loads", Leaf{Work: Work{Flops: 16}, Loads: 20000}, 1, 20 + 0.5},
		{"values of a large array", Leaf{Picks: []Pick{
			{Bytes: 9000, Reach: 9000, Count: 70, Run: 8, Passes: 10}}}, 1, 70 + 0.5},
		{"of a small one", Leaf{Picks: []Pick{
			{Bytes: 900, Reach: 900, Count: 7, Run: 8, Passes: 10}}}, 1, 0.7 + 0.5},
		{"of one between two sizes", Leaf{Picks: []Pick{
			{Bytes: 2000, Reach: 2000, Count: 70, Run: 8, Passes: 10}}}, 1, 70*(0.1+0.9/2) + 0.5},
		{"of two that share a cache", Leaf{Picks: []Pick{
			{Bytes: 1000, Reach: 1000, Count: 70, Run: 8, Passes: 10},
			{Bytes: 1000, Reach: 1000, Count: 70, Run: 8, Passes: 10}}}, 1, 2*70*(0.1+0.9/2) + 0.5},
		{"of two, one after the other", Leaf{
			Picks: []Pick{{Bytes: 1000, Reach: 1000, Count: 70, Run: 8, Passes: 10},
				{Bytes: 1000, Reach: 1000, Count: 70, Run: 8, Passes: 10, Phase: 1}}}, 1, 2*7 + 0.5},
		{"of a small one, whose values come back while little of a large one does",
			Leaf{Picks: []Pick{{Bytes: 500, Reach: 500, Count: 70, Run: 8, Passes: 10},
				{Bytes: 9000, Reach: 9000, Count: 70, Run: 8, Passes: 10}}}, 1, 7 + 70 + 0.5},
		{"by two threads", Leaf{Picks: []Pick{
			{Bytes: 4000, Reach: 4000, Count: 60, Run: 8, Passes: 10}}}, 2, 40 + 0.75},
		{"rows", Leaf{Picks: []Pick{{Bytes: 4000, Reach: 4000, Count: 10, Run: 256, Passes: 10}}},
			1, 10*4 + 0.5},
		{"rows of two lines", Leaf{Picks: []Pick{
			{Bytes: 4000, Reach: 4000, Count: 10, Run: 128, Passes: 10}}}, 1, 10*(1+3./3) + 0.5},
		{"long rows", Leaf{Picks: []Pick{{Bytes: 4000, Reach: 4000, Count: 10, Run: 356,
			Passes: 10}}}, 1, 10*(4+10) + 0.5},
		{"what is picked is not loaded again",
			Leaf{Loads: 70 * 8, Picks: []Pick{
				{Bytes: 9000, Reach: 9000, Count: 70, Run: 8, Passes: 10}}}, 1, 70 + 0.5},
		{"picks that are closer than lines", Leaf{
			Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 1e4, Run: 8, Passes: 2}}}, 1,
			1000 + 1000 + 0.5},
		{"in rows that a pass goes through", Leaf{
			Picks: []Pick{{Bytes: 5000, Reach: 50, Count: 1e4, Run: 8, Passes: 20}}}, 1,
			100 + 1000 + 0.5},
		{"is only for products of one operand's entries with dense operands", Leaf{Picks: []Pick{
			{Bytes: 5000, Reach: 5000, Count: 70, Run: 8, Passes: 10, Written: true}}}, 1,
			70 + 7 + 0.5},
		{"rows that are added to", Leaf{Picks: []Pick{
			{Bytes: 5000, Reach: 5000, Count: 10, Run: 256, Passes: 10, Written: true}}}, 1,
			80 + 0.5},
		{"values with marks beside them", Leaf{Loads: 2 * 70 * 8,
			Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 70, Run: 8, Passes: 10, Written: true,
				Marked: true}}}, 1, 140 + 0.5},
		{"branches", Leaf{Ends: 10, Found: 20}, 1, 90 + 0.5},
		{"searches", Leaf{Searches: 10}, 2, 20./2 + 0.75},
		{"atomic additions, and iterations that threads share", Leaf{Atomics: 10, Taken: 3}, 2,
			20 + 21 + 0.75},
		{"one thread shares none", Leaf{Atomics: 10, Taken: 3}, 1, 40 + 0.5},
		{"pieces that are joined", Leaf{Work: Work{Read: 3600, Written: 1600}, Joined: true}, 2,
			240 + 400 + 1600./15 + 0.75},
		{"one piece", Leaf{Work: Work{Read: 4000, Written: 1000}, Joined: true}, 1,
			400 + 200 + 0.5},
		{"what one thread does", Leaf{Steps: 10, Serial: true}, 2, 20 + 0.5},
		{"short loops", Leaf{Work: Work{Read: 500}, Enters: 100, Ends: 2}, 1, 50 + 6 + 0.5},
		{"short loops beside what takes longer", Leaf{Work: Work{Read: 4000}, Enters: 100}, 1,
			400 + 0.5},
		{"picks while others are fetched ahead",
			Leaf{Work: Work{Read: 4000, Flops: 1600},
				Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 70, Run: 8, Passes: 10}}, Ends: 1}, 1,
			400 + 0.5},
		{"picks in lanes, which nothing is fetched ahead beside",
			Leaf{Work: Work{Read: 4000, Flops: 1600},
				Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 70, Run: 8, Passes: 10, Lanes: true}},
				Ends:  1}, 1, 400 + 70 + 0.5},
		{"picks in lanes that other work hides",
			Leaf{Work: Work{Read: 500, Flops: 3200},
				Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 70, Run: 8, Passes: 10, Lanes: true}}},
			1, 70 + 200 + 0.5},
		{"picks that take longer", Leaf{Work: Work{Read: 4000, Written: 100, Flops: 1600},
			Picks: []Pick{{Bytes: 5000, Reach: 5000, Count: 700, Run: 8, Passes: 10}}, Ends: 1}, 1,
			700 + 100 + 3 + 20 + 0.5},
	} {
		if got := m.Seconds(c.leaf, c.threads); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s: got %v seconds, want %v", c.name, got, c.want)
		}
	}
	whole := Leaf{Work: Work{Read: 100, Written: 40, Flops: 10}, Alone: 6, Loads: 8,
		Picks: []Pick{{Bytes: 500, Reach: 500, Count: 6, Run: 8, Passes: 4}}, Enters: 10, Ends: 2,
		Steps: 4, Found: 6, Searches: 8, Atomics: 10, Taken: 12}
	half := whole.Scaled(0.5)
	if half.Read != 50 || half.Written != 20 || half.Flops != 5 || half.Alone != 3 ||
		half.Loads != 4 || half.Enters != 5 || half.Ends != 1 || half.Steps != 2 ||
		half.Found != 3 || half.Searches != 4 || half.Atomics != 5 || half.Taken != 6 ||
		half.Picks[0] != (Pick{Bytes: 500, Reach: 500, Count: 3, Run: 8, Passes: 2}) ||
		whole.Picks[0].Count != 6 {
		t.Errorf("half of %+v: got %+v", whole, half)
	}
}

// TestBounds checks that the saving of a bound is between 0 and the time spent on it, and that the
// resource that the time of a leaf is spent on saves all of its time.
func TestBounds(t *testing.T) {
	m := &Model{Threads: 2, Levels: []Level{
		{Name: "memory", Read: Pair{10, 15}, Write: Pair{5, 8}, Dependent: 12},
	}, Gathers: []Gather{{Bytes: 1, Values: Pair{1, 1.5}, Rows: Pair{0.25, 0.5}}},
		MultiplyAdds64: Pair{8, 16}, MultiplyAdds32: Pair{16, 32}, Branch: 3, Segment: 50,
		Atomic: Pair{4, 7}, Call: 0.5, Region: 0.25}
	picks := []Pick{{Bytes: 9000, Reach: 9000, Count: 900, Run: 8, Passes: 10}}
	for _, c := range []struct {
		binding string
		leaf    Leaf
		saved   float64
	}{
		{"sequential reads", Leaf{Work: Work{Read: 4000, Flops: 80}}, 400 - 5},
		{"writes", Leaf{Work: Work{Read: 400, Written: 4000}}, 800},
		{"arithmetic", Leaf{Work: Work{Read: 400, Flops: 16000}}, 1000 - 40},
		{"random reads", Leaf{Work: Work{Read: 400}, Picks: picks}, 900 - 40},
		{"branches and searches", Leaf{Work: Work{Read: 400}, Ends: 500}, 1500 - 40},
		{"loop starts", Leaf{Work: Work{Read: 400}, Enters: 20}, 1000 - 40},
		{"calls and threads", Leaf{}, 0.5},
	} {
		all := m.Seconds(c.leaf, 1)
		for _, b := range m.Bounds(c.leaf, 1) {
			if b.Saved < 0 || b.Saved > b.Seconds+1e-9 || b.Saved > all+1e-9 {
				t.Errorf("%s of %s: %v seconds of %v, %v saved", b.Name, c.binding, b.Seconds, all, b.Saved)
			}
			if (b.Name == c.binding) != (b.Saved > all/2) {
				t.Errorf("%s: %s saves %v of %v", c.binding, b.Name, b.Saved, all)
			}
			if b.Name == c.binding && math.Abs(b.Saved-c.saved) > 1e-9 {
				t.Errorf("%s: saves %v, want %v", c.binding, b.Saved, c.saved)
			}
		}
	}
}
