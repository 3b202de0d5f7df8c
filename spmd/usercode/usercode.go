// Package usercode reads the user's C files whose functions schedules substitute for loops.
package usercode

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"distaff/codegen"
	"distaff/codegen/diag"
	"distaff/codegen/ir"
	"distaff/codegen/schedule"
	"distaff/io/outfile"
	"distaff/kernels/lint"
	"distaff/spmd/fault"
)

// Files holds the files that schedules name. Each file is read once. Several goroutines may call
// the methods at the same time.
type Files struct {
	dir     string
	allowed bool

	mu    sync.Mutex
	texts map[string]string
}

// New returns an empty Files. Relative paths of files are relative to dir. If dir is "", they are
// relative to the working folder. allowed is true if the user allows that functions in the files
// are compiled and run.
func New(dir string, allowed bool) *Files {
	return &Files{dir: dir, allowed: allowed, texts: map[string]string{}}
}

func (f *Files) path(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(f.dir, file)
}

// Uses returns the files of the functions that a schedule names.
func (f *Files) Uses(list []*schedule.Command) (uses []outfile.Use) {
	for _, c := range list {
		if file, _, at, ok := c.Function(); ok {
			uses = append(uses, outfile.Use{What: "substitute(..., " + at.Text + ")", Path: f.path(file)})
		}
	}
	return uses
}

// maxBytes is the largest size of a file in bytes.
const maxBytes = 1 << 20

// text returns the contents of a file.
func (f *Files) text(file string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text, ok := f.texts[file]; ok {
		return text, nil
	}
	path := f.path(file)
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return "", fault.Runf("%s is not a regular file", path)
	case err == nil && info.Size() > maxBytes:
		return "", fault.Runf("%s has %d bytes, want at most %d", path, info.Size(), maxBytes)
	}
	text, err := os.ReadFile(path)
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return "", fault.Runf("%s: %v", path, p.Err)
	}
	if err != nil {
		return "", err
	}
	f.texts[file] = string(text)
	return string(text), nil
}

// Extern returns the function called name that a file defines.
func (f *Files) Extern(file, name string) (*ir.Extern, error) {
	text, err := f.text(file)
	if err != nil {
		return nil, err
	}
	return lint.Function(file, text, name)
}

// Check returns an error with the place in the schedule if a function cannot be read. If runs is
// true, the schedule will be executed, and Check also refuses functions that the user has not
// allowed.
func (f *Files) Check(list []*schedule.Command, runs bool) error {
	for _, c := range list {
		file, name, at, ok := c.Function()
		if !ok {
			continue
		}
		if runs && !f.allowed {
			return at.Refuse(refusal(file + ":" + name))
		}
		if _, err := f.Extern(file, name); err != nil {
			return at.Refuse("substitute: " + strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	return nil
}

func refusal(what string) string {
	return diag.Sprintf(
		"%s is a user's C code, which is compiled and run only with --allow-user-code", what)
}

// Allow returns an error if a leaf calls functions that the user has not allowed.
func (f *Files) Allow(u *codegen.Unit) error {
	var err error
	ir.Walk(u.Func.Body, func(s ir.Stmt) {
		if c, ok := s.(*ir.Call); ok && !f.allowed {
			err = fault.Commandf("%s", refusal(c.Func.File+":"+c.Func.Name))
		}
	})
	return err
}

// CommandTexts returns a text for each command of a schedule that names a file. The text holds the
// file's name, the hash of its contents, and the error if the file cannot be read. Ranks compare
// the texts, because all ranks must have the same files.
func (f *Files) CommandTexts(list []*schedule.Command) (out []string) {
	for _, c := range list {
		if file, _, _, ok := c.Function(); ok {
			text, err := f.text(file)
			out = append(out, fmt.Sprintf("%s %x %v", file, sha256.Sum256([]byte(text)), err))
		}
	}
	return out
}
