package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd"
)

// inputs are generated tensors; each is made once.
var inputs = map[string]struct {
	kind, format string
	dims         []int64
}{
	"a":  {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"a2": {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"a3": {"uniform:10000000", "ds", []int64{1000000, 1000000}},
	"b":  {"rows:5000000:0.884", "ds", []int64{500000, 500000}},
	"b2": {"rows:5000000:0.884", "ds", []int64{500000, 500000}},
	"b3": {"rows:5000000:0.884", "ds", []int64{500000, 500000}},
	"z":  {"rows:5000000:1", "ds", []int64{500000, 500000}},
	"g":  {"uniform:1000000", "ds", []int64{100000, 100000}},
	"g2": {"uniform:1000000", "ds", []int64{100000, 100000}},
	"h":  {"rows:500000:0.7", "ds", []int64{50000, 50000}},
	"c":  {"uniform:5000000", "sss", []int64{50000, 20000, 5000}},
	"c1": {"uniform:5000000", "sss:1,0,2", []int64{50000, 20000, 5000}},
	"c2": {"uniform:5000000", "sss:2,0,1", []int64{50000, 20000, 5000}},
	"d":  {"zipf:5000000:0.6", "sss", []int64{50000, 20000, 5000}},
	"e":  {"uniform:3000000", "ssss", []int64{20000, 10000, 5000, 2000}},
	"f":  {"zipf:2000000:0.6", "sssss", []int64{10000, 8000, 6000, 4000, 2000}},
	"m":  {"dense", "dd", []int64{4096, 4096}},
	"m2": {"dense", "dd", []int64{4096, 4096}},
}

// columns is the number of columns of the dense matrices with names like mat:a:1.
const columns = 32

// scaled shrinks a size or count.
func (b *bench) scaled(n int64) int64 { return max(int64(float64(n)*b.scale), 16) }

// input returns the input with the given name, and makes it when it is first used. There are three
// kinds of names:
//
//   - A key of inputs is the name of one of these tensors.
//   - vec:INPUT:MODE and mat:INPUT:MODE are a dense vector and a dense matrix. They have one row
//     for each coordinate of the mode of INPUT.
//   - "INPUT last MODE" is a copy of INPUT that stores the mode last.
func (b *bench) input(name string) (*tcs.Tensor, error) {
	if t := b.tensors[name]; t != nil {
		return t, nil
	}
	var j *spmd.Job
	if of, mode, ok := strings.Cut(name, " last "); ok {
		t, err := b.input(of)
		if err != nil {
			return nil, err
		}
		j = lastMode(t, mode)
	} else if kind, rest, ok := strings.Cut(name, ":"); ok {
		of, mode, _ := strings.Cut(rest, ":")
		m, err := strconv.Atoi(mode)
		if err != nil {
			return nil, err
		}
		n := b.scaled(inputs[of].dims[m])
		if kind == "vec" {
			j = &spmd.Job{Statement: "T(i) = S(i)", Sizes: map[string][]int64{"S": {n}}}
		} else {
			j = &spmd.Job{Statement: "T(i,j) = S(i,j)",
				Sizes: map[string][]int64{"S": {n, columns}}}
		}
		j.Inputs = map[string]spmd.Input{"S": spmd.Generated("dense")}
	} else {
		in := inputs[name]
		parts := strings.Split(in.kind, ":")
		nnz := int64(0)
		if len(parts) > 1 {
			var err error
			if nnz, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
				return nil, err
			}
			parts[1] = fmt.Sprint(b.scaled(nnz))
		}
		if parts[0] == "rows" {
			skew, err := strconv.ParseFloat(parts[2], 64)
			if err != nil {
				return nil, err
			}
			if err := b.zipfRows(name, b.scaled(in.dims[0]), b.scaled(nnz), skew); err != nil {
				return nil, fmt.Errorf("input %s: %w", name, err)
			}
			return b.tensors[name], nil
		}
		var dims []int64
		for _, d := range in.dims {
			dims = append(dims, b.scaled(d))
		}
		vars := "i,j,k,m,n"[:2*len(dims)-1]
		j = &spmd.Job{Statement: "T(" + vars + ") = S(" + vars + ")",
			Sizes:   map[string][]int64{"S": dims},
			Formats: map[string]string{"T": in.format, "S": in.format},
			Inputs:  map[string]spmd.Input{"S": spmd.Generated(strings.Join(parts, ":"))}}
		j.Seed = int64(name[len(name)-1])
	}
	j.Keep = true
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", name, err)
	}
	b.tensors[name] = report.Result
	return report.Result, nil
}

// lastMode returns the job that makes a copy of a tensor, with the given mode stored last.
func lastMode(t *tcs.Tensor, mode string) *spmd.Job {
	var order []string
	for m := range t.Header.Dims {
		if n := strconv.Itoa(m); n != mode {
			order = append(order, n)
		}
	}
	format := strings.Repeat("s", len(t.Header.Dims)) + ":" + strings.Join(append(order, mode), ",")
	vars := "(" + strings.Join(letters[:len(t.Header.Dims)], ",") + ")"
	return &spmd.Job{Statement: "T" + vars + " = S" + vars, Formats: map[string]string{"T": format},
		Inputs: map[string]spmd.Input{"S": spmd.InMemory(t)}}
}

// zipfRows makes a square matrix of n rows with about nnz entries. Row r has a share of them that
// is proportional to 1/(r+1)^skew. The columns are pseudo-random.
func (b *bench) zipfRows(name string, n, nnz int64, skew float64) error {
	sum := 0.0
	for r := range n {
		sum += math.Pow(float64(r+1), -skew)
	}
	return b.rowsOf(name, n, func(r int64) int64 {
		return min(int64(math.Round(float64(nnz)*math.Pow(float64(r+1), -skew)/sum)), n)
	})
}
