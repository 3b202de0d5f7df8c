// Package mapguard keeps a process alive when a mapped file shrinks: reads of
// pages that have no file behind them any more give zeros, in Go and in C, and
// tcs.(*Tensor).Changed tells. Importing it is enough; package kernels does, since
// its leaves read mapped tensors where no Go code can catch a fault.
package mapguard

/*
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// The mapped files. A slot is in use while lo is not 0.
enum { slots = 4096 };
static struct {
	_Atomic uintptr_t lo, hi;
	atomic_int torn;
} ranges[slots];

static struct sigaction older;

// on_bus runs where a page of a map has no file behind it any more. It puts
// zeros in its place, from there to the map's end, notes that, and lets the
// reader go on; a fault elsewhere goes to the handler that was there before,
// which is Go's.
static void on_bus(int sig, siginfo_t *info, void *ctx) {
	uintptr_t addr = (uintptr_t)info->si_addr;
	int saved = errno;
	for (int i = 0; i < slots; i++) {
		uintptr_t lo = atomic_load(&ranges[i].lo), hi = atomic_load(&ranges[i].hi);
		if (lo == 0 || addr < lo || addr >= hi)
			continue;
		uintptr_t page = addr & ~(uintptr_t)(sysconf(_SC_PAGESIZE) - 1);
		atomic_store(&ranges[i].torn, 1);
		if (mmap((void *)page, hi - page, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) {
			errno = saved;
			return;
		}
		break;
	}
	errno = saved;
	if (older.sa_flags & SA_SIGINFO) {
		older.sa_sigaction(sig, info, ctx);
	} else if (older.sa_handler != SIG_DFL && older.sa_handler != SIG_IGN) {
		older.sa_handler(sig);
	} else {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

// arm puts on_bus in place, again if something replaced it.
static void arm(void) {
	struct sigaction now, mine;
	if (sigaction(SIGBUS, NULL, &now) != 0 || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus))
		return;
	older = now;
	memset(&mine, 0, sizeof mine);
	mine.sa_sigaction = on_bus;
	mine.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	mine.sa_mask = now.sa_mask;
	sigaction(SIGBUS, &mine, NULL);
}

static void range_set(int i, uintptr_t lo, uintptr_t hi) {
	atomic_store(&ranges[i].torn, 0);
	atomic_store(&ranges[i].hi, hi);
	atomic_store(&ranges[i].lo, lo);
}

static int range_torn(int i) { return atomic_load(&ranges[i].torn); }

// touch reads one byte a page as a leaf would: from C.
static int64_t touch(const char *p, int64_t n) {
	int64_t sum = 0;
	for (int64_t i = 0; i < n; i += 4096)
		sum += ((const volatile char *)p)[i];
	return sum;
}
*/
import "C"

import (
	"sync"
	"unsafe"

	"distaff/io/tcs"
)

func init() { tcs.SetGuard(guard{}) }

type guard struct{}

var guards struct {
	sync.Mutex
	slot map[unsafe.Pointer]int
	free []int
	next int
}

// Watch makes reads of [ptr, ptr+n) safe against a file that shrinks: they give
// zeros, and Torn tells. With thousands of files mapped at once, the last go
// without.
func (guard) Watch(ptr unsafe.Pointer, n int64) {
	guards.Lock()
	defer guards.Unlock()
	i := guards.next
	if k := len(guards.free); k > 0 {
		i, guards.free = guards.free[k-1], guards.free[:k-1]
	} else if i == C.slots {
		return
	} else {
		guards.next++
	}
	if guards.slot == nil {
		guards.slot = map[unsafe.Pointer]int{}
	}
	guards.slot[ptr] = i
	C.arm()
	C.range_set(C.int(i), C.uintptr_t(uintptr(ptr)), C.uintptr_t(uintptr(ptr)+uintptr(n)))
}

// Unwatch ends what Watch began at ptr.
func (guard) Unwatch(ptr unsafe.Pointer) {
	guards.Lock()
	defer guards.Unlock()
	if i, ok := guards.slot[ptr]; ok {
		C.range_set(C.int(i), 0, 0)
		delete(guards.slot, ptr)
		guards.free = append(guards.free, i)
	}
}

// Torn reports whether a page of the map at ptr was gone when it was read.
func (guard) Torn(ptr unsafe.Pointer) bool {
	guards.Lock()
	defer guards.Unlock()
	i, ok := guards.slot[ptr]
	return ok && C.range_torn(C.int(i)) != 0
}

// touchC reads a byte of each page from C.
func touchC(ptr unsafe.Pointer, n int64) int64 {
	return int64(C.touch((*C.char)(ptr), C.int64_t(n)))
}
