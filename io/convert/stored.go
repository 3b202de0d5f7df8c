package convert

import (
	"slices"

	"distaff/io/coo"
	"distaff/io/tensor"
)

// asStored returns a stream of the entries of in that a tensor of format f stores. If f's last
// level is dense, values whose bits are all zero are left out.
func asStored(in coo.Stream, f tensor.Format) coo.Stream {
	if d, ok := in.(coo.Densed); ok && d.Dense() || f.TrailingDense() == 0 {
		return in
	}
	return &nonzeros{Stream: in}
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
