package hb

import (
	"testing"

	"distaff/io/coo"
	"distaff/io/readertest"
)

func FuzzRead(f *testing.F) {
	f.Add(file("RUA", counts(2, 3, 3), "(16I5)          (16I5)          (4E20.12)",
		"    1    2    2    4\n    2    1    2\n  0.100000000000E+01  0.250000000000E-02 "+
			"-0.300000000000E+01\n"))
	f.Add(file("CHA", counts(2, 2, 2), "(16I5)          (16I5)          (1P,3F5.1)",
		"    1    3    3\n    1    2\n  1.0  0.0  2.5\n  3.5\n"))
	f.Add(file("psa", counts(2, 2, 2), "(16I5)          (2(I3,2X))", "    1    3    3\n  1    2\n"))
	f.Fuzz(func(t *testing.T, in string) {
		s, err := Open(write(t, in), coo.Options{})
		if err != nil {
			return
		}
		defer s.Close()
		es, err := readertest.Collect(s)
		if err != nil {
			return
		}
		dims, _ := s.Dims()
		for _, e := range es {
			for m, c := range e.Coords {
				if c < 0 || c >= dims[m] {
					t.Fatalf("coordinate %d of mode %d is outside %v", c, m, dims)
				}
			}
		}
	})
}
