package mtx

import "distaff/io/text"

// counter checks that a file has the number of entries that its header announces.
type counter struct {
	h          *header
	file       string
	lineBefore func() int
	seen       int64
	partial    bool // a part of a file, without the number of entries before it

	marks uint8 // of all blocks so far
	// judge returns an error if the file stores both an entry and its mirror image. It is nil
	// if the matrix has no symmetry or the file is an array.
	judge func() error
}

// check counts a block's entries, and returns an error if there are too many or, at the end of the
// file, too few. b is nil at the end of the file. If c.partial is true, check only counts. At the
// end it may also call c.judge.
func (c *counter) check(b *text.Block) error {
	what := [2]string{"entry", "entries"}
	if c.h.array {
		what = [2]string{"value", "values"}
	}
	want := text.Plural(c.h.nnz, what[0], what[1])
	if b != nil {
		c.marks |= b.Marks
	}
	if c.partial {
		if b != nil {
			c.seen += int64(b.Raw)
		}
		return nil
	}
	if b == nil {
		if c.seen < c.h.nnz {
			return text.Dataf(c.file, c.lineBefore()+1, 1,
				"got the end of the file after %s, want %s, as line %d says",
				text.Plural(c.seen, what[0], what[1]), want, c.h.sizeLine)
		}
		if suspect(c.marks) {
			if err := c.judge(); err != nil {
				return err
			}
			c.judge = func() error { return nil } // judge once only
		}
		return nil
	}
	before := c.seen
	// If b.Raw is 0, an earlier part has too many.
	if c.seen += int64(b.Raw); c.seen > c.h.nnz && b.Raw > 0 {
		return text.Dataf(c.file, c.lineBefore()+b.LineOf(int(c.h.nnz-before), '%'), 1,
			"got one more %s, want the end of the file after %s, as line %d says", what[0], want,
			c.h.sizeLine)
	}
	return nil
}
