package convert

import (
	"slices"
	"strings"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// takes refuses a storage format that files of f, other than .tcs, have no room for, or
// of which nothing could be seen in them. Levels say what zeros (of a dense last level) and
// repeats (uc) become of entries, and whether a matrix is an array.
func (f *Format) takes(path, kinds string, modes []int) error {
	flag := "-f=" + tcs.FormatString(kinds, modes)
	plain := slices.IsSorted(modes)
	sparse := strings.Trim(kinds, "d") != ""
	switch {
	case f.Name == "tcs":
	case f.Filled && (sparse || !plain):
		return errorf(path, "%s: a %s file lists every coordinate, mode 0 outermost: want no -f, or only d", flag, f.Name)
	case f.MinOrder == 2 && strings.Trim(kinds, "ds") != "":
		return errorf(path, "%s: an .npz file is written as CSR or CSC: want levels d and s only", flag)
	case f.MinOrder != 2 && !plain:
		return errorf(path, "%s: a %s file has an order of its own: want no :ORDER (.tcs keeps any order, .npz has CSR and CSC)", flag, f.Name)
	}
	return nil
}

// asStored is the stream of what a tensor of those levels holds of in's entries: where
// the last level is dense, zeros whose bits are zero are but room in it.
func asStored(in coo.Stream, kinds string) coo.Stream {
	if d, ok := in.(coo.Densed); ok && d.Dense() || !strings.HasSuffix(kinds, "d") {
		return in
	}
	return &nonzeros{Stream: in}
}

// nonzeros leaves out zeros whose bits are zero.
type nonzeros struct {
	coo.Stream
	all, own coo.Batch
}

func (s *nonzeros) Next(b *coo.Batch) error {
	if err := s.Stream.Next(&s.all); err != nil {
		return err
	}
	size, order := s.Type().Size(), len(s.all.Coords)
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
