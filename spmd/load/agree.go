package load

import (
	"io"

	"distaff/io/coo"
	"distaff/io/text"
	"distaff/spmd/comm"
)

// Agree decides whether a step that every rank has made by itself succeeded everywhere. If ranks
// failed, the job ends with the error of the lowest rank that failed. If the ranks read pieces of a
// file, in the order of ranks, this error is the first one in the file. Agree returns nil either at
// all ranks or at none. Every rank must call it.
func Agree(c comm.Comm, err error) error {
	first, cerr := firstFailed(c, err)
	switch {
	case cerr != nil:
		return cerr
	case first == c.Size():
		return nil
	case first == c.Rank():
		return err
	}
	// The rank that failed does not reach this barrier: its error ends the wait.
	if cerr := c.Uncounted().Barrier(); cerr != nil {
		return cerr
	}
	panic("BUG: load: a rank that failed went on")
}

// firstFailed returns the lowest rank whose err is not nil, or the number of ranks.
func firstFailed(c comm.Comm, err error) (int, error) {
	mine := c.Size()
	if err != nil {
		mine = c.Rank()
	}
	return comm.AllreduceValue(c.Uncounted(), mine, comm.Min)
}

// settle completes the reading of a text file in parts, and makes the ranks agree on an error. err
// is the error of this rank's part, or nil. A part before the first part that failed may contain an
// earlier mistake. Therefore the ranks of the parts before it call rest, which reads the remaining
// entries of the rank's part.
//
// If part is not nil, settle then checks that the file has as many entries as it announces, and
// that the kinds of its entries may occur together (see judge). Every rank must call settle.
func settle(c comm.Comm, part text.Part, err error, rest func() error) error {
	first, cerr := firstFailed(c, err)
	if cerr != nil {
		return cerr
	}
	if c.Rank() < first && first < c.Size() {
		err = rest()
	}
	if first, cerr = firstFailed(c, err); cerr != nil {
		return cerr
	}
	if part != nil {
		before, cerr := comm.ExscanValue(c.Uncounted(), part.Seen(), comm.Sum)
		if cerr != nil {
			return cerr
		}
		if c.Rank() <= first {
			if e := part.CheckCount(before, c.Rank() == c.Size()-1 && first == c.Size()); e != nil {
				err = e
			}
		}
	}
	if err := Agree(c, err); err != nil || part == nil {
		return err
	}
	return judge(c, part)
}

// judge checks that the entries in all parts of a text file have kinds that may occur in one file.
// For example, certain files must not have entries both above and below the diagonal. If the kinds
// may be wrong, rank 0 reads the whole file to find the error. Every rank must call it.
func judge(c comm.Comm, part text.Part) error {
	p, ok := part.(text.Marked)
	if !ok {
		return nil
	}
	all, err := comm.AllreduceValue(c.Uncounted(), int(p.Marks()), comm.Or)
	if err != nil || !p.Suspect(uint8(all)) {
		return err
	}
	if c.Rank() == 0 {
		err = p.CheckWholeFile()
	}
	return Agree(c, err)
}

// begin passes to part the number of entries that precede the part in the file. The part needs this
// number if coordinates follow from an entry's place in the file. If the entries have coordinates
// of their own, or part is nil, begin does nothing. Every rank must call begin.
func begin(c comm.Comm, part text.Part) error {
	if part == nil || !part.Ordinals() {
		return nil
	}
	before, err := comm.ExscanValue(c.Uncounted(), part.Count(), comm.Sum)
	if err == nil {
		part.Begin(before)
	}
	return err
}

// Sizes returns the smallest sizes that contain all coordinates in a text file that does not state
// its sizes. Each rank reads its part. The results are lower bounds of the sizes. Sizes then
// rewinds the parts. Every rank must call it.
func Sizes(c comm.Comm, part text.Part) ([]int64, error) {
	err := skim(part)
	if err := settle(c, part, err, func() error { return nil }); err != nil {
		return nil, err
	}
	dims, _ := part.Dims()
	if err := c.Uncounted().Allreduce(comm.Of(dims), comm.Max); err != nil {
		return nil, err
	}
	return dims, part.Rewind()
}

// skim reads a stream to its end.
func skim(s coo.Stream) error {
	var b coo.Batch
	for {
		if err := s.Next(&b); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
