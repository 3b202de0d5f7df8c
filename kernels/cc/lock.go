package cc

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockWait limits how long a process waits for another process's compiler. A stopped or hanging
// process must not block the others.
var lockWait = 10 * time.Second

// lock takes the lock with the given name, which the processes of this user on this machine share.
// lock waits until ctx ends, but not longer than lockWait. If lock fails, the returned unlock does
// nothing. This is harmless, because the lock only keeps two processes from doing the same work.
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
				// Remove the file before unlocking. A process that opened the file earlier waits
				// for the same lock. A later process finds the object in the cache.
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

// lockAge is the smallest age of a lock file that may be removed if no process holds the lock.
// Removing such a file does no harm, because no process waits so long for a lock.
const lockAge = time.Hour

// sweepLocks removes lock files in dir that killed processes left.
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

// lockDir returns a folder for locks that only this user can access, or "" if there is none. It is
// in /dev/shm if possible, because locks on network file systems may hang. Otherwise it is in the
// folder for temporary files.
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
