package text_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"distaff/io/text"
)

// TestAbout checks estimates of the number of entries, from the start of plain and compressed
// text.
func TestAbout(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	const comment = "# a comment of some length\n"
	for _, c := range []struct {
		name  string
		lines int
		line  func(i int) string
		least float64 // bounds of the estimate for plain text, relative to the correct number
		most  float64
	}{
		{"none", 0, nil, 1, 1},
		{"three", 3, func(i int) string { return fmt.Sprintf("%d 1 1\n", i) }, 1, 1},
		{"short", 200000, func(i int) string {
			return fmt.Sprintf("%d %d 1\n", i/10+1,
				r.IntN(9)+1)
		}, 0.9, 1.2},
		{"long", 40000, func(i int) string {
			return fmt.Sprintf("%d %d %d %.17g\n", i/100+1, r.IntN(1e6)+1, r.IntN(1e9)+1,
				r.Float64())
		}, 0.9, 1.1},
		{"commented", 40000, func(i int) string {
			return fmt.Sprintf("%s%d %d %g\n", comment,
				i/10+1, r.IntN(1000)+1, r.Float64())
		}, 0.9, 1.1},
	} {
		content := []byte(comment)
		for i := range c.lines {
			content = append(content, c.line(i)...)
		}
		var gz, zst bytes.Buffer
		g := gzip.NewWriter(&gz)
		g.Write(content)
		g.Close()
		z, err := zstd.NewWriter(&zst)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(content)
		z.Close()
		for ending, b := range map[string][]byte{"": content, ".gz": gz.Bytes(),
			".zst": zst.Bytes()} {
			path := filepath.Join(dir, c.name+".tns"+ending)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			src, err := text.OpenSource(path, dir)
			if err != nil {
				t.Fatal(err)
			}
			e := &text.Entries{Src: src, Start: int64(len(comment)), Comment: '#'}
			least, most := c.least, c.most
			if ending != "" && len(content) > 1<<20 { // the beginning may compress otherwise
				least, most = 0.6, 1.6
			}
			n, known := e.About()
			if got := float64(n); !known || got < least*float64(c.lines) ||
				got > most*float64(c.lines) {
				t.Errorf("%s%s: about %d entries, %v, want %d", c.name, ending, n, known, c.lines)
			}
			src.Close()
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cut.tns.gz"), []byte{0x1f, 0x8b, 8, 0, 0},
		0o600); err != nil {
		t.Fatal(err)
	}
	src, err := text.OpenSource(filepath.Join(dir, "cut.tns.gz"), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if n, known := (&text.Entries{Src: src, Comment: '#'}).About(); known {
		t.Errorf("a damaged file: about %d entries", n)
	}
}
