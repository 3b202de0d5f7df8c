package choice

import (
	"strings"
	"testing"
)

// TestChoices checks the table of choices: each has a file's worth of data, and its orders are
// printed with all arguments.
func TestChoices(t *testing.T) {
	last := map[string]bool{}
	for k, c := range Choices {
		if c.Meaning == "" && c != Count {
			t.Errorf("%s: want a row with a meaning", c.Name)
		}
		if last[c.Name] {
			t.Errorf("row %d, %s: a row before it takes all arguments", k, c.Name)
		}
		last[c.Name] = c.Takes == nil
		if c.Always != nil && c.DecisionKey == nil {
			t.Errorf("%s: a schedule cannot replace what it always orders: want a function Decides", c.Name)
		}
		o := Order{Choice: c, Loop: Ref{"i", 2}, Name: "T", N: 5, Far: 7,
			Word: strings.TrimSuffix(strings.Repeat("W,", c.words()), ",")}
		for k, p := range c.Params {
			if k > 0 && c.Params[k-1].Optional && !p.Optional {
				t.Errorf("%s: argument %d comes after an optional one", c.Name, k)
			}
		}
		if got := strings.Count(o.String(), ",") + 1; got != len(c.Params) {
			t.Errorf("%s: got %d arguments, want %d", o, got, len(c.Params))
		}
	}
}

// TestOrderText checks the texts of orders: optional arguments are left out.
func TestOrderText(t *testing.T) {
	on := func(c *Choice, o Order) Order { o.Choice, o.Loop.Var = c, "i"; return o }
	for _, c := range []struct {
		o    Order
		want string
	}{
		{on(Count, Order{N: 8}), "bound(i,i,8,MaxExact)"},
		{on(Tile, Order{N: 8}), "tile(i,8)"},
		{on(Fetch, Order{Name: "B"}), "prefetch(B,i,0)"},
		{on(Fetch, Order{Name: "B", N: 16, Far: 64}), "prefetch(B,i,16,64)"},
		{on(Threads, Order{Word: "CPUThread,NoRaces,Rows", Name: "j"}),
			"parallelize(i,CPUThread,NoRaces,Rows,j)"},
		{on(RowLanes, Order{Word: "Atomics"}), "parallelize(i,GPUThread,Atomics,Rows)"},
		{Order{Choice: Flatten, Loop: Ref{"i", 2}}, "flatten(i[2])"},
		{Order{Choice: Substitute, Name: "i,j", Word: `"f.c:g"`}, `substitute({i,j},"f.c:g")`},
	} {
		if got := c.o.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := Fetch.Usage(); got != "prefetch(T, i, N[, FAR])" {
		t.Errorf("got usage %s", got)
	}
}
