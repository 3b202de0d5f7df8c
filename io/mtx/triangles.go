package mtx

import (
	"io"

	"distaff/io/coo"
	"distaff/io/tensor"
	"distaff/io/text"
)

// Bits of a block's Marks: the block has entries below or above the diagonal.
const (
	below uint8 = 1 << iota
	above
)

// suspect reports whether there are entries on both sides of the diagonal. Entries on one side
// cannot be mirror images of each other.
func suspect(marks uint8) bool { return marks == below|above }

// bothTriangles returns an error if an entry off the diagonal and its mirror image are both
// stored. e is the file's stream.
func bothTriangles(e text.Entries, l *text.Layout, h *header, opt coo.Options) error {
	sides := *l
	sides.Room = 1
	e = text.Entries{Src: e.Src, Start: e.Start, Line: e.Line, Comment: e.Comment, Order: 2,
		Value: tensor.Complex64, Opt: opt, Sizes: h.dims,
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

// fold replaces each entry above the diagonal by its mirror image below, and removes the entries on
// the diagonal. The value becomes 1 if the entry was below the diagonal, and i if it was above. So
// the sum of the values at one coordinate has two nonzero parts exactly if the file has an entry on
// both sides.
func fold(b *text.Block) {
	b.ReserveVals(b.Raw * int(tensor.Complex64.Size()))
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
	b.Vals = b.Vals[:n*int(tensor.Complex64.Size())]
}

// pairError returns the error for entry (i,j) and its mirror image, with their line numbers.
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
