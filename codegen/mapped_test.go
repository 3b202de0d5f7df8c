package codegen

import (
	"strings"
	"testing"

	"distaff/codegen/choice"
	"distaff/codegen/forms"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// TestMappedFetched: if a leaf adds to a result by a map, blocks of the result are prefetched: far
// ahead into the second-level cache and less far into the first, but not beyond the end of the map.
// If that was measured to be better on the processor, they are only prefetched into the first.
func TestMappedFetched(t *testing.T) {
	for _, c := range []struct {
		far  int64
		want []string
	}{
		{choice.MapAhead, []string{"+ 64:64]", "+ 16:64]"}},
		{0, []string{"+ 16:64]"}},
	} {
		r := smallRequest(t, "Y(i,j,k) = A(i,j,l)*C(k,l)")
		for name, levels := range map[string]string{"A": "sss", "Y": "ssd"} {
			x := r.Tensors.All[name]
			for l := range levels {
				x.Format.Levels[l] = tensor.Kind(levels[l])
			}
			r.Tensors.All[name] = x
		}
		r.Ask.Accumulate, r.Tensors.Exact, r.Target.Forms = true, nil, forms.Set{forms.FarRows: c.far}
		u, err := Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		text := ir.Print(u.Func)
		if !u.Result.Accumulate || strings.Count(text, "prefetch") != len(c.want) {
			t.Errorf("far %d: got %d fetches, want %d:\n%s", c.far, strings.Count(text, "prefetch"),
				len(c.want), text)
		}
		for _, w := range c.want {
			if !strings.Contains(text, "Y_at["+"A_p "+w) {
				t.Errorf("far %d: no %q in\n%s", c.far, w, text)
			}
		}
	}
}

// TestMappedPastCaches: rows of a large result that a leaf is the first to write are stored past
// the caches, as they would be if they had been set to 0 before. Only other rows are prefetched and
// added to. Rows of a small result, and rows that are not summed in registers, are set to 0.
func TestMappedPastCaches(t *testing.T) {
	for _, c := range []struct {
		rows     int64
		schedule string
		once     bool
	}{
		{1 << 20, "", true},
		{1000, "", false},
		{1 << 20, "vectorize(k) nontemporal(Y)", false},
		{1000, "tile(k,32) vectorize(k) nontemporal(Y)", true},
	} {
		r := smallRequest(t, "Y(i,j,k) = A(i,j,l)*C(l,k)")
		r.Tensors.Sizes["k"], r.Statement.ComputeType = 32, tensor.Float64
		for name, levels := range map[string]string{"A": "sss", "Y": "ssd", "C": "dd"} {
			x := r.Tensors.All[name]
			x.Type = tensor.Float64
			for l := range levels {
				x.Format.Levels[l] = tensor.Kind(levels[l])
			}
			if name == "A" {
				x.NNZ, x.Counts = 2*c.rows, []int64{100, c.rows, 2 * c.rows}
			}
			r.Tensors.All[name] = x
		}
		r.Ask.Accumulate, r.Tensors.Exact, r.Target.Forms = true, nil, forms.Set{forms.FarRows: choice.MapAhead}
		if c.schedule != "" {
			r.Ask.Schedule = strings.Fields(c.schedule)
		}
		u, err := Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		text := ir.Print(u.Func)
		for part, want := range map[string]bool{"nontemporal": c.once, "= 0.0 + Y_row[": c.once,
			"if 0 <= Y_at_far": c.once, "if Y_q < 0": !c.once} {
			if strings.Contains(text, part) != want {
				t.Errorf("%d rows, %q: %q is there: %v, want %v\n%s", c.rows, c.schedule, part, !want, want,
					text)
			}
		}
	}
}
