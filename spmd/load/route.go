package load

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/spmd/plan"
)

// stageBytes is the approximate number of bytes of staged entries at a rank, for all blocks
// together. A rank stages the entries of a block until it can pass on many at a time. maxStaged and
// minStaged bound the number of staged entries of one block.
const (
	stageBytes = 4 << 20
	maxStaged  = 2048
	minStaged  = 16
)

// router distributes the entries of a stream to the blocks that contain them.
type router struct {
	in       *coo.Intake
	split    []modeCuts // by level
	size     int        // bytes of a value
	vals     bool       // values are needed
	capacity int        // entries that are staged for a block
	stage    []stage    // by block
	// the blocks of a batch's entries; negative if no block contains an entry (off a diagonal)
	ids   []int32
	at    []int32 // by entry, the range in one level
	done  bool
	slots *slots // nil if entries go to their own blocks only
	// flush receives n entries of a block, as columns by level.
	flush func(b plan.Block, cols [][]int64, vals []byte, n int) error
}

// stage holds staged entries of one block.
type stage struct {
	cols [][]int64
	vals []byte
	n    int
}

// modeCuts finds the ranges that contain coordinates of one mode. One variable may cut two modes. A
// block then contains an entry only if both coordinates of the entry are in the same range.
type modeCuts struct {
	cuts  []int64 // nil if the mode is not cut
	shift uint
	// table finds a range from the high bits of a coordinate, coordinate>>shift: element n is the
	// range of the first coordinate whose high bits are n
	table []int32
	// weight of the range in the block's number; 0 if an earlier level has the same variable
	stride  int32
	earlier int // the earlier level with the same variable, or -1
}

// sendRoom returns how many bytes a rank sends in one round: sendBytes, or less if memory is low.
// free is the number of free bytes.
func sendRoom(free int64) int64 { return min(sendBytes, max(free/16, 1<<16)) }

// staged returns the number of entries that a rank stages for each block. It divides about
// stageBytes bytes, or less if memory is low, among all blocks. The result is at least minStaged
// and at most maxStaged. blocks is the number of blocks, record is the size of an entry in bytes,
// and free is the number of free bytes.
func staged(blocks, record, free int64) int64 {
	return min(max(min(stageBytes, sendRoom(free))/(record*max(blocks, 1)), minStaged), maxStaged)
}

// recordBytes returns the size in bytes of an unpacked entry: a coordinate of 8 bytes for each
// mode, and the value.
func recordBytes(modes int, typ tensor.Type) int64 { return int64(8*modes + int(typ.Size())) }

// buffers returns the number of bytes that a rank needs during a whole Scatter, without its blocks.
// These are the bytes of the staged entries and, if there are several ranks, of the messages. free
// is the number of free bytes.
func buffers(ranks int, blocks int64, modes int, typ tensor.Type, free int64) int64 {
	record := recordBytes(modes, typ)
	n := blocks * staged(blocks, record, free) * record
	if ranks > 1 {
		n += sendRoom(free)
	}
	return n
}

// tableBits limits the size of modeCuts.table to about 1<<tableBits elements. In a larger table,
// finding a range takes fewer steps, but the table needs more cache.
const tableBits = 12

func newRouter(g *Target, in *coo.Intake) *router {
	r := &router{in: in, size: int(g.Spec.Type.Size()), vals: true}
	r.stage = make([]stage, g.Partition.Pieces())
	r.capacity = int(staged(g.Partition.Pieces(), recordBytes(g.Partition.Order, g.Spec.Type),
		g.Cfg.Limit.Free()))
	r.split = g.split()
	return r
}

// split returns the cuts of the mode of each level.
func (g *Target) split() []modeCuts {
	split := make([]modeCuts, g.Partition.Order)
	seen := map[int]int{} // by axis, its level
	for l, m := range g.Spec.Format.Order {
		s := &split[l]
		s.earlier = -1
		axis := g.Partition.AxisOf(m)
		if axis < 0 {
			continue
		}
		s.cuts = g.Partition.Axes[axis].Cuts
		if k, ok := seen[axis]; ok {
			s.earlier = k
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

// find sets at[k] to the range that contains coordinate col[k], for each k.
func (s *modeCuts) find(at []int32, col []int64) {
	for k, x := range col {
		i := s.table[x>>s.shift]
		for x >= s.cuts[i+1] {
			i++
		}
		at[k] = i
	}
}

// findBlocks finds the blocks that contain the n entries of a batch, and stores the numbers of the
// blocks in r.ids. An entry that no block contains gets a negative number. cols holds the
// coordinates of the entries, by level. Each coordinate must be less than the size of its mode.
func (r *router) findBlocks(cols [][]int64, n int) {
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
		if s.earlier < 0 {
			for k, i := range at {
				ids[k] += i * s.stride
			}
			continue
		}
		first := make([]int32, n)
		r.split[s.earlier].find(first, cols[s.earlier][:n])
		for k, i := range at {
			if i != first[k] {
				ids[k] = -1 << 30 // exceeds any sum of weights
			}
		}
	}
	r.ids = ids
}

// next reads a batch of entries, routes them to their blocks, and returns their number.
func (r *router) next() (int, error) {
	cols, vals, n, err := r.in.Next()
	if err == io.EOF {
		r.done = true
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	r.findBlocks(cols, n)
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

// put stages entries [from, to) of the batch, which all belong to block b.
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
			for i := range dst { // usually only a few
				dst[i] = src[i]
			}
		}
		if r.vals {
			copy(s.vals[s.n*r.size:], vals[from*r.size:(from+n)*r.size])
		}
		s.n, from = s.n+n, from+n
		if s.n == r.capacity {
			if err := r.flushStage(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *router) flushStage(b int32) error {
	s := &r.stage[b]
	n := s.n
	s.n = 0
	if n == 0 {
		return nil
	}
	return r.flush(plan.Block(b), s.cols, s.vals[:n*r.size], n)
}

// finish passes all staged entries on.
func (r *router) finish() error {
	for b := range r.stage {
		if err := r.flushStage(int32(b)); err != nil {
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

// rewind starts the stream again and drops staged entries.
func (r *router) rewind() error {
	for b := range r.stage {
		r.stage[b].n = 0
	}
	r.done = false
	return r.in.Rewind()
}
