package local_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/local"
)

var large = flag.Bool("large", false, "also send messages past 2^31 bytes (wants some 14 GB)")

var quick = local.Options{Stuck: 100 * time.Millisecond}

func TestConformance(t *testing.T) {
	for n := 1; n <= 8; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			// The cases sleep and wait unevenly; the watchdog must not mind.
			if err := local.Run(t.Context(), n, func(c comm.Comm) error {
				return commtest.RunAll(c, commtest.Cases(), nil)
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestUnlocked checks that ranks without threads of their own exchange the same messages.
func TestUnlocked(t *testing.T) {
	for _, n := range []int{2, 5} {
		if err := local.RunWith(t.Context(), n, local.Options{Unlocked: true}, func(c comm.Comm) error {
			return commtest.RunAll(c, commtest.Cases(), nil)
		}); err != nil {
			t.Fatalf("%d ranks: %v", n, err)
		}
	}
}

// TestFailureAlone checks that the error of a job of one rank names no rank.
func TestFailureAlone(t *testing.T) {
	for _, c := range []struct {
		name, want string
		run        func(comm.Comm) error
	}{
		{"error", "disk full", func(comm.Comm) error { return errors.New("disk full") }},
		{"panic", "panic: lost", func(comm.Comm) error { panic("lost") }},
		{"abort", "needs 3 GB", func(c comm.Comm) error { return c.Abort(errors.New("needs 3 GB")) }},
		{"agreed", "corrupt", func(c comm.Comm) error { return comm.Agree(c, errors.New("corrupt")) }},
		{"not received", "the rank ended without receiving a message of", func(c comm.Comm) error {
			_, err := c.Isend(comm.Of(make([]byte, 3)), 0, 1)
			return err
		}},
		{"nothing sent", "the rank ended with an open receive from rank", func(c comm.Comm) error {
			_, err := c.Irecv(comm.Of(make([]byte, 3)), 0, 1)
			return err
		}},
		{"after an abort", "needs 3 GB",
			func(c comm.Comm) error { c.Abort(errors.New("needs 3 GB")); return c.Barrier() }},
	} {
		err := local.RunWith(t.Context(), 1, quick, c.run)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, f := range commtest.Failures() {
		for _, n := range []int{2, 3, 5} {
			t.Run(fmt.Sprintf("%s/%d", f.Name, n), func(t *testing.T) {
				before := runtime.NumGoroutine()
				err := local.RunWith(t.Context(), n, quick, f.Run)
				if err == nil {
					t.Fatal("no error")
				}
				for _, w := range f.Want {
					if !strings.Contains(err.Error(), w) {
						t.Errorf("error lacks %q:\n%v", w, err)
					}
				}
				if got := comm.ExitCode(err); got != f.Code {
					t.Errorf("exit code %d, want %d", got, f.Code)
				}
				var stuck *comm.StuckError
				if errors.As(err, &stuck) != f.Stuck {
					t.Errorf("stuck is %v, want %v: %v", !f.Stuck, f.Stuck, err)
				}
				noLeak(t, before)
			})
		}
	}
}

func noLeak(t *testing.T, before int) {
	t.Helper()
	for i := 0; runtime.NumGoroutine() > before; i++ {
		if i > 200 {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user left")
	go func() {
		time.Sleep(20 * time.Millisecond)
		cancel(why)
	}()
	before := runtime.NumGoroutine()
	err := local.Run(ctx, 3, func(c comm.Comm) error {
		if c.Rank() == 2 { // never joins the broadcast
			<-c.Context().Done()
			return nil
		}
		return c.Bcast(comm.Of(make([]byte, 1<<20)), 0)
	})
	if !errors.Is(err, why) {
		t.Fatalf("got %v, want %v", err, why)
	}
	noLeak(t, before)
}

func TestGoexit(t *testing.T) {
	err := local.Run(t.Context(), 2, func(c comm.Comm) error {
		if c.Rank() == 0 {
			runtime.Goexit()
		}
		return c.Barrier()
	})
	if err == nil || !strings.Contains(err.Error(), "[0] the function of the rank called runtime.Goexit instead of returning") {
		t.Fatal(err)
	}
}

func TestLeftover(t *testing.T) {
	err := local.Run(t.Context(), 2, func(c comm.Comm) error {
		if c.Rank() == 0 {
			return comm.Send(c, []byte{1, 2}, 1, 7)
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(),
		"[1] the rank ended without receiving a message of 2 bytes from rank 0 with tag 7") {
		t.Fatal(err)
	}
	if err := local.Run(t.Context(), 0, nil); err == nil {
		t.Fatal("0 ranks ran")
	}
}

// TestBusy checks that a rank that computes while one of its goroutines waits is not stuck.
func TestBusy(t *testing.T) {
	if err := local.RunWith(t.Context(), 2, quick, func(c comm.Comm) error {
		got := make(chan error)
		go func() { got <- comm.Recv(c, make([]byte, 1), 1-c.Rank(), 0) }()
		done := c.Busy()
		time.Sleep(300 * time.Millisecond)
		done()
		if err := comm.Send(c, make([]byte, 1), 1-c.Rank(), 0); err != nil {
			return err
		}
		return <-got
	}); err != nil {
		t.Fatal(err)
	}
}

// TestComputing checks that the job is not stuck if some ranks compute for longer than the
// watchdog's time while others wait.
func TestComputing(t *testing.T) {
	if err := local.RunWith(t.Context(), 3, quick, func(c comm.Comm) error {
		if c.Rank() == 1 {
			time.Sleep(400 * time.Millisecond)
		}
		return c.Barrier()
	}); err != nil {
		t.Fatal(err)
	}
}

func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("-large is not set")
	}
	for _, n := range []int64{1<<31 + 17, 1<<31 + 64} {
		if err := local.Run(t.Context(), 2,
			func(c comm.Comm) error { return commtest.Large(c, n) }); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkPingPong(b *testing.B) {
	for _, n := range []int{1, 4096, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(2 * n))
			err := local.Run(b.Context(), 2, func(c comm.Comm) error {
				s := make([]byte, n)
				for range b.N {
					if c.Rank() == 0 {
						if err := comm.Send(c, s, 1, 0); err != nil {
							return err
						}
					}
					if err := comm.Recv(c, s, 1-c.Rank(), 0); err != nil {
						return err
					}
					if c.Rank() == 1 {
						if err := comm.Send(c, s, 0, 0); err != nil {
							return err
						}
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
