// Package limits ends the program with exit code 1 and words where the system gives it too
// little address space (ulimit -v) or too few threads (ulimit -u, a cgroup's pids.max). The Go
// runtime itself says so by a crash, whose code is 2, which means that a statement is wrong.
//
// Before the runtime begins, a constructor looks whether what it needs can be had. Later, a crash of the
// runtime, a panic that nothing recovers or an abort of the C library ends in SIGABRT, which is handled here.
// Importing the package is enough.
package limits

/*
#cgo LDFLAGS: -lpthread
void dst_limits_arm(void);
*/
import "C"

import "runtime/debug"

func init() {
	C.dst_limits_arm()
	debug.SetTraceback("crash") // by SIGABRT, after the runtime's own words
}
