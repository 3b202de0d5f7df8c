package cuda

import (
	"fmt"
	"math"

	"distaff/codegen/choice"
	"distaff/codegen/ir"
	"distaff/io/tensor"
)

// denseMatrix is a dense matrix on a device. The field "at" is the address of its first element.
// Element (i,j) is i*row + j*col elements after the first one.
type denseMatrix struct {
	at       pointer
	row, col int64
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

func (m denseMatrix) transposed() denseMatrix { return denseMatrix{m.at, m.col, m.row} }

// matrixProduct describes c += alpha*a*b. a has m rows and k columns, b has k rows and n columns.
// A library computes the product only if it supports the strides of each matrix (isSupported).
type matrixProduct struct {
	m, n, k int64
	c, a, b denseMatrix
	alpha   slot
	elem    tensor.Type
	what    string // the statement
}

// isSupported reports whether a library supports the strides of all three matrices.
func (p *matrixProduct) isSupported() bool {
	_, _, c := p.c.columns(p.m, p.n)
	_, _, a := p.a.columns(p.m, p.k)
	_, _, b := p.b.columns(p.k, p.n)
	return c && a && b
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

// axis is a loop of a matrix product: its extent, and its strides in the two matrices that it
// indexes.
type axis struct {
	n int64
	s [2]int64
}

// axes returns loops that together visit the given extents and strides. It omits loops of one
// iteration, and joins two neighbouring loops if the strides of the outer one continue the inner
// one. It returns at least one loop.
func axes(n, first, second []int64) []axis {
	var list []axis
	for k := range n {
		x := axis{n[k], [2]int64{first[k], second[k]}}
		if x.n == 1 {
			continue
		}
		if last := len(list) - 1; last >= 0 && list[last].s[0] == x.n*x.s[0] &&
			list[last].s[1] == x.n*x.s[1] {
			x.n *= list[last].n
			list[last] = x
			continue
		}
		list = append(list, x)
	}
	if list == nil {
		list = []axis{{1, [2]int64{1, 1}}}
	}
	return list
}

// inLoops runs all loops except the one with index skip. It calls f in each iteration with the
// offsets of the two matrices.
func inLoops(list []axis, skip int, f func(at [2]int64) error) error {
	at := make([]int64, len(list))
	for {
		var from [2]int64
		for k, x := range list {
			from[0] += at[k] * x.s[0]
			from[1] += at[k] * x.s[1]
		}
		if err := f(from); err != nil {
			return err
		}
		k := len(list) - 1
		for ; k >= 0; k-- {
			if at[k]++; k != skip && at[k] < list[k].n {
				break
			}
			at[k] = 0
		}
		if k < 0 {
			return nil
		}
	}
}

// gemm runs a matrix product by the device's library. One library call covers one row loop, one
// column loop and one summation loop. Among the combinations that the library supports, gemm
// chooses the one with the most work. The host iterates over the other loops.
func (c *call) gemm(s *ir.Gemm) error {
	m, n, k, err := c.extents(s)
	if err != nil || m == nil {
		return err
	}
	p := matrixProduct{elem: s.Alpha.Type(), what: c.statement()}
	alpha, err := c.vars.eval(s.Alpha, c)
	if err != nil {
		return err
	}
	p.alpha = slotOf(alpha)
	var strides [3][2][]int64
	for x, at := range []*pointer{&p.c.at, &p.a.at, &p.b.at} {
		t := []ir.Matrix{s.C, s.A, s.B}[x]
		if *at, err = c.place(t.A, t.At); err != nil {
			return err
		}
		for side, list := range [][]ir.Expr{t.Row, t.Col} {
			if strides[x][side], err = c.ints(list...); err != nil {
				return err
			}
		}
	}
	rows, cols, sums := axes(m, strides[0][0], strides[1][0]),
		axes(n, strides[0][1], strides[2][1]), axes(k, strides[1][1], strides[2][0])
	best := [3]int{-1}
	over := func(x, y, z int) matrixProduct {
		r, q, t := rows[x], cols[y], sums[z]
		g := p
		g.m, g.n, g.k = r.n, q.n, t.n
		g.c.row, g.c.col, g.a.row, g.a.col, g.b.row, g.b.col = r.s[0], q.s[0], r.s[1], t.s[0],
			t.s[1], q.s[1]
		return g
	}
	most := int64(0)
	for x := range rows {
		for y := range cols {
			for z := range sums {
				if g := over(x, y, z); g.isSupported() && g.m*g.n*g.k > most {
					best, most = [3]int{x, y, z}, g.m*g.n*g.k
				}
			}
		}
	}
	if best[0] < 0 {
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
	g, size := over(best[0], best[1], best[2]), p.elem.Size()
	return inLoops(rows, best[0], func(r [2]int64) error {
		return inLoops(cols, best[1], func(q [2]int64) error {
			return inLoops(sums, best[2], func(t [2]int64) error {
				g := g
				g.c.at += pointer((r[0] + q[0]) * size)
				g.a.at += pointer((r[1] + t[0]) * size)
				g.b.at += pointer((q[1] + t[1]) * size)
				return c.leaf.dev.gemm(g)
			})
		})
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
func (c *call) extents(s *ir.Gemm) (m, n, k []int64, err error) {
	for x, to := range []*[]int64{&m, &n, &k} {
		if *to, err = c.ints([][]ir.Expr{s.M, s.N, s.K}[x]...); err != nil {
			return nil, nil, nil, err
		}
		for _, x := range *to {
			if x < 1 {
				return nil, nil, nil, nil
			}
		}
	}
	return m, n, k, nil
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

// libraries returns the names of the libraries that a leaf's host part calls, as in package choice.
func libraries(f *ir.Func) (list []string) {
	has := map[string]bool{}
	ir.Walk(f.Body, func(s ir.Stmt) {
		name := ""
		switch s.(type) {
		case *ir.Gemm:
			name = choice.CuBLAS
		case *ir.SpMM:
			name = choice.CuSPARSE
		}
		if name != "" && !has[name] {
			has[name] = true
			list = append(list, name)
		}
	})
	return list
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
