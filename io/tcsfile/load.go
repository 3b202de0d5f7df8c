package tcsfile

import (
	"hash/crc32"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Load allocates memory for the arrays of t and decompresses the file into it. If LoadLazily
// prepared t, Load decompresses the missing chunks instead. It does nothing if the file is not
// compressed, or if Load or LoadInto decompressed it before. t must be the whole tensor. See
// tcs.Tensor.Load.
func (src *source) Load(t *tcs.Tensor, limit *tcs.Limit) error {
	if z := lazyOf(t); z != nil {
		return z.all()
	}
	if !src.Compressed() || loaded(t) {
		return nil
	}
	return src.Guard(func() error { return src.decompress(t, limit) })
}

// Decompressed returns the size in bytes of the memory that the arrays of a compressed file need
// after Load or LoadLazily. It returns 0 if the tensor is not from a compressed file.
func Decompressed(t *tcs.Tensor) int64 {
	if !t.Compressed() {
		return 0
	}
	_, total, err := of(t).plainOffsets()
	if err != nil { // Load returns the error
		return 0
	}
	return total
}

// loaded reports whether the arrays of t have memory.
func loaded(t *tcs.Tensor) bool {
	if t.Vals.Ptr == nil {
		return false
	}
	for _, l := range t.Levels {
		if l.Kind.HasCrd() && l.Crd.Ptr == nil {
			return false
		}
	}
	return true
}

func (src *source) decompress(t *tcs.Tensor, limit *tcs.Limit) error {
	h, what := &src.header, src.decompressing()
	offs, total, err := src.plainOffsets()
	if err != nil {
		return err
	}
	if limit.Max() <= 0 && total > limit.Free() {
		return &tcs.MemoryError{What: what, Want: total, Max: limit.Free(), Machine: true}
	}
	m, err := tcs.Alloc(limit, total, what)
	if err != nil {
		return err
	}
	for i := range h.sections {
		sec := &h.sections[i]
		n, dst := sec.section.Bytes(), m.Slice()[offs[i]:]
		if err := h.inflate(n, src.stored(sec), func(at int64, b []byte) error {
			copy(dst[at:], b)
			return nil
		}); err != nil {
			m.Release()
			return src.dataErr("section %d is corrupt: %v", i, err)
		}
	}
	return src.adopt(t, m, offs)
}

// decompressing returns the purpose of the memory for decompressed arrays, as a phrase for error
// messages.
func (src *source) decompressing() string { return "decompressing " + tensor.Printable(src.path) }

// LoadInto is like Load, but decompresses into the file f and maps it. It owns f from then on; f
// should already be unlinked. Callers use it if Load fails because the arrays exceed the memory or
// its limit.
func LoadInto(t *tcs.Tensor, f *os.File) error {
	if !t.Compressed() || loaded(t) {
		return f.Close()
	}
	src := of(t)
	err := src.Guard(func() error { return src.decompressTo(t, f) })
	if err != nil {
		f.Close()
	}
	return err
}

func (src *source) decompressTo(t *tcs.Tensor, f *os.File) error {
	offs, total, err := src.plainOffsets()
	if err != nil {
		return err
	}
	for i := range src.header.sections {
		sec := &src.header.sections[i]
		var failed error
		var once sync.Once
		err := src.header.inflate(sec.section.Bytes(), src.stored(sec),
			func(at int64, b []byte) error {
				_, err := f.WriteAt(b, offs[i]+at)
				if err != nil {
					once.Do(func() { failed = err })
				}
				return err
			})
		if failed != nil {
			return &tcs.Error{Exit: exitRun, File: src.path,
				Msg: "can't decompress into a temporary file (--tmp)", Err: failed}
		}
		if err != nil {
			return src.dataErr("section %d is corrupt: %v", i, err)
		}
	}
	if err := f.Truncate(max(total, 1)); err != nil {
		return openErr(src.path, err)
	}
	ptr, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(max(total, 1)), unix.PROT_READ,
		unix.MAP_SHARED)
	if err != nil {
		return openErr(src.path, err)
	}
	m := tcs.Foreign(ptr, total, func() error {
		err := unix.MunmapPtr(ptr, uintptr(max(total, 1)))
		f.Close()
		return err
	})
	return src.adopt(t, m, offs)
}

// plainOffsets returns the offset of each decompressed array if the arrays are stored one after
// another, and their total size in bytes.
func (src *source) plainOffsets() (offs []int64, total int64, err error) {
	for _, sec := range src.header.sections {
		off := alignUp(total)
		offs = append(offs, off)
		if total = off + sec.section.Bytes(); total < 0 || off < 0 {
			return nil, 0, src.dataErr("its arrays take more than 2^63 bytes, want less")
		}
	}
	return offs, total, nil
}

// adopt makes m the memory of t's arrays. m contains the decompressed arrays at the offsets offs,
// which are from plainOffsets. adopt first checks the checksum of each array, and returns an error
// if one is wrong. It takes over the caller's reference to m, also if it returns an error.
func (src *source) adopt(t *tcs.Tensor, m *tcs.Memory, offs []int64) error {
	for i, sec := range src.header.sections {
		sum := crc32.ChecksumIEEE(m.Slice()[offs[i]:][:sec.section.Bytes()])
		if sum != sec.crc {
			m.Release()
			return src.sumErr(i, sum)
		}
	}
	src.setArrays(t, m, offs)
	return nil
}

// setArrays makes m the memory of t's arrays, which start at offs. It takes over the reference
// to m.
func (src *source) setArrays(t *tcs.Tensor, m *tcs.Memory, offs []int64) {
	for i, sec := range src.header.sections {
		*t.Array(sec.section.Level, sec.section.Array) = m.Array(offs[i], sec.section.Len,
			sec.section.Width)
	}
	t.Own(m)
}
