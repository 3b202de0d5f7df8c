package fault

import (
	"errors"
	"strings"
	"testing"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{1: Runf("%s", "a"), 2: Commandf("%s", "a"),
		3: Dataf("%s", "a"), 5: Memoryf("%s", "a")} {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) || exit.ExitCode() != want || err.Error() != "a" {
			t.Errorf("got %v of exit code %d, want %d", err, exit.ExitCode(), want)
		}
	}
	// Text from a user must not control the terminal that shows it.
	if s := Commandf("got %s", "a\x1b[2J").Error(); strings.ContainsRune(s, 0x1b) ||
		!strings.HasPrefix(s, "got a") {
		t.Errorf("got %q", s)
	}
}

func TestWords(t *testing.T) {
	csr, err := notation.ParseFormat("ds")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{Sizes(nil), "scalar"}, {Sizes([]int64{3}), "3"}, {Sizes([]int64{3, 4, 5}), "3x4x5"},
		{Format(tensor.Format{}), "a scalar"}, {Format(csr), "ds"},
		{Bytes(1 << 20), "1 MiB"}, {Bytes(1 << 70), "1024 EiB"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}
