// Package assemble computes the pieces of a tensor, each at its rank, from partial results that are
// stored at several ranks and may overlap.
//
// A part (a partial result) and a piece each cover a region: a box of coordinates, or the entries
// of a box between two keys in storage order. Pieces are disjoint. The regions alone determine
// which parts overlap which pieces, so ranks exchange no requests. The rank of a part sends the
// overlap with a piece to the rank of the piece, which adds what it receives in the order of the
// parts. The bits of a piece therefore depend on the parts only.
//
// # Files
//
//	assemble.go  Sum: adds parts to pieces, and lists the messages that this takes
//	region.go    regions, and the intersection of two regions
//	overlap.go   the parts that overlap a piece
//	restrict.go  the restriction of a tensor to a region
//	dense.go     pieces of dense tensors
//	cost.go      the memory that a Sum needs, before there are parts
//	paths.go     makes neighbouring pieces store the same coordinates
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

// Piece is a region of a tensor and the rank that holds it.
type Piece struct {
	Rank   int
	Region Region
}

// Sum describes the partial results of one tensor, or of one block of a tensor, and the pieces to
// compute.
type Sum struct {
	Like transfer.Like
	// Parts are the partial results, in the order of their addition. A part of a dense tensor
	// is 0 outside its region.
	Parts []Piece
	// Pieces are disjoint. An element of a part that is in no piece is dropped.
	Pieces []Piece
}

// Options are the resources that a rank computes pieces with.
type Options struct {
	Alloc transfer.Alloc // allocates blocks that arrive, and pieces
	Limit *tcs.Limit     // counts the coordinates of sparse pieces
	// Shape is the shape of sparse blocks, whose levels are d and s. It is not used for dense
	// tensors.
	Shape   *reduce.Shape
	Threads int
	Tag     int
	// Abort ends the job at all ranks if this rank fails while messages are under way. If it is
	// nil, the job ends with the error's message.
	Abort func(error) error
}

// Run computes the pieces that belong to this rank. It returns them by their index in s.Pieces.
// parts has the parts of this rank, by their index in s.Parts. Run closes or reuses these parts,
// even if it fails. If a part by itself is a piece, Run may return the part. Every rank must call
// Run, because the ranks exchange parts. The caller must close the pieces.
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
			c.Abort(err)
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

// Moves calls the function visit once for each message that Run sends from one rank to another. z
// is the estimated size of the message. The function size returns the estimated size of a region of
// a part. A message of a dense tensor contains all values of the region's box.
func (s *Sum) Moves(size func(part int, r Region) plan.Size,
	visit func(z plan.Size, from, to int)) {
	x := s.overlaps()
	for k := range s.Pieces {
		to := s.Pieces[k].Rank
		for _, h := range x.of(k) {
			if from := s.Parts[h.part].Rank; from != to {
				visit(size(h.part, h.region), from, to)
			}
		}
	}
}

// running is the state of Run at one rank.
type running struct {
	sum     *Sum
	options Options
	c       comm.Comm
	over    *overlaps
	parts   map[partition.Piece]*tcs.Tensor // this rank's parts that are not pieces
	pieces  map[partition.Piece]*tcs.Tensor
	way     []underWay
	bytes   int64 // bytes of copies under way
}

// underWay is a message that is being sent.
type underWay struct {
	sending *transfer.Sending
	t       *tcs.Tensor
	bytes   int64 // bytes of the copy that is sent; 0 if the part's own memory is sent
}

// maxCopiesUnderWay limits the number of bytes of copies that a rank is sending at one time. Above
// the limit the rank waits for its sends, the first ones first. This wait cannot cause a deadlock,
// because all ranks handle pieces, and the parts of a piece, in the same order. So the receiver of
// the first unfinished message never waits for a rank that waits for this receiver.
var maxCopiesUnderWay int64 = 64 << 20

// piece computes piece k if the piece belongs to this rank. Otherwise it sends this rank's overlaps
// with the piece to the rank that the piece belongs to.
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
	if t := x.wholePart(k, list); t != nil {
		x.pieces[partition.Piece(k)] = t
		return nil
	}
	build := x.sparse
	if x.sum.Like.Layout.Format.AllDense() {
		build = x.dense
	}
	t, err := build(x.sum.Pieces[k].Region, list)
	if err == nil {
		x.pieces[partition.Piece(k)] = t
	}
	return err
}

// wholePart returns this rank's part that equals piece k, or nil if there is none. A part that is a
// view is returned only if its arrays hold no entries outside of the piece. list holds the
// overlaps of the parts with the piece.
func (x *running) wholePart(k int, list []overlap) *tcs.Tensor {
	if len(list) != 1 || x.sum.Parts[list[0].part].Rank != x.c.Rank() {
		return nil
	}
	n := partition.Piece(list[0].part)
	part, _ := x.over.normal(x.sum.Parts[n].Region)
	if t := x.parts[n]; list[0].region.equal(part) && x.covers(t, x.sum.Pieces[k].Region, list) &&
		(isFormed(t) || isExact(t)) {
		delete(x.parts, n)
		return t
	}
	return nil
}

// covers reports whether t alone is the piece, so that nothing has to be added to t. list holds the
// overlaps of all parts with the piece, and t is the tensor of one of these overlaps. t is the
// piece if three conditions hold: the list has one overlap, this overlap has all coordinates of the
// piece, and t has the piece's box.
func (x *running) covers(t *tcs.Tensor, piece Region, list []overlap) bool {
	all, _ := x.over.normal(piece)
	return len(list) == 1 && list[0].region.equal(all) && slices.Equal(boxOf(t), piece.Box)
}

// isFormed reports whether t is not a view: all of its arrays begin at position 0 and hold only
// entries of its box.
func isFormed(t *tcs.Tensor) bool {
	_, ok := t.Shape()
	return ok && isEnded(t)
}

// isExact reports whether the arrays of a view hold only entries of its box. It is true if there is
// a level, if every level except the outermost one covers the whole mode, and if no segment is cut.
func isExact(t *tcs.Tensor) bool {
	return len(t.Levels) > 0 && isEnded(t) &&
		!slices.ContainsFunc(t.Levels[1:],
			func(lev tcs.Level) bool {
				return t.Header.Range(lev.Mode) != [2]int64{0,
					t.Header.Dims[lev.Mode]}
			})
}

// isEnded reports whether the crd arrays of t contain all coordinates of each segment. They need
// not if t is a view of the entries between two keys. A crd array of such a view may lack the
// beginning of the first segment and the end of the last segment.
func isEnded(t *tcs.Tensor) bool {
	return !slices.ContainsFunc(t.Levels, func(lev tcs.Level) bool {
		n := lev.Pos.Len
		return n > 0 && (lev.Pos.Int(0) != lev.Crd.First ||
			lev.Pos.Int(n-1) != lev.Crd.First+lev.Crd.Len)
	})
}

// own returns the part of this rank that an overlap belongs to.
func (x *running) own(h overlap) *tcs.Tensor { return x.parts[partition.Piece(h.part)] }

// send starts to send an overlap to the rank receiver.
func (x *running) send(h overlap, receiver int) error {
	part := x.own(h)
	t, copied, err := restrict(part, h.region, x.sum.Like.Name, x.options.Alloc)
	if err != nil {
		return err
	}
	sending, err := transfer.Send(x.c, t, receiver, x.options.Tag)
	if err != nil {
		t.Close()
		return err
	}
	w := underWay{sending: sending, t: t}
	if copied {
		w.bytes = t.Bytes()
	}
	x.way, x.bytes = append(x.way, w), x.bytes+w.bytes
	return x.wait(maxCopiesUnderWay)
}

// wait waits until the copies that are being sent have at most limit bytes. If limit is 0, it waits
// until all messages are sent.
func (x *running) wait(limit int64) (err error) {
	for len(x.way) > 0 && (x.bytes > limit || limit == 0) {
		w := x.way[0]
		x.way, x.bytes = x.way[1:], x.bytes-w.bytes
		if e := w.sending.Wait(); err == nil {
			err = e
		}
		w.t.Close()
	}
	return err
}

// take returns the tensor of an overlap: cut from this rank's own part, or received from another
// rank.
func (x *running) take(h overlap) (*tcs.Tensor, error) {
	if from := x.sum.Parts[h.part].Rank; from != x.c.Rank() {
		return transfer.Recv(x.c, x.sum.Like, from, x.options.Tag, x.options.Alloc)
	}
	t, _, err := restrict(x.own(h), h.region, x.sum.Like.Name, x.options.Alloc)
	return t, err
}

// sparse computes a piece of a tensor with compressed levels: the union of the parts' overlaps,
// with added values.
func (x *running) sparse(piece Region, list []overlap) (*tcs.Tensor, error) {
	var sources []*tcs.Tensor
	defer func() { tcs.CloseList(sources...) }()
	for _, h := range list {
		t, err := x.take(h)
		if err != nil {
			return nil, err
		}
		sources = append(sources, t)
	}
	if len(sources) == 1 && x.covers(sources[0], piece, list) && isFormed(sources[0]) {
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

// boxOf returns the box that a tensor covers.
func boxOf(t *tcs.Tensor) [][2]int64 {
	box := make([][2]int64, len(t.Header.Dims))
	for m := range box {
		box[m] = t.Header.Range(m)
	}
	return box
}
