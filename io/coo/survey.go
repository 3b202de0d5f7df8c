package coo

import (
	"io"
	"slices"
)

// Survey is what a pass over a stream tells of it.
type Survey struct {
	Dims    []int64 // final
	Entries int64   // as they come: repeated coordinates count each time
	Sorted  bool    // mode 0 first, and no coordinate comes twice
	Modes   []ModeSurvey
	Matrix  *Matrix // of two modes; else nil
}

// ModeSurvey is how the entries spread over the coordinates of a mode.
type ModeSurvey struct {
	Filled int64   // coordinates with an entry
	Empty  int64   // and without
	Most   int64   // entries of the fullest
	Mean   float64 // entries a coordinate, over all
	Skew   float64 // Most/Mean: 1 where all are equal
	// of the counts, over all coordinates: 0 where all are equal, near 1 where few have all
	Gini  float64
	Known bool // false where there are too many coordinates to count
}

// most coordinates of a mode that are counted one by one.
const maxTally = 1 << 27

// tally counts entries a coordinate: in a slice while coordinates are small.
type tally struct {
	dense []uint32
	rest  map[int64]int64 // coordinates past the slice, and counts past 2^32
	given bool            // up: too many
}

func (t *tally) add(col []int64) {
	for _, x := range col {
		if x < int64(len(t.dense)) && t.dense[x] < 1<<32-1 {
			t.dense[x]++
			continue
		}
		t.slow(x)
	}
}

func (t *tally) slow(x int64) {
	if t.given {
		return
	}
	if x >= int64(len(t.dense)) && x < maxTally/8 && x < 4*int64(len(t.dense))+1<<12 {
		grown := make([]uint32, max(2*x, 1<<12))
		copy(grown, t.dense)
		for c, n := range t.rest {
			if c < int64(len(grown)) && c >= int64(len(t.dense)) && n < 1<<32 {
				grown[c] = uint32(n)
				delete(t.rest, c)
			}
		}
		t.dense = grown
		t.dense[x]++
		return
	}
	if t.rest == nil {
		t.rest = map[int64]int64{}
	}
	t.rest[x]++
	if len(t.rest) > maxTally/32 {
		t.given, t.rest, t.dense = true, nil, nil
	}
}

// survey sums up the counts over a mode of that size.
func (t *tally) survey(size, entries int64) ModeSurvey {
	if t.given {
		return ModeSurvey{}
	}
	var counts []int64
	for c, n := range t.dense {
		k := int64(n) + t.rest[int64(c)]
		delete(t.rest, int64(c))
		if k > 0 {
			counts = append(counts, k)
		}
	}
	for _, n := range t.rest {
		counts = append(counts, n)
	}
	s := ModeSurvey{Filled: int64(len(counts)), Empty: size - int64(len(counts)), Known: true}
	if size == 0 || entries == 0 {
		return s
	}
	slices.Sort(counts)
	s.Most = counts[len(counts)-1]
	s.Mean = float64(entries) / float64(size)
	s.Skew = float64(s.Most) / s.Mean
	// Gini: with counts c in rising order and ranks i from 1 among all sizes,
	// empty ones first, it is sum((2i-size-1)*c) / (size*entries).
	sum := 0.0
	for i, c := range counts {
		rank := float64(s.Empty) + float64(i) + 1
		sum += (2*rank - float64(size) - 1) * float64(c)
	}
	s.Gini = sum / (float64(size) * float64(entries))
	return s
}

// Look reads the stream to its end and sums it up.
func Look(in Stream) (*Survey, error) {
	dims, _ := in.Dims()
	n := len(dims)
	s := &Survey{Sorted: true, Modes: make([]ModeSurvey, n)}
	tallies := make([]tally, n)
	prev := make([]int64, n)
	var diagonals band
	var b Batch
	for {
		err := in.Next(&b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for m := range tallies {
			tallies[m].add(b.Coords[m][:b.N])
		}
		if n == 2 {
			diagonals.add(b.Coords[0][:b.N], b.Coords[1])
		}
		if s.Sorted && b.N > 0 {
			c := &counter{hist: make([]int64, n+1), prev: prev, any: s.Entries > 0}
			s.Sorted = c.add(b.Coords, b.N) && c.hist[n] == 0
		}
		s.Entries += int64(b.N)
	}
	s.Dims, _ = in.Dims()
	for m := range tallies {
		s.Modes[m] = tallies[m].survey(s.Dims[m], s.Entries)
	}
	if n == 2 {
		s.Matrix = diagonals.matrix(s.Dims)
	}
	return s, nil
}
