package bins

// Grid holds the counts of entries in bins. In its arrays of two, element 0 is for the vertical
// mode and element 1 for the horizontal mode.
type Grid struct {
	Modes  [2]int
	Size   [2]int64 // sizes of the modes; 1 for a missing mode
	Width  [2]int64 // coordinates of a bin
	Bins   [2]int   // Size / Width, rounded up
	Counts []int64  // in rows
}

// Row returns the counts of row i of bins. It copies nothing.
func (g *Grid) Row(i int) []int64 { return g.Counts[i*g.Bins[1]:][:g.Bins[1]] }

// Filled returns the number of bins that have entries.
func (g *Grid) Filled() int {
	n := 0
	for _, c := range g.Counts {
		if c > 0 {
			n++
		}
	}
	return n
}

// Coarsen returns a grid whose bins are merged from factor[0] by factor[1] bins of g, or from fewer
// at the ends of the sides. A factor that exceeds the number of bins is reduced to that number, but
// not below 1. If both factors are then 1, it returns g.
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

// fold merges pairs of neighboring bins along a side, in place. The grid keeps its number of bins,
// and the second half becomes empty.
func (g *Grid) fold(side int) {
	g.Width[side] *= 2
	if side == 1 {
		for i := range g.Bins[0] {
			foldRow(g.Row(i))
		}
		return
	}
	for i := 1; i < g.Bins[0]; i++ { // row 0 is already in its place
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

// cut removes the bins outside the tensor: it keeps the bins that cover g.Size.
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
