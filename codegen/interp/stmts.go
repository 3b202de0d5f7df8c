package interp

import (
	"fmt"
	"math"
	"slices"

	"distaff/codegen/ir"
	"distaff/io/tensor"
)

func (c *compiler) block(b *ir.Block) stmtFn {
	var list []stmtFn
	for _, s := range b.List {
		if f := c.stmt(s); f != nil {
			list = append(list, f)
		}
	}
	switch len(list) {
	case 0:
		return func(*frame) {}
	case 1:
		return list[0]
	case 2:
		a, b := list[0], list[1]
		return func(fr *frame) { a(fr); b(fr) }
	}
	return func(fr *frame) {
		for _, f := range list {
			f(fr)
		}
	}
}

// stmt compiles a statement. For a comment it returns nil.
func (c *compiler) stmt(s ir.Stmt) stmtFn {
	switch s := s.(type) {
	case *ir.Block:
		return c.block(s)
	case *ir.Comment:
		return nil
	case *ir.Declare:
		return c.assign(s.V, s.Init)
	case *ir.Assign:
		if s.Accumulate {
			return c.assign(s.V, &ir.Binary{Op: ir.Add, X: s.V, Y: s.X})
		}
		return c.assign(s.V, s.X)
	case *ir.Store:
		return c.store(s)
	case *ir.Fetch:
		return c.fetch(s)
	case *ir.For:
		return c.loop(s)
	case *ir.While:
		cond, body := c.int(s.Cond), c.block(s.Body)
		return func(fr *frame) {
			for cond(fr) != 0 {
				fr.step()
				body(fr)
			}
		}
	case *ir.If:
		return c.branch(s)
	case *ir.Ordered:
		return c.orderedSection(s)
	case *ir.Alloc:
		return c.alloc(s)
	case *ir.Prefetch:
		index := c.int(s.Index)
		return func(fr *frame) { index(fr) }
	case *ir.Local:
		k, a, n, zero := c.array(s.A), s.A, s.Len, !s.Undefined
		return func(fr *frame) { fr.arrays[k] = makeMemory(a.Name, a.Elem, n, zero) }
	case *ir.Grow:
		return c.grow(s)
	case *ir.Free:
		k := c.array(s.A)
		return func(fr *frame) { fr.drop(k, freed) }
	case *ir.Fill:
		return c.fill(s)
	case *ir.Copy:
		return c.copy(s)
	case *ir.Gemm:
		return c.block(s.Loops())
	case *ir.SpMM:
		return c.block(s.Loops())
	case *ir.Call:
		name := s.Func.Name
		return func(fr *frame) {
			fr.errorf(
				"%s is a user's C function, which only compiled leaves can call", name)
		}
	case *ir.Sort:
		return c.sort(s)
	case *ir.Launch:
		return c.launch(s)
	case *ir.Shared:
		return c.sharedArray(s)
	case *ir.Scan:
		return c.scan(s)
	case *ir.Mark:
		return c.mark(s)
	case *ir.Collect:
		return c.collect(s)
	case *ir.Union:
		return c.union(s)
	case *ir.SortBy:
		return c.sortBy(s)
	case *ir.AllocTable:
		return c.allocTable(s)
	case *ir.Keep:
		return c.keep(s)
	case *ir.Take:
		return c.take(s)
	case *ir.FreeTable:
		return c.freeTable(s)
	case *ir.Publish:
		return c.publish(s)
	case *ir.Fail:
		coord := make([]intFn, len(s.Coord))
		for i, x := range s.Coord {
			coord[i] = c.int(x)
		}
		code := s.Code
		return func(fr *frame) {
			f := &Failure{Code: code}
			for _, x := range coord {
				f.Coord = append(f.Coord, x(fr))
			}
			panic(f)
		}
	}
	panic(fmt.Sprintf("BUG: interp: statement %T", s))
}

func (c *compiler) assign(v *ir.Var, x ir.Expr) stmtFn {
	switch t := v.Typ; {
	case t.IsFloat():
		f := c.float(x)
		k := c.variable(v)
		return func(fr *frame) { fr.floats[k] = f(fr) }
	case t.IsComplex():
		f := c.complex(x)
		k := c.variable(v)
		return func(fr *frame) { fr.complexs[k] = f(fr) }
	}
	f := c.int(x)
	k := c.variable(v)
	return func(fr *frame) { fr.ints[k] = f(fr) }
}

func (c *compiler) branch(s *ir.If) stmtFn {
	cond, then := c.int(s.Cond), c.block(s.Then)
	if s.Else == nil {
		return func(fr *frame) {
			if cond(fr) != 0 {
				then(fr)
			}
		}
	}
	other := c.block(s.Else)
	return func(fr *frame) {
		if cond(fr) != 0 {
			then(fr)
		} else {
			other(fr)
		}
	}
}

// place returns a closure that finds the element that a store goes to and marks it as written.
func (c *compiler) place(s *ir.Store) func(*frame) (*memory, int64) {
	k, index, tracks, accumulate := c.array(s.A), c.int(s.Index), c.tracks(s.A), s.Accumulate
	kind := writing
	if s.Atomic {
		kind = updating
	}
	return func(fr *frame) (*memory, int64) {
		m := fr.arrays[k]
		i := index(fr) - m.first
		if accumulate {
			fr.readable(m, i)
		} else {
			fr.within(m, i)
		}
		if tracks != nil {
			fr.touch(m, i, tracks, kind)
		}
		if m.init != nil {
			m.init[i] = true
		}
		return m, i
	}
}

func (c *compiler) store(s *ir.Store) stmtFn {
	// The value comes first: it may read the element that is stored to.
	place, add := c.place(s), s.Accumulate
	switch s.A.Elem {
	case tensor.Float64:
		return stored(c.float(s.X), place, add, func(m *memory) []float64 { return m.f64 })
	case tensor.Float32:
		x := c.float(s.X)
		return stored(func(fr *frame) float32 { return float32(x(fr)) }, place, add,
			func(m *memory) []float32 { return m.f32 })
	case tensor.Complex128:
		return stored(c.complex(s.X), place, add, func(m *memory) []complex128 { return m.c128 })
	case tensor.Complex64:
		x := c.complex(s.X)
		return stored(func(fr *frame) complex64 { return complex64(x(fr)) }, place, add,
			func(m *memory) []complex64 { return m.c64 })
	}
	return c.storeInt(s, place)
}

// stored returns a closure that sets an element to the value of x, or adds the value to the element
// if add is set.
func stored[T float32 | float64 | complex64 | complex128](x func(*frame) T,
	place func(*frame) (*memory, int64), add bool, elements func(*memory) []T) stmtFn {
	return func(fr *frame) {
		v := x(fr)
		m, i := place(fr)
		e := elements(m)
		if add {
			v = e[i] + v
		}
		e[i] = v
	}
}

func (c *compiler) storeInt(s *ir.Store, place func(*frame) (*memory, int64)) stmtFn {
	x, add := c.int(s.X), s.Accumulate
	switch s.A.Elem {
	case tensor.Int64:
		return func(fr *frame) {
			v := x(fr)
			m, i := place(fr)
			if add {
				v += m.i64[i]
			}
			m.i64[i] = v
		}
	case tensor.Int32:
		checked := s.X.Type() == tensor.Int64
		return func(fr *frame) {
			v := x(fr)
			m, i := place(fr)
			if add {
				v += int64(m.i32[i])
			}
			if checked && v != int64(int32(v)) {
				fr.errorf("%s[%d] = %d does not fit into 32 bits", m.name, i+m.first, v)
			}
			m.i32[i] = int32(v)
		}
	}
	t := s.A.Elem
	return func(fr *frame) {
		v := x(fr)
		m, i := place(fr)
		if add {
			v += m.int(i)
		}
		m.setInt(i, t.Wrap(v))
	}
}

func (c *compiler) fetch(s *ir.Fetch) stmtFn {
	place := c.place(&ir.Store{A: s.A, Index: s.Index, Accumulate: true, Atomic: true})
	x, v, wide, claim := c.int(s.X), c.variable(s.V), s.A.Elem == tensor.Int64, s.Claim
	return func(fr *frame) {
		by := x(fr)
		m, i := place(fr)
		old := by
		if wide {
			old = m.i64[i]
		} else {
			old = int64(m.i32[i])
		}
		fr.ints[v] = old
		now := old + by
		if claim {
			if now = old; old == 0 {
				now = by
			}
		}
		switch {
		case wide:
			m.i64[i] = now
		case now != int64(int32(now)):
			fr.errorf("%s[%d] = %d does not fit into 32 bits", m.name, i+m.first, now)
		default:
			m.i32[i] = int32(now)
		}
	}
}

func (c *compiler) alloc(s *ir.Alloc) stmtFn {
	k, n, a, zero := c.array(s.A), c.int(s.Len), s.A, s.Zero
	return func(fr *frame) {
		if old := fr.arrays[k]; fr.live[old] {
			fr.errorf("leak: %s is allocated again while it holds memory", a.Name)
		}
		want := n(fr)
		if want < 0 {
			fr.errorf("%s: got an allocation of %d elements", a.Name, want)
		}
		fr.reserve(want, a.Elem)
		fr.took(a.Name, want*a.Elem.Size())
		m := makeMemory(a.Name, a.Elem, want, zero)
		fr.arrays[k] = m
		fr.live[m] = true
	}
}

// reserve subtracts the size of n elements from the bytes that may still be allocated. If not
// enough are left, the run ends with FailMemory.
func (fr *frame) reserve(n int64, elem tensor.Type) {
	if n > fr.limit/elem.Size() {
		panic(&Failure{Code: ir.FailMemory})
	}
	fr.limit -= n * elem.Size()
}

// took reports to fr.watch, if set, that an array now occupies the given number of bytes.
func (fr *frame) took(array string, bytes int64) {
	if fr.watch != nil {
		fr.watch(array, bytes)
	}
}

// owned returns the memory of array k. It ends the run unless the memory was made by Alloc or Take.
// what describes the use, for the error.
func (fr *frame) owned(k int, what string) *memory {
	m := fr.arrays[k]
	if !fr.live[m] {
		if m.state == alive {
			fr.errorf("%s %s: the memory does not belong to the leaf", what, m.name)
		}
		fr.errorf("%s %s: %s", what, m.name, stateNames[m.state])
	}
	return m
}

// drop takes the memory of array k away from the leaf. s is the new state of the array.
func (fr *frame) drop(k int, s state) {
	m := fr.owned(k, "free")
	delete(fr.live, m)
	fr.limit += m.len() * m.elem.Size()
	fr.arrays[k] = m.gone(s)
}

func (c *compiler) grow(s *ir.Grow) stmtFn {
	k, capacity, need := c.array(s.A), c.variable(s.Cap), c.int(s.Need)
	return func(fr *frame) {
		m := fr.owned(k, "grow")
		have, want := fr.ints[capacity], need(fr)
		if have != m.len() {
			fr.errorf("grow %s: its capacity is %d, but the variable says %d",
				m.name, m.len(), have)
		}
		if want <= have {
			return
		}
		if have <= math.MaxInt64/2 {
			want = max(want, 2*have)
		}
		fr.reserve(want-have, m.elem)
		fr.took(m.name, want*m.elem.Size())
		m.markAll()
		m.extend(want - have)
		fr.ints[capacity] = want
	}
}

// wrote records that a statement such as Fill or Copy has written the elements [lo, hi), counted
// from m.first. It ends the run if a write races.
func (fr *frame) wrote(m *memory, lo, hi int64, tracks []int) {
	if m.init != nil {
		for i := lo; i < hi; i++ {
			m.init[i] = true
		}
	}
	if tracks != nil {
		for i := lo; i < hi; i++ {
			fr.touch(m, i, tracks, writing)
		}
	}
}

// read records that the elements [lo, hi), counted from m.first, are read. It ends the run if one
// of them may not be read.
func (fr *frame) read(m *memory, lo, hi int64, tracks []int) {
	for i := lo; i < hi; i++ {
		fr.readable(m, i)
		if tracks != nil {
			fr.touch(m, i, tracks, reading)
		}
	}
}

func (c *compiler) fill(s *ir.Fill) stmtFn {
	k, lo, hi, tracks := c.array(s.A), c.int(s.Lo), c.int(s.Hi), c.tracks(s.A)
	set := c.fillValue(s)
	return func(fr *frame) {
		m := fr.arrays[k]
		l, h := fr.span(m, lo(fr), hi(fr))
		if l < h {
			set(fr, m, l, h)
			fr.wrote(m, l, h, tracks)
		}
	}
}

func (c *compiler) fillValue(s *ir.Fill) func(fr *frame, m *memory, l, h int64) {
	switch s.A.Elem {
	case tensor.Float64:
		x := c.float(s.X)
		return func(fr *frame, m *memory, l, h int64) { setAll(m.f64[l:h], x(fr)) }
	case tensor.Float32:
		x := c.float(s.X)
		return func(fr *frame, m *memory, l, h int64) { setAll(m.f32[l:h], float32(x(fr))) }
	case tensor.Complex128:
		x := c.complex(s.X)
		return func(fr *frame, m *memory, l, h int64) { setAll(m.c128[l:h], x(fr)) }
	case tensor.Complex64:
		x := c.complex(s.X)
		return func(fr *frame, m *memory, l, h int64) { setAll(m.c64[l:h], complex64(x(fr))) }
	}
	x := c.int(s.X)
	checked := s.X.Type() == tensor.Int64
	return func(fr *frame, m *memory, l, h int64) {
		v := x(fr)
		switch m.elem {
		case tensor.Bool:
			setAll(m.b[l:h], v != 0)
		case tensor.Int64:
			setAll(m.i64[l:h], v)
		case tensor.Int32:
			if checked && v != int64(int32(v)) {
				fr.errorf("fill %s with %d: it does not fit into 32 bits", m.name, v)
			}
			setAll(m.i32[l:h], int32(v))
		default:
			for i := l; i < h; i++ {
				m.setInt(i, v)
			}
		}
	}
}

func setAll[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

func (c *compiler) copy(s *ir.Copy) stmtFn {
	dst, src := c.array(s.Dst), c.array(s.Src)
	dstLo, srcLo, n := c.int(s.DstLo), c.int(s.SrcLo), c.int(s.N)
	dstTracks, srcTracks := c.tracks(s.Dst), c.tracks(s.Src)
	return func(fr *frame) {
		d, m := fr.arrays[dst], fr.arrays[src]
		count, to, from := n(fr), dstLo(fr), srcLo(fr)
		l, h := fr.span(m, from, from+count)
		dl, dh := fr.span(d, to, to+count)
		if count <= 0 {
			return
		}
		if d == m && dl < h && l < dh {
			fr.errorf("copy %s[%d] = [%d], %d: the ranges overlap", m.name, to, from, count)
		}
		fr.read(m, l, h, srcTracks)
		switch d.elem {
		case tensor.Bool:
			copy(d.b[dl:dh], m.b[l:h])
		case tensor.Int32:
			copy(d.i32[dl:dh], m.i32[l:h])
		case tensor.Int64:
			copy(d.i64[dl:dh], m.i64[l:h])
		case tensor.Float32:
			copy(d.f32[dl:dh], m.f32[l:h])
		case tensor.Float64:
			copy(d.f64[dl:dh], m.f64[l:h])
		case tensor.Complex64:
			copy(d.c64[dl:dh], m.c64[l:h])
		case tensor.Complex128:
			copy(d.c128[dl:dh], m.c128[l:h])
		default:
			size := d.elem.Size()
			copy(d.raw[dl*size:dh*size], m.raw[l*size:h*size])
		}
		fr.wrote(d, dl, dh, dstTracks)
	}
}

func (c *compiler) sort(s *ir.Sort) stmtFn {
	k, lo, hi, tracks := c.array(s.A), c.int(s.Lo), c.int(s.Hi), c.tracks(s.A)
	return func(fr *frame) {
		m := fr.arrays[k]
		l, h := fr.span(m, lo(fr), hi(fr))
		fr.read(m, l, h, tracks)
		if m.elem == tensor.Int32 {
			slices.Sort(m.i32[l:h])
		} else {
			slices.Sort(m.i64[l:h])
		}
		fr.wrote(m, l, h, tracks)
	}
}

// scan compiles a Scan. The sums are positions. A sum that does not fit into the array's element
// type is a broken rule.
func (c *compiler) scan(s *ir.Scan) stmtFn {
	k, lo, hi, tracks := c.array(s.A), c.int(s.Lo), c.int(s.Hi), c.tracks(s.A)
	return func(fr *frame) {
		m := fr.arrays[k]
		l, h := fr.span(m, lo(fr), hi(fr))
		fr.read(m, l, h, tracks)
		sum := int64(0)
		for i := l; i < h; i++ {
			x := m.int(i)
			if sum > 0 && x > math.MaxInt64-sum || sum < 0 && x < math.MinInt64-sum {
				fr.errorf("scan %s: the sum up to [%d] does not fit into 64 bits", m.name, i+m.first)
			}
			sum += x
			if m.elem == tensor.Int64 {
				m.i64[i] = sum
				continue
			}
			if sum != int64(int32(sum)) {
				fr.errorf("scan %s: %s[%d] = %d does not fit into 32 bits", m.name, m.name, i+m.first, sum)
			}
			m.i32[i] = int32(sum)
		}
		fr.wrote(m, l, h, tracks)
	}
}

func (c *compiler) publish(s *ir.Publish) stmtFn {
	k, n, slot := c.array(s.A), c.int(s.Len), s.Slot
	c.p.publishes = append(c.p.publishes, slot)
	return func(fr *frame) {
		m := fr.owned(k, "publish")
		count := n(fr)
		if count < 0 || count > m.len() {
			fr.errorf("publish %s: got %d elements, want at most %d", m.name, count, m.len())
		}
		fr.read(m, 0, count, nil)
		for _, o := range fr.published {
			if o.slot == slot {
				fr.errorf("publish %s: slot %s is already published", m.name, slot)
			}
		}
		fr.published = append(fr.published, published{slot, m, count})
		fr.drop(k, given)
	}
}
