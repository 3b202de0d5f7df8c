package tcs

// Nothing returns a part of a tensor with the given header and levels that has no entries and
// no memory. A process uses it for a tensor that only other processes read.
func Nothing(h Header, kinds string, modes []int) *Tensor {
	t := &Tensor{Header: h.Clone(), Levels: make([]Level, len(kinds)),
		Vals: Array{Width: uint8(h.Type.Size())}, part: true, edges: true}
	for l := range t.Levels {
		lev := Level{Kind: kinds[l], Mode: modes[l], Size: h.Dims[modes[l]]}
		switch r := h.Range(modes[l]); lev.Form() {
		case Full:
			lev.Offset, lev.Size = r[0], r[1]-r[0]
		case Segmented:
			lev.Pos.Width, lev.Crd.Width = 4, 4
		case Single:
			lev.Crd.Width = 4
		}
		t.Levels[l] = lev
	}
	t.Trust()
	return t
}
