package bins

// Grid is counts of entries in bins. In its arrays of two, the first is of the mode that goes down,
// the second of the one that goes across.
type Grid struct {
	Modes  [2]int
	Size   [2]int64 // of the modes; 1 where there is none
	Width  [2]int64 // coordinates a bin
	Bins   [2]int   // Size / Width, rounded up
	Counts []int64  // row after row
}

// Row is the counts of one row of bins.
func (g *Grid) Row(i int) []int64 { return g.Counts[i*g.Bins[1]:][:g.Bins[1]] }

// Filled is the number of bins that have an entry.
func (g *Grid) Filled() int {
	n := 0
	for _, c := range g.Counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// Coarsen is the grid in bins of factor[0] by factor[1] of its own, or of as many as there are; g itself where both are 1.
func (g *Grid) Coarsen(factor [2]int) *Grid {
	for side := range factor {
		factor[side] = max(1, min(factor[side], g.Bins[side]))
	}
	if factor == [2]int{1, 1} {
		return g
	}
	c := &Grid{Modes: g.Modes, Size: g.Size}
	for side, f := range factor {
		c.Width[side] = g.Width[side] * int64(f)
		c.Bins[side] = (g.Bins[side] + f - 1) / f
	}
	c.Counts = make([]int64, c.Bins[0]*c.Bins[1])
	for i := range g.Bins[0] {
		to := c.Row(i / factor[0])
		for j, n := range g.Row(i) {
			to[j/factor[1]] += n
		}
	}
	return c
}

// fold adds each second bin along a side to the one before, in place: the number of bins stays,
// and those of the second half are empty.
func (g *Grid) fold(side int) {
	g.Width[side] *= 2
	if side == 1 {
		for i := range g.Bins[0] {
			foldRow(g.Row(i))
		}
		return
	}
	for i := 1; i < g.Bins[0]; i++ { // row 0 is where it belongs
		from := g.Row(i)
		to := g.Row(i / 2)
		for j, n := range from {
			to[j] += n
		}
		clear(from)
	}
}

func foldRow(row []int64) {
	for j := range row {
		n := row[j]
		row[j] = 0
		row[j/2] += n
	}
}

// cut leaves the bins that the sizes ask for.
func (g *Grid) cut() {
	old, counts := g.Bins, g.Counts
	for side := range g.Bins {
		g.Bins[side] = int((g.Size[side] + g.Width[side] - 1) / g.Width[side])
	}
	if g.Bins == old {
		return
	}
	g.Counts = make([]int64, 0, g.Bins[0]*g.Bins[1])
	for i := range g.Bins[0] {
		g.Counts = append(g.Counts, counts[i*old[1]:][:g.Bins[1]]...)
	}
}
