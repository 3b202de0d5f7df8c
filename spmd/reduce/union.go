package reduce

import (
	"math"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// union merges the patterns of several sources. For each coordinate that sources have in a level,
// it merges the coordinates that these sources have below it in the next level.
type union struct {
	shape   *Shape
	deep    int
	box     [][2]int64
	sources []*tcs.Tensor
	arrays  [][]level // by level and source
	maps    []*tcs.Tensor
	at      []ints   // elements of the maps
	pos     []column // by level
	crd     []column
	scratch []scratch // by level
	err     error
}

// head is a position p in the current level of source number src. The union merges the children of
// the heads that have the same coordinates.
type head struct {
	src int32
	p   int64
}

// level is a compressed level of a source.
type level struct{ pos, crd ints }

// ints gives access to the elements of an array that may be a part of a whole tensor's array. The
// index of an element is its index in the whole tensor's array.
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

// scratch is memory that a level reuses.
type scratch struct {
	heads []head
	runs  []mergeSource
	keys  []uint64
	count []int32
	all   []head
}

// Union returns the union of the sources' patterns, and a map for each source. A map says where the
// positions of the source are in the union.
//
// A map is a tensor with one compressed level. For each position of the source in the last
// compressed level of s, the array crd of the map has the position q in the union. If no earlier
// source has an entry there, crd has -1-q instead. The Size of the map's level is the number of the
// source's positions. crd ends with `extra` more elements, which are 0.
//
// A source must have the levels of s down to the last compressed level. The levels below may
// differ. A source may cover less than the box. It may extend beyond the box only in dense levels.
//
// The memory of the arrays is counted against limit. The caller must close the pattern and the
// maps. The error may be a *tcs.MemoryError or an *ErrWidth.
func Union(s *Shape, box [][2]int64, sources []*tcs.Tensor, extra int64,
	limit *tcs.Limit) (*Pattern, []*tcs.Tensor, error) {
	u := &union{shape: s, deep: s.deep(), box: box, sources: sources,
		scratch: make([]scratch, len(s.Layout.Format.Levels)+1)}
	if u.deep < 0 {
		panic("BUG: reduce: a union of dense blocks")
	}
	u.columns(limit)
	for l := range u.deep + 1 {
		list := make([]level, len(sources))
		for k, t := range sources {
			if s.Layout.Format.Levels[l].Form() != tensor.Full {
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
		m, err := s.newMap(t.Levels[u.deep].Crd, extra, limit)
		if err != nil {
			return fail(err)
		}
		u.maps, u.at = append(u.maps, m), append(u.at, newInts(m.Levels[0].Crd))
		roots = append(roots, head{int32(k), 0})
	}
	for l := range u.pos {
		if s.Layout.Format.Levels[l].Form() != tensor.Full {
			u.push(&u.pos[l], 0)
		}
	}
	u.below(0, roots)
	if u.err != nil {
		return fail(u.err)
	}
	return u.pattern(), u.maps, nil
}

// newMap allocates the map of a source (see Union). crd holds the coordinates of the last
// compressed level of the source. The map has room for one number for each element of crd, and for
// `extra` more numbers at the end.
func (s *Shape) newMap(crd tcs.Array, extra int64, limit *tcs.Limit) (*tcs.Tensor, error) {
	n, width := crd.Len+extra, s.PosWidth[s.deep()]
	mem, err := tcs.Alloc(limit, n*int64(width), "where partial results of "+s.Name+" are added")
	if err != nil {
		return nil, err
	}
	a := mem.Array(0, n, width)
	a.First = crd.First
	t := &tcs.Tensor{Header: tcs.Header{Dims: []int64{n}, Type: tensor.Int64},
		Levels: []tcs.Level{{Kind: 's', Size: crd.Len, Crd: a}}}
	t.Vals.Width = 8
	t.Hold(mem)
	return t, mem.Release()
}

func (u *union) columns(limit *tcs.Limit) {
	s := u.shape
	u.pos, u.crd = make([]column, len(s.Layout.Format.Levels)),
		make([]column, len(s.Layout.Format.Levels))
	for l := range s.Layout.Format.Levels {
		what := "the coordinates of " + s.Name
		u.pos[l] = column{arr: tcs.Array{Width: s.PosWidth[l]}, limit: limit, what: what}
		u.crd[l] = column{arr: tcs.Array{Width: s.CrdWidth[l]}, limit: limit, what: what}
	}
}

// pattern returns the finished union.
func (u *union) pattern() *Pattern {
	t := u.shape.frame(u.box)
	n := int64(1)
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Form() == tensor.Full {
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

// below merges the coordinates that the sources have in level l below the given heads. A head is a
// position of one source in the level above. The heads are in the order of their sources. Level l
// must not be below the last compressed level.
func (u *union) below(l int, heads []head) {
	if u.err != nil {
		return
	}
	if u.shape.Layout.Format.Levels[l].Form() == tensor.Full {
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

// dense visits every coordinate that the box has in the dense level l. For each, it descends into
// the sources that cover the coordinate.
func (u *union) dense(l int, heads []head) {
	r := u.box[u.shape.Layout.Format.Order[l]]
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

// segment returns the coordinates below a head in level l. crd holds all coordinates of this level
// in the head's source, and [lo, hi) is the range of crd below the head.
func (u *union) segment(l int, h head) (crd *ints, lo, hi int64) {
	lev := &u.arrays[l][h.src]
	crd = &lev.crd
	lo, hi = lev.pos.at(h.p), lev.pos.at(h.p+1)
	return crd, max(lo, crd.first), min(hi, crd.first+int64(len(crd.narrow)+len(crd.wide)))
}

// visit adds coordinate c of level l to the union. heads holds the positions in level l at which
// sources have c.
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
