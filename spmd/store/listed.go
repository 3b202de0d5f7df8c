package store

import (
	"io"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/spmd/comm"
)

// writeListed writes a format that consists of a head and a list, of entries or of all values.
// Every rank must call it.
func writeListed(s *sharedFile, t *Blocks, f *convert.Format, wo coo.WriteOptions,
	cfg coo.Config) (err error) {
	modes := f.Order(len(t.Layout.Dims), wo)
	p, err := newPieces(s.c, t, modes, coo.DropFill, true, cfg)
	if err != nil {
		return err
	}
	defer func() { err = p.close(err) }()
	var strides []int64
	var total int64
	if f.Strides != nil {
		strides, total = f.Strides(t.Layout.Dims, wo)
	}
	from, to := p.span(strides, total)
	in := &counted{Stream: p.exchange.stream}
	if f.Filled { // each value has a fixed offset
		return p.writeFilled(s, f, in, [2]int64{from, to}, total, wo)
	}
	text := &spool{limit: cfg.Limit, tmp: cfg.Tmp}
	defer text.free()
	if err := p.exchange.pass(func() error { return f.Body(text, in, from, to, wo) }); err != nil {
		return err
	}
	mine := []int64{text.length(), in.n}
	all := make([]int64, 2*s.c.Size())
	if err := s.c.Allgather(comm.Of(mine), comm.Of(all)); err != nil {
		return err
	}
	var bytes, off, nnz int64
	for rank := range s.c.Size() {
		if rank == s.c.Rank() {
			off = bytes
		}
		bytes, nnz = bytes+all[2*rank], nnz+all[2*rank+1]
	}
	head, err := f.Head(t.Layout.Type, t.Layout.Dims, nnz, wo)
	if err != nil {
		return err
	}
	if err := s.resize(int64(len(head)) + bytes); err != nil {
		return err
	}
	return p.exchange.pass(func() error {
		return s.write(func() error {
			if err := s.head(head); err != nil {
				return err
			}
			return text.writeTo(s, int64(len(head))+off)
		})
	})
}

// head writes b, the bytes before the list, at the beginning of the file. Only rank 0 writes.
func (s *sharedFile) head(b []byte) error {
	if s.c.Rank() != 0 || len(b) == 0 {
		return nil
	}
	_, err := s.WriteAt(b, 0)
	return err
}

// span returns the range of positions that this rank's piece fills in a file that lists all values.
// The range starts at the first coordinate of the piece and ends at the first coordinate of the
// next piece. The range of the first piece starts at 0. The range of the last piece ends at total,
// the number of positions in the file. strides holds, for each mode, the number of positions
// between neighboring coordinates. If strides is nil, the range is empty.
func (p *pieces) span(strides []int64, total int64) (from, to int64) {
	if strides == nil {
		return 0, 0
	}
	at := func(k int) int64 { // start of piece k
		if k == 0 {
			return 0
		}
		if k > len(p.cuts) {
			return total
		}
		pos := int64(0)
		for l, x := range p.cuts[k-1] {
			pos += x * strides[p.exchange.modes[l]]
		}
		return pos
	}
	return at(p.exchange.c.Rank()), at(p.exchange.c.Rank() + 1)
}

// writeFilled writes this rank's piece of a file that lists all values, each with the same number
// of bytes. span is the range of positions of the piece, and total the number of values in the
// file.
func (p *pieces) writeFilled(s *sharedFile, f *convert.Format, in coo.Stream, span [2]int64,
	total int64,
	wo coo.WriteOptions) error {
	head, err := f.Head(p.exchange.t.Layout.Type, p.exchange.t.Layout.Dims, 0, wo)
	if err != nil {
		return err
	}
	size, first := int64(p.exchange.t.Layout.Type.Size()), int64(len(head))
	if err := s.resize(first + total*size); err != nil {
		return err
	}
	return p.exchange.pass(func() error {
		return s.write(func() error {
			if err := s.head(head); err != nil {
				return err
			}
			return f.Body(io.NewOffsetWriter(s, first+span[0]*size), in, span[0], span[1], wo)
		})
	})
}

// counted is a stream that counts its entries.
type counted struct {
	coo.Stream
	n int64
}

func (s *counted) Next(b *coo.Batch) error {
	err := s.Stream.Next(b)
	if err == nil {
		s.n += int64(b.N)
	}
	return err
}
