package planview

import (
	"fmt"
	"testing"
)

// TestRankColors: ranks have colors of their own, as many as there are, and text on each can be
// read.
func TestRankColors(t *testing.T) {
	for _, ranks := range []int{1, 2, 8, 9, 64, 200} {
		seen := map[rgb]int{}
		for r := range ranks {
			c := newRankColors(ranks).at(r)
			if other, ok := seen[c]; ok {
				t.Errorf("%d ranks: %d and %d are both %v", ranks, other, r, c)
			}
			seen[c] = r
			light, dark := c.luminance()+.05, .05
			if c.ink() == "#fff" {
				light, dark = 1.05, c.luminance()+.05
			}
			if light/dark < 4.5 {
				t.Errorf("the contrast of %s on %v, rank %d of %d, is %.2f, want 4.5", c.ink(), c, r, ranks,
					light/dark)
			}
		}
		keys := legend(ranks)
		if last := keys[len(keys)-1]; last.Label != fmt.Sprint(ranks-1) ||
			last.Fill != newRankColors(ranks).at(ranks-1).String() {
			t.Errorf("%d ranks: the legend ends with %+v", ranks, last)
		}
	}
}
