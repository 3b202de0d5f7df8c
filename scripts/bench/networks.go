package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd"
)

// product is a statement with a product of several tensors. The benchmark computes it by each of
// the methods in ways.
type product struct {
	name, stmt string
	formats    map[string]string // formats of the result
	inputs     map[string]string // operand -> input
	faster     float64           // smallest speedup over one loop nest; 0 means no limit
	// smallest ratio of the memory of pairwise contractions to the default's; 0 means no limit
	smaller float64
}

// ways lists the methods that the benchmark compares for a product of several tensors: the default,
// one nest of loops, and pairwise contractions.
var ways = []string{"auto", "direct", "pairwise"}

// bestLimit limits the time of the default method. That time must not exceed bestLimit times the
// time of one nest of loops or of pairwise contractions, whichever is faster.
const bestLimit = 1.05

// products returns the products to measure: the tensor networks of Raje et al. ("CoNST", sections 4
// and 5), and two products that count the triangles of a graph.
func products() []product {
	list := []product{
		{"MTTKRP order 3", "A(i,j) = B(i,k,l)*C(k,j)*D(l,j)", nil,
			map[string]string{"B": "order 3", "C": "order 3 mode 1", "D": "order 3 mode 2"}, 0, 0},
		{"MTTKRP order 4", "A(i,j) = B(i,k,l,m)*C(k,j)*D(l,j)*E(m,j)", nil,
			map[string]string{"B": "order 4", "C": "order 4 mode 1", "D": "order 4 mode 2",
				"E": "order 4 mode 3"}, 0, 0},
		{"MTTKRP order 5", "A(i,j) = B(i,k,l,m,n)*C(k,j)*D(l,j)*E(m,j)*F(n,j)", nil,
			map[string]string{"B": "order 5", "C": "order 5 mode 1", "D": "order 5 mode 2",
				"E": "order 5 mode 3", "F": "order 5 mode 4"}, 0, 0},
		{"TTMc order 3", "A(i,l,m) = B(i,j,k)*C(j,l)*D(k,m)", nil,
			map[string]string{"B": "fibers 3", "C": "rank 100", "D": "rank 5000"}, 3, 100},
		{"TTMc order 4", "A(i,l,m,n) = B(i,j,k,p)*C(j,l)*D(k,m)*E(p,n)", nil,
			map[string]string{"B": "fibers 4", "C": "rank 50", "D": "rank 20", "E": "rank 5000"}, 3,
			100},
		{"transform", "A(i,j,k,l) = B(p,q,r,s)*C(p,i)*C(q,j)*C(r,k)*C(s,l)", nil,
			map[string]string{"B": "integrals 40", "C": "orbitals 40"}, 30, 100},
		{"transform electrons", "A(i,j,k,l) = B(p,q,r,s)*C(p,i)*C(q,j)*C(r,k)*C(s,l)", nil,
			map[string]string{"B": electrons, "C": "orbitals 27"}, 30, 100},
		{"integral", "T(i,m,k) = E(u,v,k)*C(u,i)*P(v,m)", nil,
			map[string]string{"E": "three", "C": "sparse u", "P": "sparse v"}, 0, 0},
		{"integral restricted", "T(i,m,k) = S(i,m,k)*E(u,v,k)*C(u,i)*P(v,m)",
			map[string]string{"T": "sss"},
			map[string]string{"S": "pattern", "E": "three", "C": "sparse u", "P": "sparse v"}, 0,
			0},
		{"triangles uniform", "a = A(i,j)*A(j,k)*A(i,k)", nil, map[string]string{"A": "g"}, 0, 0},
		{"triangles skewed", "a = A(i,j)*A(j,k)*A(i,k)", nil, map[string]string{"A": "h"}, 0, 0},
	}
	for _, a := range []string{"dense", "sparse"} {
		list = append(list, product{"running, A " + a,
			"R(j,k,i) = A(p,q,i)*B(r,j,p)*C(r,q,k)*D(r,j,k)", nil,
			map[string]string{"A": a + " pqi", "B": "rjp", "C": "rqk", "D": "rjk"}, 3, 100})
	}
	return list
}

// networkInputs are the inputs that only products use. At a smaller scale, sparse tensors with more
// than 100,000 entries get fewer entries. In inputs whose names begin with "fibers", the outermost
// mode is made smaller in the same proportion, so that fibers keep their lengths.
var networkInputs = map[string]struct {
	format  string
	entries int64 // 0 for a dense tensor
	dims    []int64
}{
	"fibers 3":     {"sss", 4000000, []int64{5000, 100, 5000}},
	"fibers 4":     {"ssss", 4000000, []int64{500, 50, 20, 5000}},
	"rank 100":     {"dd", 0, []int64{100, 16}},
	"rank 50":      {"dd", 0, []int64{50, 16}},
	"rank 20":      {"dd", 0, []int64{20, 16}},
	"rank 5000":    {"dd", 0, []int64{5000, 16}},
	"integrals 40": {"ssss", 150000, []int64{40, 40, 40, 40}},
	"orbitals 40":  {"dd", 0, []int64{40, 16}},
	"orbitals 27":  {"dd", 0, []int64{27, 27}},
	"three":        {"sss:2,1,0", 900000, []int64{300, 300, 100}},
	"sparse u":     {"ds", 1800, []int64{300, 60}},
	"sparse v":     {"ds", 9000, []int64{300, 300}},
	"pattern":      {"sss", 90000, []int64{60, 300, 100}},
	"dense pqi":    {"ddd", 0, []int64{40, 40, 40}},
	"sparse pqi":   {"sss", 25600, []int64{40, 40, 40}},
	"rjp":          {"sss", 25600, []int64{40, 40, 40}},
	"rqk":          {"sss", 25600, []int64{40, 40, 40}},
	"rjk":          {"sss", 32000, []int64{40, 40, 40}},
}

// networks measures products of several tensors and prints their section. It compares the default
// method with one nest of loops and with pairwise contractions.
func networks(b *bench) error {
	b.printf("%-20s %7s %10s %10s %12s %7s %6s %7s %6s %11s %11s %7s %6s %11s %11s  %s\n",
		"product", "threads", "auto ms", "direct ms", "pairwise ms", "to best", "limit",
		"faster", "least", "auto KB", "pairw. KB", "smaller", "least", "peak KB", "predicted",
		"auto is")
	for _, p := range products() {
		if !b.wants(p.name) {
			continue
		}
		if p.lacks() {
			b.printf("%-20s needs %s: see docs/bench-lines.md\n", p.name, electrons)
			continue
		}
		if err := b.productInputs(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, n := range b.threads {
			if err := b.network(p, n); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	return nil
}

// lacks reports whether an input of the product is a file that does not exist.
func (p *product) lacks() bool { return p.inputs["B"] == electrons && electronFile() == "" }

func (b *bench) productInputs(p product) error {
	for _, in := range p.inputs {
		if err := b.networkInput(in); err != nil {
			return fmt.Errorf("input %s: %w", in, err)
		}
	}
	return nil
}

// hopeless is the slowdown above which a way to compute a product is run only once. The slowdown is
// relative to the fastest way, or to 1 ms if the fastest way takes less.
const hopeless = 10

// contracted is the result of computing a product by one method. times contains the times of the
// runs in seconds. peak is the memory that the runs allocated, in bytes, and bytes is the same
// without the result. predicted is the predicted memory in bytes.
type contracted struct {
	times                  []float64
	bytes, peak, predicted int64
}

// leavesOf finds the methods that compile to the same leaf, so that no leaf is compared with
// itself. For each method it returns the first method with the same leaf, which may be the method
// itself.
func (b *bench) leavesOf(p product, threads int) (map[string]string, error) {
	first, same := map[string]string{}, map[string]string{} // by the text of a leaf, and by way
	for _, way := range ways {
		u, err := b.networkJob(p, way, threads).Compile(b.ctx, "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		text := u.Source()
		if first[text] == "" {
			first[text] = way
		}
		same[way] = first[text]
	}
	return same, nil
}

// network measures one product by each of the compared methods, in alternation, and prints the
// product's line of the table.
func (b *bench) network(p product, threads int) error {
	same, err := b.leavesOf(p, threads)
	if err != nil {
		return err
	}
	seen := map[string]*contracted{}
	least := func() float64 {
		fastest := 0.0
		for _, c := range seen {
			if t := median(c.times); fastest == 0 || t < fastest {
				fastest = t
			}
		}
		return fastest
	}
	sums := []float64{}
	for round := range b.rounds + 1 {
		for _, way := range ways {
			if same[way] != way {
				seen[way] = seen[same[way]]
				continue
			}
			c := seen[way]
			if round > 0 && median(c.times) > hopeless*max(least(), 1e-3) {
				continue
			}
			again, err := b.contract(p, way, threads, round > 0)
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			sums = append(sums, again.sum)
			if err := sameSum(sums[0], again.sum, way); err != nil {
				return err
			}
			if round < 2 { // ways that run only once have the first round to themselves
				c = &contracted{}
				seen[way] = c
			}
			c.times = append(c.times, again.times...)
			c.bytes, c.peak, c.predicted = max(c.bytes, again.bytes), max(c.peak, again.peak),
				again.predicted
		}
	}
	b.printNetwork(p, threads, seen, same)
	return nil
}

func (b *bench) printNetwork(p product, threads int, seen map[string]*contracted,
	same map[string]string) {
	auto, direct, pairwise := median(seen["auto"].times), median(seen["direct"].times),
		median(seen["pairwise"].times)
	toBest, faster := auto/min(direct, pairwise), direct/auto
	smaller := float64(seen["pairwise"].bytes) / float64(max(seen["auto"].bytes, 1))
	wanted := func(x float64) string {
		if x == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f", x)
	}
	var others []string
	nearest := seen["auto"] // nearest to the predicted memory
	for _, way := range ways[1:] {
		if same[way] == "auto" {
			others = append(others, way)
		}
		if c := seen[way]; float64(c.peak)*float64(nearest.predicted) > float64(
			nearest.peak)*float64(c.predicted) {
			nearest = c
		}
	}
	b.printf("%-20s %7d %10.2f %10.2f %12.2f %7.2f %6.2f %7.1f %6s %11.1f %11.1f %7.0f %6s "+
		"%11.1f %11.1f  %s%s%s%s%s\n", p.name, threads, 1e3*auto, 1e3*direct, 1e3*pairwise, toBest,
		bestLimit,
		faster, wanted(p.faster), float64(seen["auto"].bytes)/1e3,
		float64(seen["pairwise"].bytes)/1e3, smaller, wanted(p.smaller),
		float64(nearest.peak)/1e3, float64(nearest.predicted)/1e3,
		cmp.Or(strings.Join(others, " and "), "-"), b.over(nearest.peak > nearest.predicted),
		b.over(toBest > bestLimit), b.over(faster < p.faster), b.over(smaller < p.smaller))
}

// ran is the result of some runs of a product, and the sum of the result's values.
type ran struct {
	contracted
	sum float64
}

// contract computes a product by the method that way names. If often is true, it repeats the run as
// many times as the command's flags say. Otherwise it runs the product once.
func (b *bench) contract(p product, way string, threads int, often bool) (*ran, error) {
	j := b.networkJob(p, way, threads)
	if often {
		j.Repeat, j.Warmup = b.repeat, 1
	}
	plan, err := j.Plan(b.ctx, 0)
	if err != nil {
		return nil, err
	}
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, err
	}
	defer report.Result.Close()
	peak := slices.Max(report.Allocated)
	return &ran{contracted{report.Stats.Phases.Compute, peak - bytesOf(report.Result), peak,
		slices.Max(plan.Memory)}, total(report.Result)}, nil
}

// networkJob returns the job that computes a product by the method that way names. The input
// tensors of the product must exist.
func (b *bench) networkJob(p product, way string, threads int) *spmd.Job {
	j := &spmd.Job{Statement: p.stmt, Formats: p.formats, Inputs: map[string]spmd.Input{},
		Keep: true}
	j.Threads, j.Network = threads, way
	for name, in := range p.inputs {
		j.Inputs[name] = spmd.InMemory(b.tensors[in])
	}
	return j
}

// bytesOf returns the size of a tensor's arrays in memory.
func bytesOf(t *tcs.Tensor) int64 {
	bytes := t.Vals.Len * int64(t.Vals.Width)
	for _, l := range t.Levels {
		bytes += l.Pos.Len*int64(l.Pos.Width) + l.Crd.Len*int64(l.Crd.Width)
	}
	return bytes
}

func (b *bench) networkInput(name string) error {
	if b.tensors[name] != nil {
		return nil
	}
	if name == electrons {
		return b.electrons()
	}
	if _, ok := inputs[name]; ok {
		_, err := b.input(name)
		return err
	}
	in, ok := networkInputs[name]
	switch {
	case !ok:
		return b.made(name)
	case in.entries == 0:
		return b.generate(name, "dense", in.format, in.dims)
	}
	dims := slices.Clone(in.dims)
	if strings.HasPrefix(name, "fibers") {
		dims[0] = b.scaled(dims[0])
	}
	entries := in.entries
	if entries > 100000 {
		entries = b.scaled(entries)
	}
	return b.generate(name, fmt.Sprintf("uniform:%d", entries), in.format, dims)
}

// electrons is the name of an input: the electron integrals of a molecule. It needs a file in
// DISTAFF_DATA or ../shared/data.
const electrons = "tensors/eri_co2_p321_4d.tns.gz"

// electronFile returns the path of the file of electrons, or "" if the file does not exist.
func electronFile() string {
	for _, dir := range []string{os.Getenv("DISTAFF_DATA"), "../shared/data"} {
		path := dir + "/" + electrons
		if _, err := os.Stat(path); dir != "" && err == nil {
			return path
		}
	}
	return ""
}

// electrons makes the tensor of all electron integrals. The file has only one of each eight equal
// integrals. They are equal because the two electrons can be exchanged (one has modes 0 and 3, the
// other modes 1 and 2), and because each electron's modes can be exchanged.
func (b *bench) electrons() error {
	j := &spmd.Job{Statement: "T(p,q,r,s) = S(p,q,r,s)",
		Formats: map[string]string{"T": "ssss", "S": "ssss"},
		Inputs:  map[string]spmd.Input{"S": spmd.File(electronFile())}, Keep: true}
	report, err := j.Run(b.ctx)
	if err != nil {
		return err
	}
	unique := report.Result
	defer unique.Close()
	all := map[[4]int32]float64{}
	eachEntry(unique, func(at [4]int32, value float64) {
		for _, x := range [][4]int32{at, {at[1], at[0], at[3], at[2]}} {
			p, q, r, s := x[0], x[1], x[2], x[3]
			all[[4]int32{p, q, r, s}], all[[4]int32{s, q, r, p}] = value, value
			all[[4]int32{p, r, q, s}], all[[4]int32{s, r, q, p}] = value, value
		}
	})
	return b.fromEntries(electrons, unique.Header.Dims, all)
}

// eachEntry calls fn for each entry of a tensor of four compressed levels.
func eachEntry(t *tcs.Tensor, fn func(at [4]int32, value float64)) {
	vals := tcs.Slice[float64](t.Vals)
	var at [4]int32
	var walk func(level int, parent int32)
	walk = func(level int, parent int32) {
		if level == len(at) {
			fn(at, vals[parent])
			return
		}
		pos, crd := tcs.Slice[int32](t.Levels[level].Pos), tcs.Slice[int32](t.Levels[level].Crd)
		for p := pos[parent]; p < pos[parent+1]; p++ {
			at[level] = crd[p]
			walk(level+1, p)
		}
	}
	walk(0, 0)
}

// fromEntries makes a tensor of four compressed levels.
func (b *bench) fromEntries(name string, dims []int64, all map[[4]int32]float64) error {
	coords, values := make([][]int32, len(dims)), []float64(nil)
	for _, at := range slices.SortedFunc(maps.Keys(all),
		func(x, y [4]int32) int { return slices.Compare(x[:], y[:]) }) {
		for m, c := range at {
			coords[m] = append(coords[m], c)
		}
		values = append(values, all[at])
	}
	list, err := spmd.COO(dims, coords, values)
	if err != nil {
		return err
	}
	defer list.Close()
	j := &spmd.Job{Statement: "T(p,q,r,s) = S(p,q,r,s)", Formats: map[string]string{"T": "ssss"},
		Inputs: map[string]spmd.Input{"S": spmd.InMemory(list)}, Keep: true}
	report, err := j.Run(b.ctx)
	if err == nil {
		b.tensors[name] = report.Result
	}
	return err
}
