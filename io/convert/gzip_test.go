package convert

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestGzipWriter: what is written comes back, whatever the pieces it is written in, by
// another reader than ours.
func TestGzipWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, gzipBlock - 1, gzipBlock, gzipBlock + 1, 5*gzipBlock + 77} {
		want := make([]byte, n)
		for k := range want {
			want[k] = "0123456789 \n"[r.IntN(12)]
		}
		var packed bytes.Buffer
		z := newGzipWriter(&packed)
		for at := 0; at < n; {
			k := min(n-at, 1+r.IntN(3*gzipBlock/2))
			if m, err := z.Write(want[at : at+k]); m != k || err != nil {
				t.Fatal(m, err)
			}
			at += k
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		u, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(u)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestGzipWriterFails(t *testing.T) {
	z := newGzipWriter(broken{})
	n := 0
	for err := error(nil); err == nil; n++ {
		if _, err = z.Write(make([]byte, gzipBlock)); n > 1<<20 {
			t.Fatal("an error that never comes")
		}
	}
	if err := z.Close(); err == nil || err.Error() != "broken" {
		t.Errorf("got %v", err)
	}
}
