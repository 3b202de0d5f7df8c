package text

import (
	"io"
	"os"
	"sync"
	"sync/atomic"

	"distaff/io/outfile"

	"golang.org/x/sys/unix"
)

// kept is the content of a compressed file as it was undone once, for readers that come
// after. It is only a saving of time: what finds no room is not kept, and is undone again.
type kept struct {
	mu   sync.Mutex // a reader that was left may still read
	tmp  string
	mem  []byte   // the first bytes, up to spoolMemory
	file *os.File // those after them, in a file without a name; nil until there are any
	size int64
	most int64 // bytes that the file may take
	off  bool  // nothing is kept any more
	all  bool  // the whole content is there
}

// Keep has the next reader keep what a compressed file holds, so that readers after it, if it
// came to the end, need not undo the compression again.
func (s *Source) Keep() {
	if s.pack != plain && s.kept == nil {
		s.kept = &kept{tmp: s.tmp}
	}
}

// add appends what a reader yields, with its error.
func (k *kept) add(p []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(p)
	if err != nil && err != io.EOF {
		k.drop()
	}
	k.all = !k.off && err == io.EOF
}

func (k *kept) put(p []byte) {
	if k.off {
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
		k.file, k.most = f, fileMost(f)
	}
	at := k.size - int64(len(k.mem))
	if at+int64(len(p)) > k.most {
		k.drop()
		return
	}
	if _, err := k.file.WriteAt(p, at); err != nil {
		k.drop()
		return
	}
	k.size += int64(len(p))
}

// whole tells whether all of the content is there.
func (k *kept) whole() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all
}

// release gives up.
func (k *kept) release() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop()
}

func (k *kept) drop() {
	k.off, k.all, k.mem = true, false, nil
	if k.file != nil {
		k.file.Close()
		k.file = nil
	}
}

// fileMost is what a file may take of the disk that it is on: a quarter of what is free, and
// nothing of one that is memory.
func fileMost(f *os.File) int64 {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC {
		return 0
	}
	return int64(min(st.Bavail/4, 1<<40)) * st.Bsize
}

// keeper is a reader whose content is kept.
type keeper struct {
	io.Reader
	k *kept
}

func (r *keeper) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.k.add(p[:n], err)
	return n, err
}

// keptReader reads what was kept, and counts as if the compressed file were read.
type keptReader struct {
	k     *kept
	off   int64
	done  *atomic.Int64
	total int64
}

func (r *keptReader) Read(p []byte) (n int, err error) {
	r.k.mu.Lock()
	defer r.k.mu.Unlock()
	if !r.k.all {
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
