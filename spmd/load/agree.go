package load

import (
	"io"

	"distaff/io/coo"
	"distaff/io/text"
	"distaff/spmd/comm"
)

// Agree settles whether a step that every rank has made by itself succeeded,
// and if not, whose error the job ends with: that of the lowest rank that has
// one. Pieces of a file follow one another in the order of ranks, so it is the
// first in the file, whatever the number of ranks. It is nil at every rank or at
// none. Collective.
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
	// The rank that failed does not come here: its error ends the wait.
	if cerr := c.Uncounted().Barrier(); cerr != nil {
		return cerr
	}
	panic("BUG: load: a rank that failed went on")
}

// firstFailed is the lowest rank whose err is not nil, or the number of ranks.
func firstFailed(c comm.Comm, err error) (int, error) {
	mine := c.Size()
	if err != nil {
		mine = c.Rank()
	}
	return comm.AllreduceValue(c.Uncounted(), mine, comm.Min)
}

// settle ends the reading of a text file in parts. err is what this rank's part
// failed with, or nil: then rest reads what is left of it, for an earlier
// mistake than another rank's. The entries are counted over the ranks and held
// against what the file announces, their kinds against each other. Collective.
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
			if e := part.Settle(before, c.Rank() == c.Size()-1 && first == c.Size()); e != nil {
				err = e
			}
		}
	}
	if err := Agree(c, err); err != nil || part == nil {
		return err
	}
	return judge(c, part)
}

// judge has rank 0 read a file of which the parts together have entries that may not
// be in one file. Collective.
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
		err = p.Judge()
	}
	return Agree(c, err)
}

// begin tells the parts of a file whose entries have no coordinates of their
// own which place in the file they start at. Collective.
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

// Sizes reads a text file that has no sizes of its own for its largest
// coordinates, each rank its part: the result is a lower bound of every size.
// The parts are then to be read again. Collective.
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
