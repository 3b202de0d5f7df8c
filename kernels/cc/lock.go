package cc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait is how long a process waits for another one's compiler: one that is
// stopped, or hangs, must not hold up the others.
var lockWait = 10 * time.Second

// lock takes the lock of name among this machine's processes of this user, and
// returns what gives it back. It waits until ctx ends, or lockWait; where no lock
// can be had it goes without: a lock saves work, it does not make it right.
func lock(ctx context.Context, name string) (unlock func()) {
	dir := lockDir()
	if dir == "" {
		return func() {}
	}
	path := filepath.Join(dir, name+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return func() {}
	}
	over := time.Now().Add(lockWait)
	for wait := time.Millisecond; time.Now().Before(over); wait = min(2*wait, 20*time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			sweepLocks(dir)
			return func() {
				// The name goes first. A process that opened it before waits
				// on the same lock; one that comes later finds the cache filled.
				os.Remove(path)
				f.Close()
			}
		}
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			break
		}
		select {
		case <-ctx.Done():
			f.Close()
			return func() {}
		case <-time.After(wait):
		}
	}
	f.Close()
	return func() {}
}

// lockAge is how old a lock is that nothing can be waiting for.
const lockAge = time.Hour

// sweepLocks removes what processes that were killed have left in dir.
func sweepLocks(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || filepath.Ext(e.Name()) != ".lock" || time.Since(info.ModTime()) < lockAge {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			os.Remove(path)
		}
		f.Close()
	}
}

// lockDir is a private folder on a file system of this machine: locks on
// network file systems may hang. "" where there is none.
func lockDir() string {
	for _, base := range []string{"/dev/shm", os.TempDir()} {
		dir := filepath.Join(base, fmt.Sprintf("distaff-%d", os.Geteuid()))
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			continue
		}
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || st.Mode().Perm()&0o077 != 0 {
			continue
		}
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) == os.Geteuid() {
			return dir
		}
	}
	return ""
}
