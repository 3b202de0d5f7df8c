package main

import (
	"fmt"
	"math"
	"strings"

	"distaff/spmd"
)

// choice is a statement over generated operands, and the candidates that the default is compared
// with.
type choice struct {
	name, stmt string
	formats    string // for example "A:ds x:s"
	sizes      string // for example "A:20000,20000"
	data       string // for example "A:uniform:40000"
	others     []candidate
}

// candidate is another way to compute a choice's statement: by a schedule, or with an operand in
// another format. The formats replace formats of the statement. If first is not "", it is a
// statement that computes T from the operands, and its time is added.
type candidate struct {
	name, schedule, formats, network string
	first, stmt                      string
}

// choiceLimit limits the time of the default: it must not exceed choiceLimit times the time of the
// fastest candidate.
const choiceLimit = 1.2

// choices returns statements whose plain loops have cliffs: merges of short segments with long ones,
// workspaces that are read at few coordinates, and sums that are computed again and again.
func choices() []choice {
	merging := candidate{name: "merges", schedule: "temporaries(y)"}
	searching := candidate{name: "searches", schedule: "temporaries(y),mergeby(j,Gallop)"}
	dense := candidate{name: "dense vector", formats: "x:d"}
	const matrix, square = "A:20000,20000", "A:2000,2000 B:2000,2000"
	return []choice{
		{"matrix times sparse vector", "y(i) = A(i,j)*x(j)", "A:ds x:s", matrix,
			"A:uniform:40000 x:uniform:10000", []candidate{merging, searching, dense}},
		{"the same with 20 entries", "y(i) = A(i,j)*x(j)", "A:ds x:s", matrix,
			"A:uniform:400000 x:uniform:20", []candidate{merging, searching, dense}},
		{"the same, skewed", "y(i) = A(i,j)*x(j)", "A:ds x:s", matrix,
			"A:zipf:400000:1 x:uniform:10000", []candidate{searching, dense}},
		{"fibers times sparse vector", "A(i,j) = B(i,j,k)*x(k)", "B:sss x:s", "B:200,200,2000",
			"B:uniform:100000 x:uniform:1000",
			[]candidate{{name: "merges", schedule: "temporaries(A)"}, dense}},
		{"scaled columns", "Y(i,j) = A(i,j)*x(j)", "Y:ds A:ds x:s", matrix,
			"A:uniform:40000 x:uniform:10000",
			[]candidate{{name: "searches", schedule: "temporaries(Y),mergeby(j,Gallop)"}}},
		{"rows times rows", "C(i,k) = A(i,j)*B(k,j)", "A:ds B:ds", "A:500,2000 B:500,2000",
			"A:uniform:50000 B:uniform:50000",
			[]candidate{{name: "merges", schedule: "temporaries(C)"}}},
		{"matrix times transposed times vector", "y(i) = A(i,j)*A(k,j)*x(k)", "A:ds",
			"A:20000,2000", "A:uniform:600000 x:dense",
			[]candidate{{name: "two statements", first: "T(j) = A(k,j)*x(k)", stmt: "y(i) = A(i,j)*T(j)"}}},
		{"two matrices times vector", "r(i) = A(i,j)*B(j,k)*x(k)", "A:ds B:ds", square,
			"A:uniform:200000 B:uniform:200000 x:dense",
			[]candidate{{name: "direct", network: "direct"}, {name: "pairwise", network: "pairwise"},
				{name: "two statements", first: "T(j) = B(j,k)*x(k)", stmt: "r(i) = A(i,j)*T(j)"}}},
		{"divided by sums of columns", "P(i,j) = A(i,j)/sum(k, A(k,j))", "P:ds A:ds", matrix,
			"A:zipf:400000:1",
			[]candidate{{name: "again for each entry", schedule: "parallelize(i,CPUThread,NoRaces,Ordered)"},
				{name: "two statements", first: "T(j) = A(k,j)", stmt: "P(i,j) = A(i,j)/T(j)"}}},
	}
}

// chosen returns the lines of the group choice.
func chosen(b *bench) (rows []row) {
	for _, c := range choices() {
		rows = append(rows, row{name: c.name,
			jobs:    []timedJob{{"", nil, func(n int) *spmd.Job { return b.choiceJob(c, candidate{}, n) }}},
			measure: func(n int) { b.choice(c, n) }})
	}
	return rows
}

// pairs returns the names and the texts after the colons of words such as "A:ds".
func pairs(text string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(text) {
		name, rest, _ := strings.Cut(word, ":")
		out[name] = rest
	}
	return out
}

// choiceJob returns the job that computes the statement of c as the candidate x says.
func (b *bench) choiceJob(c choice, x candidate, threads int) *spmd.Job {
	j := &spmd.Job{Statement: c.stmt, Formats: pairs(c.formats), Inputs: map[string]spmd.Input{},
		Sizes: map[string][]int64{}, Keep: true}
	for name, f := range pairs(x.formats) {
		j.Formats[name] = f
	}
	for name, text := range pairs(c.sizes) {
		for _, n := range strings.Split(text, ",") {
			size := int64(0)
			must(fmt.Sscan(n, &size))
			j.Sizes[name] = append(j.Sizes[name], max(int64(float64(size)*math.Sqrt(b.scale)), 20))
		}
	}
	for name, kind := range pairs(c.data) {
		var n int64
		if parts := strings.Split(kind, ":"); len(parts) > 1 {
			must(fmt.Sscan(parts[1], &n))
			parts[1] = fmt.Sprint(max(int64(float64(n)*b.scale), 10))
			kind = strings.Join(parts, ":")
		}
		j.Inputs[name] = spmd.Generated(kind)
	}
	j.Threads, j.Repeat, j.Warmup, j.Network = threads, b.repeat, 1, x.network
	if x.schedule != "" {
		j.Schedule = []string{x.schedule}
	}
	return j
}

// candidateSide returns the side that computes c as candidate x says.
func (b *bench) candidateSide(c choice, x candidate, threads int) side {
	return func() (o outcome) {
		j := b.choiceJob(c, x, threads)
		if x.first != "" {
			first := *j
			first.Statement, first.Formats = x.first, only(j.Formats, x.first)
			first.Inputs, first.Sizes = only(j.Inputs, x.first), only(j.Sizes, x.first)
			made := must(first.Run(b.ctx))
			defer made.Result.Close()
			j.Statement, j.Inputs["T"] = x.stmt, spmd.InMemory(made.Result)
			j.Formats, j.Inputs, j.Sizes = only(j.Formats, x.stmt), only(j.Inputs, x.stmt),
				only(j.Sizes, x.stmt)
			o.times = append(o.times, made.Stats.Phases.Compute...)
		}
		report := must(j.Run(b.ctx))
		defer report.Result.Close()
		for k, t := range report.Stats.Phases.Compute {
			if k < len(o.times) {
				t += o.times[k]
				o.times[k] = t
				continue
			}
			o.times = append(o.times, t)
		}
		o.sum, o.summed = total(report.Result), true
		return o
	}
}

// only returns the elements of m for the tensors of statement stmt.
func only[T any](m map[string]T, stmt string) map[string]T {
	out := map[string]T{}
	for name, x := range m {
		if strings.Contains(stmt, name+"(") {
			out[name] = x
		}
	}
	return out
}

// choice measures the default and all candidates of c, and prints the line.
func (b *bench) choice(c choice, threads int) {
	sides := []side{b.candidateSide(c, candidate{}, threads)}
	for _, x := range c.others {
		sides = append(sides, b.candidateSide(c, x, threads))
	}
	t := turns(b.rounds, sides...)
	best := 0
	for k := range t {
		if t[k].best() < t[best].best() {
			best = k
		}
	}
	name := "default"
	if best > 0 {
		name = c.others[best-1].name
	}
	slowest := 0.0
	for k := range t[1:] {
		slowest = max(slowest, t[k+1].best())
	}
	ratio := t[0].best() / t[best].best()
	b.line(b.over(ratio > choiceLimit), c.name, threads, 1e3*t[0].best(), 1e3*t[best].best(), ratio,
		choiceLimit, slowest/t[0].best(), " "+name)
}
