package store

import (
	"fmt"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
)

// Mode says how the ranks write one file.
type Mode uint8

const (
	Auto     Mode = iota // Parallel, but Ordered on network file systems
	Parallel             // all ranks at the same time
	Ordered              // one rank after another
)

// ParseMode reads the value of --write.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "auto":
		return Auto, nil
	case "parallel":
		return Parallel, nil
	case "ordered":
		return Ordered, nil
	}
	return 0, fmt.Errorf("got %q, want auto, parallel or ordered", s)
}

// Write writes the tensor to rank 0's file; file is nil at other ranks. The extension of name
// selects the format, which must support the order of the tensor. Once Write has returned at every
// rank without an error, the file is complete but not committed. The bytes are the same for every
// number of ranks. If a block must be sorted, Write makes a sorted copy: in memory if cfg.Limit
// leaves enough room, otherwise in a mapped file. If one rank fails, the caller must end the job,
// because other ranks may wait. Every rank must call Write.
func Write(c comm.Comm, t *Blocks, file *outfile.File, name string, mode Mode,
	cfg coo.Config) error {
	c = c.Uncounted()
	t.Unsign(cfg.Threads)
	t, end, err := t.Boxed()
	if err != nil {
		return err
	}
	defer end()
	f, err := convert.FormatOf(name)
	if err != nil {
		return err
	}
	if err := convert.Writable(name, len(t.Layout.Dims)); err != nil {
		return err
	}
	wo := f.Options(t.isDense(), t.Layout.Format.Order, cfg.Threads)
	how := []int64{0, 0} // whether ranks write by themselves, and whether in order
	if c.Rank() == 0 {
		if err := f.Room(file, name, t.Layout.Type, t.Layout.Dims, 0, wo); err != nil {
			return err
		}
		if c.Size() == 1 && len(t.Owners) == 1 && t.hasTensorFormat() { // the block is the tensor
			return convert.WriteTo(file, name, t.Own[0],
				convert.WriteOptions{Threads: cfg.Threads, Limit: cfg.Limit, Tmp: cfg.Tmp})
		}
		if len(t.Layout.Dims) > 0 && (f.Name == "tcs" || f.Head != nil) && !convert.Compressed(name) &&
			!file.Streams() {
			how[0] = 1
		}
		if mode == Ordered || mode == Auto && how[0] == 1 && file.Networked() {
			how[1] = 1
		}
	}
	if err := c.Bcast(comm.Of(how), 0); err != nil {
		return err
	}
	if how[0] == 1 {
		s, ok, err := newSharedFile(c, file, how[1] == 1)
		if err != nil {
			return err
		}
		if ok {
			err := s.store(&output{t: t, format: f, wo: wo, cfg: cfg})
			if e := s.closePart(); err == nil {
				err = e
			}
			return err
		}
	}
	if c.Rank() == 0 && !file.Streams() { // removes what newSharedFile has written
		if err := file.Resize(0); err != nil {
			return err
		}
	}
	modes, zeros := f.Order(len(t.Layout.Dims), wo), coo.DropFill
	if f.Name == "tcs" {
		modes, zeros = t.Layout.Format.Order, coo.KeepAll
	}
	return Gather(c, t, modes, zeros, cfg, func(in coo.Stream) error {
		return convert.WriteStream(file, name, in, t.spec(), wo,
			convert.WriteOptions{Threads: cfg.Threads, Limit: cfg.Limit, Tmp: cfg.Tmp})
	})
}

// finishArray writes the head of an array whose values are complete. Every rank must call it.
func (s *sharedFile) finishArray(head []byte, total int64, spans []coo.FileRange) error {
	all, err := gatherSpans(s.c, spans)
	if err != nil || s.c.Rank() != 0 {
		return err
	}
	tile([]tcs.Section{{Width: 1, Len: total}}, all)
	if s.part == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	return s.head(head)
}
