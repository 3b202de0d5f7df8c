package text

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"distaff/io/outfile"

	"golang.org/x/sys/unix"
)

// kept stores the content of a compressed file while it is decompressed, for later readers. It
// only saves time: if the content does not fit, it is dropped, and the file is decompressed
// again.
type kept struct {
	mu       sync.Mutex // an abandoned reader may still read
	tmp      string
	mem      []byte   // the first bytes, at most spoolMemory
	file     *os.File // the other bytes, in an unlinked file; nil if there are none
	size     int64
	maxFile  int64 // the largest size of the file in bytes
	disabled bool  // nothing is stored any more
	complete bool  // the whole content is stored
}

// Keep makes the next reader of a compressed file store the content. If that reader reaches the end
// and the content has room (see kept), later readers read the stored content instead of
// decompressing the file again.
func (s *Source) Keep() {
	if s.packed() && s.kept == nil {
		s.kept = &kept{tmp: s.tmp}
	}
}

// add stores the result of one Read of the content: the bytes p and the error err.
func (k *kept) add(p []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(p)
	if err != nil && err != io.EOF {
		k.drop()
	}
	k.complete = !k.disabled && err == io.EOF
}

func (k *kept) put(p []byte) {
	if k.disabled {
		return
	}
	if k.file == nil && len(k.mem)+len(p) <= spoolMemory {
		k.mem = append(k.mem, p...)
		k.size += int64(len(p))
		return
	}
	if k.file == nil {
		f, err := outfile.TempFile(k.tmp)
		if err != nil {
			k.drop()
			return
		}
		k.file, k.maxFile = f, fileLimit(f)
	}
	at := k.size - int64(len(k.mem))
	if at+int64(len(p)) > k.maxFile {
		k.drop()
		return
	}
	if _, err := k.file.WriteAt(p, at); err != nil {
		k.drop()
		return
	}
	k.size += int64(len(p))
}

// whole reports whether the whole content is stored.
func (k *kept) whole() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.complete
}

// release drops the content.
func (k *kept) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop()
}

func (k *kept) drop() {
	k.disabled, k.complete, k.mem = true, false, nil
	if k.file != nil {
		k.file.Close()
		k.file = nil
	}
}

// fileLimit returns how many bytes a temporary file may occupy on its disk: a quarter of the
// free space, or 0 if the file system is in memory.
func fileLimit(f *os.File) int64 {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || st.Type == unix.TMPFS_MAGIC ||
		st.Type == unix.RAMFS_MAGIC {
		return 0
	}
	return int64(min(st.Bavail/4, 1<<40)) * st.Bsize
}

// keeper is a reader that also appends all bytes it reads to k, the copy that later readers of the
// file use.
type keeper struct {
	io.Reader
	k *kept
}

func (r *keeper) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.k.add(p[:n], err)
	return n, err
}

// keptReader reads the stored content. It advances the Source's progress as if it read the
// compressed file.
type keptReader struct {
	k     *kept
	off   int64
	done  *atomic.Int64
	total int64
}

func (r *keptReader) Read(p []byte) (n int, err error) {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if !r.k.complete {
		return 0, os.ErrClosed
	}
	switch m := int64(len(r.k.mem)); {
	case r.off == r.k.size:
		return 0, io.EOF
	case r.off < m:
		n = copy(p, r.k.mem[r.off:])
	default:
		n, err = r.k.file.ReadAt(p[:min(int64(len(p)), r.k.size-r.off)], r.off-m)
	}
	r.off += int64(n)
	r.done.Store(int64(float64(r.total) * (float64(r.off) / float64(r.k.size))))
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}
