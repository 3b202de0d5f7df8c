package mpi_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"distaff/spmd/comm"
	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/mpi"
	"distaff/spmd/comm/mpi/mpitest"
)

// The test binary is its own rank: mpirun starts it with DISTAFF_COMMTEST set.
func TestMain(m *testing.M) {
	if os.Getenv("DISTAFF_COMMTEST_FUNNELED") != "" {
		mpi.ForceFunneled()
	}
	if s := os.Getenv("DISTAFF_COMMTEST_APART"); s != "" {
		limit, err := time.ParseDuration(s)
		if err != nil {
			panic(err)
		}
		mpi.ForceApart(limit)
	}
	if mode := os.Getenv("DISTAFF_COMMTEST"); mode != "" {
		os.Exit(rank(mode))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// rank is the main function of one rank.
func rank(mode string) int {
	say := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return comm.ExitCode(err)
	}
	l, ok, err := mpi.Launched(os.Getenv)
	if err != nil {
		return say(err)
	}
	if !ok {
		return say(errors.New("not launched"))
	}
	ctx, stop := comm.Signals(context.Background())
	defer stop()
	o := mpi.Options{Note: func(s string) { fmt.Fprintln(os.Stderr, "note:", s) }}
	if s := os.Getenv("DISTAFF_COMMTEST_STUCK"); s != "" {
		o.Stuck, _ = time.ParseDuration(s)
	}
	if s := os.Getenv("DISTAFF_COMMTEST_OPENING"); s != "" {
		o.Opening, _ = time.ParseDuration(s)
	}
	o.Threads, _ = strconv.Atoi(os.Getenv("DISTAFF_COMMTEST_THREADS"))
	j, err := mpi.Prepare(ctx, l, o)
	if err != nil {
		return say(err)
	}
	if f := os.Getenv("DISTAFF_COMMTEST_FILE"); f != "" { // what must not stay behind
		name := fmt.Sprintf("%s.%d", f, l.Rank)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return say(err)
		}
		comm.OnExit(func() { os.Remove(name) })
	}
	if err := j.Run(ctx, func(c comm.Comm, info mpi.Info) error { return play(mode, c, info) }); err !=
		nil {
		var a *comm.AgreedError
		if !errors.As(err, &a) {
			fmt.Fprintln(os.Stderr, err)
		}
		return comm.ExitCode(err)
	}
	return 0
}

func play(mode string, c comm.Comm, info mpi.Info) error {
	if f := os.Getenv("DISTAFF_COMMTEST_PID"); f != "" {
		if err := os.WriteFile(fmt.Sprintf("%s.%d", f, c.Rank()), fmt.Appendln(nil, os.Getpid()),
			0o600); err != nil {
			return err
		}
	}
	what, arg, _ := strings.Cut(mode, ":")
	switch what {
	case "suite":
		if err := commtest.RunAll(c, commtest.Cases(), func(name string, took time.Duration) {
			if c.Rank() == 0 {
				fmt.Printf("ok %s %v\n", name, took.Round(time.Millisecond))
			}
		}); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("all passed")
		}
		return nil
	case "large":
		n, err := strconv.ParseInt(arg, 10, 64)
		if err != nil {
			return err
		}
		return commtest.Large(c, n)
	case "failure":
		for _, f := range commtest.Failures() {
			if f.Name == arg {
				return f.Run(c)
			}
		}
		return fmt.Errorf("no failure %q", arg)
	case "wait": // rank 0 says that all are there, then all wait
		if err := c.Barrier(); err != nil {
			return err
		}
		if c.Rank() == 1 {
			fmt.Printf("rank 1 is process %d\n", os.Getpid())
			select {
			case <-c.Context().Done():
			case <-time.After(time.Minute):
			}
			return context.Cause(c.Context())
		}
		return comm.Recv(c, make([]byte, 1), 1, 0)
	case "info":
		if c.Rank() == 0 {
			local, size := comm.Local(info.Places, 0)
			fmt.Printf("library %s\nthreads %s\nlocal %d of %d\ncpus %d\nnotes %q\n", info.Library,
				info.Threads, local, size, len(info.Places[0].CPUs), info.Notes)
		}
		return c.Barrier()
	case "handlers":
		return handlers(c)
	case "overlap":
		return overlap(c)
	case "latency":
		return latency(c)
	}
	return fmt.Errorf("no mode %q", mode)
}

// latency prints half the time of a round trip, by message size.
func latency(c comm.Comm) error {
	for _, n := range []int{1, 4096, 1 << 20} {
		s, _, err := alloc(n)
		if err != nil {
			return err
		}
		const k = 1000
		start := time.Now()
		for range k {
			for turn := range 2 {
				if c.Rank() > 1 {
					break
				}
				post := c.Isend
				if c.Rank() != turn {
					post = c.Irecv
				}
				r, err := post(s, 1-c.Rank(), 0)
				if err != nil {
					return err
				}
				if err := r.Wait(); err != nil {
					return err
				}
			}
		}
		if c.Rank() == 0 {
			fmt.Printf("%d bytes: %v\n", n, time.Since(start)/(2*k))
		}
	}
	return nil
}

// overlap computes until a large message, for which another goroutine waits, has arrived, and
// reports the overlap.
func overlap(c comm.Comm) error {
	b, _, err := alloc(16 << 20)
	if err != nil {
		return err
	}
	var r *comm.Request
	if c.Rank() == 0 {
		r, err = c.Isend(b, 1, 0)
	} else {
		r, err = c.Irecv(b, 0, 0)
	}
	if err != nil {
		return err
	}
	if done, err := r.Test(); done || err != nil {
		return errors.Join(err, errors.New("the message passed at once"))
	}
	passed := make(chan error, 1)
	go func() { passed <- r.Wait() }()
	computed := 0
	for end := time.Now().Add(time.Minute); time.Now().Before(end); computed++ {
		select {
		case err := <-passed:
			if err == nil {
				fmt.Printf("rank %d computed while 16 MiB passed\n", c.Rank())
			}
			return err
		default:
		}
	}
	return fmt.Errorf("the message does not pass while the rank computes, %d times", computed)
}

// alloc returns mapped memory.
func alloc(n int) (comm.Buf, []byte, error) {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return comm.MemOf(b), b, err
}

// launch runs the test binary as n ranks.
func launch(t *testing.T, l mpitest.Launcher, n int, mode string, env ...string) mpitest.Result {
	t.Helper()
	return launchArgv(t, l.Argv(n, os.Args[0]), mode, env, nil)
}

func launchArgv(t *testing.T, argv []string, mode string, env []string,
	started func(cmd *exec.Cmd, out *mpitest.Buffer)) mpitest.Result {
	t.Helper()
	return mpitest.Run(t, mpitest.Command{Argv: argv,
		Env: append([]string{"DISTAFF_COMMTEST=" + mode}, env...), Started: started})
}
