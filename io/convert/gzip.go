package convert

import (
	"bytes"
	"io"
	"runtime"

	"github.com/klauspost/compress/gzip"
)

// gzipBlock is how much a gzip member holds.
const gzipBlock = 1 << 20

// gzipWriter compresses in parallel: what is written is cut into blocks, each a gzip member
// of its own, which follow one another, as the format
// has it (RFC 1952, section 2.2). The bytes do not depend on how many threads there are.
type gzipWriter struct {
	block []byte
	any   bool             // some block was begun
	order chan chan []byte // of blocks, what they become, in their order
	bad   chan struct{}    // closed where the writing of them failed, with err
	ended chan struct{}    // closed at its end
	err   error
}

func newGzipWriter(w io.Writer) *gzipWriter {
	z := &gzipWriter{order: make(chan chan []byte, runtime.GOMAXPROCS(0)), bad: make(chan struct{}), ended: make(chan struct{})}
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

// flush begins to compress the block. At most as many are under way as order holds, and two.
func (z *gzipWriter) flush() {
	block, done := z.block, make(chan []byte, 1)
	z.block, z.any = make([]byte, 0, gzipBlock), true
	z.order <- done
	go func() {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(block) // a buffer takes everything
		w.Close()
		done <- b.Bytes()
	}()
}

// Close writes what is left. It gives the first error of the writer underneath.
func (z *gzipWriter) Close() error {
	if len(z.block) > 0 || !z.any {
		z.flush()
	}
	close(z.order)
	<-z.ended
	return z.err
}
