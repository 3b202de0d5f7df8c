package main

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels/cc"
	"distaff/spmd"
)

//go:embed hand/schedules.c
var handScheduled string

// contest is one statement that is computed under several schedules from the same tensors.
type contest struct {
	name, stmt string
	inputs     map[string]string
	args       []string
	one        bool // the schedules have no loop over threads
	runs       []scheduled
	claims     []claim
}

// scheduled is a schedule, and the name of the handwritten function with the same loops.
type scheduled struct{ name, schedule, function string }

// claim says that the schedule fast has at least the given speedup over the schedule slow.
type claim struct {
	fast, slow string
	least      float64
}

// byHandLimit limits the time of a schedule: it must be at most byHandLimit times the time of the
// same loops written by hand.
const byHandLimit = 1.05

// contests returns comparisons of schedules from Senanayake's thesis (2020): tiles of entries and
// of rows (chapter 2), SpMM with and without tiles (section 8.6), MTTKRP with and without
// workspaces (schedules A.5 to A.7 of its appendix), and the schedules A.1 and A.3.
func contests() []contest {
	const byEntries = "fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16384),parallelize(p0,CPUThread,Atomics)"
	halves := scheduled{"rows in two halves", "divide(i,i0,i1,2),parallelize(i0,CPUThread,NoRaces)",
		"spmv_halves"}
	positions := scheduled{"entries by 16,384", byEntries, "spmv_positions"}
	byRows := scheduled{"A.1, rows by 32",
		"split(i,i0,i1,32),reorder(i0,i1,j),parallelize(i0,CPUThread,NoRaces)", "spmv_32"}
	bySixteen := scheduled{"figure 6-1, entries by 16",
		"fuse(i,j,k),pos(k,p,A),split(p,p0,p1,16),parallelize(p0,CPUThread,Atomics,1)", "spmv_16"}
	spmv := func(m string, least float64, more ...scheduled) contest {
		return contest{"SpMV " + m, "y(i) = A(i,j)*x(j)",
			map[string]string{"A": m, "x": "vec " + m}, []string{"A", "x"}, false,
			append([]scheduled{halves, positions}, more...),
			[]claim{{positions.name, halves.name, least}}}
	}
	const eights, ahead = "pos(j,jpos,A),split(jpos,jpos0,jpos1,8)", ",prefetch(B,j,16)"
	plain := scheduled{"A.13, untiled", "assemble(C,Insert)" + ahead, "spmm_plain"}
	tiled := scheduled{"A.12, tiled", eights + ",reorder(i,jpos0,k,jpos1)" + ahead, "spmm_tiled"}
	lanes := scheduled{"A.12, 32 columns in lanes",
		"bound(k,kb,32,MaxExact)," + eights +
			",reorder(i,jpos0,kb,jpos1),parallelize(kb,CPUVector,NoRaces)" + ahead, "spmm_tiled32"}
	threads := scheduled{"A.3", "split(i,i0,i1,8)," + eights +
		",reorder(i0,i1,jpos0,k,jpos1),parallelize(i0,CPUThread,NoRaces),parallelize(k,CPUVector,IgnoreRaces)" + ahead, "spmm_threads"}
	spmm := map[string]string{"A": "long", "B": "mat long"}
	list := []contest{
		spmv("skewed", 1.6, byRows, bySixteen),
		spmv("balanced", 1/1.1, byRows, bySixteen),
		{"SpMM", "C(i,k) = A(i,j)*B(j,k)", spmm, []string{"A", "B"}, true,
			[]scheduled{plain, tiled, lanes},
			[]claim{{tiled.name, plain.name, 1}, {lanes.name, plain.name, 1}}},
		{"SpMM threads", "C(i,k) = A(i,j)*B(j,k)", spmm, []string{"A", "B"}, false,
			[]scheduled{threads}, nil},
	}
	const tiles = "split(i,i1,i2,32),parallelize(i1,CPUThread,NoRaces)"
	for order, c := range map[int]struct{ stmt, spaces string }{
		3: {"A(i,j) = B(i,k,l)*C(k,j)*D(l,j)", "precompute(B(i,k,l)*D(l,j),j,j,W),"},
		4: {"A(i,j) = B(i,k,l,m)*C(k,j)*D(l,j)*E(m,j)",
			"precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,BDE),precompute(B(i,k,l,m)*E(m,j),j,j,BE),"},
		5: {"A(i,j) = B(i,k,l,m,n)*C(k,j)*D(l,j)*E(m,j)*F(n,j)",
			"precompute(B(i,k,l,m,n)*F(n,j)*E(m,j)*D(l,j),j,j,BDEF),precompute(B(i,k,l,m,n)*F(n,j)*E(m,j),j,j,BEF),precompute(B(i,k,l,m,n)*F(n,j),j,j,BF),"},
	} {
		name := fmt.Sprintf("order %d", order)
		with := scheduled{fmt.Sprintf("A.%d, workspaces", order+2), c.spaces + tiles,
			fmt.Sprintf("mttkrp%d", order)}
		without := scheduled{"no workspaces", tiles, fmt.Sprintf("mttkrp%d_plain", order)}
		k := contest{"MTTKRP " + name, c.stmt, map[string]string{"B": name}, []string{"B"}, false,
			[]scheduled{with, without}, []claim{{with.name, without.name, 1}}}
		for m, f := range []string{"C", "D", "E", "F"}[:order-1] {
			k.inputs[f] = fmt.Sprintf("%s mode %d", name, m+1)
			k.args = append(k.args, f)
		}
		list = append(list, k)
	}
	slices.SortStableFunc(list[4:], func(a, b contest) int { return len(a.args) - len(b.args) })
	return list
}

// schedules measures statements with schedules against the same loops written by hand, and prints a
// line for each. Both sides use the largest number of threads that -threads lists, or one thread if
// contest.one is set.
func schedules(b *bench) error {
	object, err := b.object(handScheduled)
	if err != nil {
		return err
	}
	b.printf("%-15s %-27s %8s %12s %12s %7s %6s\n", "statement", "schedule", "threads",
		"distaff ms", "by hand ms", "ratio", "limit")
	for _, c := range contests() {
		if !b.wants(c.name) {
			continue
		}
		if err := b.contest(c, object); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for _, in := range c.inputs { // they are large
			if t := b.tensors[in]; t != nil {
				delete(b.tensors, in)
				t.Close()
			}
		}
	}
	return nil
}

// contest times each schedule and each handwritten function alternately.
func (b *bench) contest(c contest, object *cc.Object) error {
	for _, in := range c.inputs {
		if err := b.made(in); err != nil {
			return fmt.Errorf("input %s: %w", in, err)
		}
	}
	threads := slices.Max(b.threads)
	if c.one {
		threads = 1
	}
	ours, theirs := map[string][]float64{}, map[string][]float64{}
	for range b.rounds {
		for _, s := range c.runs {
			k := kernel{name: c.name, stmt: c.stmt, inputs: c.inputs, args: c.args,
				function: s.function}
			x, result, err := b.ours(k, threads, s.schedule)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			y, sum, err := b.byHand(k, threads, result, object)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if mine := total(result); mine-sum > 1e-6*mine || sum-mine > 1e-6*mine {
				return fmt.Errorf("%s: results differ: sum %v, by hand %v", s.name, mine, sum)
			}
			result.Close()
			ours[s.name], theirs[s.name] = append(ours[s.name], x...), append(theirs[s.name], y...)
		}
	}
	for _, s := range c.runs {
		x, y := median(ours[s.name]), median(theirs[s.name])
		b.printf("%-15s %-27s %8d %12.2f %12.2f %7.2f %6.2f%s\n", c.name, s.name, threads, 1e3*x,
			1e3*y, x/y, byHandLimit, b.over(x > byHandLimit*y))
	}
	for _, k := range c.claims {
		ratio := median(ours[k.slow]) / median(ours[k.fast])
		b.printf("%-15s %s: %.2f times as fast as %s, at least %.2f wanted%s\n", c.name, k.fast,
			ratio, k.slow, k.least, b.over(ratio < k.least))
	}
	return nil
}

// tensorsOf has the sizes of the generated tensors of orders 3 to 5. At scale 1, their fibers in
// the last mode have about ten entries each.
var tensorsOf = map[string][]int64{
	"order 3": {5000, 100, 5000},
	"order 4": {500, 50, 20, 5000},
	"order 5": {100, 25, 20, 10, 5000},
}

// made makes an input of a contest when it is first used. There are three kinds of names:
//
//   - A plain name is the name of a matrix or tensor.
//   - "vec M" and "mat M" are a vector and a dense matrix. They have one row for each column of
//     matrix M.
//   - "TENSOR mode N" is a factor matrix. It has one row for each coordinate of mode N of TENSOR.
func (b *bench) made(name string) error {
	if b.tensors[name] != nil {
		return nil
	}
	var kind, mode string
	if n, _ := fmt.Sscanf(name, "vec %s", &kind); n == 1 {
		return b.generate(name, "dense", "d", []int64{b.columnsOf(kind)})
	}
	if n, _ := fmt.Sscanf(name, "mat %s", &kind); n == 1 {
		return b.generate(name, "dense", "dd", []int64{b.columnsOf(kind), columns})
	}
	if n, _ := fmt.Sscanf(name, "order %s mode %s", &kind, &mode); n == 2 {
		return b.generate(name, "dense", "dd",
			[]int64{tensorsOf["order "+kind][mode[0]-'0'], columns})
	}
	if dims := tensorsOf[name]; dims != nil {
		return b.generate(name, fmt.Sprintf("uniform:%d", b.scaled(5000000)), "dssss"[:len(dims)],
			dims)
	}
	n := b.columnsOf(name)
	switch name {
	case "skewed": // 90% of the entries in 0.5% of the rows
		dense := max(n/200, 1)
		return b.rowsOf(name, n, func(i int64) int64 {
			if i < dense {
				return min(9*n/dense, n)
			}
			return 1
		})
	case "balanced":
		return b.rowsOf(name, n, func(int64) int64 { return 10 })
	case "long":
		return b.rowsOf(name, n, func(int64) int64 { return min(200, n) })
	}
	panic("BUG: bench: input " + name)
}

// columnsOf returns the number of rows and columns of a square matrix.
func (b *bench) columnsOf(name string) int64 {
	if name == "long" {
		return b.scaled(100000)
	}
	return b.scaled(2000000)
}

func (b *bench) generate(name, kind, form string, dims []int64) error {
	vars := "(i,j,k,l,m"[:2*len(dims)] + ")"
	j := &spmd.Job{Statement: "T" + vars + " = S" + vars, Sizes: map[string][]int64{"S": dims},
		Formats: map[string]string{"T": form, "S": form},
		Inputs:  map[string]spmd.Input{"S": spmd.Generated(kind)}, Keep: true}
	for _, c := range name { // each has values and coordinates of its own
		j.Seed = 31*j.Seed + int64(c)
	}
	report, err := j.Run(b.ctx)
	if err == nil {
		b.tensors[name] = report.Result
	}
	return err
}

// rowsOf makes a square matrix in CSR. entries returns the number of entries of a row. A row is
// divided into that many equal parts, and has one entry in a random column of each.
func (b *bench) rowsOf(name string, n int64, entries func(row int64) int64) error {
	nnz := int64(0)
	for i := range n {
		nnz += entries(i)
	}
	t, err := tcs.New(&tcs.Shape{Header: tcs.Header{Dims: []int64{n, n}, Type: tensor.Float64},
		Format: tensor.FormatOf("ds", []int{0, 1}), Counts: []int64{n, nnz}}, nil, name)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(name[len(name)-1]), uint64(n)))
	pos, crd, vals := tcs.Slice[int32](t.Levels[1].Pos), tcs.Slice[int32](t.Levels[1].Crd),
		tcs.Slice[float64](t.Vals)
	p := int64(0)
	for i := range n {
		k := entries(i)
		for e := range k {
			from, to := n*e/k, n*(e+1)/k
			crd[p], vals[p] = int32(from+rng.Int64N(to-from)), rng.Float64()
			p++
		}
		pos[i+1] = int32(p)
	}
	b.tensors[name] = t
	return t.Validate()
}
