package spmd_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"distaff/io/tcs"
	"distaff/spmd"
)

// A job from Go code: a sparse matrix from a file times a vector in the program's memory. The
// program keeps the result.
func Example() {
	ctx := context.Background()
	x, err := spmd.Dense([]float64{1, 2, 3, 4}, 4)
	if err != nil {
		log.Fatal(err)
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
	report, err := job.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer report.Result.Close()
	y, err := spmd.Values[float64](report.Result)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y)
	fmt.Println(report.Lines[0])
	// Output:
	// [-2 7 0 14]
	// y: 4, d, float64, 4 entries, sum 19
}

// A matrix over arrays of the program, which are not copied: their values may be changed between
// runs. The result of a product of sparse matrices is read as slices, too.
func ExampleCSR() {
	ctx := context.Background()
	// 1 2 0
	// 0 0 3
	pos, crd := []int32{0, 2, 3}, []int32{0, 1, 2}
	values := []float64{1, 2, 3}
	A, err := spmd.CSR(2, 3, pos, crd, values)
	if err != nil {
		log.Fatal(err)
	}
	job := spmd.Job{
		Statement: "C(i,k) = A(i,j) * A(k,j)",
		Formats:   map[string]string{"C": "ds"},
		Inputs:    map[string]spmd.Input{"A": spmd.InMemory(A)},
		Keep:      true,
	}
	for range 2 {
		report, err := job.Run(ctx)
		if err != nil {
			log.Fatal(err)
		}
		rows, err := spmd.Pos[int32](report.Result, 1)
		if err != nil {
			log.Fatal(err)
		}
		columns, err := spmd.Crd[int32](report.Result, 1)
		if err != nil {
			log.Fatal(err)
		}
		products, err := spmd.Values[float64](report.Result)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(rows, columns, products)
		report.Result.Close() // the three slices are not to be used from here on
		values[2] = 10
	}
	// Output:
	// [0 1 2] [0 1] [5 9]
	// [0 1 2] [0 1] [5 100]
}

// A list of entries, sorted and distinct. Other lists are errors that name the entry.
func ExampleCOO() {
	i, j := []int{0, 1, 1}, []int{2, 1, 0}
	_, err := spmd.COO([]int64{2, 3}, [][]int{i, j}, []float32{1, 2, 3})
	fmt.Println(err)
	j[1], j[2] = 0, 1
	t, err := spmd.COO([]int64{2, 3}, [][]int{i, j}, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Format().String(), t.Header.Type)
	// Output:
	// COO: entry 2 (1, 0) comes after entry 1 (1, 1): entries must be sorted by coords[0], then coords[1]
	// uq float32
}

// A tensor of three modes as a tree: two coordinates of mode 0, which have two and one
// of mode 1, which have one, two and one of mode 2.
func ExampleCSF() {
	t, err := spmd.CSF([]int64{4, 5, 6}, nil,
		[][]int32{{0, 2}, {0, 2, 3}, {0, 1, 3, 4}},
		[][]int32{{0, 3}, {1, 4, 0}, {5, 0, 2, 2}},
		[]int64{10, 20, 30, 40})
	if err != nil {
		log.Fatal(err)
	}
	t.Entries(func(at []int64, k int64) bool {
		fmt.Println(at, t.Value(k))
		return true
	})
	// Output:
	// [0 1 5] 10
	// [0 4 0] 20
	// [0 4 2] 30
	// [3 0 2] 40
}

// A scalar result of generated data. The seed and the tensor's name determine the data, whatever
// the format.
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

// Mistakes are errors that say what was given and what was wanted. Their exit code is the
// command's.
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

// The same statement over other values. The second run computes into the result of the first run,
// and does not search for its coordinates again.
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
	fmt.Println(spmd.Values[float64](first.Result))

	job.Inputs["A"] = spmd.InMemory(bidiagonal(3, 5)) // the same pattern
	job.FixedPattern, job.Keep = first.Result, false
	if _, err := job.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(spmd.Values[float64](first.Result))
	// Output:
	// [1 3 2 1 3 1] <nil>
	// [3 8 5 3 8 3] <nil>
}

// bidiagonal returns a 3x3 matrix with d on its diagonal and u above it.
func bidiagonal(d, u float64) *tcs.Tensor {
	t, err := spmd.CSR(3, 3, []int32{0, 2, 4, 5}, []int32{0, 1, 1, 2, 2}, []float64{d, u, d, u, d})
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// power is power iteration: six statements that are prepared once and run until the eigenvalue is
// stable. No entry is negative, so x is scaled to the sum 1. The tensors stay in memory between
// runs.
func power(p *spmd.Program) error {
	for range 20 {
		for _, text := range []string{
			"y(i) = A(i,j) * x(j)", "xy = x(i) * y(i)", "xx = x(i) * x(i)", "value = xy / xx",
			"total = y(i)", "x(i) = y(i) / total",
		} {
			if err := p.Do(text); err != nil {
				return err
			}
		}
	}
	value, err := p.Value("value")
	if err != nil {
		return err
	}
	fmt.Printf("%.6f\n", real(value.C))
	return nil
}

// Several statements over tensors that stay in memory.
func ExampleStart() {
	// 2 1
	// 1 2
	A, err := spmd.CSR(2, 2, []int32{0, 2, 4}, []int32{0, 1, 0, 1}, []float64{2, 1, 1, 2})
	if err != nil {
		log.Fatal(err)
	}
	start, err := spmd.Dense([]float64{1, 0}, 2)
	if err != nil {
		log.Fatal(err)
	}
	err = spmd.Start(context.Background(), spmd.Options{}, func(p *spmd.Program) error {
		if err := p.Set("A", spmd.InMemory(A), spmd.Storage{}); err != nil {
			return err
		}
		if err := p.Set("x", spmd.InMemory(start), spmd.Storage{}); err != nil {
			return err
		}
		return power(p)
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 3.000000
}
