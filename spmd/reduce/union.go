package reduce

import (
	"math"
	"slices"

	"distaff/io/tcs"
)

// union merges patterns, level by level below each coordinate.
type union struct {
	shape   *Shape
	deep    int
	box     [][2]int64
	sources []*tcs.Tensor
	maps    []*tcs.Tensor
	pos     []column // by level
	crd     []column
	scratch []scratch // by level
	err     error
}

// head is a position of a source, whose children take part.
type head struct {
	src int32
	p   int64
}

// scratch is memory that a level uses again and again.
type scratch struct {
	heads []head
	runs  []run
	keys  []uint64
	count []int32
	all   []head
}

// Union is the union of the sources' patterns, and a map for each of them: of
// one compressed level, whose crd has the union's position q for each of the
// source's positions at the shape's last compressed level, or -1-q for the
// first source that has q; the level's Size counts them. A source's levels down to that one are the shape's;
// it may have others below. A source may hold more than the box only along dense
// levels. limit counts the arrays, which the caller closes with the pattern and the maps. Errors:
// *tcs.MemoryError, *ErrWidth.
func Union(s *Shape, box [][2]int64, sources []*tcs.Tensor, limit *tcs.Limit) (*Pattern, []*tcs.Tensor, error) {
	u := &union{shape: s, deep: s.deep(), box: box, sources: sources, scratch: make([]scratch, len(s.Kinds)+1)}
	if u.deep < 0 {
		panic("BUG: reduce: a union of dense blocks")
	}
	u.columns(limit)
	fail := func(err error) (*Pattern, []*tcs.Tensor, error) {
		for l := range u.pos {
			u.pos[l].close()
			u.crd[l].close()
		}
		for _, m := range u.maps {
			m.Close()
		}
		return nil, nil, err
	}
	var roots []head
	for k, t := range sources {
		m, err := s.newMap(t.Levels[u.deep].Crd, limit)
		if err != nil {
			return fail(err)
		}
		u.maps = append(u.maps, m)
		roots = append(roots, head{int32(k), 0})
	}
	for l := range u.pos {
		if s.Kinds[l] != 'd' {
			u.push(&u.pos[l], 0)
		}
	}
	u.below(0, roots)
	if u.err != nil {
		return fail(u.err)
	}
	return u.pattern(), u.maps, nil
}

// newMap is a map for a source's crd array: its level's Size is the number of
// elements that count.
func (s *Shape) newMap(crd tcs.Array, limit *tcs.Limit) (*tcs.Tensor, error) {
	n, width := crd.Len+s.Ahead, s.PosWidth[s.deep()]
	mem, err := tcs.Alloc(limit, n*int64(width), "where partial results of "+s.Name+" are added")
	if err != nil {
		return nil, err
	}
	a := mem.Array(0, n, width)
	a.First = crd.First
	t := &tcs.Tensor{Header: tcs.Header{Dims: []int64{n}, Type: tcs.Int64}, Levels: []tcs.Level{{Kind: 's', Size: crd.Len, Crd: a}}}
	t.Vals.Width = 8
	t.Hold(mem)
	return t, mem.Release()
}

func (u *union) columns(limit *tcs.Limit) {
	s := u.shape
	u.pos, u.crd = make([]column, len(s.Kinds)), make([]column, len(s.Kinds))
	for l := range s.Kinds {
		what := "the coordinates of " + s.Name
		u.pos[l] = column{arr: tcs.Array{Width: s.PosWidth[l]}, limit: limit, what: what}
		u.crd[l] = column{arr: tcs.Array{Width: s.CrdWidth[l]}, limit: limit, what: what}
	}
}

// pattern is what was built.
func (u *union) pattern() *Pattern {
	t := u.shape.frame(u.box)
	n := int64(1)
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Kind == 'd' {
			n *= lev.Size
			continue
		}
		lev.Pos, lev.Crd = u.pos[l].array(t), u.crd[l].array(t)
		n = lev.Crd.Len
	}
	t.Vals.Len = n
	t.Trust()
	return &Pattern{shape: u.shape, t: t}
}

func (u *union) push(c *column, v int64) {
	if u.err == nil {
		u.err = c.push(v)
	}
}

// below merges the children of heads, in level l, which is at most the last
// compressed one. The heads are in the order of their sources.
func (u *union) below(l int, heads []head) {
	if u.err != nil {
		return
	}
	if u.shape.Kinds[l] == 'd' {
		u.dense(l, heads)
		return
	}
	if len(heads) > 0 {
		u.merge(l, heads)
	}
	n := u.crd[l].n
	if u.pos[l].arr.Width == 4 && n > math.MaxInt32 && u.err == nil {
		u.err = &ErrWidth{u.shape.Name}
	}
	u.push(&u.pos[l], n)
}

// dense visits every coordinate of the box.
func (u *union) dense(l int, heads []head) {
	r := u.box[u.shape.Modes[l]]
	s := &u.scratch[l]
	next := slices.Grow(s.heads[:0], len(heads))[:len(heads)]
	s.heads = next
	for c := r[0]; c < r[1]; c++ {
		for k, h := range heads {
			lev := &u.sources[h.src].Levels[l]
			next[k] = head{h.src, h.p*lev.Size + c - lev.Offset}
		}
		u.below(l+1, next)
	}
}

// segment is where the children of a head begin and end, counted from the first
// of the source's arrays.
func (u *union) segment(l int, h head) (crd tcs.Array, lo, hi int64) {
	lev := &u.sources[h.src].Levels[l]
	lo, hi = lev.Pos.At(h.p)-lev.Crd.First, lev.Pos.At(h.p+1)-lev.Crd.First
	return lev.Crd, max(lo, 0), min(hi, lev.Crd.Len)
}

// visit takes coordinate c, which the heads (positions of level l) hold.
func (u *union) visit(l int, c int64, heads []head) {
	if l == u.deep {
		q := u.crd[l].n
		for k, h := range heads {
			m := &u.maps[h.src].Levels[0].Crd
			if k == 0 {
				m.SetInt(h.p-m.First, -1-q)
			} else {
				m.SetInt(h.p-m.First, q)
			}
		}
		u.push(&u.crd[l], c)
		return
	}
	u.push(&u.crd[l], c)
	u.below(l+1, heads)
}
