package spmd_test

import (
	"context"
	"errors"
	"testing"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tensor"
	"distaff/spmd"
)

// TestEveryCode has a case for each code of diag.Codes: the code's own example as a job or, if
// flags or data cause the error, a job or an evaluation here.
func TestEveryCode(t *testing.T) {
	own := map[diag.Code]func() error{
		diag.NoTensor: func() error {
			return job("a(i) = B(i)", func(j *spmd.Job) { j.Formats["C"] = "d" })
		},
		diag.LossyType: func() error {
			return job("a(i) = B(i)", func(j *spmd.Job) {
				j.Types, j.Sizes = map[string]string{"a": "int32", "B": "float64"}, map[string][]int64{"B": {3}}
			})
		},
		diag.SizeClash: func() error {
			return job("a(i) = B(i) * C(i)",
				func(j *spmd.Job) { j.Sizes = map[string][]int64{"B": {3}, "C": {4}} })
		},
		diag.SizeUnknown: func() error { return job("a(i) = B(i)", func(*spmd.Job) {}) },
		diag.DivideByZero: func() error {
			s, err := notation.Parse("a = 1 / b")
			if err != nil {
				return err
			}
			b := reference.NewTensor(tensor.Int64)
			b.Append(nil, tensor.Value{})
			e := reference.New(reference.Problem{Normal: notation.Normalize(s), Compute: tensor.Int64,
				Result: tensor.Int64, Tensors: map[string]*reference.Tensor{"b": b.Finish()}})
			return e.Each(context.Background(), func([]int64, reference.Point) error { return nil })
		},
	}
	for _, c := range diag.Codes {
		var err error
		switch f := own[c.Code]; {
		case f != nil:
			err = f()
		case c.Flag == "f":
			err = job("a(i,j) = B(i,j)", func(j *spmd.Job) { j.Formats["B"] = c.Example[len("B:"):] })
		case c.Flag == "network":
			err = job("y(i) = B(i,j) * x(j)", func(j *spmd.Job) {
				j.Network = c.Example
				j.Sizes = map[string][]int64{"B": {4, 5}}
			})
		case c.Flag == "t":
			_, err = notation.ParseType(c.Example)
		case c.Flag == "s":
			err = job("y(i) = B(i,j) * x(j)", func(j *spmd.Job) {
				j.Schedule = []string{c.Example}
				j.Sizes = map[string][]int64{"B": {4, 5}}
			})
		default:
			err = job(c.Example, func(*spmd.Job) {})
		}
		var d *diag.Error
		if !errors.As(err, &d) || d.Code != c.Code {
			t.Errorf("%s: no case gives it: %v", c.Code, err)
		}
	}
}

// job runs a job with generated operands, and returns its error.
func job(stmt string, set func(*spmd.Job)) error {
	j := &spmd.Job{Statement: stmt, Formats: map[string]string{}, Inputs: map[string]spmd.Input{}}
	j.Target = spmd.Interpreter
	if s, err := notation.Parse(stmt); err == nil {
		for _, x := range s.Tensors()[1:] {
			j.Inputs[x.Name] = spmd.Generated("dense")
		}
	}
	set(j)
	_, err := j.Run(context.Background())
	return err
}
