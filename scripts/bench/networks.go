package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd"
)

// methods lists the methods that the benchmark compares for a product of several tensors: the
// default, one nest of loops, and pairwise contractions.
var methods = []string{"auto", "direct", "pairwise"}

// bestLimit limits the time of the default method. That time must not exceed bestLimit times the
// time of one nest of loops or of pairwise contractions, whichever is faster.
const bestLimit = 1.05

// products returns the products to measure: the MTTKRPs of contests, the tensor networks of Raje et
// al. ("CoNST", sections 4 and 5), and two products that count the triangles of a graph. The limit
// of a product is the smallest accepted speedup of the default method over one nest of loops. The
// second limit is for memory: it is the smallest accepted ratio of pairwise contractions to the
// default method. A limit of 0 means no limit.
func products() (list []kernel) {
	const (
		running  = "R(j,k,i) = A(p,q,i)*B(r,j,p)*C(r,q,k)*D(r,j,k)"
		integral = "A(i,j,k,l) = B(p,q,r,s)*C(p,i)*C(q,j)*C(r,k)*C(s,l)"
		sides    = " B=rjp C=rqk D=rjk"
	)
	for _, c := range contests()[4:] {
		list = append(list, c.kernel)
	}
	add := func(name, stmt, operands string, faster, smaller float64) {
		list = append(list, kernel{name: name, stmt: stmt, operands: operands, limit: faster,
			second: smaller})
	}
	add("TTMc order 3", "A(i,l,m) = B(i,j,k)*C(j,l)*D(k,m)",
		"B=fibers3 C=mat:fibers3:1:16 D=mat:fibers3:2:16", 3, 100)
	add("TTMc order 4", "A(i,l,m,n) = B(i,j,k,p)*C(j,l)*D(k,m)*E(p,n)",
		"B=fibers4 C=mat:fibers4:1:16 D=mat:fibers4:2:16 E=mat:fibers4:3:16", 3, 100)
	add("transform", integral, "B=integrals C=mat:integrals:0:16", 30, 100)
	add("transform electrons", integral, "B=electrons C=full:27,27", 30, 100)
	add("integral", "T(i,m,k) = E(u,v,k)*C(u,i)*P(v,m)", "E=three C=sparseu P=sparsev", 0, 0)
	add("integral restricted", "T(i,m,k) = S(i,m,k)*E(u,v,k)*C(u,i)*P(v,m)",
		"S=pattern E=three C=sparseu P=sparsev", 0, 0)
	list[len(list)-1].formats = "T:sss"
	add("triangles uniform", "a = A(i,j)*A(j,k)*A(i,k)", "A=g", 0, 0)
	add("triangles skewed", "a = A(i,j)*A(j,k)*A(i,k)", "A=h", 0, 0)
	add("running, A dense", running, "A=full:40,40,40"+sides, 3, 100)
	add("running, A sparse", running, "A=pqi"+sides, 3, 100)
	return list
}

// networks returns the lines of products of several tensors. They compare the default method with
// one nest of loops and with pairwise contractions.
func networks(b *bench) (rows []row) {
	for _, p := range products() {
		if strings.Contains(p.operands, "electrons") && electronFile() == "" {
			rows = append(rows, row{name: p.name, threads: once, line: func(int, []times) {
				b.printf("%-20s needs %s: see docs/bench-lines.md\n", p.name, electrons)
			}})
			continue
		}
		rows = append(rows, row{name: p.name, jobs: []timedJob{{"", nil, b.making(p)}},
			measure: func(n int) { b.network(p, n) }})
	}
	return rows
}

// hopeless is the slowdown above which a method to compute a product is run only once. The slowdown
// is relative to the fastest method, or to 1 ms if the fastest method takes less.
const hopeless = 10

// contracted holds the measurements of one method. peak is the largest number of bytes that a run
// allocated. bytes is this number without the result. predicted is the number of bytes that the
// plan predicts.
type contracted struct {
	times                  times
	bytes, peak, predicted int64
	often                  bool // not only the first run
}

// method returns the side that computes a product by the named method. In the first turn, the side
// runs the product once. Later turns run it b.repeat times, and their measurements replace the
// measurements of the first turn. If the method is too slow (see hopeless), later turns do nothing.
// seen has the measurements of each method so far.
func (b *bench) method(p kernel, method string, threads int, seen map[string]*contracted) side {
	return func() (o outcome) {
		c, fastest := seen[method], math.Inf(1)
		for _, other := range seen {
			fastest = min(fastest, other.times.median())
		}
		if c != nil && c.times.median() > hopeless*max(fastest, 1e-3) {
			return o
		}
		j := b.networkJob(p, method, threads)
		if c == nil {
			j.Repeat, j.Warmup = 0, 0
		}
		plan, report := must(j.Plan(b.ctx, 0)), must(j.Run(b.ctx))
		defer report.Result.Close()
		if c == nil || !c.often {
			c = &contracted{often: c != nil}
			seen[method] = c
		}
		peak := slices.Max(report.Allocated)
		c.times, c.predicted = append(c.times, report.Stats.Phases.Compute...), slices.Max(plan.Memory)
		c.bytes, c.peak = max(c.bytes, peak-report.Result.Bytes()), max(c.peak, peak)
		return outcome{sum: total(report.Result), summed: true}
	}
}

// network measures one product by each of the compared methods, and prints the product's line of
// the table. Methods that compile to the same leaf are measured once.
func (b *bench) network(p kernel, threads int) {
	seen, same := map[string]*contracted{}, map[string]string{} // first method with the same leaf
	leaves, sides := map[string]string{}, []side{}              // method by the text of its leaf
	for _, method := range methods {
		text := must(b.networkJob(p, method, threads).Compile(b.ctx, "")).Source()
		if leaves[text] == "" {
			leaves[text] = method
			sides = append(sides, b.method(p, method, threads, seen))
		}
		same[method] = leaves[text]
	}
	turns(b.rounds+1, sides...)
	auto, direct, pairwise := seen["auto"], seen[same["direct"]], seen[same["pairwise"]]
	nearest := auto // nearest to the predicted memory
	for _, c := range []*contracted{direct, pairwise} {
		if float64(c.peak)*float64(nearest.predicted) > float64(nearest.peak)*float64(c.predicted) {
			nearest = c
		}
	}
	var others []string
	for _, method := range methods[1:] {
		if same[method] == "auto" {
			others = append(others, method)
		}
	}
	x, y, z := auto.times.median(), direct.times.median(), pairwise.times.median()
	toBest, faster := x/min(y, z), y/x
	smaller := float64(pairwise.bytes) / float64(max(auto.bytes, 1))
	kb := func(n int64) float64 { return float64(n) / 1e3 }
	mark := b.over(nearest.peak > nearest.predicted) + b.over(toBest > bestLimit) +
		b.over(faster < p.limit) + b.over(smaller < p.second)
	b.line(mark, p.name, threads, 1e3*x, 1e3*y, 1e3*z, toBest, bestLimit, faster, wanted(p.limit),
		kb(auto.bytes), kb(pairwise.bytes), smaller, wanted(p.second), kb(nearest.peak),
		kb(nearest.predicted), " "+cmp.Or(strings.Join(others, " and "), "-"))
}

// wanted returns a limit to print, or nil if there is none.
func wanted(limit float64) any {
	if limit == 0 {
		return nil
	}
	return limit
}

// networkJob returns the job that computes a product by a method.
func (b *bench) networkJob(p kernel, method string, threads int) *spmd.Job {
	j := b.job(p, threads)
	j.Network = method
	return j
}

// electrons is the file of an input: the electron integrals of a molecule. It is a file in
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
func (b *bench) electrons() *tcs.Tensor {
	j := copying(4, spmd.File(electronFile()), "ssss")
	j.Formats["S"] = "ssss"
	unique := b.result(j)
	defer unique.Close()
	all, from := map[[4]int32]float64{}, vals(unique)
	unique.Entries(func(c []int64, at int64) bool {
		a, value := [4]int32{int32(c[0]), int32(c[1]), int32(c[2]), int32(c[3])}, from[at]
		for _, x := range [][4]int32{a, {a[1], a[0], a[3], a[2]}} {
			p, q, r, s := x[0], x[1], x[2], x[3]
			all[[4]int32{p, q, r, s}], all[[4]int32{s, q, r, p}] = value, value
			all[[4]int32{p, r, q, s}], all[[4]int32{s, r, q, p}] = value, value
		}
		return true
	})
	coords, values := make([][]int32, 4), []float64(nil)
	for _, at := range slices.SortedFunc(maps.Keys(all),
		func(x, y [4]int32) int { return slices.Compare(x[:], y[:]) }) {
		for m, c := range at {
			coords[m] = append(coords[m], c)
		}
		values = append(values, all[at])
	}
	list := must(spmd.COO(unique.Header.Dims, coords, values))
	defer list.Close()
	return b.result(copying(4, spmd.InMemory(list), "ssss"))
}

// contest is one statement that is computed under several schedules from the same tensors.
type contest struct {
	kernel kernel
	serial bool // the schedules have no loop over threads
	runs   []scheduled
	claims []claim
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
// workspaces (schedules A.5 to A.7 of its appendix), the schedules A.1 and A.3, and the schedule of
// figure 6-1.
func contests() []contest {
	halves := scheduled{"rows in two halves", "divide(i,i0,i1,2),parallelize(i0,CPUThread,NoRaces)",
		"spmv_halves"}
	positions := scheduled{"entries by 16,384",
		"fuse(i,j,f),pos(f,p,A),split(p,p0,p1,16384),parallelize(p0,CPUThread,Atomics)",
		"spmv_positions"}
	byRows := scheduled{"A.1, rows by 32",
		"split(i,i0,i1,32),reorder(i0,i1,j),parallelize(i0,CPUThread,NoRaces)", "spmv_32"}
	bySixteen := scheduled{"figure 6-1, entries by 16",
		"fuse(i,j,k),pos(k,p,A),split(p,p0,p1,16),parallelize(p0,CPUThread,Atomics,1)", "spmv_16"}
	spmv := func(m string, least float64) contest {
		return contest{kernel{name: "SpMV " + m, stmt: "y(i) = A(i,j)*x(j)",
			operands: "A=" + m + " x=vec:" + m + ":1"}, false,
			[]scheduled{halves, positions, byRows, bySixteen},
			[]claim{{positions.name, halves.name, least}}}
	}
	const eights, ahead = "pos(j,jpos,A),split(jpos,jpos0,jpos1,8)", ",prefetch(B,j,16)"
	plain := scheduled{"A.13, untiled", "assemble(C,Insert)" + ahead, "spmm_plain"}
	tiled := scheduled{"A.12, tiled", eights + ",reorder(i,jpos0,k,jpos1)" + ahead, "spmm_tiled"}
	lanes := scheduled{"A.12, 32 columns in lanes",
		"bound(k,kb,32,MaxExact)," + eights +
			",reorder(i,jpos0,kb,jpos1),parallelize(kb,CPUVector,NoRaces)" + ahead, "spmm_tiled32"}
	threads := scheduled{"A.3", "split(i,i0,i1,8)," + eights +
		",reorder(i0,i1,jpos0,k,jpos1),parallelize(i0,CPUThread,NoRaces)," +
		"parallelize(k,CPUVector,IgnoreRaces)" + ahead, "spmm_threads"}
	spmm := kernel{name: "SpMM", stmt: "C(i,k) = A(i,j)*B(j,k)", operands: "A=long B=mat:long:1"}
	threaded := spmm
	threaded.name = "SpMM threads"
	list := []contest{spmv("skewed", 1.6), spmv("balanced", 1/1.1),
		{spmm, true, []scheduled{plain, tiled, lanes},
			[]claim{{tiled.name, plain.name, 1}, {lanes.name, plain.name, 1}}},
		{threaded, false, []scheduled{threads}, nil}}
	const tiles = "split(i,i1,i2,32),parallelize(i1,CPUThread,NoRaces)"
	for n, c := range []struct{ stmt, spaces string }{
		{"A(i,j) = B(i,k,l)*C(k,j)*D(l,j)", "precompute(B(i,k,l)*D(l,j),j,j,W),"},
		{"A(i,j) = B(i,k,l,m)*C(k,j)*D(l,j)*E(m,j)",
			"precompute(B(i,k,l,m)*E(m,j)*D(l,j),j,j,BDE),precompute(B(i,k,l,m)*E(m,j),j,j,BE),"},
		{"A(i,j) = B(i,k,l,m,n)*C(k,j)*D(l,j)*E(m,j)*F(n,j)",
			"precompute(B(i,k,l,m,n)*F(n,j)*E(m,j)*D(l,j),j,j,BDEF)," +
				"precompute(B(i,k,l,m,n)*F(n,j)*E(m,j),j,j,BEF),precompute(B(i,k,l,m,n)*F(n,j),j,j,BF),"},
	} {
		order := n + 3
		with := scheduled{fmt.Sprintf("A.%d, workspaces", order+2), c.spaces + tiles,
			fmt.Sprintf("mttkrp%d", order)}
		without := scheduled{"no workspaces", tiles, fmt.Sprintf("mttkrp%d_plain", order)}
		list = append(list, contest{kernel{name: fmt.Sprintf("MTTKRP order %d", order), stmt: c.stmt,
			operands: factors(fmt.Sprintf("order%d", order))}, false,
			[]scheduled{with, without}, []claim{{with.name, without.name, 1}}})
	}
	return list
}

// factors returns the operands of an MTTKRP in mode 0 of an input: B, and the factors C, D and so
// on.
func factors(input string) string {
	list := "B=" + input
	for m := range inputs[input].dims[1:] {
		list += fmt.Sprintf(" %c=mat:%s:%d", 'C'+rune(m), input, m+1)
	}
	return list
}

// schedules returns the lines of statements with schedules, measured against the same loops written
// by hand. Both sides use the largest number of threads that -threads lists, or one thread if
// contest.serial is set.
func schedules(b *bench) (rows []row) {
	for _, c := range contests() {
		r := row{name: c.kernel.name, threads: []int{slices.Max(b.threads)}}
		if c.serial {
			r.threads = once
		}
		for _, s := range c.runs {
			r.jobs = append(r.jobs, timedJob{", " + s.name, r.threads,
				b.making(c.kernel, s.schedule)})
		}
		r.sides = func(threads int) (all []side) {
			for _, s := range c.runs {
				hand := c.kernel
				hand.function, hand.source = s.function, "schedules"
				all = append(all, b.sides(c.kernel, hand, threads, nil, s.schedule)...)
			}
			return all
		}
		r.line = func(threads int, t []times) { b.contest(c, threads, t) }
		rows = append(rows, r)
	}
	return rows
}

// contest prints the line of each schedule, and a line for each claim. t has the times of each
// schedule, followed by the handwritten function's.
func (b *bench) contest(c contest, threads int, t []times) {
	ours := map[string]float64{}
	for n, s := range c.runs {
		x, y := t[2*n].median(), t[2*n+1].median()
		ours[s.name] = x
		b.line(b.over(x > byHandLimit*y), c.kernel.name, s.name, threads, 1e3*x, 1e3*y, x/y,
			byHandLimit)
	}
	for _, k := range c.claims {
		ratio := ours[k.slow] / ours[k.fast]
		b.printf("%-15s %s: %.2f times as fast as %s, at least %.2f wanted%s\n", c.kernel.name, k.fast,
			ratio, k.slow, k.least, b.over(ratio < k.least))
	}
}
