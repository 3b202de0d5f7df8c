package distribute

import (
	"slices"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// chunks adds to n the chunks into which peeled loops cut a variable of the statement. It sets the
// numbers of iterations of these loops. name is the variable's name.
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
		count, err := numbered(c.Cuts, even, size, by)
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

// digit returns the digit of a chunk's number that is the value of a peeled loop of n iterations.
func (p *peeling) digit(loop int, n int64) place.Digit {
	d := place.Digit{Loop: loop, N: n}
	for _, w := range p.peeled[loop].plus {
		d.Plus = append(d.Plus, slices.Index(p.peeled, w))
	}
	return d
}

// numbered returns into how many chunks each range of cuts is cut. If even is true, size is this
// number. Otherwise size is the size of a chunk, and the largest range determines the number. by is
// the command, for an error.
func numbered(cuts []int64, even bool, size int64, by *schedule.Command) (int64, error) {
	count := size
	if !even {
		largest := int64(0)
		for k, a := range cuts[:len(cuts)-1] {
			largest = max(largest, cuts[k+1]-a)
		}
		count = max(1, (largest-1)/size+1)
	}
	if count > maxIterations/int64(len(cuts)-1) {
		return 0,
			refuse(by,
				"%s: one variable would have loops over more than %d chunks; want fewer chunks",
				by.Name, maxIterations)
	}
	return count, nil
}

// tiled cuts each range of cuts into count ranges of size coordinates. The last ones in a range are
// shorter or empty.
func tiled(cuts []int64, size, count int64) []int64 {
	out := make([]int64, 1, int64(len(cuts)-1)*count+1)
	out[0] = cuts[0]
	for k, end := range cuts[1:] {
		at := cuts[k]
		for range count {
			at += min(size, end-at)
			out = append(out, at)
		}
	}
	return out
}
