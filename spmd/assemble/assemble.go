// Package assemble makes the pieces of a tensor, each at its rank, of partial results that lie at
// several ranks and may overlap.
//
// A part and a piece each cover a region: a box of coordinates, and of that the tuples between two
// keys in storage order. Pieces are disjoint. Which part has something of which piece is known from
// the regions alone, so that ranks ask nothing of each other: the rank of a part sends what it has
// of a piece to the piece's rank, which adds what comes, in the order of the parts. The bits of a
// piece therefore depend on the parts alone.
//
// # Files
//
//	assemble.go  a Sum of parts, and what it moves
//	region.go    regions, and what two of them have in common
//	overlap.go   the parts that overlap a piece
//	restrict.go  what a tensor has of a region
//	dense.go     pieces of dense tensors
//	cost.go      what a Sum takes, before there are parts
//	paths.go     the coordinates that pieces beside one another have in common
package assemble

import (
	"slices"

	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/partition"
	"distaff/spmd/plan"
	"distaff/spmd/reduce"
	"distaff/spmd/transfer"
)

// Piece is a region of a tensor at a rank.
type Piece struct {
	Rank   int
	Region Region
}

// Sum is partial results of one tensor, or of one block of it, and what is to be made of them.
type Sum struct {
	Like transfer.Like
	// Parts are the partial results, in the order in which they are added. A part of a dense tensor is
	// 0 outside of its region.
	Parts []Piece
	// Pieces are disjoint. An element of a part that lies in none of them is left out.
	Pieces []Piece
}

// Options are what a rank makes pieces with.
type Options struct {
	Alloc transfer.Alloc // of blocks that arrive, and of pieces
	Limit *tcs.Limit     // counts the coordinates of sparse pieces
	// Shape is that of sparse blocks, its levels d and s; not read of a dense tensor.
	Shape   *reduce.Shape
	Threads int
	Tag     int
	// Abort ends the job at all ranks; nil: by the error's message. It is called where this rank fails
	// with messages under way.
	Abort func(error) error
}

// Run makes the pieces of this rank, by their numbers, of the parts of all ranks, of which this one
// has those of its own by their numbers. It takes the parts over, also where it fails. A part that
// is a piece by itself is that piece. Collective. The caller closes the pieces.
func (s *Sum) Run(c comm.Comm, parts map[partition.Piece]*tcs.Tensor,
	o Options) (map[partition.Piece]*tcs.Tensor, error) {
	x := &running{sum: s, options: o, c: c, parts: parts, over: s.overlaps(),
		pieces: map[partition.Piece]*tcs.Tensor{}}
	var err error
	for k := 0; k < len(s.Pieces) && err == nil; k++ {
		err = x.piece(k)
	}
	if err != nil && c.Size() > 1 {
		if o.Abort == nil {
			c.Abort(comm.ExitCode(err), err.Error())
		} else {
			o.Abort(err)
		}
	}
	if werr := x.wait(0); err == nil {
		err = werr
	}
	tcs.CloseAll(parts)
	if err != nil {
		tcs.CloseAll(x.pieces)
		return nil, err
	}
	return x.pieces, nil
}

// Moves tells travel what Run sends from rank to rank, of the sizes that the regions of parts are
// taken to have. The message of a dense tensor has the values of the region's box.
func (s *Sum) Moves(size func(part int, r Region) plan.Size,
	travel func(z plan.Size, from, to int)) {
	x := s.overlaps()
	for k := range s.Pieces {
		to := s.Pieces[k].Rank
		for _, h := range x.of(k) {
			if from := s.Parts[h.part].Rank; from != to {
				travel(size(h.part, h.region), from, to)
			}
		}
	}
}

// running is a Sum at a rank.
type running struct {
	sum     *Sum
	options Options
	c       comm.Comm
	over    *overlaps
	parts   map[partition.Piece]*tcs.Tensor // that were not handed on
	pieces  map[partition.Piece]*tcs.Tensor
	way     []underWay
	bytes   int64 // of copies under way
}

// underWay is a message that was begun.
type underWay struct {
	sending *transfer.Sending
	t       *tcs.Tensor
	bytes   int64 // that it takes beside the part that it is of
}

// aheadBytes is how much a rank holds of copies that are under way before it waits for the first of
// them. All ranks go from piece to piece in one order, and from part to part, so that the receiver
// of the first that is under way never waits for a rank that waits for it.
var aheadBytes int64 = 64 << 20

// piece sends what this rank has of piece k, or makes the piece where it is this rank's.
func (x *running) piece(k int) error {
	list := x.over.of(k)
	if to := x.sum.Pieces[k].Rank; to != x.c.Rank() {
		for _, h := range list {
			if x.sum.Parts[h.part].Rank != x.c.Rank() {
				continue
			}
			if err := x.send(h, to); err != nil {
				return err
			}
		}
		return nil
	}
	if t := x.alone(k, list); t != nil {
		x.pieces[partition.Piece(k)] = t
		return nil
	}
	build := x.sparse
	if tcs.AllDense(x.sum.Like.Kinds) {
		build = x.dense
	}
	t, err := build(x.sum.Pieces[k].Region, list)
	if err == nil {
		x.pieces[partition.Piece(k)] = t
	}
	return err
}

// alone is a part of this rank that is piece k by itself, in its form or a view that shows nothing
// else; nil for none.
func (x *running) alone(k int, list []share) *tcs.Tensor {
	if len(list) != 1 || x.sum.Parts[list[0].part].Rank != x.c.Rank() {
		return nil
	}
	n := partition.Piece(list[0].part)
	part, _ := x.over.normal(x.sum.Parts[n].Region)
	if t := x.parts[n]; list[0].region.equal(part) && x.covers(t, x.sum.Pieces[k].Region, list) &&
		(formed(t) || exact(t)) {
		delete(x.parts, n)
		return t
	}
	return nil
}

// covers tells whether the tensor that shares of a piece made covers the piece: there is one share,
// which is all of it.
func (x *running) covers(t *tcs.Tensor, piece Region, list []share) bool {
	all, _ := x.over.normal(piece)
	return len(list) == 1 && list[0].region.equal(all) && slices.Equal(boxOf(t), piece.Box)
}

// formed tells whether a tensor's arrays are those of its box.
func formed(t *tcs.Tensor) bool {
	_, ok := t.Shape()
	return ok && ended(t)
}

// exact tells whether a view shows what lies in its box and nothing else: all but its outermost
// level is whole.
func exact(t *tcs.Tensor) bool {
	return len(t.Levels) > 0 && ended(t) &&
		!slices.ContainsFunc(t.Levels[1:],
			func(lev tcs.Level) bool {
				return t.Header.Range(lev.Mode) != [2]int64{0,
					t.Header.Dims[lev.Mode]}
			})
}

// ended tells whether all segments lie in what is shown of them. Those at the ends of a view
// between keys may be longer.
func ended(t *tcs.Tensor) bool {
	return !slices.ContainsFunc(t.Levels, func(lev tcs.Level) bool {
		n := lev.Pos.Len
		return n > 0 && (lev.Pos.Int(0) != lev.Crd.First || lev.Pos.Int(n-1) != lev.Crd.First+lev.Crd.Len)
	})
}

// own is the part of this rank that a share is of.
func (x *running) own(h share) *tcs.Tensor { return x.parts[partition.Piece(h.part)] }

// send begins to send what a part has of a region.
func (x *running) send(h share, to int) error {
	part := x.own(h)
	t, copied, err := restrict(part, h.region, x.sum.Like.Name, x.options.Alloc)
	if err != nil {
		return err
	}
	sending, err := transfer.Send(x.c, t, to, x.options.Tag)
	if err != nil {
		t.Close()
		return err
	}
	w := underWay{sending: sending, t: t}
	if copied {
		w.bytes = t.Bytes()
	}
	x.way, x.bytes = append(x.way, w), x.bytes+w.bytes
	return x.wait(aheadBytes)
}

// wait waits for messages under way until copies of at most so many bytes are, for all of them
// where that is 0.
func (x *running) wait(most int64) (err error) {
	for len(x.way) > 0 && (x.bytes > most || most == 0) {
		w := x.way[0]
		x.way, x.bytes = x.way[1:], x.bytes-w.bytes
		if e := w.sending.Wait(); err == nil {
			err = e
		}
		w.t.Close()
	}
	return err
}

// take is what a part has of a region: what this rank has of it, or what comes of another.
func (x *running) take(h share) (*tcs.Tensor, error) {
	if from := x.sum.Parts[h.part].Rank; from != x.c.Rank() {
		return transfer.Recv(x.c, x.sum.Like, from, x.options.Tag, x.options.Alloc)
	}
	t, _, err := restrict(x.own(h), h.region, x.sum.Like.Name, x.options.Alloc)
	return t, err
}

// sparse makes a piece of a tensor with compressed levels: the union of what the parts have of it.
func (x *running) sparse(piece Region, list []share) (*tcs.Tensor, error) {
	var sources []*tcs.Tensor
	defer func() { tcs.CloseList(sources...) }()
	for _, h := range list {
		t, err := x.take(h)
		if err != nil {
			return nil, err
		}
		sources = append(sources, t)
	}
	if len(sources) == 1 && x.covers(sources[0], piece, list) && formed(sources[0]) {
		t := sources[0]
		sources = nil
		return t, nil
	}
	pattern, maps, err := reduce.Union(x.options.Shape, piece.Box, sources, 0, x.options.Limit)
	if err != nil {
		return nil, err
	}
	defer pattern.Close()
	defer func() {
		for _, m := range maps {
			m.Close()
		}
	}()
	t, err := pattern.Block(reduce.Alloc(x.options.Alloc))
	if err != nil {
		return nil, err
	}
	for k, source := range sources {
		reduce.Add(t, source, maps[k], x.options.Threads)
	}
	return t, nil
}

// boxOf is the box that a tensor covers.
func boxOf(t *tcs.Tensor) [][2]int64 {
	box := make([][2]int64, len(t.Header.Dims))
	for m := range box {
		box[m] = t.Header.Range(m)
	}
	return box
}
