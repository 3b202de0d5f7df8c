package coo

import (
	"hash/crc32"
	"io"
	"unsafe"

	"distaff/io/tcs"
)

// sink is an array that grows. It is either the array itself in memory, or a window of the array
// that is written to a file when it is full.
type sink struct {
	width  int
	bytes  []byte  // the window
	i32    []int32 // the window, if its elements have 4 bytes
	i64    []int64 // the window, if its elements have 8 bytes
	size   int     // the number of elements in the window
	n      int     // number of used elements in the window
	base   int64   // index in the array of the first element of the window
	zeroed bool    // the memory is already zero

	file io.WriterAt // nil if the array is in memory
	off  int64       // offset of the array in the file
	crc  uint32
	err  error
}

// window is the largest size of a file sink's buffer in bytes.
const window = 1 << 18

func memorySink(a tcs.Array, next int64) *sink {
	s := &sink{width: int(a.Width), zeroed: true}
	s.view(a.Ptr, a.Len)
	s.n = int(next)
	return s
}

func fileSink(f io.WriterAt, sec tcs.Section) *sink {
	s := &sink{width: int(sec.Width), file: f, off: sec.Offset}
	n := max(min(sec.Len, window/int64(sec.Width)), 1)
	words := make([]uint64, (n*int64(sec.Width)+7)/8)
	s.view(unsafe.Pointer(&words[0]), n)
	return s
}

func (s *sink) view(p unsafe.Pointer, n int64) {
	s.size, s.bytes = int(n), unsafe.Slice((*byte)(p), n*int64(s.width))
	switch s.width {
	case 4:
		s.i32 = unsafe.Slice((*int32)(p), n)
	case 8:
		s.i64 = unsafe.Slice((*int64)(p), n)
	}
}

func (s *sink) next() int64 { return s.base + int64(s.n) }

func (s *sink) left() int { return s.size - s.n }

// flush writes the buffered elements to the file. It must not be called for a sink in memory,
// because the memory has room for exactly the elements that were counted.
func (s *sink) flush() {
	if s.file == nil {
		panic("BUG: coo: more elements than were counted")
	}
	b := s.bytes[:s.n*s.width]
	if s.err == nil && len(b) > 0 {
		s.crc = crc32.Update(s.crc, crc32.IEEETable, b)
		_, s.err = s.file.WriteAt(b, s.off+s.base*int64(s.width))
	}
	s.base += int64(s.n)
	s.n = 0
}

// put appends v to a pos or crd array.
func (s *sink) put(v int64) {
	if s.width == 4 {
		if s.n == len(s.i32) {
			s.flush()
		}
		s.i32[s.n] = int32(v)
	} else {
		if s.n == len(s.i64) {
			s.flush()
		}
		s.i64[s.n] = v
	}
	s.n++
}

// fill appends v until the array has upto elements.
func (s *sink) fill(v, upto int64) {
	k := upto - s.next()
	if k <= 0 {
		return
	}
	if v == 0 && s.zeroed {
		s.n += int(k)
		return
	}
	if k == 1 && (s.width == 4 || s.width == 8) {
		s.put(v)
		return
	}
	for k > 0 {
		if s.left() == 0 {
			s.flush()
		}
		n := int(min(k, int64(s.left())))
		switch s.width {
		case 4:
			w := s.i32[s.n : s.n+n]
			for i := range w {
				w[i] = int32(v)
			}
		case 8:
			w := s.i64[s.n : s.n+n]
			for i := range w {
				w[i] = v
			}
		default:
			// only values have this width, and only zeros are filled in
			clear(s.bytes[s.n*s.width : (s.n+n)*s.width])
		}
		s.n += n
		k -= int64(n)
	}
}

// putValue appends the value at p.
func (s *sink) putValue(p unsafe.Pointer) {
	if s.left() == 0 {
		s.flush()
	}
	switch s.width {
	case 4:
		s.i32[s.n] = *(*int32)(p)
	case 8:
		s.i64[s.n] = *(*int64)(p)
	default:
		copy(s.bytes[s.n*s.width:], unsafe.Slice((*byte)(p), s.width))
	}
	s.n++
}

// putValues appends n values.
func (s *sink) putValues(vals []byte, n int) {
	for n > 0 {
		if s.left() == 0 {
			s.flush()
		}
		k := min(n, s.left())
		copy(s.bytes[s.n*s.width:], vals[:k*s.width])
		s.n += k
		n -= k
		vals = vals[k*s.width:]
	}
}
