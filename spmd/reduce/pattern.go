package reduce

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Shape describes what all blocks of a result have in common.
type Shape struct {
	Name               string
	Layout             tensor.Layout // with levels d and s
	PosWidth, CrdWidth []uint8
}

// deep returns the last compressed level, or -1 if there is none.
func (s *Shape) deep() int {
	for l := len(s.Layout.Format.Levels) - 1; l >= 0; l-- {
		if s.Layout.Format.Levels[l].Form() != tensor.Full {
			return l
		}
	}
	return -1
}

// Alloc allocates bytes of memory with undefined contents. what names the memory in an error
// message.
type Alloc func(bytes int64, what string) (*tcs.Memory, error)

// Pattern is the level arrays of a block, without values.
type Pattern struct {
	shape *Shape
	t     *tcs.Tensor // Vals has a length but no memory
}

// Bytes returns the size of a block with this pattern, including its values.
func (p *Pattern) Bytes() int64 { return p.t.Bytes() }

// Block returns a block that shares the pattern's level arrays and has its own values, which are
// undefined. The caller must close it.
func (p *Pattern) Block(alloc Alloc) (*tcs.Tensor, error) {
	n, width := p.t.Vals.Len, p.t.Vals.Width
	mem, err := alloc(n*int64(width), "the values of "+p.shape.Name)
	if err != nil {
		return nil, err
	}
	t := p.t.Alias()
	t.Vals = mem.Array(0, n, width)
	t.Hold(mem)
	return t, mem.Release()
}

// Close gives up the pattern's reference to the level arrays. Blocks of the pattern have their own
// references, and the arrays stay in memory until the last block is closed.
func (p *Pattern) Close() error { return p.t.Close() }

// ErrWidth is the error of a union that has more positions than its arrays of 32 bits can count.
type ErrWidth struct{ Name string }

func (e *ErrWidth) Error() string {
	return fmt.Sprintf(
		"the partial results of %s have more than 2^31 entries in all, but positions of 32 bits",
		e.Name)
}

// minColumn is the initial capacity, in elements, of an array of a pattern.
const minColumn = 1024

// Building returns an upper bound of the temporary memory, in bytes, that Union needs besides its
// sources, its maps and the level arrays. An array that grows is copied to a new array of twice the
// size, and both exist during the copy. levels is the size of the level arrays in bytes. pos and
// crd are the widths of their elements.
func Building(levels int64, pos, crd []uint8) int64 {
	bytes := 2 * levels
	for l := range pos {
		bytes += minColumn * int64(pos[l]+crd[l])
	}
	return bytes
}

// column is a growing pos or crd array.
type column struct {
	mem   *tcs.Memory
	arr   tcs.Array // all of mem
	all   ints      // the elements of arr
	n     int64
	limit *tcs.Limit
	what  string
}

// push appends v.
func (c *column) push(v int64) error {
	if c.n == c.arr.Len {
		if err := c.grow(max(2*c.n, minColumn)); err != nil {
			return err
		}
	}
	c.all.set(c.n, v)
	c.n++
	return nil
}

func (c *column) grow(n int64) error {
	mem, err := tcs.Alloc(c.limit, n*int64(c.arr.Width), c.what)
	if err != nil {
		return err
	}
	arr := mem.Array(0, n, c.arr.Width)
	if c.n > 0 {
		copy(arr.Bytes(), c.arr.Bytes()[:c.n*int64(c.arr.Width)])
	}
	c.close()
	c.mem, c.arr, c.all = mem, arr, newInts(arr)
	return nil
}

func (c *column) close() {
	if c.mem != nil {
		c.mem.Release()
		c.mem = nil
	}
}

// array returns the pushed elements as an array. The memory then belongs to t.
func (c *column) array(t *tcs.Tensor) tcs.Array {
	if c.mem == nil {
		return tcs.Array{Width: c.arr.Width}
	}
	c.mem.Trim(c.n * int64(c.arr.Width))
	t.Hold(c.mem)
	c.close()
	return c.arr.Sub(0, c.n)
}

// frame returns a block of the given box that has levels, but no arrays yet.
func (s *Shape) frame(box [][2]int64) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: s.Layout.Dims, Box: slices.Clone(box),
		Type: s.Layout.Type},
		Levels: make([]tcs.Level, len(s.Layout.Format.Levels))}
	t.Vals.Width = uint8(s.Layout.Type.Size())
	for l := range s.Layout.Format.Levels {
		m := s.Layout.Format.Order[l]
		lev := tcs.Level{Kind: s.Layout.Format.Levels[l], Mode: m, Size: s.Layout.Dims[m]}
		if lev.Form() == tensor.Full {
			lev.Size, lev.Offset = box[m][1]-box[m][0], box[m][0]
		}
		t.Levels[l] = lev
	}
	return t
}
