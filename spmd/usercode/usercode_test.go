package usercode

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
)

const source = "#include <stdint.h>\nvoid rows(int64_t a, double *y) {}\n"

// folder makes a folder of files with these texts.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFilesRefused checks that missing files, files that are too long, and files that do not define
// the function in C are refused with the place in the schedule, as are functions that may not run.
func TestFilesRefused(t *testing.T) {
	dir := folder(t, map[string]string{"rows.c": source,
		"long.c": source + strings.Repeat("\n", maxBytes),
		"two.c":  "int f(void) { return +; }\nint g(void) { return -; }\n"})
	if err := os.Mkdir(filepath.Join(dir, "folder.c"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		function      string
		runs, allowed bool
		want          string
	}{
		{"rows.c:rows", true, true, ""},
		{"rows.c:rows", false, false, ""},
		{filepath.Join(dir, "rows.c") + ":rows", true, true, ""},
		{"rows.c:rows", true, false,
			"rows.c:rows is a user's C code, which is compiled and run only with --allow-user-code"},
		{"rows.c:columns", false, false, "substitute: rows.c defines no function columns"},
		{"none.c:rows", false, false, "none.c: no such file or directory"},
		{"long.c:rows", false, false, "bytes, want at most 1048576"},
		{"folder.c:rows", false, false, "folder.c is not a regular file"},
		{"two.c:f", false, false, "; two.c:2:"},
	} {
		list, err := schedule.Parse([]string{`split(i,a,b,2), substitute({b},"` + c.function + `")`})
		if err != nil {
			t.Fatal(err)
		}
		err = New(dir, c.allowed).Check(list, c.runs)
		var d *diag.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.function, err)
		case c.want == "":
		case !errors.As(err, &d) || !strings.Contains(d.Msg, c.want) || d.ExitCode() != 2 ||
			d.Src[d.Pos:d.End] != `"`+c.function+`"`:
			t.Errorf("%s: got %v, want %s at its place", c.function, err, c.want)
		}
	}
}

// TestReadOnce checks that the text that was checked is compiled and hashed, even if the file
// changes meanwhile.
func TestReadOnce(t *testing.T) {
	dir := folder(t, map[string]string{"rows.c": source})
	f := New(dir, true)
	first, err := f.Extern("rows.c", "rows")
	if err != nil || first.Result != "void" ||
		strings.Join(first.Params, "; ") != "int64_t; double *" {
		t.Fatalf("got %+v, %v", first, err)
	}
	list, err := schedule.Parse([]string{`substitute({i},"rows.c:rows")`})
	if err != nil {
		t.Fatal(err)
	}
	told := f.CommandTexts(list)
	if err := os.WriteFile(filepath.Join(dir, "rows.c"), []byte("void rows(void) {}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := f.Extern("rows.c", "rows"); err != nil || again.Text != first.Text ||
		f.CommandTexts(list)[0] != told[0] {
		t.Errorf("got %+v, %v, and told %q, after %q", again, err, f.CommandTexts(list), told)
	}
	if now := New(dir, true).CommandTexts(list); len(now) != 1 || now[0] == told[0] {
		t.Errorf("another text is told as %q, as the first was", now)
	}
}

// TestAllow checks that a leaf that calls a function needs permission, and that other leaves do
// not.
func TestAllow(t *testing.T) {
	call := &ir.Call{Func: &ir.Extern{File: "rows.c", Name: "rows", Result: "void"}}
	u := &codegen.Unit{Func: &ir.Func{Body: &ir.Block{List: []ir.Stmt{call}}}}
	if err := New("", true).Allow(u); err != nil {
		t.Error(err)
	}
	if err := New("", false).Allow(u); err == nil ||
		!strings.Contains(err.Error(), "rows.c:rows is a user's C code") {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := New("", false).Allow(&codegen.Unit{Func: &ir.Func{Body: &ir.Block{}}}); err != nil {
		t.Error(err)
	}
}
