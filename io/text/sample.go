package text

import (
	"bytes"
	"io"
	"sync/atomic"
)

// sampleSize is the number of bytes of text that About reads.
const sampleSize = 1 << 20

// About estimates the number of entries of the file from its first lines. It assumes that the other
// lines are as long and compress equally well. known is false if there is no estimate, for example
// if the source is a pipe or can't be read.
func (e *Entries) About() (n int64, known bool) {
	content, share := e.Src.sample(sampleSize)
	if share <= 0 || e.Start > int64(len(content)) {
		return 0, false
	}
	body := content[e.Start:]
	if share < 1 {
		body = body[:bytes.LastIndexByte(body, '\n')+1]
	}
	entries, rest := 0, body
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != e.Comment {
			entries++
		}
		rest = after
	}
	if share == 1 {
		return int64(entries), true
	}
	all := float64(len(content))/share - float64(e.Start)
	return int64(float64(entries)*all/float64(len(body)) + 0.5), entries > 0
}

// sample returns at most n bytes from the start of the decompressed content. share is the fraction
// of the file that these bytes are stored in, from 0 to 1. It is 0 if the fraction is unknown.
func (s *Source) sample(n int) (content []byte, share float64) {
	if s.file == nil || s.size == 0 || s.tar != nil {
		return nil, 0
	}
	var read atomic.Int64
	var r io.Reader = &counted{r: io.NewSectionReader(s.file, 0, s.size), n: &read}
	if s.pack != nil {
		// Buffered input counts as read, so the buffer is small. For the same reason a single
		// goroutine decompresses.
		z, err := s.pack.open(s, r, 1<<12, 1)
		if err != nil {
			return nil, 0
		}
		defer z.Close()
		r = z
	}
	content = make([]byte, n+1)
	m, err := io.ReadFull(r, content)
	switch err {
	case nil:
		return content[:n], float64(n) / float64(n+1) * float64(read.Load()) / float64(s.size)
	case io.EOF, io.ErrUnexpectedEOF:
		return content[:m], 1
	}
	return nil, 0
}
