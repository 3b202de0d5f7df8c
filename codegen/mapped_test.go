package codegen

import (
	"strings"
	"testing"

	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/strategy"
)

// TestMappedFetched: blocks of a result that is added to by a map are fetched ahead, into the cache of the second level further than into the
// nearest, and no further than a map is read; into the nearest alone where the processor does better so.
func TestMappedFetched(t *testing.T) {
	for _, c := range []struct {
		far  int64
		want []string
	}{
		{strategy.MapAhead, []string{"+ 64:64]", "+ 16:64]"}},
		{0, []string{"+ 16:64]"}},
	} {
		r := smallRequest(t, "Y(i,j,k) = A(i,j,l)*C(k,l)")
		for name, levels := range map[string]string{"A": "sss", "Y": "ssd"} {
			x := r.Tensors[name]
			for l := range levels {
				x.Format.Levels[l] = format.Kind(levels[l])
			}
			r.Tensors[name] = x
		}
		r.Accumulate, r.Exact, r.Forms = true, nil, strategy.Forms{strategy.FarRows: c.far}
		u, err := Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		text := ir.Print(u.Func)
		if !u.Result.Accumulate || strings.Count(text, "prefetch") != len(c.want) {
			t.Errorf("far %d: got %d fetches, want %d:\n%s", c.far, strings.Count(text, "prefetch"), len(c.want), text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, "Y_at["+"A_p "+w) {
				t.Errorf("far %d: no %q in\n%s", c.far, w, text)
			}
		}
	}
}
