package check

import (
	"sort"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// lookup finds the values of a whole tensor by coordinates, and the coordinates of its values, in
// any format.
type lookup struct{ t *tcs.Tensor }

// at returns the value at a coordinate: zero if it is absent, and the sum if it is stored more than
// once.
func (k *lookup) at(coord []int64) tensor.Value {
	return k.below(0, 0, coord, tensor.Value{Type: k.t.Header.Type})
}

// below adds to acc the values at coord that are stored below position p of the level above l, and
// returns the sum.
func (k *lookup) below(l int, p int64, coord []int64, acc tensor.Value) tensor.Value {
	t := k.t
	if l == len(t.Levels) {
		return t.Header.Type.Add(acc, t.Value(p))
	}
	lev := &t.Levels[l]
	c := coord[lev.Mode]
	lo, hi := p, p+1
	switch lev.Form() {
	case tensor.Full:
		if c < lev.Offset || c >= lev.Offset+lev.Size {
			return acc
		}
		return k.below(l+1, p*lev.Size+c-lev.Offset, coord, acc)
	case tensor.Segmented:
		lo, hi = lev.Pos.At(p), lev.Pos.At(p+1)
		n := int(hi - lo)
		first := sort.Search(n, func(i int) bool { return lev.Crd.At(lo+int64(i)) >= c })
		last := first + sort.Search(n-first,
			func(i int) bool { return lev.Crd.At(lo+int64(first+i)) > c })
		lo, hi = lo+int64(first), lo+int64(last)
	}
	for q := lo; q < hi; q++ {
		if lev.Crd.At(q) == c {
			acc = k.below(l+1, q, coord, acc)
		}
	}
	return acc
}

// entry sets coord to the coordinates of the value at index i. It returns false if the value is
// padding.
func (k *lookup) entry(i int64, coord []int64) bool {
	p := i
	for l := len(k.t.Levels) - 1; l >= 0; l-- {
		lev := &k.t.Levels[l]
		if lev.Form() == tensor.Full {
			coord[lev.Mode] = lev.Offset + p%lev.Size
			p /= lev.Size
			continue
		}
		c := lev.Crd.At(p)
		if c < 0 {
			return false
		}
		coord[lev.Mode] = c
		if lev.Form() == tensor.Segmented {
			// The parent is the last segment that begins at or before p.
			p = int64(sort.Search(int(lev.Pos.Len),
				func(q int) bool { return lev.Pos.Int(int64(q)) > p })) - 1
		}
	}
	return true
}
