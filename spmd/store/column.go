package store

import (
	"hash/crc32"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// columnMost and columnLeast bound the bytes of a column's buffer.
const (
	columnMost  = 256 << 10
	columnLeast = 4 << 10
)

// column is numbers of a section, one after another, on their way to the file.
type column struct {
	s    *site
	sec  tcs.Section
	buf  []int64
	n    int
	span coo.FileRange // what was written
	err  error
}

func (c *column) push(v int64) {
	if c.n == len(c.buf) {
		c.flush() // which keeps its error
	}
	c.buf[c.n] = v
	c.n++
}

// flush writes what is in the buffer.
func (c *column) flush() error {
	n := c.n
	c.n = 0
	if c.err != nil || n == 0 {
		return c.err
	}
	bytes := tcs.Of(c.buf[:n]).Bytes()
	if c.sec.Width == 4 {
		narrower := words[int32](bytes)
		for i, v := range c.buf[:n] { // each is read before its place is written
			narrower[i] = int32(v)
		}
		bytes = bytes[:4*n]
	}
	c.span.CRC = crc32.Update(c.span.CRC, crc32.IEEETable, bytes)
	_, c.err = c.s.WriteAt(bytes, c.sec.Offset+(c.span.From+c.span.N)*int64(c.sec.Width))
	c.span.N += int64(n)
	return c.err
}
