// Package limits ends the program with exit code 1 and words where the system gives it too
// little address space (ulimit -v) or too few threads (ulimit -u, a cgroup's pids.max). The Go
// runtime itself says so by a crash, whose code is 2, which means that a statement is wrong.
//
// Standard input or output that is closed fails where it is used.
//
// Before the runtime begins, a constructor looks whether what it needs can be had. Later, a crash of the
// runtime, a panic that nothing recovers or an abort of the C library ends in SIGABRT, which is handled here.
// Importing the package is enough.
package limits

/*
#cgo LDFLAGS: -lpthread
void dst_limits_arm(void);
int dst_limits_trial(void);
void dst_limits_passed(void);
*/
import "C"

import (
	"runtime"
	"runtime/debug"
	"sync"
)

func init() {
	if C.dst_limits_trial() != 0 {
		threads(8) // more than the program has when it comes to its init functions
		C.dst_limits_passed()
	}
	C.dst_limits_arm()
	debug.SetTraceback("crash") // by SIGABRT, after the runtime's own words
}

// threads has n threads at once.
func threads(n int) {
	var ready, over sync.WaitGroup
	ready.Add(n)
	over.Add(1)
	for range n {
		go func() {
			runtime.LockOSThread()
			ready.Done()
			over.Wait()
		}()
	}
	ready.Wait()
}
