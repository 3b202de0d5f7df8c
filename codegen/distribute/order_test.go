package distribute_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/schedule"
)

// loopsAfter returns the loops after split, divide and reorder commands. It ignores other commands.
func loopsAfter(t *testing.T, loops []string, commands string) []string {
	t.Helper()
	list, err := schedule.Parse([]string{commands})
	if err != nil {
		t.Fatal(err)
	}
	loops = slices.Clone(loops)
	for _, c := range list {
		switch c.Name {
		case "split", "divide":
			k := slices.Index(loops, c.Args[0].Text)
			loops = slices.Replace(loops, k, k+1, c.Args[1].Text, c.Args[2].Text)
		case "reorder":
			var at []int
			for _, a := range c.Args {
				at = append(at, slices.Index(loops, a.Text))
			}
			slices.Sort(at)
			for k, a := range c.Args {
				loops[at[k]] = a.Text
			}
		}
	}
	return loops
}

// leafAfter returns the loops of a leaf after commands. A reorder changes the order of the loops
// that the leaf has, and other loops in it are ignored. The loop over ko is peeled, and ki is the
// leaf's k.
func leafAfter(t *testing.T, loops []string, commands string) []string {
	t.Helper()
	list, err := schedule.Parse([]string{commands})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		var args []string
		for _, a := range c.Args {
			if a.Text == "ki" {
				a.Text = "k"
			}
			if a.Text != "ko" {
				args = append(args, a.Text)
			}
		}
		switch {
		case c.Name == "reorder" && len(args) > 1:
			loops = loopsAfter(t, loops, "reorder("+strings.Join(args, ",")+")")
		case c.Name != "reorder" && len(args) == len(c.Args):
			loops = loopsAfter(t, loops, c.Name+"("+strings.Join(args, ",")+")")
		}
	}
	return loops
}

// TestLeafOrder compares the loop order of the leaf's schedule with the order that the whole
// schedule gives to the loops inside the peeled ones. In the leaf, an inner variable of a peeled
// loop has the name of the variable that was cut.
func TestLeafOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	order := []string{"i", "j", "k", "l"}
	scheduled := 0
	for range 500 {
		cuts := "divide(k,ko,ki,2)"
		if r.IntN(2) == 0 {
			cuts += ",split(ki,kio,kii,3)"
		}
		if r.IntN(2) == 0 {
			cuts += ",divide(j,jo,ji,2)"
		}
		for range 1 + r.IntN(3) {
			loops := loopsAfter(t, order, cuts)
			r.Shuffle(len(loops), func(a, b int) { loops[a], loops[b] = loops[b], loops[a] })
			cuts += fmt.Sprintf(",reorder(%s)", strings.Join(loops[:2+r.IntN(len(loops)-1)], ","))
		}
		// A last swap makes the loop over ko outermost.
		if loops := loopsAfter(t, order, cuts); loops[0] != "ko" {
			cuts += fmt.Sprintf(",reorder(ko,%s)", loops[0])
		}
		n, err := problem{"2", "i:8 j:8 k:8 l:8", "", ""}.peel(t, cuts+",distribute(ko)")
		if err != nil {
			t.Fatalf("%s: %v", cuts, err)
		}
		want := leafAfter(t, order, cuts)
		leaf := strings.Join(n.Leaf, ",")
		got := order
		if leaf != "" {
			scheduled++
			got = loopsAfter(t, order, leaf)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: the leaf's schedule %s makes the loops %v, want %v", cuts, leaf, got, want)
		}
	}
	if scheduled < 300 {
		t.Errorf("%d leaves have a schedule: too few to say anything", scheduled)
	}
}
