package store

// frame gives each coordinate tuple of a dense array a number, its position. Positions are in
// row-major order of the modes, the outermost mode first.
type frame struct {
	modes  []int
	dims   []int64 // by level
	stride []int64 // by level
	total  int64
}

func newFrame(dims []int64, modes []int) *frame {
	f := &frame{modes: modes, total: 1, stride: make([]int64, len(modes))}
	for _, m := range modes {
		f.dims = append(f.dims, dims[m])
	}
	for l := len(modes) - 1; l >= 0; l-- {
		f.stride[l] = f.total
		f.total *= f.dims[l]
	}
	return f
}

// ranges returns the ranges of a box in the order of the frame's levels instead of the modes.
func (f *frame) ranges(box [][2]int64) [][2]int64 {
	out := make([][2]int64, len(f.modes))
	for l, m := range f.modes {
		out[l] = box[m]
	}
	return out
}

// rows returns the positions [lo, hi) of the box. ok is false if the box has only a part of a mode
// other than the outermost.
func (f *frame) rows(box [][2]int64) (lo, hi int64, ok bool) {
	r := f.ranges(box)
	for l := 1; l < len(r); l++ {
		if r[l] != [2]int64{0, f.dims[l]} {
			return 0, 0, false
		}
	}
	if len(r) == 0 {
		return 0, 1, true
	}
	return r[0][0] * f.stride[0], r[0][1] * f.stride[0], true
}

// before returns how many positions of the box are below p.
func (f *frame) before(box [][2]int64, p int64) int64 {
	r := f.ranges(box)
	// number of positions of the box under one coordinate of the level above
	below := make([]int64, len(r)+1)
	below[len(r)] = 1
	for l := len(r) - 1; l >= 0; l-- {
		below[l] = below[l+1] * (r[l][1] - r[l][0])
	}
	if p >= f.total {
		return below[0]
	}
	n := int64(0)
	for l := range r {
		x := p / f.stride[l]
		p %= f.stride[l]
		n += (min(max(x, r[l][0]), r[l][1]) - r[l][0]) * below[l+1]
		if x < r[l][0] || x >= r[l][1] {
			break
		}
	}
	return n
}

// eachRun divides the positions that are in the box and in [a, b) into runs of consecutive
// positions, and calls yield for each run in order. x are the coordinates of the run's first
// position, by level, valid only during the call. p is that position, and n the length of the run.
func (f *frame) eachRun(box [][2]int64, a, b int64, yield func(x []int64, p, n int64)) {
	if a >= b {
		return
	}
	r := f.ranges(box)
	last := len(r) - 1
	if last < 0 {
		yield(nil, 0, 1)
		return
	}
	for _, x := range r {
		if x[0] >= x[1] {
			return
		}
	}
	x, ok := f.first(r, a)
	for ok {
		p := int64(0)
		for l, c := range x {
			p += c * f.stride[l]
		}
		if p >= b {
			return
		}
		yield(x, p, min(r[last][1]-x[last], b-p))
		x[last] = r[last][0]
		l := last - 1
		for ; l >= 0; l-- {
			if x[l]++; x[l] < r[l][1] {
				break
			}
			x[l] = r[l][0]
		}
		ok = l >= 0
	}
}

// first returns the coordinates, by level, of the first position of box r that is not below a. ok
// is false if there is none.
func (f *frame) first(r [][2]int64, a int64) (x []int64, ok bool) {
	x = make([]int64, len(r))
	for l := range r {
		x[l] = r[l][0]
	}
	for l := range r {
		c := a / f.stride[l]
		a %= f.stride[l]
		if c < r[l][0] {
			return x, true
		}
		if c >= r[l][1] { // past this level's range: advance the level above
			for l--; l >= 0; l-- {
				if x[l]++; x[l] < r[l][1] {
					return x, true
				}
				x[l] = r[l][0]
			}
			return nil, false
		}
		x[l] = c
	}
	return x, true
}
