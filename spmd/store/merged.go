package store

import (
	"distaff/io/coo"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/spmd/comm"
)

// pieces are the result's entries in the order of modes, cut into one piece for each rank.
type pieces struct {
	exchange *exchange
	cuts     [][]int64
	own      []*run
}

// newPieces starts an exchange that gives each rank a piece of the entries, in the order of modes.
// The pieces have about equal size. zeros selects the zeros that are entries. If sum is set,
// entries with equal coordinates are added. Every rank must call newPieces, and must later call
// close.
func newPieces(c comm.Comm, t *Blocks, modes []int, zeros coo.Zeros, sum bool,
	cfg coo.Config) (*pieces, error) {
	runs, err := t.runs(modes, zeros, sum, cfg)
	if err != nil {
		return nil, err
	}
	p := &pieces{own: runs}
	if p.cuts, err = cutPoints(c, runs, len(modes), c.Size(), samples); err == nil {
		p.exchange, err = newExchange(c, t, modes, runs, bounds(runs, p.cuts, c.Size()), cfg.Limit)
	}
	if err != nil {
		closeRuns(runs)
		return nil, err
	}
	return p, nil
}

func (p *pieces) close(err error) error {
	err = p.exchange.close(err)
	closeRuns(p.own)
	return err
}

// count counts the entries of this rank's piece, and the piece's nodes in each level. It then
// combines the numbers of all pieces (see join). count reads the whole piece, unless the function
// bounded can count for this format. Every rank must call it.
func (p *pieces) count() (*coo.Joined, error) {
	levels := len(p.exchange.t.Layout.Format.Levels)
	if f := p.exchange.t.Layout.Format; f.LeadingDense() == levels-1 &&
		f.Levels[levels-1] == tensor.Compressed {
		return p.bounded()
	}
	var mine []int64
	err := p.exchange.pass(func() error {
		x, err := coo.CountPart(p.exchange.stream,
			tensor.Format{Levels: p.exchange.t.Layout.Format.Levels, Order: p.exchange.modes})
		if err != nil {
			return err
		}
		if x.N == 0 {
			x.First, x.Last = make([]int64, levels), make([]int64, levels)
		}
		if !x.Sorted {
			panic("BUG: store: merged entries are not in order")
		}
		mine = append(append(append([]int64{x.N}, x.First...), x.Last...), x.Hist...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.join(mine)
}

// bounded does the same as count for a format whose last level is compressed and whose other levels
// are dense. Each entry then has a coordinate of its own in the compressed level, so the number of
// entries is enough. Therefore bounded reads only the first and the last entries of runs. Every
// rank must call it.
func (p *pieces) bounded() (*coo.Joined, error) {
	levels := len(p.exchange.t.Layout.Format.Levels)
	// For each piece: the number of entries in this rank's runs, and the first and the last
	// coordinates.
	ends := 2*levels + 1
	out, in := make([]int64, ends*p.exchange.c.Size()), make([]int64, ends*p.exchange.c.Size())
	for k := range p.exchange.c.Size() {
		e := out[k*ends : (k+1)*ends]
		for i, r := range p.exchange.runs {
			addEnds(e, r.ends(p.exchange.bounds[i][k], p.exchange.bounds[i][k+1], levels))
		}
	}
	if err := p.exchange.c.Alltoall(comm.Of(out), comm.Of(in)); err != nil {
		return nil, err
	}
	mine := make([]int64, ends+levels+1)
	for k := range p.exchange.c.Size() {
		addEnds(mine[:ends], in[k*ends:(k+1)*ends])
	}
	// dense levels do not need the level where two entries first differ
	mine[ends] = min(mine[0], 1)
	mine[ends+levels-1] += mine[0] - mine[ends]
	return p.join(mine)
}

// ends describes the entries [lo, hi) of the run as a list of integers. The list starts with the
// number of entries. Then follow the coordinates of the first entry and the coordinates of the last
// entry. levels is the number of coordinates of an entry.
func (r *run) ends(lo, hi int64, levels int) []int64 {
	e := make([]int64, 2*levels+1)
	if e[0] = hi - lo; hi > lo {
		r.at(lo, e[1:1+levels])
		r.at(hi-1, e[1+levels:])
	}
	return e
}

// addEnds merges the ends b into a.
func addEnds(a, b []int64) {
	n := (len(a) - 1) / 2
	switch {
	case b[0] == 0:
		return
	case a[0] == 0:
		copy(a, b)
		return
	}
	a[0] += b[0]
	if compare(b[1:1+n], a[1:1+n]) < 0 {
		copy(a[1:1+n], b[1:1+n])
	}
	if compare(b[1+n:], a[1+n:]) > 0 {
		copy(a[1+n:], b[1+n:])
	}
}

// join combines the numbers of entries and nodes in all pieces. Each rank then knows the sizes of
// the file's arrays, and where its own piece begins in each array. mine holds the numbers that this
// rank counted in its piece. Every rank must call it.
func (p *pieces) join(mine []int64) (*coo.Joined, error) {
	levels := len(p.exchange.t.Layout.Format.Levels)
	all := make([]int64, len(mine)*p.exchange.c.Size())
	if err := p.exchange.c.Allgather(comm.Of(mine), comm.Of(all)); err != nil {
		return nil, err
	}
	var list []coo.PartCount
	for ; len(all) > 0; all = all[len(mine):] {
		list = append(list, coo.PartCount{N: all[0], First: all[1 : 1+levels],
			Last: all[1+levels : 1+2*levels], Hist: all[1+2*levels : len(mine)], Sorted: true})
	}
	return coo.Join(p.exchange.t.spec(), list)
}

// writeMerged writes a .tcs file: it counts the pieces, and then writes them. Every rank must call
// it.
func writeMerged(s *sharedFile, t *Blocks, cfg coo.Config) (err error) {
	p, err := newPieces(s.c, t, t.Layout.Format.Order, coo.KeepAll, false, cfg)
	if err != nil {
		return err
	}
	var lay *tcsfile.File
	var spans []coo.FileRange
	defer func() {
		if err == nil {
			err = s.finish(lay, spans)
		}
	}()
	defer func() { err = p.close(err) }()
	j, err := p.count()
	if err != nil {
		return err
	}
	if lay, err = tcsfile.NewFile(j.Shape()); err != nil {
		return err
	}
	if err := s.resize(lay.Size()); err != nil {
		return err
	}
	if err := p.exchange.stream.Rewind(); err != nil {
		return err
	}
	return p.exchange.pass(func() error {
		return s.write(func() error {
			spans, err = j.WritePart(s.c.Rank(), p.exchange.stream, lay, s)
			return err
		})
	})
}
