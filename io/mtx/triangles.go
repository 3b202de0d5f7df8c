package mtx

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/text"
)

// Marks of blocks.
const (
	below uint8 = 1 << iota // an entry below the diagonal
	above
)

// suspect tells whether there are entries on both sides of the diagonal. Those of
// one side are no mirror images of each other.
func suspect(marks uint8) bool { return marks == below|above }

// bothTriangles refuses a file in which an entry off the diagonal and its mirror image
// are both stored. e is the file's stream.
func bothTriangles(e text.Entries, l *text.Layout, h *header, opt coo.Options) error {
	sides := *l
	sides.Room = 1
	e = text.Entries{Src: e.Src, Start: e.Start, Line: e.Line, Comment: e.Comment, Order: 2, Value: tcs.Complex64, Opt: opt, Sizes: h.dims,
		Parse: func(b *text.Block) {
			sides.Parse(b)
			fold(b)
		}}
	i, j, found, err := coo.MirrorPair(&e, l.File, opt)
	if err != nil || !found {
		return err
	}
	return pairError(e, &sides, h, i, j)
}

// fold moves all entries off the diagonal to one triangle. Their values are 1 for those
// from below it, and i for those from above: in the sum of one place, no part is zero
// where both were there.
func fold(b *text.Block) {
	b.ReserveVals(b.Raw * tcs.Complex64.Size())
	vals := valuesOf[complex64](b.Vals)
	rows, cols := b.Coords[0], b.Coords[1]
	n := 0
	for k := range b.Raw {
		switch i, j := rows[k], cols[k]; {
		case i > j:
			rows[n], cols[n], vals[n] = i, j, 1
			n++
		case i < j:
			rows[n], cols[n], vals[n] = j, i, 1i
			n++
		}
	}
	b.N = n
	b.Vals = b.Vals[:n*tcs.Complex64.Size()]
}

// pairError names the lines of the entry (i,j) and of its mirror image.
func pairError(e text.Entries, l *text.Layout, h *header, i, j int64) error {
	e.Parse = l.Parse
	e.Rewind()
	var lines [2]int
	for lines[0] == 0 || lines[1] == 0 {
		b, err := e.NextBlock()
		if err == io.EOF {
			return text.Dataf(l.File, 0, 0, "the file changed while it was read")
		} else if err != nil {
			return err
		}
		for k := range b.Raw {
			switch r, c := b.Coords[0][k], b.Coords[1][k]; {
			case lines[0] == 0 && r == i && c == j:
				lines[0] = e.LineOf(b, k)
			case lines[1] == 0 && r == j && c == i:
				lines[1] = e.LineOf(b, k)
			}
		}
	}
	first, second := lines[0], lines[1]
	if first > second {
		first, second, i, j = second, first, j, i
	}
	return text.Dataf(l.File, second, 1, "%s", coo.PairText(i, j, first, h.symWord))
}
