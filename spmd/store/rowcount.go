package store

import (
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd/comm"
)

// count sets x.nodes and x.last (see scan). For this, it reads the keys of all listed rows once,
// and counts the nodes of each level in each window. A node is one stored coordinate of a
// compressed level above the last level. Every rank must call count.
func (x *rows) count() error {
	levels, windows := x.row+1-x.dense, len(x.ends)
	// For each window: the number of nodes by level, and its first and last key plus 1.
	found := make([]int64, windows*(levels+2))
	p := &parcels{c: x.c, limit: x.limit, first: x.first, near: x.near, size: x.heading,
		pack: func(mem []byte, w int) { x.packHeading(x.headingOf(mem, w, x.c.Rank()), w) },
	}
	err := p.exchange(func() error {
		n, _ := x.largestCounts()
		n = (8*n + 15) &^ 15
		bufs, mem, err := rooms(x.limit, []int64{p.largestWindow(), p.largestWindow(), n, n})
		if err != nil {
			return err
		}
		defer mem.Release()
		return p.eachWindow([2][]byte{bufs[0], bufs[1]}, func(w int, in [][]byte) error {
			me := x.c.Rank()
			x.packHeading(x.headingOf(in[me], w, me), w)
			var lists [][]int64
			for rank, mem := range in {
				q := x.headingOf(mem, w, rank)
				for _, n := range q.rows {
					if n > 0 {
						lists = append(lists, q.list.keys[:n])
					}
					q.list.keys = q.list.keys[n:]
				}
			}
			keys := union(lists, words[int64](bufs[2]), words[int64](bufs[3]))
			x.nodesOf(found[w*(levels+2):(w+1)*(levels+2)], keys)
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := x.c.Allreduce(comm.Of(found), comm.Sum); err != nil {
		return err
	}
	x.scan(found)
	return nil
}

// nodesOf counts the nodes of a window's keys by level, and stores the window's first and last key,
// each plus 1. Without keys, it stores nothing.
func (x *rows) nodesOf(found []int64, keys []int64) {
	if len(keys) == 0 {
		return
	}
	levels := len(found) - 2
	found[levels-1] = int64(len(keys))
	found[levels], found[levels+1] = keys[0]+1, keys[len(keys)-1]+1
	for l := x.dense; l < x.row; l++ {
		n := int64(0)
		for i := 0; i < len(keys); n++ {
			i += below(keys[i:], (keys[i]/x.f.stride[l]+1)*x.f.stride[l])
		}
		found[l-x.dense] = n
	}
}

// below returns how many keys are less than end. The keys are sorted.
func below(keys []int64, end int64) int {
	i := 0
	for i+8 < len(keys) && keys[i+8] < end {
		i += 8
	}
	for i < len(keys) && keys[i] < end {
		i++
	}
	return i
}

// scan sets x.nodes and x.last. x.nodes holds, for each level and each window, the number of nodes
// that begin before the window. x.last holds, for each window, the last key before the window's
// end, or -1. found holds what nodesOf stored for each window. A node may have keys in several
// windows. It begins in the first of these windows, and scan counts it only there.
func (x *rows) scan(found []int64) {
	levels := x.row + 1 - x.dense
	x.nodes = make([][]int64, levels)
	for l := range x.nodes {
		x.nodes[l] = []int64{0}
	}
	last := int64(-1)
	for w := range x.ends {
		here := found[w*(levels+2) : (w+1)*(levels+2)]
		first := here[levels] - 1
		for l := range levels {
			n := here[l]
			if stride := x.f.stride[x.dense+l]; n > 0 && last >= 0 && last/stride == first/stride {
				n--
			}
			x.nodes[l] = append(x.nodes[l], x.nodes[l][w]+n)
		}
		if first >= 0 {
			last = here[levels+1] - 1
		}
		x.last = append(x.last, last)
	}
}

// layOut computes the layout of the file from the counts of all levels.
func (x *rows) layOut() (err error) {
	counts := make([]int64, x.row+2)
	n := int64(1)
	for l := range x.dense {
		n *= x.f.dims[l]
		counts[l] = n
	}
	for l, nodes := range x.nodes {
		counts[x.dense+l] = nodes[len(x.ends)]
	}
	counts[x.row+1] = x.starts[len(x.ends)]
	if x.lay, err = tcsfile.NewFile(x.t.shape(counts)); err != nil {
		return err
	}
	x.pos, x.crd = make([]int, len(counts)), make([]int, len(counts))
	for i, sec := range x.lay.Sections() {
		switch sec.Array {
		case tcs.ValsArray:
			x.vals = i
		case tcs.CrdArray:
			x.crd[sec.Level] = i
		default:
			x.pos[sec.Level] = i
		}
	}
	return nil
}
