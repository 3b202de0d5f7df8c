package cc

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Old locks that nobody holds are removed. Locks that are held or new stay.
func TestSweepLocks(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * lockAge)
	make := func(name string, at time.Time) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	held := make("held.lock", old)
	make("left.lock", old)
	make("new.lock", time.Now())
	make("other", old)
	f, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	sweepLocks(dir)
	for name, want := range map[string]bool{"held.lock": true, "left.lock": false, "new.lock": true,
		"other": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}
