package spmd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd/comm/local"
	"distaff/spmd/input"
)

// checked loads a job, computes its result, lets spoil change the result, and returns what the
// check finds.
func checked(t *testing.T, j *Job, format string, spoil func(*tcs.Tensor)) *Difference {
	t.Helper()
	_, d := checkedBy(t, j, format, spoil)
	return d
}

// checkedBy is like checked, and also returns the lines for the user.
func checkedBy(t *testing.T, j *Job, format string, spoil func(*tcs.Tensor)) (string, *Difference) {
	t.Helper()
	j.Check = true
	c, end := local.Alone(context.Background())
	defer end()
	p, err := j.parseAndCheck(1)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.rankJob(p, c, 1, 1, input.Refused)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Compute(); err != nil {
		if errors.Is(err, cc.ErrNoCompiler) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	result, err := r.Whole()
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	if format != "" {
		levels, order, _ := strings.Cut(format, ":")
		modes := []int{0, 1}
		if order == "1,0" {
			modes = []int{1, 0}
		}
		packed, err := coo.Repack(result, tensor.FormatOf(levels, modes), coo.KeepAll,
			r.Reader.Env.Config())
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		result = packed
	}
	if spoil != nil {
		spoil(result)
	}
	said, d, err := r.Compare(result)
	if err != nil {
		t.Fatal(err)
	}
	return said, d
}

// TestCheckFinds checks that a correct result passes in every format, and that a value with an
// error a little larger than rounding is found at its coordinate.
func TestCheckFinds(t *testing.T) {
	job := func() *Job {
		return &Job{
			Statement: "C(i,j) = A(i,k) * B(k,j)",
			Sizes:     map[string][]int64{"A": {20, 30}, "j": {25}},
			Inputs:    map[string]Input{"A": Generated("uniform:150"), "B": Generated("uniform:200")},
			Formats:   map[string]string{"C": "ss"},
		}
	}
	for _, format := range []string{"", "ds", "ds:1,0", "dd", "uq", "uc", "ss:1,0"} {
		if d := checked(t, job(), format, nil); d != nil {
			t.Errorf("%s: a right result differs: %v", format, d)
		}
		var at []int64
		d := checked(t, job(), format, func(c *tcs.Tensor) {
			c.Entries(func(coord []int64, i int64) bool {
				v := c.Value(i)
				if v.IsZero() {
					return true
				}
				at = append([]int64{}, coord...)
				v.C *= 1 + 1e-12
				c.SetValue(i, v)
				return false
			})
		})
		if d == nil {
			t.Errorf("%s: a wrong value passes", format)
			continue
		}
		if d.Coord[0] != at[0] || d.Coord[1] != at[1] || d.More != 0 {
			t.Errorf("%s: got %v and %d more, want %v alone", format, d.Coord, d.More, at)
		}
		if d.ExitCode() != 4 {
			t.Errorf("%s: exit code %d, want 4", format, d.ExitCode())
		}
	}
}

// TestCheckExact checks that results of integer data must be exactly equal.
func TestCheckExact(t *testing.T) {
	j := &Job{
		Statement: "y(i) = A(i,j) * x(j)",
		Sizes:     map[string][]int64{"A": {20, 30}},
		Inputs:    map[string]Input{"A": Generated("uniform:150:int"), "x": Generated("dense:int")},
	}
	d := checked(t, j, "", func(y *tcs.Tensor) {
		v := y.Value(3)
		v.C *= 1 + 0x1p-52
		y.SetValue(3, v)
	})
	if d == nil || d.Within != 0 {
		t.Errorf("got %v, want a difference that nothing excuses", d)
	}
}

// TestCheckAbsent checks that a stored entry that the reference lacks must be zero.
func TestCheckAbsent(t *testing.T) {
	j := &Job{
		Statement: "C(i,j) = A(i,j) * B(i,j)",
		Sizes:     map[string][]int64{"A": {20, 30}},
		Inputs:    map[string]Input{"A": Generated("uniform:50"), "B": Generated("uniform:50")},
	}
	d := checked(t, j, "", func(c *tcs.Tensor) {
		for i := range c.Vals.Len {
			if c.Value(i).IsZero() {
				c.SetValue(i, tensor.Value{Type: tensor.Float64, C: 1e-300})
				return
			}
		}
	})
	if d == nil || !strings.Contains(d.Error(), "want 0 (absent)") {
		t.Errorf("got %v, want a difference from absence", d)
	}
}

// TestCheckSampled checks that entries are among the samples if there are more than 1e8
// coordinates.
func TestCheckSampled(t *testing.T) {
	j := &Job{
		Statement: "C(i,j) = A(i,j)",
		Sizes:     map[string][]int64{"A": {1 << 20, 1 << 20}},
		Inputs:    map[string]Input{"A": Generated("uniform:2000")},
		Formats:   map[string]string{"C": "ss"},
	}
	if d := checked(t, j, "", nil); d != nil {
		t.Errorf("a right result differs: %v", d)
	}
	d := checked(t, j, "", func(c *tcs.Tensor) {
		for i := range c.Vals.Len {
			v := c.Value(i)
			v.C *= 1.5
			c.SetValue(i, v)
		}
	})
	if d == nil {
		t.Error("a result with every entry wrong passes")
	}
}
