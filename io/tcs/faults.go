package tcs

import (
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
)

// ErrShrank is the error of Faultless if a page of a mapped file no longer exists.
var ErrShrank = errors.New("another process made the file shorter while it was read")

// Faultless runs f and converts a fault, from reading a page that no longer exists, into
// ErrShrank. It catches only faults of its own goroutine.
func Faultless(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if _, fault := r.(interface{ Addr() uintptr }); !fault {
				panic(r)
			}
			err = ErrShrank
		}
	}()
	return f()
}

// Parallel divides the numbers from 0 to n-1 into ranges of the given length, and processes them in
// several goroutines. Each goroutine calls worker once, to get a function of its own. It then calls
// this function with each range [from, to) that it processes. Parallel returns the first error. A
// fault on reading a page becomes an error, as in Faultless.
func Parallel(n, length int64, worker func() (f func(from, to int64) error)) error {
	ranges := (n + length - 1) / length
	var mu sync.Mutex
	var wg sync.WaitGroup
	var next int64
	var first error
	for range min(ranges, int64(runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			f := worker()
			for {
				mu.Lock()
				i := next
				next++
				stop := first != nil
				mu.Unlock()
				if stop || i >= ranges {
					return
				}
				if err := Faultless(func() error {
					return f(i*length, min((i+1)*length, n))
				}); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
