package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/kernels"
)

// leafKernels returns the kernels of the group leaves.
func leafKernels() []kernel {
	var list []kernel
	// add adds a kernel, after replacing # in its operands by the input m. Limits are the largest
	// times, relative to the handwritten function and to the best library.
	add := func(name, m, stmt, formats, operands, function string, limit, peer float64) {
		list = append(list, kernel{name + " " + m, stmt, formats,
			strings.ReplaceAll(operands, "#", m), function, limit, peer, ""})
	}
	for _, m := range []string{"a", "b"} {
		add("SpMV", m, "y(i) = A(i,j)*x(j)", "", "A=# x=vec:#:1", "spmv", 1.05, 1.05)
		add("SpMM 32", m, "Y(i,k) = A(i,j)*X(j,k)", "", "A=# X=mat:#:1", "spmm", 1.05, 1.05)
		add("SDDMM 32", m, "Y(i,j) = A(i,j)*C(i,k)*D(j,k)", "Y:ds", "A=# C=mat:#:0 D=mat:#:1", "sddmm",
			1.05, 1.05)
		add("SpAdd", m, "Y(i,j) = A(i,j) + B(i,j)", "Y:ds", "A=# B=#2", "spadd", 1.05, 1.05)
		add("SpAdd3", m, "Y(i,j) = A(i,j) + B(i,j) + C(i,j)", "Y:ds", "A=# B=#2 C=#3", "spadd3", 1.05,
			1.05)
	}
	add("SpGEMM", "g", "Y(i,j) = A(i,k)*B(k,j)", "Y:ds", "A=g B=g2", "spgemm", 1.1, 1.05)
	add("SpGEMM", "h", "Y(i,j) = A(i,k)*B(k,j)", "Y:ds", "A=h B=h", "spgemm", 1.1, 1.05)
	for _, m := range []string{"c", "d"} {
		add("TTV", m, "Y(i,j) = A(i,j,k)*x(k)", "Y:ss", "A=# x=vec:#:2", "ttv", 1.05, 1.05)
		add("TTM 32", m, "Y(i,j,l) = A(i,j,k)*X(k,l)", "Y:ssd", "A=# X=mat:#:2", "ttm", 1.05, 1.05)
		add("MTTKRP 32 mode 0", m, "Y(i,l) = A(i,j,k)*C(j,l)*D(k,l)", "",
			"A=# C=mat:#:1 D=mat:#:2", "mttkrp", 1.05, 0.85)
	}
	add("MTTKRP 32 mode 1", "c", "Y(j,l) = A(i,j,k)*C(i,l)*D(k,l)", "",
		"A=c1 C=mat:c:0 D=mat:c:2", "mttkrp", 1.05, 1.05)
	add("MTTKRP 32 mode 2", "c", "Y(k,l) = A(i,j,k)*C(i,l)*D(j,l)", "",
		"A=c2 C=mat:c:0 D=mat:c:1", "mttkrp", 1.05, 1.05)
	for _, m := range []string{"c", "d"} {
		list = append(list, mttkrp(m, 1), mttkrp(m, 2))
	}
	return list
}

// against holds the times of one kernel: our leaf's, the handwritten kernel's, and the times of
// each of bench.libs, which are empty if the library cannot run the kernel on these threads.
type against struct {
	kernel  kernel
	threads int
	times   []times
}

// The sides of a comparison take turns. In each turn a fast leaf is repeated for about turnSeconds,
// but at most mostRuns times. With only a few short runs, other load on the machine would distort
// even the best time.
const (
	turnSeconds = 0.05
	mostRuns    = 50
)

// leaves returns the lines that compare leaves with handwritten kernels and with other libraries.
// They compare best times, because other load on the machine can only add time.
func leaves(b *bench) (rows []row) {
	var all []against
	for _, k := range leafKernels() {
		rows = append(rows, row{name: k.name, jobs: []timedJob{{"", nil, b.making(k)}},
			measure: func(n int) {
				a := b.inTurn(k, n)
				b.against(a)
				all = append(all, a)
			}})
	}
	return append(rows, row{threads: once, line: func(int, []times) { b.meanOf(all); b.bests(all) }})
}

// inTurn times Distaff's leaf for a kernel, the handwritten kernel and each library, in turns.
func (b *bench) inTurn(k kernel, threads int) against {
	o := b.timesOf(b.making(k), threads)()
	defer func(repeat int) { b.repeat = repeat }(b.repeat)
	b.repeat = max(b.repeat, int(min(turnSeconds/o.times.best(), mostRuns)))
	sides := b.sides(k, k, threads, nil)
	for _, p := range b.libs {
		if p.runs(k, threads) {
			sides = append(sides, b.peer(p, k, peerFunction(k), threads))
		} else {
			sides = append(sides, func() outcome { return outcome{} })
		}
	}
	return against{k, threads, turns(b.rounds, sides...)}
}

// best returns the library with the smallest time, and its times. The name is "" if no library was
// timed.
func (b *bench) best(a against) (name string, best times) {
	for n, p := range b.libs {
		if t := a.times[2+n]; t != nil && (name == "" || t.best() < best.best()) {
			name, best = p.name, t
		}
	}
	return name, best
}

// against prints the line of a kernel: for each side the best and the median time in milliseconds,
// and the ratios of the best times.
func (b *bench) against(a against) {
	ours, hand := a.times[0], a.times[1]
	ofHand := ours.best() / hand.best()
	values := []any{a.kernel.name, a.threads, 1e3 * ours.best(), 1e3 * ours.median(),
		1e3 * hand.best(), 1e3 * hand.median()}
	over := b.over(ofHand > a.kernel.limit)
	if over != "" {
		over += " hand"
	}
	name, t := b.best(a)
	if name == "" {
		b.line(over, append(values, nil, nil, nil, ofHand, nil)...)
		return
	}
	ofPeer := ours.best() / t.best()
	if mark := b.over(ofPeer > a.kernel.second); mark != "" {
		over += mark + " peer"
	}
	b.line(over, append(values, name, 1e3*t.best(), 1e3*t.median(), ofHand, ofPeer)...)
}

// meanLimit is the largest accepted value of the mean that meanOf prints.
const meanLimit = 0.5

// meanOf prints the geometric mean over all kernels of a ratio: our time divided by the time of the
// best library.
func (b *bench) meanOf(all []against) {
	sum, n := 0.0, 0
	for _, a := range all {
		if name, t := b.best(a); name != "" {
			sum += math.Log(a.times[0].best() / t.best())
			n++
		}
	}
	if n > 0 {
		mean := math.Exp(sum / float64(n))
		b.printf("\nof the best peer, in the geometric mean of %d lines: %.2f, of %.2f at most%s\n", n,
			mean, meanLimit, b.over(mean > meanLimit))
	}
}

// bests prints a table with the best time of each library.
func (b *bench) bests(all []against) {
	if len(b.libs) == 0 || len(all) == 0 {
		return
	}
	columns := "best of each %-28s|threads %7d|distaff %10.2f"
	for _, p := range b.libs {
		columns += "|" + p.name + " %10.2f"
	}
	b.printf("\n")
	b.head(columns)
	for _, a := range all {
		values := []any{a.kernel.name, a.threads, 1e3 * a.times[0].best()}
		for _, t := range a.times[2:] {
			if t != nil {
				values = append(values, 1e3*t.best())
			} else {
				values = append(values, nil)
			}
		}
		b.line("", values...)
	}
}

// computeLimits maps the function of a kernel to the largest accepted ratio of two times: the time
// of our leaf that assembles its result, divided by the time of a handwritten function that
// computes only values.
var computeLimits = map[string]float64{"sddmm": 1.2, "ttv": 1.2, "ttm": 1.2, "spadd": 1.3,
	"spadd3": 1.3, "spgemm": 2.5}

// assembly returns the lines of leaves that assemble their results. It compares them with
// handwritten kernels, and with our own leaves that only compute values into a known pattern.
func assembly(b *bench) (rows []row) {
	for _, k := range leafKernels() {
		limit, ok := computeLimits[k.function]
		if !ok {
			continue
		}
		hand := k
		if limit > 1.2 {
			hand.function = "values_" + k.function
		}
		rows = append(rows, row{name: k.name, sides: func(n int) []side {
			return b.sides(k, hand, n, b.into(k, n))
		}, line: func(n int, t []times) {
			x, y, z := t[0].median(), t[1].median(), t[2].median()
			b.line(b.over(x/z > limit), k.name, n, 1e3*x, 1e3*y, x/y, 1e3*z, x/z, limit, y/z)
		}})
	}
	return rows
}

// into returns a function for the parameter between of sides. The function runs the leaf that
// computes only values. The leaf stores them in a result that already has the pattern.
func (b *bench) into(k kernel, threads int) func(result *tcs.Tensor) outcome {
	return func(result *tcs.Tensor) outcome {
		j := b.job(k, threads)
		j.FixedPattern, j.Keep = result, false
		report := must(j.Run(b.ctx))
		return outcome{times: report.Stats.Phases.Compute, sum: total(result), summed: true}
	}
}

// modeLimit is the largest accepted ratio of two times: MTTKRP in any mode, divided by MTTKRP in
// mode 0. Other modes can be slower, because they read and write a row of the result for each
// entry. Mode 0 keeps rows in registers.
//
// copyLimit is the largest accepted ratio for a product that sums one mode. The time of the product
// is divided by another time: making a copy with this mode last, and computing the product from the
// copy.
const modeLimit, copyLimit = 1.5, 1

// modes returns the lines of products along every mode of a tensor. The tensor is stored once, in
// the order of its modes. There are two kinds of lines:
//
//   - MTTKRP in each mode is compared with MTTKRP in mode 0.
//   - A product that sums one mode, except the last mode, is compared with the same product from
//     a copy. The copy stores this mode last, and the time of making the copy is added. The
//     result has compressed levels.
func modes(b *bench) (rows []row) {
	for _, t := range []string{"c", "d", "e", "f"} {
		add := func(name string, k, reference kernel, limit float64, copied int) {
			r := row{name: name, jobs: []timedJob{{"", nil, b.making(k)}}}
			if reference.operands != k.operands { // not mode 0 itself
				r.sides = func(n int) []side {
					sides, from := []side{b.timesOf(b.making(k), n), b.timesOf(b.making(reference), n)}, b.input(t)
					if copied >= 0 {
						sides = append(sides, clocked(func() error {
							return b.result(lastMode(from, copied)).Close()
						}))
					}
					return sides
				}
				r.line = func(n int, t []times) {
					ours, other := t[0].median(), t[1].median()
					if copied >= 0 {
						other += t[2].median()
					}
					b.line(b.over(ours/other > limit), name, n, 1e3*ours, 1e3*other, ours/other, limit)
				}
			}
			rows = append(rows, r)
		}
		for mode := range inputs[t].dims {
			add(fmt.Sprintf("MTTKRP 32 mode %d %s", mode, t), mttkrp(t, mode), mttkrp(t, 0), modeLimit,
				-1)
		}
		for _, columns := range []string{"", ",l"} {
			for mode := range inputs[t].dims[1:] {
				k := summed(t, t, mode, columns)
				add(k.name, k, summed(t, fmt.Sprintf("last:%s:%d", t, mode), mode, columns), copyLimit,
					mode)
			}
		}
	}
	return rows
}

// summed returns the kernel that multiplies a tensor by a vector (TTV) or a matrix (TTM), and sums
// over the given mode. column is "" for a vector. For a matrix, it is a comma and the variable of
// the matrix's columns. The result has a compressed level for each other mode of the tensor, in
// order. The parameter tensor is the name of a generated input, from which the kernel gets its name
// and sizes. The kernel reads the input called input, which may be a copy of that tensor in another
// mode order.
func summed(tensor, input string, mode int, column string) kernel {
	vars := letters[:len(inputs[tensor].dims)]
	rest := slices.Delete(slices.Clone(vars), mode, mode+1)
	format := strings.Repeat("s", len(rest))
	name, factor := "TTV", "vec"
	if column != "" {
		name, factor, format = "TTM 32", "mat", format+"d"
	}
	return kernel{
		name: fmt.Sprintf("%s mode %d %s", name, mode, tensor),
		stmt: fmt.Sprintf("Y(%s%s) = A(%s)*X(%s%s)", strings.Join(rest, ","), column,
			strings.Join(vars, ","), vars[mode], column),
		formats:  "Y:" + format,
		operands: fmt.Sprintf("A=%s X=%s:%s:%d", input, factor, tensor, mode),
	}
}

// mttkrp returns the kernel that multiplies a tensor with one factor for each mode except the given
// one. The kernel reads the copy of the tensor that is stored in the order of its modes.
func mttkrp(tensor string, mode int) kernel {
	vars := letters[:len(inputs[tensor].dims)]
	k := kernel{name: fmt.Sprintf("MTTKRP 32 mode %d %s, one copy", mode, tensor),
		operands: "A=" + tensor, function: fmt.Sprintf("onecopy%d", mode), limit: 1.05, second: 1}
	k.stmt = fmt.Sprintf("Y(%s,l) = A(%s)", vars[mode], strings.Join(vars, ","))
	for m, v := range vars {
		if m != mode {
			factor := 'B' + rune(m)
			k.stmt += fmt.Sprintf("*%c(%s,l)", factor, v)
			k.operands += fmt.Sprintf(" %c=mat:%s:%d", factor, tensor, m)
		}
	}
	return k
}

// contractions are the statements of the group dense. Each needs about as many multiply-adds as a
// product of two square matrices with n rows. The speed of a statement is divided by the speed of a
// direct call of OpenBLAS for that product. The two numbers of a statement are the smallest
// accepted ratios, with and without a BLAS in the leaf. 0 means that the statement is not measured.
var contractions = []kernel{
	contraction("product", "A(i,j) = B(i,k)*C(k,j)", "B=full:n,n C=full:n,n", 0.97, 0.7),
	contraction("product, transposed", "A(i,j) = B(k,i)*C(j,k)", "B=full:n,n C=full:n,n", 0.97, 0.7),
	contraction("TTM", "A(i,j,l) = B(i,j,k)*C(k,l)", "B=full:s,q,n C=full:n,n", 0.8, 0),
	contraction("pairs of variables", "A(i,j,k,l) = B(i,m,k,n)*C(n,j,m,l)",
		"B=full:s,q,q,s C=full:s,q,q,s", 0.8, 0),
	contraction("a pair apart", "A(a,b,c) = B(a,d,b)*C(d,c)", "B=full:s,n,q C=full:n,n", 0.8, 0),
	contraction("MTTKRP, mode 0", "A(i,l) = B(i,j,k)*C(j,l)*D(k,l)",
		"B=full:s,q,n C=full:q,n D=full:n,n", 0.8, 0),
	contraction("MTTKRP, mode 1", "A(j,l) = B(i,j,k)*C(i,l)*D(k,l)",
		"B=full:s,q,n C=full:s,n D=full:n,n", 0.8, 0),
	contraction("MTTKRP, mode 2", "A(k,l) = B(i,j,k)*C(i,l)*D(j,l)",
		"B=full:s,q,n C=full:s,n D=full:q,n", 0.8, 0),
	contraction("a chain of three", "A(i,l) = B(i,j)*C(j,k)*D(k,l)",
		"B=full:n,n C=full:n,h D=full:h,n", 0.8, 0),
}

func contraction(name, stmt, operands string, least, without float64) kernel {
	return kernel{name: name, stmt: stmt, operands: operands, limit: least, second: without,
		function: "openblas", source: "dense"}
}

// withoutBLAS reports whether this process is the one that measures leaves without a BLAS.
func withoutBLAS() bool { return os.Getenv("DISTAFF_BLAS") == "none" }

// square returns the number of rows and columns of the matrices.
func (b *bench) square() int64 { return 64 * int64(math.Round(64*math.Cbrt(b.scale))) }

func openBLAS(b *bench) bool {
	if !withoutBLAS() {
		path, _, err := kernels.BLAS()
		check(err)
		n := b.square()
		b.printf("products of %d multiply-adds, as of matrices of %d rows and columns; leaves call "+
			"%s\n\n", n*n*n, n, path)
	}
	return true
}

// dense returns the table's rows for contractions of dense operands. The rows compare leaves with
// direct calls of OpenBLAS. Leaves that use no BLAS are measured in a second process of this
// command.
func dense(b *bench) (rows []row) {
	n := float64(b.square())
	gigaflops := 2 * n * n * n / 1e9
	for _, k := range contractions {
		name, least := k.name, k.limit
		if withoutBLAS() {
			name, least = k.name+", without a BLAS", k.second
		}
		if least == 0 {
			continue
		}
		rows = append(rows, row{name: name, jobs: []timedJob{{"", nil, b.making(k)}},
			sides: func(threads int) []side {
				return []side{b.timesOf(b.making(k), threads), func() outcome {
					o := b.byHand(contractions[0], threads, b.input("full:n,n"))
					return outcome{times: o.times}
				}}
			},
			line: func(threads int, t []times) {
				ours, direct := t[0].median(), t[1].median()
				b.line(b.over(direct/ours < least), name, threads, gigaflops/ours, gigaflops/direct,
					direct/ours, least)
			}})
	}
	if !withoutBLAS() {
		rows = append(rows, row{threads: once, measure: b.again})
	}
	return rows
}

// again measures the group dense in a child process whose leaves have no BLAS. It prints the lines
// of the child process, and counts the figures that exceed their limits.
func (b *bench) again(int) {
	text := must(output(slices.Concat(os.Args, []string{"-only=dense"}), "DISTAFF_BLAS=none"))
	for line := range strings.Lines(text) {
		if strings.Contains(line, "without a BLAS") {
			b.printf("%s", line)
			b.over(strings.HasSuffix(line, " over\n"))
		}
	}
}
