package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"distaff/io/tcs"
	"distaff/spmd"
)

// A job from Go code: a sparse matrix from a file times a vector that the
// program holds, into a tensor that the program keeps.
func Example() {
	x := &tcs.Tensor{
		Header: tcs.Header{Dims: []int64{4}, Type: tcs.Float64},
		Levels: []tcs.Level{{Kind: 'd', Mode: 0, Size: 4}},
		Vals:   tcs.Of([]float64{1, 2, 3, 4}),
	}
	job := spmd.Job{
		Statement: "y(i) = A(i,j) * x(j)",
		Formats:   map[string]string{"A": "ds"},
		Inputs: map[string]spmd.Input{
			"A": spmd.File("../testdata/matrix.mtx"),
			"x": spmd.InMemory(x),
		},
		Keep: true,
	}
	report, err := job.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer report.Result.Close()
	fmt.Println(tcs.Values[float64](report.Result))
	fmt.Println(report.Lines[0])
	// Output:
	// [-2 7 0 14]
	// y: 4, d, float64, 4 entries, sum 19
}

// A scalar result of generated data. The seed and the tensor's name fix the
// data, whatever the format.
func ExampleJob_Run() {
	job := spmd.Job{
		Statement: "s = A(i,j)",
		Sizes:     map[string][]int64{"A": {100, 100}},
		Inputs:    map[string]spmd.Input{"A": spmd.Generated("banded:1:int")},
		Options:   spmd.Options{Seed: 7, Check: true},
	}
	report, err := job.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range report.Lines {
		fmt.Println(line)
	}
	// Output:
	// check: s agrees with the reference
	// s = 1463
}

// Mistakes are errors that say what was given and what was wanted, with the
// exit code that the command would end with.
func ExampleJob_Run_mistake() {
	job := spmd.Job{
		Statement: "y(i) = A(i,j) * x(j)",
		Inputs:    map[string]spmd.Input{"A": spmd.File("../testdata/matrix.mtx")},
	}
	_, err := job.Run(context.Background())
	fmt.Println(err)
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		fmt.Println(coded.ExitCode())
	}
	// Output:
	// x: no input; give each with -i=x:FILE or -g=x:KIND
	// 2
}

// The same statement over other values: the second run computes into the first
// one's result, whose coordinates it does not find anew.
func ExampleJob_into() {
	job := spmd.Job{
		Statement: "C(i,j) = A(i,k) * B(k,j)",
		Formats:   map[string]string{"C": "ds"},
		Inputs: map[string]spmd.Input{
			"A": spmd.InMemory(bidiagonal(1, 2)),
			"B": spmd.InMemory(bidiagonal(1, 1)),
		},
		Keep: true,
	}
	first, err := job.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer first.Result.Close()
	fmt.Println(tcs.Values[float64](first.Result))

	job.Inputs["A"] = spmd.InMemory(bidiagonal(3, 5)) // the same pattern
	job.FixedPattern, job.Keep = first.Result, false
	if _, err := job.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tcs.Values[float64](first.Result))
	// Output:
	// [1 3 2 1 3 1]
	// [3 8 5 3 8 3]
}

// bidiagonal is a 3x3 matrix with d on its diagonal and u above it.
func bidiagonal(d, u float64) *tcs.Tensor {
	return &tcs.Tensor{
		Header: tcs.Header{Dims: []int64{3, 3}, Type: tcs.Float64},
		Levels: []tcs.Level{
			{Kind: 'd', Mode: 0, Size: 3},
			{Kind: 's', Mode: 1, Size: 3, Pos: tcs.Of([]int32{0, 2, 4, 5}), Crd: tcs.Of([]int32{0, 1, 1, 2, 2})},
		},
		Vals: tcs.Of([]float64{d, u, d, u, d}),
	}
}
