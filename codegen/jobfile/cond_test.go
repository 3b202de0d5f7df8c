package jobfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// longCondition returns a file whose condition has n scalars on the left.
func longCondition(n int) string {
	return "a = 1\nb = 1\nrepeat 2 until " + strings.Repeat("a + ", n-1) + "a < b { a = a }\n"
}

// TestLongConditions checks that a condition has at most MaxOperands numbers and scalars, and that
// this many are evaluated in a moment.
func TestLongConditions(t *testing.T) {
	var d *diag.Error
	f, err := Parse("job.dst", longCondition(MaxOperands))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(); !errors.As(err, &d) || d.Code != diag.TooLarge || d.Line != 3 {
		t.Errorf("got %v, want an error of code %s on line 3", err, diag.TooLarge)
	}
	start := time.Now()
	f, err = Parse("job.dst", longCondition(MaxOperands-1))
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := f.Items[2].(*Repeat).Until
	if len(c.String()) < 4*MaxOperands-10 {
		t.Errorf("got a condition of %d bytes as text", len(c.String()))
	}
	for range 100 {
		one := func(string) (tensor.Value, error) { return tensor.Value{Type: tensor.Int64}, nil }
		if _, err := c.Eval(one); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("100 passes took %v, want a moment", took)
	}
}
