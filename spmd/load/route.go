package load

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/plan"
)

// stageBytes is about how much a rank holds back, over all blocks, to hand
// entries on many at a time; stageMost and stageLeast bound those of a block.
const (
	stageBytes = 4 << 20
	stageMost  = 2048
	stageLeast = 16
)

// router sorts a stream's entries by the block that they belong to.
type router struct {
	in       *coo.Intake
	split    []modeCuts // by level
	size     int        // of a value
	vals     bool       // whether values are wanted
	capacity int        // entries staged a block
	stage    []stage    // by block
	ids      []int32    // the blocks of a batch's entries; -1: none (off a diagonal)
	at       []int32    // by entry, the range of the variable of a level
	done     bool
	slots    *slots // nil: entries go to their own blocks only
	// flush takes n entries of a block: columns by level.
	flush func(b plan.Block, cols [][]int64, vals []byte, n int) error
}

// stage holds entries of one block back.
type stage struct {
	cols [][]int64
	vals []byte
	n    int
}

// modeCuts finds ranges of one mode. Where a variable cuts two modes, the second
// must be in the range of the first.
type modeCuts struct {
	cuts   []int64 // nil: not cut
	shift  uint
	table  []int32 // by coordinate>>shift, the range that its first coordinate is in
	stride int32   // of the block's number; 0 where an earlier level has the variable
	again  int     // the level that has it, or -1
}

// sendRoom is how much a rank sends in a round: sendBytes, or what so many free bytes of
// memory allow.
func sendRoom(free int64) int64 { return min(sendBytes, max(free/16, 1<<16)) }

// staged is how many entries of record bytes are staged for each of so many blocks.
func staged(blocks, record, free int64) int64 {
	return min(max(min(stageBytes, sendRoom(free))/(record*max(blocks, 1)), stageLeast), stageMost)
}

// recordBytes is what an entry takes of so many modes, while it is not packed.
func recordBytes(modes int, typ tcs.Type) int64 { return int64(8*modes + typ.Size()) }

// buffers is what a rank takes from the beginning of a Scatter to its end, beside blocks:
// what the router stages, and where there are several ranks a message to all.
func buffers(ranks int, blocks int64, modes int, typ tcs.Type, free int64) int64 {
	record := recordBytes(modes, typ)
	n := blocks * staged(blocks, record, free) * record
	if ranks > 1 {
		n += sendRoom(free)
	}
	return n
}

// tableBits is the size of the table: more costs cache, fewer steps.
const tableBits = 12

func newRouter(g *Target, in *coo.Intake) *router {
	r := &router{in: in, size: g.Spec.Type.Size(), vals: true}
	r.stage = make([]stage, g.Partition.Pieces())
	r.capacity = int(staged(g.Partition.Pieces(), recordBytes(g.Partition.Order, g.Spec.Type),
		g.Cfg.Limit.Free()))
	r.split = g.split()
	return r
}

// split is how the mode of each level is cut.
func (g *Target) split() []modeCuts {
	split := make([]modeCuts, g.Partition.Order)
	seen := map[int]int{} // the level of an axis
	for l, m := range g.Spec.Modes {
		s := &split[l]
		s.again = -1
		axis := g.Partition.AxisOf(m)
		if axis < 0 {
			continue
		}
		s.cuts = g.Partition.Axes[axis].Cuts
		if k, ok := seen[axis]; ok {
			s.again = k
		} else {
			seen[axis] = l
			s.stride = 1
			for _, a := range g.Partition.Axes[axis+1:] {
				s.stride *= int32(a.Ranges())
			}
		}
		s.tabulate(g.Spec.Dims[m])
	}
	return split
}

func (s *modeCuts) tabulate(size int64) {
	for size>>s.shift > 1<<tableBits {
		s.shift++
	}
	s.table = make([]int32, size>>s.shift+1)
	at := 0
	for i := range s.table {
		x := int64(i) << s.shift
		for at < len(s.cuts)-2 && x >= s.cuts[at+1] {
			at++
		}
		s.table[i] = int32(at)
	}
}

// find sets at[k] to the range of each coordinate: the first that ends past it.
func (s *modeCuts) find(at []int32, col []int64) {
	for k, x := range col {
		i := s.table[x>>s.shift]
		for x >= s.cuts[i+1] {
			i++
		}
		at[k] = i
	}
}

// blocks sets ids for a batch. The stream was checked: coordinates are in range.
func (r *router) blocks(cols [][]int64, n int) {
	if cap(r.ids) < n {
		r.ids, r.at = make([]int32, n), make([]int32, n)
	}
	ids, at := r.ids[:n], r.at[:n]
	clear(ids)
	for l := range r.split {
		s := &r.split[l]
		if s.cuts == nil {
			continue
		}
		s.find(at, cols[l][:n])
		if s.again < 0 {
			for k, i := range at {
				ids[k] += i * s.stride
			}
			continue
		}
		first := make([]int32, n)
		r.split[s.again].find(first, cols[s.again][:n])
		for k, i := range at {
			if i != first[k] {
				ids[k] = -1 << 30 // more than any sum of strides
			}
		}
	}
	r.ids = ids
}

// next routes the stream's next entries, and returns how many there were.
func (r *router) next() (int, error) {
	cols, vals, n, err := r.in.Next()
	if err == io.EOF {
		r.done = true
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r.blocks(cols, n)
	for from := 0; from < n; {
		b := r.ids[from]
		to := from + 1
		for to < n && r.ids[to] == b {
			to++
		}
		if b >= 0 {
			if err := r.put(b, cols, vals, from, to); err != nil {
				return n, err
			}
		}
		from = to
	}
	if r.slots != nil {
		return n, r.makeRoom(cols, n)
	}
	return n, nil
}

// put stages entries [from, to) of the batch, which are one block's.
func (r *router) put(b int32, cols [][]int64, vals []byte, from, to int) error {
	s := &r.stage[b]
	if s.cols == nil {
		s.cols = make([][]int64, len(cols))
		for l := range cols {
			s.cols[l] = make([]int64, r.capacity)
		}
		s.vals = make([]byte, r.capacity*r.size)
	}
	for from < to {
		n := min(to-from, r.capacity-s.n)
		for l, col := range cols {
			dst, src := s.cols[l][s.n:s.n+n], col[from:from+n]
			for i := range dst { // mostly a few
				dst[i] = src[i]
			}
		}
		if r.vals {
			copy(s.vals[s.n*r.size:], vals[from*r.size:(from+n)*r.size])
		}
		s.n, from = s.n+n, from+n
		if s.n == r.capacity {
			if err := r.empty(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *router) empty(b int32) error {
	s := &r.stage[b]
	n := s.n
	s.n = 0
	if n == 0 {
		return nil
	}
	return r.flush(plan.Block(b), s.cols, s.vals[:n*r.size], n)
}

// finish hands on what is staged.
func (r *router) finish() error {
	for b := range r.stage {
		if err := r.empty(int32(b)); err != nil {
			return err
		}
	}
	return nil
}

// all routes the whole stream.
func (r *router) all() error {
	for !r.done {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return r.finish()
}

// rewind starts over with nothing staged.
func (r *router) rewind() error {
	for b := range r.stage {
		r.stage[b].n = 0
	}
	r.done = false
	return r.in.Rewind()
}
