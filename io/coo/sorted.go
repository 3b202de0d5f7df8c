package coo

import (
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// sorted holds the entries of a stream in storage order, and the ranges of their coordinates.
type sorted struct {
	spec     Spec // with the final sizes
	cfg      Config
	min, max []int64 // by level; max is -1 without entries; nil if made by Sorter.Finish
	entries  entries
}

func (s *sorted) free() { s.entries.free() }

// tensor returns a tensor in memory with the sorted entries. It reads the entries twice: the first
// pass counts them, and the second pass copies them. During the second pass the memory of copied
// entries is released. So the entries and the tensor together occupy little more than the larger of
// the two. After the second pass the entries cannot be read again.
func (s *sorted) tensor() (*tcs.Tensor, error) {
	j, err := s.firstPass()
	if err != nil {
		return nil, err
	}
	defer j.Close()
	limit, held := s.cfg.Limit, int64(0)
	mem, _ := s.entries.(*store)
	if mem != nil {
		held = mem.uncount()
	}
	err = j.allocate(limit, s.spec.Name)
	if mem != nil && isFull(err) {
		// the entries occupied the memory that the tensor needs
		if err = s.toDisk(mem); err == nil {
			held = 0
			j.mergeParts()
			err = j.allocate(limit, s.spec.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	lay, err := j.shape.Layout()
	if err != nil {
		return nil, err
	}
	if held -= lay.Bytes; held > 0 {
		if err := limit.Reserve(held, "sorted entries"); err != nil {
			return nil, err
		}
		defer limit.Release(held)
	}
	return s.fill(j)
}

// toDisk moves the entries from mem, which holds them in memory, to disk.
func (s *sorted) toDisk(mem *store) error {
	d, err := newSpill(s.cfg.Tmp, mem.valSize)
	if err != nil {
		return err
	}
	d.pack, d.buffer = mem.pack, 1<<20
	if err := d.write(mem); err != nil {
		d.close()
		return err
	}
	mem.drop()
	s.entries = d
	return nil
}

// firstPass counts the entries, and plans the tensor.
func (s *sorted) firstPass() (*Joined, error) {
	parts, err := s.entries.count(&s.spec, s.cfg.threads())
	if err != nil {
		return nil, err
	}
	spec := s.spec
	if spec.FitDense {
		spec.Box = s.fit()
	}
	return newJoined(spec, parts)
}

// fit returns the box of the tensor, as the interval of coordinates in each mode. If the level of a
// mode is dense and there are entries, the interval covers only the range of the entries'
// coordinates. Otherwise it is the mode's interval in spec.Box, or all coordinates if spec.Box is
// nil.
func (s *sorted) fit() [][2]int64 {
	box := slices.Clone(s.spec.Box)
	if box == nil {
		for _, n := range s.spec.Dims {
			box = append(box, [2]int64{0, n})
		}
	}
	for l, m := range s.spec.Format.Order {
		if s.spec.Format.Levels[l].Form() == tensor.Full && s.max[l] >= 0 {
			box[m] = [2]int64{s.min[l], s.max[l] + 1}
		}
	}
	return box
}

// fill makes the second pass: it stores the sorted entries in the arrays of j, and returns the
// finished tensor.
func (s *sorted) fill(j *Joined) (*tcs.Tensor, error) {
	readers := make([]reader, len(j.parts))
	for i := range readers { // make all readers before the first of them releases memory
		var err error
		if readers[i], err = s.entries.read(&s.spec, i, len(readers), true); err != nil {
			return nil, err
		}
	}
	return j.fillAll(readers)
}

// count returns the number of entries. Values at equal coordinates are already summed, unless the
// spec keeps repeats.
func (s *sorted) count() (n int64, err error) {
	if mem, ok := s.entries.(*store); ok {
		return mem.n, nil
	}
	parts, err := s.entries.count(&s.spec, 1)
	for _, p := range parts {
		n += p.N
	}
	return n, err
}
