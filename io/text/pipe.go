package text

import (
	"bytes"
	"io"
	"sync"
)

// BlockSize is the usual number of bytes of text that are parsed at a time. It is so small that the
// text and the parsed entries stay in the cache of a core.
const BlockSize = 1 << 18

// Block is a sequence of whole lines with their parsed entries.
type Block struct {
	Text   []byte // every line ends in '\n'; the capacity has room for slack more bytes
	Lines  int    // number of lines
	Raw    int    // number of parsed entries, up to the first error
	N      int    // number of entries: Raw, and entries that the parser added
	Coords [][]int64
	Vals   []byte
	Max    []int64 // the largest coordinate in each mode, or -1
	Err    *Error  // the first error; its Line counts from 1 in the block
	Marks  uint8   // the kinds of entries found, as bits that the format defines

	words []uint64 // the memory of Vals
	buf   []byte   // the memory of Text
	done  chan struct{}
	fail  error // the reader's error, instead of a block
}

// Pipe reads text, parses it in several goroutines, and returns the parsed blocks in order.
type Pipe struct {
	queue chan *Block // in file order
	free  chan *Block
	quit  chan struct{}
	once  sync.Once
	last  *Block
}

// newPipe starts reading r, and starts the given number of goroutines that call parse. It
// closes r at the end. A block has about size bytes, or more if a line is longer. name is for
// messages.
func newPipe(r io.ReadCloser, name string, threads, size int, parse func(*Block)) *Pipe {
	n := threads + 2
	p := &Pipe{queue: make(chan *Block, n), free: make(chan *Block, n), quit: make(chan struct{})}
	for range n {
		p.free <- &Block{done: make(chan struct{}, 1)}
	}
	work := make(chan *Block, n)
	for range threads {
		go func() {
			for b := range work {
				parse(b)
				b.done <- struct{}{}
			}
		}()
	}
	go func() {
		defer close(p.queue)
		defer close(work)
		defer r.Close()
		p.read(r, name, size, work)
	}()
	return p
}

// read cuts r into blocks until its end, its first error, or Close.
func (p *Pipe) read(r io.Reader, name string, size int, work chan<- *Block) {
	var rest []byte // the start of a line whose end is in the next block
	lines := 0
	for eof := false; !eof; {
		var b *Block
		select {
		case b = <-p.free:
		case <-p.quit:
			return
		}
		b.fail = nil
		b.buf = append(b.buf[:0], rest...)
		cut := 0
		for cut == 0 && !eof {
			n := len(b.buf)
			if n > maxLine {
				b.fail = Dataf(name, lines+1, 1,
					"got a line of more than %d bytes, want lines of text", maxLine)
				p.queue <- b
				return
			}
			want := max(size, 2*n)
			if cap(b.buf) < want+1+slack {
				b.buf = append(make([]byte, 0, want+1+slack), b.buf...)
			}
			m, err := io.ReadFull(r, b.buf[n:want])
			b.buf = b.buf[:n+m]
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				eof = true
			} else if err != nil {
				b.fail = err
				p.queue <- b
				return
			}
			cut = bytes.LastIndexByte(b.buf, '\n') + 1
		}
		if eof && cut < len(b.buf) {
			b.buf = append(b.buf, '\n')
			cut = len(b.buf)
		}
		b.buf = b.buf[:len(b.buf)+slack]
		rest = append(rest[:0], b.buf[cut:len(b.buf)-slack]...)
		b.Text = b.buf[:cut]
		p.queue <- b
		work <- b
	}
}

// Next returns the next parsed block, or io.EOF after the last. The block is valid until the
// next call. Next returns an error of reading, and an error for a line that is too long. Any other
// error in a block's text is in the block's Err.
func (p *Pipe) Next() (*Block, error) {
	if p.last != nil {
		p.free <- p.last
		p.last = nil
	}
	b, ok := <-p.queue
	if !ok {
		return nil, io.EOF
	}
	if b.fail != nil {
		return nil, b.fail
	}
	<-b.done
	p.last = b
	return b, nil
}

// Close stops reading. It does not wait for a blocked reader.
func (p *Pipe) Close() { p.once.Do(func() { close(p.quit) }) }
