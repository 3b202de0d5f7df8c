package text

import "distaff/io/coo"

// Locate finds the lines of the first two entries of s at a coordinate, for
// messages: it reads s again from its start. It returns 0 for what is not there, and
// for a stream that is not over lines of text.
func Locate(s coo.Stream, at []int64) (first, second int) {
	lines, ok := s.(interface {
		NextBlock() (*Block, error)
		LineOf(b *Block, k int) int
		InFile(at []int64) []int64
	})
	if !ok || s.Rewind() != nil {
		return 0, 0
	}
	at = lines.InFile(at)
	for {
		b, err := lines.NextBlock()
		if err != nil {
			return first, 0
		}
		for k := range b.N {
			if !b.is(k, at) {
				continue
			}
			line := lines.LineOf(b, b.origin(k))
			if first > 0 {
				return min(first, line), max(first, line) // images follow all entries of a block
			}
			first = line
		}
	}
}

// is tells whether entry k is at the coordinate.
func (b *Block) is(k int, at []int64) bool {
	for m, c := range at {
		if b.Coords[m][k] != c {
			return false
		}
	}
	return true
}

// origin is the entry of the text that entry k is, or is the mirror image of.
func (b *Block) origin(k int) int {
	if k < b.Raw {
		return k
	}
	k -= b.Raw
	for raw := range b.Raw {
		if b.Coords[0][raw] == b.Coords[1][raw] {
			continue
		}
		if k--; k < 0 {
			return raw
		}
	}
	panic("BUG: text: a mirror image of no entry")
}

// LineOf is the line of entry k of the block that NextBlock returned last.
func (e *Entries) LineOf(b *Block, k int) int { return e.line - b.Lines + b.LineOf(k, e.Comment) }

// InFile is a coordinate of the stream as the file has it.
func (e *Entries) InFile(at []int64) []int64 { return at }
