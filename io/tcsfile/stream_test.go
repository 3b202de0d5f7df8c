package tcsfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// TestStreamErrors checks that reading a stream which ends early is an error of the data, and that
// another failed read is reported with its cause.
func TestStreamErrors(t *testing.T) {
	b, err := os.ReadFile("testdata/csr.tcs")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the device has gone")
	for _, c := range []struct {
		rest io.Reader
		want string
	}{
		{strings.NewReader(""), "truncated"},
		{iotest.ErrReader(cause), cause.Error()},
	} {
		_, err := openStream("pipe.tcs",
			io.NopCloser(io.MultiReader(bytes.NewReader(b[:len(b)-1]), c.rest)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
