package tcs

import "distaff/io/tensor"

// EmptyPart returns a part of a tensor that has no entries and no memory. h is the part's header
// and f its format. A process uses it for a tensor that only other processes read.
func EmptyPart(h Header, f tensor.Format) *Tensor {
	t := &Tensor{Header: h.Clone(), Levels: make([]Level, len(f.Levels)),
		Vals: Array{Width: uint8(h.Type.Size())}, part: true, edges: true}
	for l, m := range f.Order {
		lev := Level{Kind: f.Levels[l], Mode: m, Size: h.Dims[m]}
		switch r := h.Range(m); lev.Form() {
		case tensor.Full:
			lev.Offset, lev.Size = r[0], r[1]-r[0]
		case tensor.Segmented:
			lev.Pos.Width, lev.Crd.Width = 4, 4
		case tensor.Single:
			lev.Crd.Width = 4
		}
		t.Levels[l] = lev
	}
	t.Trust()
	return t
}
