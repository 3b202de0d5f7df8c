package mtx

import "distaff/io/text"

// counter holds a body to the count in its header.
type counter struct {
	h          *header
	file       string
	lineBefore func() int
	seen       int64
	partial    bool // of a part: what is before it and after it is not known yet

	marks uint8        // of the blocks that were seen
	judge func() error // whether a file with entries in both triangles is right; nil without a symmetry
}

// check counts a block's entries; nil is the end of the file.
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
			return text.Dataf(c.file, c.lineBefore()+1, 1, "got the end of the file after %s, want %s as line %d says",
				text.Plural(c.seen, what[0], what[1]), want, c.h.sizeLine)
		}
		if suspect(c.marks) {
			if err := c.judge(); err != nil {
				return err
			}
			c.judge = func() error { return nil } // once is enough
		}
		return nil
	}
	before := c.seen
	if c.seen += int64(b.Raw); c.seen > c.h.nnz && b.Raw > 0 { // else a part before this one has too many
		return text.Dataf(c.file, c.lineBefore()+b.LineOf(int(c.h.nnz-before), '%'), 1,
			"got one more %s, want the end of the file after %s as line %d says", what[0], want, c.h.sizeLine)
	}
	return nil
}
