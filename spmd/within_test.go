package spmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"distaff/io/tcsfile"
	"distaff/spmd"
)

// TestWithinPlan checks that jobs use no more memory at any rank than planned. They have thousands
// of entries, so that small amounts do not hide uncounted memory.
func TestWithinPlan(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	file := func(name string, entries int, sizes ...int64) spmd.Input {
		var b bytes.Buffer
		for range entries {
			for _, d := range sizes {
				fmt.Fprint(&b, 1+r.Int64N(d), " ")
			}
			fmt.Fprintln(&b, r.IntN(9))
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return spmd.File(path)
	}
	const n = 300
	many, few, repeated := file("many.tns", 30000, n, n), file("few.tns", 2000, n, n),
		file("repeated.tns", 60000, 8, 8)
	order3, cube := file("order3.tns", 20000, 40, 50, 60), file("cube.tns", 900, 40, 40, 40)
	dense := spmd.Generated("dense")
	// stored writes the result of a statement to a .tcs file and returns the file as an input.
	// Blocks of rows are views of the file, so loading needs no memory.
	stored := func(name, statement, format string, from spmd.Input, sizes ...int64) spmd.Input {
		in := spmd.File(filepath.Join(dir, name+".tcs"))
		job := spmd.Job{Statement: statement, Formats: map[string]string{"A": format, "T": format},
			Inputs: map[string]spmd.Input{"A": from}, Sizes: map[string][]int64{"A": sizes},
			Outputs: []spmd.Output{{Tensor: "T", File: in.File}}}
		if _, err := job.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return in
	}
	// packed writes the tensor to a compressed file.
	packed := func(name string, from spmd.Input) spmd.Input {
		x, err := tcsfile.Open(from.File)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		var b bytes.Buffer
		if err := tcsfile.WriteTo(&b, x, tcsfile.WriteOptions{Compress: true}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".tcs")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return spmd.File(path)
	}
	rows, fewRows := stored("many", "T(i,j) = A(i,j)", "ds", many, n, n),
		stored("few", "T(i,j) = A(i,j)", "ds", few, n, n)
	columns := stored("columns", "T(i,j) = A(i,j)", "ds:1,0", many, n, n)
	order3 = stored("order3", "T(i,j,k) = A(i,j,k)", "sss", order3, 40, 50, 60)
	for _, c := range []struct {
		what      string
		statement string
		formats   map[string]string
		types     map[string]string
		inputs    map[string]spmd.Input
		sizes     map[string][]int64
		splits    []string
		extend    []string
		out       string
		also      string // another file that A is written to
		check     bool
	}{
		{what: "text in blocks", statement: "y(i) = A(i,j)*x(j)", formats: map[string]string{"A": "ds"},
			inputs: map[string]spmd.Input{"A": many, "x": dense}, sizes: map[string][]int64{"A": {n, n}},
			splits: []string{"i:16", "j:8"}},
		{what: "text in one block a rank", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "ss"}, inputs: map[string]spmd.Input{"A": many, "x": dense},
			sizes: map[string][]int64{"A": {n, n}}},
		{what: "complex text", statement: "y(i) = A(i,j)*x(j)", formats: map[string]string{"A": "ss"},
			types:  map[string]string{"A": "complex128"},
			inputs: map[string]spmd.Input{"A": many, "x": dense}, sizes: map[string][]int64{"A": {n, n}}},
		{what: "repeated coordinates", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "ds"}, inputs: map[string]spmd.Input{"A": repeated, "x": dense},
			sizes: map[string][]int64{"A": {8, 8}}},
		{what: "repeated coordinates of a dense matrix", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "dd"}, inputs: map[string]spmd.Input{"A": repeated, "x": dense},
			sizes: map[string][]int64{"A": {8, 8}}},
		{what: "room beside entries", statement: "y(j) = A(i,j)*x(i)",
			formats: map[string]string{"A": "sd"}, inputs: map[string]spmd.Input{"A": few, "x": dense},
			sizes: map[string][]int64{"A": {n, n}}, splits: []string{"j:12"}},
		{what: "narrower values", statement: "C(i,j) = A(i,j)*B(i,j) + A(i,j)",
			types:   map[string]string{"A": "int32", "B": "int32", "C": "int32"},
			formats: map[string]string{"A": "dd", "C": "dd"},
			inputs: map[string]spmd.Input{"A": spmd.Generated("dense:int"),
				"B": spmd.Generated("dense:int")}, sizes: map[string][]int64{"A": {n, n}}},
		{what: "a dense result as text, by columns", statement: "C(i,j) = A(i,j)*B(i,j)",
			formats: map[string]string{"A": "ds", "C": "dd:1,0"},
			inputs:  map[string]spmd.Input{"A": rows, "B": dense}, sizes: map[string][]int64{"A": {n, n}},
			out: "C.tns"},
		{what: "a dense result as compressed text, by columns", statement: "C(i,j) = A(i,j)*B(i,j)",
			formats: map[string]string{"A": "ds", "C": "dd:1,0"},
			inputs:  map[string]spmd.Input{"A": rows, "B": dense}, sizes: map[string][]int64{"A": {n, n}},
			out: "C.tns.gz"},
		{what: "a sparse result as text, by columns", statement: "C(i,j) = A(i,j)*B(i,j)",
			formats: map[string]string{"A": "ds:1,0", "C": "ss:1,0"},
			inputs:  map[string]spmd.Input{"A": columns, "B": dense}, sizes: map[string][]int64{"A": {n, n}},
			out: "C.mtx"},
		{what: "a product", statement: "C(i,k) = A(i,j)*B(j,k)",
			formats: map[string]string{"A": "ds", "B": "ds", "C": "ds"},
			inputs:  map[string]spmd.Input{"A": fewRows, "B": fewRows},
			sizes:   map[string][]int64{"A": {n, n}, "B": {n, n}}},
		{what: "a product whose result is repacked", statement: "C(i,k) = A(i,j)*B(j,k)",
			formats: map[string]string{"A": "ds", "B": "ds", "C": "uq"},
			inputs:  map[string]spmd.Input{"A": fewRows, "B": fewRows},
			sizes:   map[string][]int64{"A": {n, n}, "B": {n, n}}},
		{what: "a sum of sparse blocks over ranks", statement: "C(i,k) = A(i,j)*B(j,k)",
			formats: map[string]string{"A": "ds", "B": "ds", "C": "ds"},
			inputs:  map[string]spmd.Input{"A": fewRows, "B": fewRows},
			sizes:   map[string][]int64{"A": {n, n}, "B": {n, n}}, splits: []string{"j:8"},
			extend: []string{"j"}},
		{what: "steps that add to sparse blocks", statement: "C(i,k) = A(i,j)*B(j,k)",
			formats: map[string]string{"A": "ds", "B": "ds", "C": "ds"},
			inputs:  map[string]spmd.Input{"A": fewRows, "B": fewRows},
			sizes:   map[string][]int64{"A": {n, n}, "B": {n, n}}, splits: []string{"i:4", "j:5"}},
		{what: "a converted operand", statement: "C(i,j) = A(i,j) + B(i,j)",
			formats: map[string]string{"A": "ds", "B": "ds:1,0", "C": "ds"},
			inputs:  map[string]spmd.Input{"A": rows, "B": columns},
			sizes:   map[string][]int64{"A": {n, n}, "B": {n, n}}},
		{what: "a converted operand of order 3", statement: "C(i,j,k) = A(i,j,k) * B(k,j,i)",
			formats: map[string]string{"A": "sss", "B": "sss", "C": "sss"},
			inputs:  map[string]spmd.Input{"A": order3, "B": spmd.Generated("uniform:9000")},
			sizes:   map[string][]int64{"A": {40, 50, 60}}, splits: []string{"j:4"}},
		{what: "two copies of a tensor whose innermost level is dense",
			statement: "C(j,i) = A(i,j,i) + A(i,j,j)",
			formats:   map[string]string{"A": "dsd", "C": "ds"},
			inputs:    map[string]spmd.Input{"A": cube}, sizes: map[string][]int64{"A": {40, 40, 40}}},
		{what: "a file of few listed rows in many blocks", statement: "C(i,j,k,l) = A(l,j,k)",
			formats: map[string]string{"A": "ddd", "C": "ssss"},
			inputs:  map[string]spmd.Input{"A": dense},
			sizes:   map[string][]int64{"A": {2, 3, 2}, "C": {2, 3, 2, 2}},
			splits:  []string{"j:3", "l:2"}, out: "C.tcs"},
		{what: "a file of listed rows in many blocks", statement: "C(i,j,k,l,m) = A(l,j,k,m)",
			formats: map[string]string{"A": "dddd", "C": "sssss"},
			inputs:  map[string]spmd.Input{"A": dense},
			sizes:   map[string][]int64{"A": {20, 30, 20, 2}, "C": {10, 30, 20, 20, 2}},
			splits:  []string{"j:3", "l:2"}, out: "C.tcs"},
		{what: "a compressed file", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "ds"},
			inputs:  map[string]spmd.Input{"A": packed("packed", rows), "x": dense},
			sizes:   map[string][]int64{"A": {n, n}}},
		{what: "a compressed file, assembled", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "ss:1,0"},
			inputs:  map[string]spmd.Input{"A": packed("packed2", rows), "x": dense},
			sizes:   map[string][]int64{"A": {n, n}}},
		{what: "an operand that is written", statement: "C(i,j) = A(i,j)",
			formats: map[string]string{"A": "ss:1,0"}, inputs: map[string]spmd.Input{"A": many},
			sizes: map[string][]int64{"A": {n, n}}, out: "C.tcs", also: "A.tns"},
		{what: "operands that are checked", statement: "y(i) = A(i,j)*x(j)",
			formats: map[string]string{"A": "ds"}, inputs: map[string]spmd.Input{"A": rows, "x": dense},
			sizes: map[string][]int64{"A": {n, n}}, check: true},
	} {
		for _, ranks := range []int{1, 3, 8} {
			job := spmd.Job{Statement: c.statement, Formats: c.formats, Types: c.types, Inputs: c.inputs,
				Sizes: c.sizes}
			job.Ranks, job.Threads, job.Splits, job.Extend, job.Check = ranks, 2, c.splits, c.extend, c.check
			if c.out != "" {
				job.Outputs = []spmd.Output{{Tensor: "C", File: filepath.Join(dir, c.out)}}
			}
			if c.also != "" {
				job.Outputs = append(job.Outputs, spmd.Output{Tensor: "A", File: filepath.Join(dir, c.also)})
			}
			withinPlan(t, fmt.Sprintf("%s, %d ranks", c.what, ranks), &job)
		}
	}
}

// plannedRun returns the plan of a job, and the report of its run.
func plannedRun(t *testing.T, what string, job *spmd.Job) (*spmd.Planned, *spmd.Report) {
	t.Helper()
	plan, err := job.Plan(t.Context(), 0)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	report, err := job.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return plan, report
}

// withinPlan runs a job and compares the memory that each rank uses with its plan.
func withinPlan(t *testing.T, what string, job *spmd.Job) {
	t.Helper()
	plan, report := plannedRun(t, what, job)
	for rank, took := range report.Allocated {
		if most := plan.Memory[rank]; took > most {
			t.Errorf("%s, rank %d: took %d bytes, and the plan says %d", what, rank, took, most)
		} else if rank == 0 {
			t.Logf("%s: took %d bytes, and the plan says %d (%.2f times)", what, took, most,
				float64(most)/float64(took))
		}
	}
}
