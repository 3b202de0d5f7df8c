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
	arrays  [][]level // by level and source
	maps    []*tcs.Tensor
	at      []ints   // the maps' elements
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

// level is a source's compressed level.
type level struct{ pos, crd ints }

// ints are the elements of an array, counted from the first of the whole tensor's.
type ints struct {
	narrow []int32
	wide   []int64
	first  int64
}

func newInts(a tcs.Array) ints {
	if a.Width == 4 {
		return ints{narrow: tcs.Slice[int32](a), first: a.First}
	}
	return ints{wide: tcs.Slice[int64](a), first: a.First}
}

func (a *ints) at(p int64) int64 {
	if a.narrow != nil {
		return int64(a.narrow[p-a.first])
	}
	return a.wide[p-a.first]
}

func (a *ints) set(p, v int64) {
	if a.narrow != nil {
		a.narrow[p-a.first] = int32(v)
		return
	}
	a.wide[p-a.first] = v
}

// scratch is memory that a level uses again and again.
type scratch struct {
	heads []head
	runs  []mergeSource
	keys  []uint64
	count []int32
	all   []head
}

// Union is the union of the sources' patterns, and a map for each of them: of one compressed level,
// whose crd has the union's position q for each of the source's positions at the shape's last
// compressed level, or -1-q for the first source that has q; the level's Size counts them. A
// source's levels down to that one are the shape's; it may have others below. A source may hold
// more than the box only along dense levels, and it may cover less of the box. Behind the elements
// of each map lie ahead more, of value 0. limit counts the arrays, which the caller closes with the
// pattern and the maps. Errors: *tcs.MemoryError, *ErrWidth.
func Union(s *Shape, box [][2]int64, sources []*tcs.Tensor, ahead int64,
	limit *tcs.Limit) (*Pattern, []*tcs.Tensor, error) {
	u := &union{shape: s, deep: s.deep(), box: box, sources: sources,
		scratch: make([]scratch, len(s.Kinds)+1)}
	if u.deep < 0 {
		panic("BUG: reduce: a union of dense blocks")
	}
	u.columns(limit)
	for l := range u.deep + 1 {
		list := make([]level, len(sources))
		for k, t := range sources {
			if tcs.KindOf(s.Kinds[l]).Form != tcs.Full {
				list[k] = level{newInts(t.Levels[l].Pos), newInts(t.Levels[l].Crd)}
			}
		}
		u.arrays = append(u.arrays, list)
	}
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
		m, err := s.newMap(t.Levels[u.deep].Crd, ahead, limit)
		if err != nil {
			return fail(err)
		}
		u.maps, u.at = append(u.maps, m), append(u.at, newInts(m.Levels[0].Crd))
		roots = append(roots, head{int32(k), 0})
	}
	for l := range u.pos {
		if tcs.KindOf(s.Kinds[l]).Form != tcs.Full {
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
func (s *Shape) newMap(crd tcs.Array, ahead int64, limit *tcs.Limit) (*tcs.Tensor, error) {
	n, width := crd.Len+ahead, s.PosWidth[s.deep()]
	mem, err := tcs.Alloc(limit, n*int64(width), "where partial results of "+s.Name+" are added")
	if err != nil {
		return nil, err
	}
	a := mem.Array(0, n, width)
	a.First = crd.First
	t := &tcs.Tensor{Header: tcs.Header{Dims: []int64{n}, Type: tcs.Int64},
		Levels: []tcs.Level{{Kind: 's', Size: crd.Len, Crd: a}}}
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
		if lev.Form() == tcs.Full {
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
	if tcs.KindOf(u.shape.Kinds[l]).Form == tcs.Full {
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

// dense visits every coordinate of the box, each with the sources that cover it.
func (u *union) dense(l int, heads []head) {
	r := u.box[u.shape.Modes[l]]
	s := &u.scratch[l]
	next := slices.Grow(s.heads[:0], len(heads))
	s.heads = next
	for c := r[0]; c < r[1]; c++ {
		next = next[:0]
		for _, h := range heads {
			lev := &u.sources[h.src].Levels[l]
			if own := u.sources[h.src].Header.Range(lev.Mode); c < own[0] || c >= own[1] {
				continue
			}
			next = append(next, head{h.src, h.p*lev.Size + c - lev.Offset})
		}
		u.below(l+1, next)
	}
}

// segment is where the children of a head begin and end.
func (u *union) segment(l int, h head) (crd *ints, lo, hi int64) {
	lev := &u.arrays[l][h.src]
	crd = &lev.crd
	lo, hi = lev.pos.at(h.p), lev.pos.at(h.p+1)
	return crd, max(lo, crd.first), min(hi, crd.first+int64(len(crd.narrow)+len(crd.wide)))
}

// visit takes coordinate c, which the heads (positions of level l) hold.
func (u *union) visit(l int, c int64, heads []head) {
	if l == u.deep {
		q := u.crd[l].n
		for k, h := range heads {
			if k == 0 {
				u.at[h.src].set(h.p, -1-q)
			} else {
				u.at[h.src].set(h.p, q)
			}
		}
		u.push(&u.crd[l], c)
		return
	}
	u.push(&u.crd[l], c)
	u.below(l+1, heads)
}
