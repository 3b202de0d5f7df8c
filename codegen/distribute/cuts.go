package distribute

import (
	"slices"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// chunks records in the nest n how the peeled loops divide a variable of the statement into chunks.
// name is the name of this variable. chunks also sets the numbers of iterations of these loops.
func (p *peeling) chunks(n *place.Nest, name string) error {
	c := place.Chunks{Var: name, Cuts: []int64{0, p.statement.Sizes[name]}}
	for v := p.vars[name]; v != nil; {
		loop, even, size, by := -1, false, int64(1), v.by
		next := (*variable)(nil)
		if x := v.cut; x != nil {
			loop, even, size, by, next = p.loopOf(x.outer), x.even, x.n, x.by, x.inner
		} else {
			loop = p.loopOf(v) // a loop over single coordinates
		}
		if loop < 0 {
			break
		}
		count, err := chunksPerRange(c.Cuts, even, size, by)
		if err != nil {
			return err
		}
		if even {
			c.Cuts = place.CutEvenly(c.Cuts, count)
		} else {
			c.Cuts = tiled(c.Cuts, size, count)
		}
		n.Loops[loop].N = count
		c.Digits = append(c.Digits, p.digit(loop, count))
		v = next
	}
	if c.Digits != nil {
		n.Chunks = append(n.Chunks, c)
	}
	return nil
}

// digit returns one digit of a chunk's number (see place.Digit). The digit belongs to the peeled
// loop with index loop, which has n iterations.
func (p *peeling) digit(loop int, n int64) place.Digit {
	d := place.Digit{Loop: loop, N: n}
	for _, w := range p.peeled[loop].plus {
		d.Plus = append(d.Plus, slices.Index(p.peeled, w))
	}
	return d
}

// chunksPerRange returns the number of chunks in each of several consecutive ranges. Range k is
// from bounds[k] up to bounds[k+1]. If even is true, size is this number. Otherwise size is the
// number of coordinates of a chunk, and there are enough chunks to cover the largest range. If
// there are too many chunks, chunksPerRange returns an error that names the command by.
func chunksPerRange(bounds []int64, even bool, size int64, by *schedule.Command) (int64, error) {
	count := size
	if !even {
		largest := int64(0)
		for k, a := range bounds[:len(bounds)-1] {
			largest = max(largest, bounds[k+1]-a)
		}
		count = max(1, (largest-1)/size+1)
	}
	if count > maxIterations/int64(len(bounds)-1) {
		return 0,
			refuse(by,
				"%s: one variable would have loops over more than %d chunks; want fewer chunks",
				by.Name, maxIterations)
	}
	return count, nil
}

// tiled divides each of several consecutive ranges into smaller ranges, and returns the new bounds.
// Range k is from bounds[k] up to bounds[k+1]. It is divided into count ranges with size
// coordinates each. The last ones in a range may be shorter or empty.
func tiled(bounds []int64, size, count int64) []int64 {
	out := make([]int64, 1, int64(len(bounds)-1)*count+1)
	out[0] = bounds[0]
	for k, end := range bounds[1:] {
		at := bounds[k]
		for range count {
			at += min(size, end-at)
			out = append(out, at)
		}
	}
	return out
}
