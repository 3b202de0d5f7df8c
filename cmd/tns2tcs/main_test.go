package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/tcsfile"
	_ "distaff/kernels/verified"
)

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "b.tns")
	if err := os.WriteFile(in, []byte("2 1 1.5\n1 3 2\n1 3 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		code   int
		format string // of the output
		errs   string
	}{
		{"IN OUT", 0, "ds", ""},
		{"IN OUT -f=ds", 0, "ds", ""},
		{"-f ss:1,0 IN OUT", 0, "ss:1,0", ""},
		{"IN OUT -d=5,5", 0, "ds", ""},
		{"IN OUT --duplicates=error", 3, "", "1,3"},
		{"IN OUT -d=1,5", 3, "", "b.tns:1:1"},
		{"IN OUT -f=dss", 2, "", ""},
		{"IN OUT -f=x", 2, "", "'x'"},
		{"IN", 2, "", "two files"},
		{"IN b.mtx", 2, "", "want .tcs"},
		{"IN OUT --zzz", 2, "", `no flag "--zzz"`},
		{"missing.tns OUT", 1, "", "missing.tns"},
	} {
		out := filepath.Join(dir, "b.tcs")
		os.Remove(out)
		args := strings.Fields(strings.NewReplacer("IN", in, "OUT",
			out).Replace("tns2tcs " + c.args))
		var stdout, stderr bytes.Buffer
		if code := mainExit(args, &stdout, &stderr); code != c.code ||
			!strings.Contains(stderr.String(), c.errs) {
			t.Errorf("%s: got exit code %d, %q; want %d, %q", c.args, code, stderr.String(), c.code,
				c.errs)
			continue
		}
		if c.code != 0 {
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s: an output is there after a failure", c.args)
			}
			continue
		}
		got, err := tcsfile.Open(out)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if f := got.Format().String(); f != c.format {
			t.Errorf("%s: got format %s, want %s", c.args, f, c.format)
		}
		if err := tcsfile.Verify(got); err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if n := got.Vals.Len; n != 2 {
			t.Errorf("%s: got %d entries, want 2: repeated coordinates are summed", c.args, n)
		}
		got.Close()
	}
}

func TestHelp(t *testing.T) {
	var out, errs bytes.Buffer
	if code := mainExit([]string{"tns2tcs", "--help"}, &out, &errs); code != 0 ||
		!strings.Contains(out.String(), "Usage: tns2tcs IN.tns OUT.tcs") {
		t.Errorf("got %d, %q", code, out.String())
	}
}
