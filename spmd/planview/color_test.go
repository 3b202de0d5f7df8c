package planview

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
)

// TestRankColors checks that all ranks have different colors, and that text on each color is
// readable.
func TestRankColors(t *testing.T) {
	for _, ranks := range []int{1, 2, 8, 9, 64, 200} {
		seen := map[color.RGBA]int{}
		for r := range ranks {
			c := rankColor(r, ranks)
			if other, ok := seen[c]; ok {
				t.Errorf("%d ranks: %d and %d are both %v", ranks, other, r, c)
			}
			seen[c] = r
			bright, dark := luminance(c)+.05, .05
			if inkOn(c) == color.White {
				bright, dark = 1.05, luminance(c)+.05
			}
			if bright/dark < 4.5 {
				t.Errorf("the contrast of %v on %v, rank %d of %d, is %.2f, want 4.5", inkOn(c), c, r, ranks,
					bright/dark)
			}
		}
		root := parse(t, []byte(legend(ranks)))
		texts, keys := root.find("<text"), root.find("<path")
		last := strings.ToLower(keys[len(keys)-1].attrs["style"])
		if texts[len(texts)-1].text != fmt.Sprint(ranks-1) ||
			last != "fill:"+hex(rankColor(ranks-1, ranks)) {
			t.Errorf("%d ranks: the legend ends with %q and %s", ranks, texts[len(texts)-1].text, last)
		}
	}
}
