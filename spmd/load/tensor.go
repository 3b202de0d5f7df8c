package load

import (
	"errors"

	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
)

// Source is a tensor of a .tcs file, or a tensor in memory. Every rank has it unless Alone is set.
type Source struct {
	Tensor *tcs.Tensor
	Check  bool // the tensor is a file that is not trusted
	AsIs   bool // blocks have the tensor's format and type
	// Alone says that only rank 0 has the tensor. Other ranks have a tcs.EmptyPart.
	Alone bool
	Tmp   string // folder of temporary files
	Limit *tcs.Limit
}

// Tensor makes this rank's blocks of a tensor. If a single rank has a single block, this block is
// the whole tensor. Otherwise there are three cases:
//
//   - If only rank 0 has the tensor, rank 0 sends the entries to the other ranks.
//   - If every rank has the tensor, and the blocks can be views, each rank reads only its blocks.
//     The blocks can be views if they have the tensor's format and type, and if each block is a
//     contiguous part of the tensor's arrays.
//   - If every rank has the tensor, but the blocks cannot be views, each rank reads one piece of
//     the tensor. The blocks are assembled from the pieces.
//
// If s.Check is set, the ranks check what they read. Every rank must call Tensor. The caller closes
// the blocks. Blocks that are views retain the memory of the tensor.
func (g *Target) Tensor(c comm.Comm, s Source) (map[plan.Block]*tcs.Tensor, error) {
	t := s.Tensor
	switch {
	case g.isWhole(c):
		return g.fromWhole(c, s)
	case s.Alone && c.Size() > 1:
		return g.fromFirst(c, s)
	}
	if err := Agree(c, tcsfile.LoadLazily(t, s.Limit)); err != nil {
		return nil, err
	}
	if s.AsIs && g.Viewable(t) {
		return g.views(c, s)
	}
	piece, err := Piece(t, c.Rank(), c.Size())
	if err := s.agree(c, err); err != nil {
		return nil, err
	}
	defer piece.Close()
	if s.Check {
		if err := verify(c, t, pieces(c, piece)); err != nil {
			return nil, err
		}
		piece.Trust()
	}
	return g.Scatter(c, coo.FromTensor(piece, coo.ZerosFor(t, g.Spec.Format, false)))
}

// fromWhole makes the single block of a single rank. It is the tensor itself if s.AsIs is true.
func (g *Target) fromWhole(c comm.Comm, s Source) (map[plan.Block]*tcs.Tensor, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	if s.AsIs {
		return map[plan.Block]*tcs.Tensor{0: s.Tensor.Alias()}, nil
	}
	return g.Scatter(c, coo.FromTensor(s.Tensor,
		coo.ZerosFor(s.Tensor, g.Spec.Format, false)))
}

// fromFirst makes the blocks of a tensor that only rank 0 has. Rank 0 streams it to the other
// ranks.
func (g *Target) fromFirst(c comm.Comm, s Source) (map[plan.Block]*tcs.Tensor, error) {
	var err error
	if c.Rank() == 0 {
		err = s.ready()
	}
	if err := Agree(c, err); err != nil {
		return nil, err
	}
	return g.Scatter(c, coo.FromTensor(s.Tensor,
		coo.ZerosFor(s.Tensor, g.Spec.Format, false)))
}

// ready loads the whole tensor and, if s.Check is set, checks it. If memory is too small to
// decompress the tensor, ready decompresses it into a temporary file.
func (s *Source) ready() error {
	t := s.Tensor
	err := t.Load(s.Limit)
	var full *tcs.MemoryError
	if errors.As(err, &full) {
		f, ferr := outfile.TempFile(s.Tmp)
		if ferr != nil {
			return ferr
		}
		err = tcsfile.LoadInto(t, f)
	}
	if err != nil || !s.Check {
		return err
	}
	return tcsfile.Verify(t)
}

// agree decides, as Agree does, whether a step succeeded at all ranks. The step reads the tensor,
// for example to find keys or to make views. err is this rank's error, or nil. If s.Check is set,
// agree returns the error that a single reader would report (see firstFault).
func (s *Source) agree(c comm.Comm, err error) error {
	if s.Check {
		return firstFault(c, s.Tensor, err)
	}
	return Agree(c, err)
}

// views makes this rank's blocks as views of s.Tensor. If s.Check is set, the ranks also check the
// parts of the file that the blocks cover. Every rank must call views.
func (g *Target) views(c comm.Comm, s Source) (map[plan.Block]*tcs.Tensor, error) {
	own, err := g.Views(c.Rank(), s.Tensor)
	if err := s.agree(c, err); err != nil {
		tcs.CloseAll(own)
		return nil, err
	}
	if s.Check {
		parts, end, err := g.shownParts(s.Tensor, own)
		defer end()
		if err = s.agree(c, err); err == nil {
			err = verify(c, s.Tensor, parts)
		}
		if err != nil {
			tcs.CloseAll(own)
			return nil, err
		}
		for _, t := range own {
			t.Trust()
		}
	}
	return own, nil
}
