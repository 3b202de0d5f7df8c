package spmd_test

import (
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/forms"
	"distaff/codegen/schedule"
	"distaff/io/tcs"
	"distaff/kernels/tune"
	"distaff/spmd"
)

// TestForms checks that leaves have the forms that the cache has for this CPU, at every rank, and
// report them; that --tune=off uses the default forms; and that results do not depend on the forms,
// bit by bit.
func TestForms(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DISTAFF_CACHE", cache)
	job := func(rows int64, way string) *spmd.Job {
		j := &spmd.Job{Statement: "Y(i,k) = A(i,j)*X(j,k)",
			Sizes:   map[string][]int64{"A": {40, rows}, "X": {rows, 32}},
			Formats: map[string]string{"A": "ds"},
			Inputs:  map[string]spmd.Input{"A": spmd.Generated("uniform:300"), "X": spmd.Generated("dense")},
			Keep:    true}
		j.Target, j.Threads, j.Tune = spmd.Interpreter, 1, way
		return j
	}
	schedule := func(rows int64, way string) string {
		t.Helper()
		j := job(rows, way)
		j.Target = ""
		c, err := j.Compile(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := codegen.Schedule(c.Unit.Request)
		if err != nil {
			t.Fatal(err)
		}
		return schedule.Text(lines)
	}
	// Numbers of rows: all fit into a core's caches, half of them fit, and the last-level cache may
	// be too small.
	const near, far, memory = 1<<20/256 - 1, 2 << 20 / 256, 16 << 20 / 256
	want := func(rows int64, way string, commands ...string) {
		t.Helper()
		text := schedule(rows, way)
		for _, c := range commands {
			if !strings.Contains(text, c) {
				t.Errorf("%d rows, --tune=%s: got\n%swant %s", rows, way, text, c)
			}
		}
		if len(commands) == 0 && strings.Contains(text, "prefetch") {
			t.Errorf("%d rows, --tune=%s: got\n%swant no prefetch", rows, way, text)
		}
	}
	want(near, "")
	want(memory, "", "prefetch(X,j,16,64)")
	m := modelOf(forms.Set{forms.FarRows: 0, "of another table": 7})
	if err := tune.Keep(cache, m); err != nil {
		t.Fatal(err)
	}
	want(far, "auto")
	want(far, "off", "prefetch(X,j,16,64)")
	for _, ranks := range []int{1, 2} {
		var first []float64
		for _, way := range []string{"auto", "off"} {
			j := job(far, way)
			j.Ranks = ranks
			r, err := j.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(tcs.Slice[float64](r.Result.Vals))
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Errorf("%d ranks, --tune=%s: another result", ranks, way)
			}
			r.Result.Close()
		}
	}
	want(1<<20/256, "off", "prefetch(X,j,16) ")
	m.Forms = forms.Set{forms.FarRows: 64, forms.LastLevelRows: 64}
	if err := tune.Keep(cache, m); err != nil {
		t.Fatal(err)
	}
	want(far, "auto", "prefetch(X,j,16,64) ",
		"fetched 64 stored values ahead they were fastest on CPUs of this kind")
	m.Forms = forms.Set{forms.FarRows: 64, forms.LastLevelRows: 48}
	if err := tune.Keep(cache, m); err != nil {
		t.Fatal(err)
	}
	want(far, "auto", "prefetch(X,j,48) ",
		"fetched 48 stored values ahead they were fastest on CPUs of this kind")
	want(memory-1, "auto", "prefetch(X,j,48) ")
	want(memory, "auto", "prefetch(X,j,16,64) ")
	// forms without effect: the first is not a form, the second is the default
	m.Forms = forms.Set{forms.FarRows: 5, forms.LastLevelRows: 64}
	if err := tune.Keep(cache, m); err != nil {
		t.Fatal(err)
	}
	want(far, "auto", "prefetch(X,j,16,64)")
	if _, err := job(near, "some").Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), `got the tuning "some", want auto or off`) {
		t.Errorf("got %v", err)
	}
}

// modelOf returns a model of a machine that has these forms.
func modelOf(forms forms.Set) *tune.Model {
	rate := tune.Pair{One: 1e9, All: 1e9}
	return &tune.Model{Threads: 1, Levels: []tune.Level{{Name: "memory", Read: rate, Write: rate}},
		Gathers: []tune.Gather{{Bytes: 1, Values: rate, Rows: rate}}, MultiplyAdds64: rate,
		MultiplyAdds32: rate, Branch: 1, Segment: 1, Compile: 1,
		Files: tune.Files{Load: 1, Parse: 1, Store: 1}, Forms: forms}
}
