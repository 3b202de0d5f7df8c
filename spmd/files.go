package spmd

import (
	"fmt"
	"io"
	"strings"

	"distaff/io/coo"
	"distaff/io/mtx"
	"distaff/io/tcs"
	"distaff/io/text"
	"distaff/io/tns"
)

func isStdin(path string) bool { return text.Stdin(path) }

func openStream(path string, opt coo.Options) (coo.Stream, error) {
	switch ext := text.Ext(path); ext {
	case ".tns":
		return tns.Open(path, opt)
	case ".mtx":
		return mtx.Open(path, opt)
	default:
		return nil, commandErrorf("%s: no reader for %q", printable(path), ext)
	}
}

func writable(path string, order int) error {
	switch ext := text.Ext(path); ext {
	case ".tcs", ".tns":
		return nil
	case ".mtx", ".npz":
		if order > 2 {
			return fmt.Errorf("a %s file holds at most 2 modes, got %d", ext, order)
		}
		return nil
	default:
		return fmt.Errorf("no writer for %q", ext)
	}
}

func writeTo(w io.Writer, path string, t *tcs.Tensor) error {
	if strings.HasSuffix(path, ".tcs") {
		return t.WriteTo(w, tcs.WriteOptions{})
	}
	return fmt.Errorf("no writer yet")
}
