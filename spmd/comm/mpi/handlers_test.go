package mpi_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"distaff/spmd/comm"
	"distaff/spmd/comm/mpi/mpitest"
)

// TestHandlers checks that every signal handler, including MPI's, runs on the alternate stack of
// Go, because a signal may arrive at any thread.
func TestHandlers(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		t.Run(l.Name, func(t *testing.T) {
			r := launch(t, l, 2, "handlers")
			if r.Code != 0 || strings.Count(r.Out, "survived") != 2 {
				t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
			}
			t.Log(r.Out)
		})
	}
}

// handlers checks the handler of every signal, and sends signals while goroutines run.
func handlers(c comm.Comm) error {
	const onStack = 0x08000000 // SA_ONSTACK
	var ours int
	for s := 1; s < 65; s++ {
		var a struct{ handler, flags, restorer, mask uintptr }
		if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), 0,
			uintptr(unsafe.Pointer(&a)), 8, 0, 0); errno != 0 {
			return fmt.Errorf("signal %d: %w", s, errno)
		}
		if a.handler <= 1 { // by default, or ignored
			continue
		}
		ours++
		if a.flags&onStack == 0 {
			return fmt.Errorf("the handler of signal %d (%v) does not run on a stack of its own", s,
				unix.Signal(s))
		}
	}
	var wg sync.WaitGroup
	end := time.Now().Add(300 * time.Millisecond)
	for range 8 {
		wg.Go(func() {
			for time.Now().Before(end) {
				deep(64)
			}
		})
	}
	for time.Now().Before(end) {
		for _, s := range []unix.Signal{unix.SIGURG, unix.SIGUSR1} {
			if err := unix.Kill(os.Getpid(), s); err != nil {
				return err
			}
		}
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
	if err := c.Barrier(); err != nil {
		return err
	}
	fmt.Printf("rank %d survived; %d handlers\n", c.Rank(), ours)
	return nil
}

// deep grows and shrinks a goroutine's stack.
func deep(n int) byte {
	var room [256]byte
	if n > 0 {
		room[n%256] = deep(n - 1)
	}
	return room[n%256]
}
