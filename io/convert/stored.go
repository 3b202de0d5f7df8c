package convert

import (
	"slices"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// asStored returns the stream src without the values that a tensor of format f does not count as
// entries. If the last level of f is dense, these are the values whose bits are all zero, because a
// dense level fills its gaps with such values. Otherwise asStored returns src itself. It also
// returns src itself if src is dense.
func asStored(src coo.Stream, f tensor.Format) coo.Stream {
	if d, ok := src.(coo.DenseReporter); ok && d.Dense() || f.TrailingDense() == 0 {
		return src
	}
	return &nonzeros{Stream: src}
}

// nonzeros leaves out entries whose values have only zero bits.
type nonzeros struct {
	coo.Stream
	all, own coo.Batch
}

func (s *nonzeros) Next(b *coo.Batch) error {
	if err := s.Stream.Next(&s.all); err != nil {
		return err
	}
	size, order := int(s.Type().Size()), len(s.all.Coords)
	s.own.Resize(order, s.all.N, size)
	n := 0
	for k := range s.all.N {
		v := s.all.Vals[k*size : (k+1)*size]
		if !slices.ContainsFunc(v, func(x byte) bool { return x != 0 }) {
			continue
		}
		for m := range order {
			s.own.Coords[m][n] = s.all.Coords[m][k]
		}
		copy(s.own.Vals[n*size:], v)
		n++
	}
	b.N, b.Vals = n, s.own.Vals[:n*size]
	b.Coords = b.Coords[:0]
	for m := range order {
		b.Coords = append(b.Coords, s.own.Coords[m][:n])
	}
	return nil
}
