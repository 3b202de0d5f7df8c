package simt_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/ir/irtest"
	"distaff/codegen/simt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// parse parses and verifies a leaf.
func parse(t *testing.T, text string) *ir.Func {
	t.Helper()
	f, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(f); err != nil {
		t.Fatal(err)
	}
	return f
}

// launches returns the leaf with launches, verified.
func launches(t *testing.T, text string) *ir.Func {
	t.Helper()
	f := parse(t, text)
	if err := simt.Launches(f); err != nil {
		t.Fatalf("%v, of\n%s", err, text)
	}
	if err := ir.Verify(f); err != nil {
		t.Fatalf("%v:\n%s", err, ir.Print(f))
	}
	return f
}

// TestGolden compares leaves with launches with golden files. Each rule is used in one of them.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.ir")
	if err != nil || len(paths) < 5 {
		t.Fatalf("got leaves %v, %v", paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got := ir.Print(launches(t, string(text)))
		golden := strings.TrimSuffix(path, ".ir") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
		}
	}
}

// TestNoUnits checks that the leaves of package irtest become valid launches.
func TestNoUnits(t *testing.T) {
	for _, c := range irtest.Units() {
		launches(t, c.Text)
	}
}
