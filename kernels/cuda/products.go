package cuda

import (
	"fmt"
	"math"
	"slices"

	emitcuda "distaff/codegen/emit/cuda"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// denseMatrix is a dense matrix on a device. The field "at" is the address of its first element.
// Element (i,j) is i*row + j*col elements after the first one. In a batch of products, the matrix
// of product b is b*batch elements after the matrix of the first product.
type denseMatrix struct {
	at              pointer
	row, col, batch int64
}

// columns describes a matrix of rows x cols for a library that stores matrices by columns. If
// transposed is true, the memory looks to the library like the transposed matrix, and the caller
// must tell the library to transpose. ld is the distance, in elements, between two stored columns.
// ok is false if no library supports the strides.
func (m denseMatrix) columns(rows, cols int64) (transposed bool, ld int64, ok bool) {
	if m.row == 1 || rows == 1 {
		ld = m.col
		if cols == 1 {
			ld = rows
		}
		if ld >= rows {
			return false, ld, true
		}
	}
	if m.col == 1 || cols == 1 {
		ld = m.row
		if rows == 1 {
			ld = cols
		}
		return true, ld, ld >= cols
	}
	return false, 0, false
}

func (m denseMatrix) transposed() denseMatrix { return denseMatrix{m.at, m.col, m.row, m.batch} }

// matrixProduct describes c += alpha*a*b. a has m rows and k columns, b has k rows and n columns.
// There are batch such products, whose matrices c are different. A library computes them only if it
// supports the strides of each matrix (isSupported).
type matrixProduct struct {
	m, n, k, batch int64
	c, a, b        denseMatrix
	alpha          slot
	elem           tensor.Type
	what           string // the statement
}

// isSupported reports whether a library supports the strides of all three matrices.
func (p *matrixProduct) isSupported() bool {
	_, _, c := p.c.columns(p.m, p.n)
	_, _, a := p.a.columns(p.m, p.k)
	_, _, b := p.b.columns(p.k, p.n)
	return c && a && b
}

// byColumns returns the same product with c stored by columns: if c is stored by rows, the product
// of the transposed matrices in the opposite order.
func (p matrixProduct) byColumns() matrixProduct {
	if flip, _, _ := p.c.columns(p.m, p.n); flip {
		p.m, p.n, p.a, p.b, p.c = p.n, p.m, p.b.transposed(), p.a.transposed(), p.c.transposed()
	}
	return p
}

// sparseProduct describes c += alpha*a*b for a sparse a of m rows and k columns with nnz entries.
// The entries of row i are at positions pos[i] to pos[i+1]-1, and pos[0] is 0. b has k rows, c has
// m rows, and both have n columns.
type sparseProduct struct {
	m, n, k, nnz   int64
	width          int64 // size of a position and of a coordinate in bytes
	pos, crd, vals pointer
	c, b           denseMatrix
	alpha          slot
	elem           tensor.Type
	what           string
}

// axis is a loop of a matrix product: its extent, and its strides in the matrices c, a and b.
type axis struct {
	n int64
	s [3]int64
}

// joined returns loops that together visit the points of the given loops. It omits loops of one
// iteration, and joins two neighbouring loops if the strides of the outer one continue the inner
// one. It returns at least one loop. none is the loop of one iteration.
func joined(loops []axis, none axis) []axis {
	var list []axis
	for _, x := range loops {
		if x.n == 1 {
			continue
		}
		if last := len(list) - 1; last >= 0 && list[last].s[0] == x.n*x.s[0] &&
			list[last].s[1] == x.n*x.s[1] && list[last].s[2] == x.n*x.s[2] {
			x.n *= list[last].n
			list[last] = x
			continue
		}
		list = append(list, x)
	}
	if list == nil {
		list = []axis{none}
	}
	return list
}

// inLoops runs all loops, and calls f in each iteration with the offsets of the matrices c, a and
// b.
func inLoops(list []axis, f func(at [3]int64) error) error {
	at := make([]int64, len(list))
	for {
		var from [3]int64
		for k, x := range list {
			for m := range from {
				from[m] += at[k] * x.s[m]
			}
		}
		if err := f(from); err != nil {
			return err
		}
		k := len(list) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < list[k].n {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return nil
		}
	}
}

// productLoops are the loops of a matrix product: over rows, over columns, over terms of sums, and
// over products of different matrices.
type productLoops struct{ rows, cols, sums, each []axis }

// divide divides the loops of a product. The first result is p with one row loop, one column loop
// and one summation loop, and, as its batch, the longest of the other loops over elements of c. The
// host iterates over the second result. Of the combinations that allowed accepts, divide chooses
// the one with the most work. It returns false if allowed accepts none.
func (l *productLoops) divide(p matrixProduct, allowed func(*matrixProduct) bool) (matrixProduct,
	[]axis, bool) {
	best, most := [3]int{-1}, int64(0)
	over := func(x, y, z int) matrixProduct {
		r, q, t := l.rows[x], l.cols[y], l.sums[z]
		g := p
		g.m, g.n, g.k, g.batch = r.n, q.n, t.n, 1
		g.c.row, g.a.row, g.c.col, g.b.col, g.a.col, g.b.row = r.s[0], r.s[1], q.s[0], q.s[2], t.s[1], t.s[2]
		return g
	}
	for x := range l.rows {
		for y := range l.cols {
			for z := range l.sums {
				if g := over(x, y, z); allowed(&g) && g.m*g.n*g.k > most {
					best, most = [3]int{x, y, z}, g.m*g.n*g.k
				}
			}
		}
	}
	if best[0] < 0 {
		return p, nil, false
	}
	without := func(list []axis, k int) []axis { return slices.Delete(slices.Clone(list), k, k+1) }
	g := over(best[0], best[1], best[2])
	rest := slices.Concat(without(l.rows, best[0]), without(l.cols, best[1]), l.each)
	if len(rest) > 0 {
		batch := 0
		for k, x := range rest {
			if x.n > rest[batch].n {
				batch = k
			}
		}
		x := rest[batch]
		g.batch, g.c.batch, g.a.batch, g.b.batch = x.n, x.s[0], x.s[1], x.s[2]
		rest = without(rest, batch)
	}
	return g, append(rest, without(l.sums, best[2])...), true
}

// gemm runs a matrix product by the device's library, or by kernels of package emit/cuda if there
// is no library or it does not support the strides. One call covers the loops that divide chooses.
// The host iterates over the other loops.
func (c *call) gemm(s *ir.Gemm) error {
	m, n, k, each, err := c.extents(s)
	if err != nil || m == nil {
		return err
	}
	p := matrixProduct{elem: s.Alpha.Type(), what: c.statement()}
	alpha, err := c.vars.eval(s.Alpha, c)
	if err != nil {
		return err
	}
	p.alpha = slotOf(alpha)
	var strides [3][3][]int64 // by matrix: of rows, of columns, and of products
	for x, at := range []*pointer{&p.c.at, &p.a.at, &p.b.at} {
		t := []ir.Matrix{s.C, s.A, s.B}[x]
		if *at, err = c.place(t.A, t.At); err != nil {
			return err
		}
		for side, list := range [][]ir.Expr{t.Row, t.Col, t.Each} {
			if strides[x][side], err = c.ints(list...); err != nil {
				return err
			}
		}
	}
	loops := func(n []int64, none [3]int64, strides func(k int) [3]int64) []axis {
		list := make([]axis, len(n))
		for k := range n {
			list[k] = axis{n[k], strides(k)}
		}
		return joined(list, axis{1, none})
	}
	l := productLoops{
		rows: loops(m, [3]int64{1, 1, 0}, func(k int) [3]int64 {
			return [3]int64{strides[0][0][k], strides[1][0][k], 0}
		}),
		cols: loops(n, [3]int64{1, 0, 1}, func(k int) [3]int64 {
			return [3]int64{strides[0][1][k], 0, strides[2][1][k]}
		}),
		sums: loops(k, [3]int64{0, 1, 1}, func(k int) [3]int64 {
			return [3]int64{0, strides[1][1][k], strides[2][0][k]}
		}),
		each: loops(each, [3]int64{}, func(k int) [3]int64 {
			return [3]int64{strides[0][2][k], strides[1][2][k], strides[2][2][k]}
		}),
	}
	kernel, run := c.leaf.products[p.elem], c.leaf.dev.gemm
	g, rest, ok := matrixProduct{}, []axis(nil), false
	if c.leaf.cublas {
		g, rest, ok = l.divide(p, (*matrixProduct).isSupported)
	}
	if !ok && kernel != nil {
		g, rest, ok = l.divide(p, func(*matrixProduct) bool { return true })
		run = func(p matrixProduct) error { return c.leaf.dev.launch(kernel.launch(p)) }
	}
	if !ok {
		return &SetupError{
			fmt.Sprintf(
				"cublas: the values of the matrices of %s must be adjacent in memory along a "+
					"row or a column",
				p.what)}
	}
	if err := c.startTimer(); err != nil {
		return err
	}
	c.blocks[s.C.A].stale = true
	size := p.elem.Size()
	return inLoops(rest, func(at [3]int64) error {
		g := g
		for x, m := range []*denseMatrix{&g.c, &g.a, &g.b} {
			m.at += pointer(at[x] * size)
		}
		return run(g)
	})
}

// place returns the device address of an element of an array, and ensures that the array is on the
// device.
func (c *call) place(a *ir.Array, at ir.Expr) (pointer, error) {
	b, err := c.block(a)
	if err != nil {
		return 0, err
	}
	i, err := c.vars.int(at, c)
	if err != nil {
		return 0, err
	}
	if err := c.reach(b); err != nil {
		return 0, err
	}
	return b.base() + pointer(i*b.elem.Size()), nil
}

// extents returns the extents of a product's loops, or nil slices if an extent is 0.
func (c *call) extents(s *ir.Gemm) (m, n, k, each []int64, err error) {
	for x, to := range []*[]int64{&m, &n, &k, &each} {
		if *to, err = c.ints([][]ir.Expr{s.M, s.N, s.K, s.Batch}[x]...); err != nil {
			return nil, nil, nil, nil, err
		}
		for _, x := range *to {
			if x < 1 {
				return nil, nil, nil, nil, nil
			}
		}
	}
	return m, n, k, each, nil
}

// spmm runs a product with a sparse matrix by the device's library.
func (c *call) spmm(s *ir.SpMM) error {
	v, err := c.ints(s.M, s.N, s.K, s.Entries, s.C.Row[0], s.C.Col[0], s.B.Row[0], s.B.Col[0])
	if err != nil || v[0] < 1 || v[1] < 1 || v[2] < 1 || v[3] < 1 {
		return err
	}
	p := sparseProduct{m: v[0], n: v[1], k: v[2], nnz: v[3], width: s.Crd.Elem.Size(),
		elem: s.Alpha.Type(), what: c.statement()}
	if p.width == 4 && p.nnz > math.MaxInt32 {
		return &SetupError{
			fmt.Sprintf(
				"cusparse: a GPU has %d entries of a matrix in %s, but cuSPARSE accepts at "+
					"most %d with coordinates of 32 bits; use more ranks", p.nnz,
				p.what, math.MaxInt32)}
	}
	alpha, err := c.vars.eval(s.Alpha, c)
	if err != nil {
		return err
	}
	p.alpha = slotOf(alpha)
	p.c.row, p.c.col, p.b.row, p.b.col = v[4], v[5], v[6], v[7]
	for x, at := range []*pointer{&p.c.at, &p.b.at, &p.pos, &p.crd, &p.vals} {
		where := []ir.Expr{s.C.At, s.B.At, s.At, s.From, s.From}[x]
		if *at, err = c.place(s.Arrays()[x], where); err != nil {
			return err
		}
	}
	if err := c.startTimer(); err != nil {
		return err
	}
	c.blocks[s.C.A].stale = true
	return c.leaf.dev.spmm(p)
}

// called has what a leaf's host part calls outside of the leaf.
type called struct {
	sparse bool // cuSPARSE
	// dense has the types of the products of dense matrices. The value is true if the strides of
	// all products of the type fit cuBLAS.
	dense map[tensor.Type]bool
}

func callsOf(f *ir.Func) called {
	c := called{dense: map[tensor.Type]bool{}}
	ir.Walk(f.Body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.Gemm:
			fits, known := c.dense[s.Alpha.Type()]
			c.dense[s.Alpha.Type()] = (fits || !known) && s.SideBySide()
		case *ir.SpMM:
			c.sparse = true
		}
	})
	return c
}

// productKernel is a kernel of package emit/cuda that multiplies dense matrices, on a device.
type productKernel struct {
	emitcuda.Product
	module module
}

// A launch of productKernel has enoughBlocks blocks if the terms of a sum can be divided into parts
// of at least leastTerms.
const (
	enoughBlocks = 264
	leastTerms   = 256
)

// launch returns the launch of the kernel for a product.
func (k *productKernel) launch(p matrixProduct) launch {
	if p.c.row < p.c.col { // neighbouring threads store neighbouring columns
		p.m, p.n, p.a, p.b, p.c = p.n, p.m, p.b.transposed(), p.a.transposed(), p.c.transposed()
	}
	over := func(n, by int64) int64 { return (n + by - 1) / by }
	tiles := over(p.m, k.Rows) * over(p.n, k.Cols) * p.batch
	parts := max(1, min(enoughBlocks/tiles, p.k/leastTerms))
	part := over(over(p.k, parts), k.Terms) * k.Terms
	l := launch{module: k.module, kernel: k.Kernel, grid: tiles * over(p.k, part), threads: k.Threads,
		shared: k.Shared, what: p.what}
	for _, m := range []denseMatrix{p.a, p.b, p.c} {
		l.params = append(l.params, slot{uint64(m.at)}, slot{uint64(m.row)}, slot{uint64(m.col)},
			slot{uint64(m.batch)})
	}
	l.params = append(l.params, p.alpha)
	for _, n := range []int64{p.m, p.n, p.k, part} {
		l.params = append(l.params, slot{uint64(n)})
	}
	return l
}

// checkInt32 returns an error if a number does not fit the 32-bit integers of cuBLAS.
func checkInt32(what string, list ...int64) error {
	for _, n := range list {
		if n > math.MaxInt32 {
			return &SetupError{
				fmt.Sprintf(
					"cublas: a size or stride of %s is %d, but cuBLAS accepts at most %d; use "+
						"more ranks or smaller blocks", what, n,
					math.MaxInt32)}
		}
	}
	return nil
}
