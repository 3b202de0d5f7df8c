// Package store brings the blocks of a distributed tensor into one stream in
// storage order, for a writer at rank 0: every rank sorts its blocks, and a
// tournament tree at rank 0 merges them, a batch of each block in memory at a
// time.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/merge"
)

// Blocks are the blocks of one tensor: which rank holds each, and those of this
// rank by their number.
type Blocks struct {
	Dims   []int64
	Type   tcs.Type
	Owners []int
	Own    map[int]*tcs.Tensor
}

const (
	tagCommand = comm.MaxTag - 1
	tagHeader  = comm.MaxTag - 2
	tagData    = comm.MaxTag - 3

	commandNext   = 0
	commandRewind = 1
	commandEnd    = 2

	// batch is how many entries of a block travel at once.
	batch = 1 << 15
)

// Gather runs write at rank 0 with the tensor's entries, sorted by modes; the
// other ranks serve their blocks until it returns. Of zeros that only a dense
// level makes room for, zeros says whether they are entries. Collective.
func Gather(c comm.Comm, t *Blocks, modes []int, zeros coo.Zeros, cfg coo.Config, write func(coo.Stream) error) error {
	own := map[int]coo.Stream{}
	defer func() {
		for _, s := range own {
			s.Close()
		}
	}()
	for k, b := range t.Own {
		s, err := coo.Sort(coo.FromTensor(b, zeros), coo.Spec{Modes: modes, Dims: t.Dims}, cfg)
		if err != nil {
			return err
		}
		own[k] = s
	}
	c = c.Uncounted()
	if c.Rank() != 0 {
		return serve(c, t, own)
	}
	if len(t.Owners) == 0 {
		return errors.New("BUG: store: a tensor of no blocks")
	}
	var streams []coo.Stream
	for k, owner := range t.Owners {
		if owner == 0 {
			streams = append(streams, own[k])
		} else {
			streams = append(streams, &remote{c: c, t: t, block: k, owner: owner})
		}
	}
	if err := write(merge.Streams(streams, modes)); err != nil {
		return err
	}
	for r := 1; r < c.Size(); r++ {
		if err := send(c, []int64{commandEnd, 0}, r, tagCommand); err != nil {
			return err
		}
	}
	return nil
}

func send(c comm.Comm, v []int64, to, tag int) error {
	r, err := c.Isend(comm.Of(v), to, tag)
	if err != nil {
		return err
	}
	return r.Wait()
}

func recv(c comm.Comm, b comm.Buf, from, tag int) error {
	r, err := c.Irecv(b, from, tag)
	if err != nil {
		return err
	}
	return r.Wait()
}

// serve answers rank 0's commands.
func serve(c comm.Comm, t *Blocks, own map[int]coo.Stream) error {
	for {
		command := make([]int64, 2)
		if err := recv(c, comm.Of(command), 0, tagCommand); err != nil {
			return err
		}
		s := own[int(command[1])]
		switch command[0] {
		case commandEnd:
			return nil
		case commandRewind:
			if err := s.Rewind(); err != nil {
				return err
			}
		case commandNext:
			n, data, err := pack(s, len(t.Dims), t.Type.Size())
			if err != nil {
				return err
			}
			if err := send(c, []int64{int64(n)}, 0, tagHeader); err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			r, err := c.Isend(comm.Of(data), 0, tagData)
			if err == nil {
				err = r.Wait()
			}
			if err != nil {
				return err
			}
		default:
			return fmt.Errorf("BUG: store: command %d", command[0])
		}
	}
}

// pack takes up to a batch of entries off a stream: the coordinates mode by
// mode, then the values.
func pack(s coo.Stream, order, size int) (int, []byte, error) {
	cols := make([][]byte, order)
	var vals []byte
	n := 0
	for n+coo.BatchSize <= batch {
		var b coo.Batch
		err := s.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, nil, err
		}
		for m := range cols {
			for _, x := range b.Coords[m][:b.N] {
				cols[m] = binary.NativeEndian.AppendUint64(cols[m], uint64(x))
			}
		}
		vals = append(vals, b.Vals[:b.N*size]...)
		n += b.N
	}
	var data []byte
	for _, col := range cols {
		data = append(data, col...)
	}
	return n, append(data, vals...), nil
}

// remote is a block at another rank, as a stream at rank 0.
type remote struct {
	c            comm.Comm
	t            *Blocks
	block, owner int
}

func (s *remote) Dims() ([]int64, bool) { return s.t.Dims, true }
func (s *remote) Type() tcs.Type        { return s.t.Type }
func (s *remote) Close() error          { return nil }

func (s *remote) command(what int64) error {
	return send(s.c, []int64{what, int64(s.block)}, s.owner, tagCommand)
}

func (s *remote) Rewind() error { return s.command(commandRewind) }

func (s *remote) Next(b *coo.Batch) error {
	if err := s.command(commandNext); err != nil {
		return err
	}
	header := make([]int64, 1)
	if err := recv(s.c, comm.Of(header), s.owner, tagHeader); err != nil {
		return err
	}
	n, order, size := int(header[0]), len(s.t.Dims), s.t.Type.Size()
	if n == 0 {
		return io.EOF
	}
	data := make([]byte, n*(8*order+size))
	if err := recv(s.c, comm.Of(data), s.owner, tagData); err != nil {
		return err
	}
	b.Coords, b.N = make([][]int64, order), n
	for m := range b.Coords {
		col := make([]int64, n)
		for k := range col {
			col[k] = int64(binary.NativeEndian.Uint64(data[8*k:]))
		}
		b.Coords[m] = col
		data = data[8*n:]
	}
	b.Vals = data
	return nil
}
