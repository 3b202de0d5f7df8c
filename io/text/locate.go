package text

import "distaff/io/coo"

// Locate returns the line numbers of the first two entries of s that have the coordinates at.
// Messages use them. Locate reads s again from its start. A result is 0 if there is no such entry,
// or if s does not read lines of text.
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
			if !b.isAt(k, at) {
				continue
			}
			line := lines.LineOf(b, b.origin(k))
			if first > 0 {
				// The mirror images of a block follow all its entries, so the lines may be in
				// any order.
				return min(first, line), max(first, line)
			}
			first = line
		}
	}
}

// isAt reports whether entry k has the coordinates at.
func (b *Block) isAt(k int, at []int64) bool {
	for m, c := range at {
		if b.Coords[m][k] != c {
			return false
		}
	}
	return true
}

// origin returns k if entry k was parsed. Otherwise entry k is a mirror image, and origin returns
// the index of the entry that it mirrors.
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

// LineOf returns the line number of entry k of b, the block that NextBlock returned last. If e
// reads a part of a file, the number does not count the lines between Start and the first line of
// the part.
func (e *Entries) LineOf(b *Block, k int) int { return e.line - b.Lines + b.LineOf(k, e.Comment) }

// InFile converts coordinates from the stream to the coordinates that the file has for the same
// entry. Here it returns them unchanged. A stream that swaps coordinates has its own InFile.
func (e *Entries) InFile(at []int64) []int64 { return at }
