package store

import (
	"hash/crc32"

	"distaff/io/coo"
	"distaff/io/tcs"
)

// maxColumn and minColumn bound the size of a long column's buffer in bytes. A short column has a
// smaller buffer.
const (
	maxColumn = 256 << 10
	minColumn = 4 << 10
)

// columnBytes returns the size in bytes of the buffer for a column of n+1 numbers. total is the
// number of bytes that all buffers of the rank may occupy. A small total can make the buffer
// smaller than the column.
func columnBytes(total, n int64) int64 {
	most := min(maxColumn, max(total/64, minColumn)) / 8
	return (8*(min(n, most-1)+1) + 15) &^ 15
}

// column writes integers one after another to a section of a .tcs file, through a buffer.
type column struct {
	s    *sharedFile
	sec  tcs.Section
	buf  []int64
	n    int
	span coo.FileRange // the elements that were written
	err  error
}

func (c *column) push(v int64) {
	if c.n == len(c.buf) {
		c.flush() // an error is stored in c.err
	}
	c.buf[c.n] = v
	c.n++
}

// flush writes the contents of the buffer.
func (c *column) flush() error {
	n := c.n
	c.n = 0
	if c.err != nil || n == 0 {
		return c.err
	}
	bytes := tcs.Of(c.buf[:n]).Bytes()
	if c.sec.Width == 4 {
		narrower := words[int32](bytes)
		for i, v := range c.buf[:n] { // each element is read before its memory is overwritten
			narrower[i] = int32(v)
		}
		bytes = bytes[:4*n]
	}
	c.span.CRC = crc32.Update(c.span.CRC, crc32.IEEETable, bytes)
	_, c.err = c.s.WriteAt(bytes, c.sec.Offset+(c.span.From+c.span.N)*int64(c.sec.Width))
	c.span.N += int64(n)
	return c.err
}
