package gen

import "math"

// zipfSmall draws a zipf tensor without replacement (Efraimidis and Spirakis, 2006). It is used if
// the tensor has few coordinates, or few coordinates for each entry. Each coordinate has a random
// variate: an exponentially distributed number, divided by the weight of the coordinate. The nnz
// coordinates with the smallest variates become the entries.
//
// A variate is computed from the coordinate's number, so variates need not be stored. The nnz-th
// smallest variate is found digit by digit, by counting.
type zipfSmall struct {
	g       *Generator
	space   int64
	lo, hi  int64 // the numbers of this share
	seed    random
	weights [][]float64 // by mode and coordinate; a large mode has a nil slice
	last    uint64      // the largest variate that belongs, as returned by ordered
	tie     int64       // the largest number that belongs and has this variate
}

// manyWeights is the smallest size of a mode whose weights are computed each time instead of
// stored.
const manyWeights = 1 << 17

// smallDigit is the number of bits in one digit of a variate. For each digit, the search for the
// nnz-th smallest variate counts the variates with each value of the digit.
const smallDigit = 16

func (g *Generator) newZipfSmall(space int64, p Share) (*zipfSmall, error) {
	z := &zipfSmall{g: g, space: space, lo: cut(int64(p.K), space, int64(p.N)),
		hi: cut(int64(p.K)+1, space, int64(p.N)), seed: random(mix(g.key ^ 0x7a697066)),
		weights: make([][]float64, len(g.dims))}
	for m, d := range g.dims {
		if d >= manyWeights {
			continue
		}
		z.weights[m] = make([]float64, d)
		for r := range d {
			z.weights[m][shuffle(g.modeKey(m), d, r)] = z.weight(r)
		}
	}
	// Both count only variates that agree with last in the digits so far.
	want, equal := g.Kind.nnz, int64(0)
	for shift := 64 - smallDigit; shift >= 0; shift -= smallDigit {
		counts := make([]int64, 1<<smallDigit)
		for key := z.lo; key < z.hi; key++ {
			if v := z.variate(key); v>>(shift+smallDigit) == z.last>>(shift+smallDigit) {
				counts[v>>shift&(1<<smallDigit-1)]++
			}
		}
		if err := p.sum(counts); err != nil {
			return nil, err
		}
		digit := 0
		for want > counts[digit] {
			want -= counts[digit]
			digit++
		}
		z.last |= uint64(digit) << shift
		equal = counts[digit]
	}
	z.tie = space
	for key := int64(0); equal > want && key < space; key++ {
		if z.variate(key) == z.last {
			if want--; want == 0 {
				z.tie = key
				break
			}
		}
	}
	return z, nil
}

func (z *zipfSmall) weight(rank int64) float64 { return -z.g.Kind.skew * math.Log(float64(rank+1)) }

// variate returns the random variate of the coordinate with number key, encoded as an integer. The
// integers are in the same order as the variates.
func (z *zipfSmall) variate(key int64) uint64 {
	w, k := 0.0, key
	for m := len(z.g.dims) - 1; m >= 0; m-- {
		d := z.g.dims[m]
		c := k % d
		k /= d
		if z.weights[m] != nil {
			w += z.weights[m][c]
		} else {
			w += z.weight(unshuffle(z.g.modeKey(m), d, c))
		}
	}
	r := z.seed + random(uint64(key)*phi)
	return ordered(math.Log(-math.Log(r.float()*(1-0x1p-53))) - w)
}

// ordered maps floats to integers that compare like the floats.
func ordered(x float64) uint64 {
	b := math.Float64bits(x + 0) // 0 and -0 become equal
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// keys yields the numbers of this share's coordinates, sorted.
func (z *zipfSmall) keys(yield func(key int64) bool) {
	for key := z.lo; key < z.hi; key++ {
		if v := z.variate(key); v < z.last || v == z.last && key <= z.tie {
			if !yield(key) {
				return
			}
		}
	}
}
