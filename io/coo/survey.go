package coo

import (
	"io"
	"slices"
)

// Survey holds statistics of a stream.
type Survey struct {
	Dims    []int64 // final sizes
	Entries int64   // number of entries; repeated coordinates count each time
	// Sorted says that entries are in the order of the modes 0, 1, ..., and no coordinate repeats.
	// Reversed says the same of the opposite order of the modes, which is the order by columns of a
	// matrix.
	Sorted, Reversed bool
	Modes            []ModeSurvey
	Matrix           *Matrix // statistics of a matrix; nil if the order is not 2
}

// ModeSurvey describes the distribution of the entries over the coordinates of one mode.
type ModeSurvey struct {
	Filled int64   // number of coordinates with an entry
	Empty  int64   // number of coordinates without an entry
	Most   int64   // largest number of entries at one coordinate
	Mean   float64 // mean number of entries, over all coordinates
	Skew   float64 // Most/Mean; 1 if all coordinates have equally many entries
	// Gini coefficient of the numbers of entries over all coordinates: 0 if they are equal, near 1
	// if a few coordinates have all entries
	Gini  float64
	Known bool // false if there are too many coordinates to count
}

// maxTally limits the memory of a survey. The survey marks coordinates on the diagonal of a matrix
// one by one if they are below maxTally. The limits for the coordinates of a mode are fractions of
// maxTally (see tally).
const maxTally = 1 << 27

// tally counts the entries at each coordinate of a mode, in a slice if the coordinates are small.
type tally struct {
	dense      []uint32
	rest       map[int64]int64 // coordinates past the slice, and excess counts of coordinates in it
	overflowed bool            // there are too many coordinates to count
}

func (t *tally) add(col []int64) {
	for _, x := range col {
		if x < int64(len(t.dense)) && t.dense[x] < 1<<32-1 {
			t.dense[x]++
			continue
		}
		t.addOutside(x)
	}
}

func (t *tally) addOutside(x int64) {
	if t.overflowed {
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
		t.overflowed, t.rest, t.dense = true, nil, nil
	}
}

// survey returns the statistics of a mode of the given size.
func (t *tally) survey(size, entries int64) ModeSurvey {
	if t.overflowed {
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
	// Let counts c be sorted in ascending order, with ranks i from 1 among all size coordinates,
	// empty ones first. The Gini coefficient is sum((2i-size-1)*c) / (size*entries).
	sum := 0.0
	for i, c := range counts {
		rank := float64(s.Empty) + float64(i) + 1
		sum += (2*rank - float64(size) - 1) * float64(c)
	}
	s.Gini = sum / (float64(size) * float64(entries))
	return s
}

// SurveyOf reads the stream to its end and returns its statistics.
func SurveyOf(in Stream) (*Survey, error) {
	dims, _ := in.Dims()
	n := len(dims)
	s := &Survey{Sorted: true, Reversed: true, Modes: make([]ModeSurvey, n)}
	tallies := make([]tally, n)
	forwards, backwards := newCounter(n), newCounter(n)
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
		if b.N > 0 {
			s.Sorted = s.Sorted && forwards.strictly(b.Coords[:n], b.N)
			s.Reversed = s.Reversed && backwards.strictly(reversed(b.Coords[:n]), b.N)
		}
		s.Entries += int64(b.N)
	}
	if n == 0 {
		s.Sorted = s.Entries <= 1
		s.Reversed = s.Sorted
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

// strictly does the same as add, but also returns false if a coordinate repeats. For a scalar it
// always returns false.
func (c *counter) strictly(cols [][]int64, n int) bool {
	return c.add(cols, n) && c.hist[len(cols)] == 0
}

// reversed returns the columns in the opposite order.
func reversed(cols [][]int64) [][]int64 {
	out := slices.Clone(cols)
	slices.Reverse(out)
	return out
}
