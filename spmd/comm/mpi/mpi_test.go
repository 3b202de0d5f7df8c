package mpi_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/spmd/comm/mpi"
	"distaff/spmd/comm/mpi/mpitest"
)

var large = flag.Bool("large", false, "also send messages past 2^31 bytes (wants some 14 GB)")
var kills = flag.Int("kills", 3, "how many times to kill a rank of each MPI at a random moment")

func TestSuite(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, n := range []int{2, 3, 4} {
			t.Run(fmt.Sprintf("%s/%d", l.Name, n), func(t *testing.T) {
				r := launch(t, l, n, "suite")
				if r.Code != 0 || !strings.Contains(r.Out, "all passed") {
					t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Out, r.Err)
				}
				t.Logf("%v\n%s", r.Took, r.Out)
			})
		}
	}
}

// TestFunneled runs the suite with all calls made by one thread.
func TestFunneled(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		t.Run(l.Name, func(t *testing.T) {
			r := launch(t, l, 2, "suite", "DISTAFF_COMMTEST_FUNNELED=1")
			if r.Code != 0 || !strings.Contains(r.Out, "all passed") {
				t.Fatalf("exit code %d\n%s\n%s", r.Code, r.Out, r.Err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
	t.Setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
	for _, l := range mpitest.Launchers(t) {
		dir := t.TempDir()
		getenv := func(name string) string {
			if name == "DISTAFF_MPICC" {
				return l.MPICC
			}
			return os.Getenv(name)
		}
		lines, err := mpi.Install(t.Context(), dir, getenv)
		if err != nil || len(lines) != 1 || !strings.Contains(lines[0], l.Name) {
			t.Fatal(lines, err)
		}
		w, err := mpi.Build(t.Context(), l.MPICC, getenv, func(s string) { t.Log(s) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "mpi-"+l.Name+".so")); err != nil {
			t.Error(err)
		}
		library, threads, err := mpi.Probe(t.Context(), w)
		if err != nil || !strings.HasPrefix(threads, "MPI_THREAD_") || !strings.Contains(library, "MPI") {
			t.Errorf("%s: %q %q %v", l.Name, library, threads, err)
		}
	}
}

// TestMismatch checks that a launcher and a wrapper of different MPIs are refused with a message.
func TestMismatch(t *testing.T) {
	ls := mpitest.Launchers(t)
	if len(ls) < 2 {
		t.Skip("wants both MPIs")
	}
	for i, l := range ls {
		other := ls[1-i]
		t.Run(l.Name, func(t *testing.T) {
			r := launch(t, l, 2, "suite", "DISTAFF_MPICC="+other.MPICC)
			if r.Code != 1 || !strings.Contains(r.Err, "another MPI") {
				t.Errorf("exit code %d\n%s", r.Code, r.Err)
			}
			so := filepath.Join(mpitest.Cache(t), other.Name+"-test.so")
			w, err := mpi.Build(t.Context(), other.MPICC, os.Getenv, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteTo(so); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(so)
			r = launch(t, l, 2, "suite", "DISTAFF_MPI_WRAPPER="+so)
			if r.Code != 1 || !strings.Contains(r.Err, "another MPI") || !strings.Contains(r.Err, so) {
				t.Errorf("exit code %d\n%s", r.Code, r.Err)
			}
			r = launch(t, other, 2, "info", "DISTAFF_MPI_WRAPPER="+so)
			if r.Code != 0 {
				t.Errorf("prebuilt wrapper: exit code %d\n%s", r.Code, r.Err)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		t.Run(l.Name, func(t *testing.T) {
			r := launch(t, l, 3, "info", "DISTAFF_COMMTEST_THREADS=64")
			for _, w := range []string{"library ", "threads MPI_THREAD_MULTIPLE", "local 0 of 3",
				"3 ranks of 64 threads share"} {
				if !strings.Contains(r.Out, w) {
					t.Errorf("lacks %q:\n%s%s", w, r.Out, r.Err)
				}
			}
		})
	}
	if l := mpitest.Launchers(t)[0]; l.Name == "openmpi" {
		// mpirun binds each of two ranks to a core by itself.
		r := launchArgv(t, []string{"mpirun.openmpi", "-n", "2", "--bind-to", "core", os.Args[0]}, "info",
			[]string{"DISTAFF_COMMTEST_THREADS=2"}, nil)
		if r.Code == 0 && strings.Contains(r.Out, "cpus 1\n") &&
			!strings.Contains(r.Out, "ranks 0-1 are bound to 1 core but should run 2 threads each") {
			t.Errorf("binding is not reported:\n%s", r.Out)
		}
		t.Log(r.Out)
	}
}

func TestLarge(t *testing.T) {
	if !*large {
		t.Skip("-large is not set")
	}
	for _, l := range mpitest.Launchers(t) {
		for _, n := range []int64{1<<31 + 17, 1<<31 + 64} {
			t.Run(fmt.Sprintf("%s/%d", l.Name, n), func(t *testing.T) {
				if r := launch(t, l, 2, fmt.Sprintf("large:%d", n)); r.Code != 0 {
					t.Fatal(r.Out, r.Err)
				}
			})
		}
	}
}
