package convert

import (
	"bytes"
	"io"
	"runtime"

	"github.com/klauspost/compress/gzip"
)

// gzipBlock is the largest number of bytes in a gzip member before compression.
const gzipBlock = 1 << 20

// gzipWriter compresses in parallel. It cuts its input into blocks, and each block becomes a
// gzip member; a gzip file may have several members (RFC 1952, section 2.2). The output does
// not depend on the number of threads.
type gzipWriter struct {
	block []byte
	any   bool             // whether a block was started
	order chan chan []byte // one channel for each block, in order, which receives its member
	bad   chan struct{}    // closed if writing fails; err is then set
	ended chan struct{}    // closed when the writing goroutine ends
	err   error
}

func newGzipWriter(w io.Writer) *gzipWriter {
	z := &gzipWriter{order: make(chan chan []byte, runtime.GOMAXPROCS(0)), bad: make(chan struct{}),
		ended: make(chan struct{})}
	go func() {
		defer close(z.ended)
		for b := range z.order {
			member := <-b
			if z.err != nil {
				continue
			}
			if _, z.err = w.Write(member); z.err != nil {
				close(z.bad)
			}
		}
	}()
	return z
}

func (z *gzipWriter) Write(p []byte) (int, error) {
	for n := len(p); ; {
		k := min(len(p), gzipBlock-len(z.block))
		z.block = append(z.block, p[:k]...)
		if p = p[k:]; len(p) == 0 {
			return n, nil
		}
		select {
		case <-z.bad:
			return 0, z.err
		default:
			z.flush()
		}
	}
}

// flush starts to compress the current block in a new goroutine. If too many blocks are in
// progress, it first waits for the oldest one, so that memory stays bounded. The channel z.order
// has an element for each block in progress, except for the oldest one, which the writing goroutine
// waits for.
func (z *gzipWriter) flush() {
	block, done := z.block, make(chan []byte, 1)
	z.block, z.any = make([]byte, 0, gzipBlock), true
	z.order <- done
	go func() {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(block) // a bytes.Buffer never fails
		w.Close()
		done <- b.Bytes()
	}()
}

// Close writes the rest, and returns the first error of the underlying writer.
func (z *gzipWriter) Close() error {
	if len(z.block) > 0 || !z.any {
		z.flush()
	}
	close(z.order)
	<-z.ended
	return z.err
}
