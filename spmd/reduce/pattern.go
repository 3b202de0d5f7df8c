package reduce

import (
	"fmt"
	"slices"

	"distaff/io/tcs"
)

// Shape is what all blocks of a result have in common. Kinds are levels d and s.
type Shape struct {
	Name               string
	Dims               []int64
	Type               tcs.Type
	Kinds              string
	Modes              []int
	PosWidth, CrdWidth []uint8
}

// deep is the last compressed level, or -1.
func (s *Shape) deep() int {
	for l := len(s.Kinds) - 1; l >= 0; l-- {
		if tcs.KindOf(s.Kinds[l]).Form != tcs.Full {
			return l
		}
	}
	return -1
}

// Alloc gives memory that holds anything; what names it in a refusal.
type Alloc func(bytes int64, what string) (*tcs.Memory, error)

// Pattern is the coordinates of a block: its level arrays, without values.
type Pattern struct {
	shape *Shape
	t     *tcs.Tensor // Vals has a length, and no memory
}

// Bytes is the size of a block of the pattern, values included.
func (p *Pattern) Bytes() int64 { return p.t.Bytes() }

// Block is a block of the pattern over level arrays that it shares with others,
// with values of its own, which hold anything. The caller closes it.
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

// Close releases the level arrays; blocks hold them still.
func (p *Pattern) Close() error { return p.t.Close() }

// ErrWidth says that the union has more positions than its arrays count.
type ErrWidth struct{ Name string }

func (e *ErrWidth) Error() string {
	return fmt.Sprintf(
		"the partial results of %s together have more than 2^31 entries, and positions of 32 bits",
		e.Name)
}

// leastColumn is how many elements an array of a pattern has room for to begin with.
const leastColumn = 1024

// Building is the bytes that Union takes beside its sources, maps and level arrays, of so many
// bytes, while it makes these, level arrays of a format with so wide elements: each grows to twice
// what it holds while the old one is there as well.
func Building(levels int64, pos, crd []uint8) int64 {
	bytes := 2 * levels
	for l := range pos {
		bytes += leastColumn * int64(pos[l]+crd[l])
	}
	return bytes
}

// column is a growing pos or crd array.
type column struct {
	mem   *tcs.Memory
	arr   tcs.Array // over all of mem
	all   ints      // of arr
	n     int64
	limit *tcs.Limit
	what  string
}

// push appends v.
func (c *column) push(v int64) error {
	if c.n == c.arr.Len {
		if err := c.grow(max(2*c.n, leastColumn)); err != nil {
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

// array is what was pushed, as an array of t's, which takes the memory over.
func (c *column) array(t *tcs.Tensor) tcs.Array {
	if c.mem == nil {
		return tcs.Array{Width: c.arr.Width}
	}
	c.mem.Trim(c.n * int64(c.arr.Width))
	t.Hold(c.mem)
	c.close()
	return c.arr.Sub(0, c.n)
}

// frame is a block's tensor without arrays.
func (s *Shape) frame(box [][2]int64) *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: s.Dims, Box: slices.Clone(box), Type: s.Type},
		Levels: make([]tcs.Level, len(s.Kinds))}
	t.Vals.Width = uint8(s.Type.Size())
	for l := range s.Kinds {
		m := s.Modes[l]
		lev := tcs.Level{Kind: s.Kinds[l], Mode: m, Size: s.Dims[m]}
		if lev.Form() == tcs.Full {
			lev.Size, lev.Offset = box[m][1]-box[m][0], box[m][0]
		}
		t.Levels[l] = lev
	}
	return t
}
