package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"distaff/spmd/comm/mpi/mpitest"
)

// spmv is a job that reads the files of makeInputs.
var spmv = []string{"run", "y(i) = A(i,j)*x(j)", "-i=A:a.tcs", "-i=x:x.tns", "-f=x:d", "-d=j:90",
	"-o=y:OUT.tns"}

// aRank is a script that makes rank 1 differ from the other ranks. If one process runs all ranks,
// it makes that process differ.
const aRank = "#!/bin/bash\nif [ \"${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-1}}\" = 1 ]; then case $1 " +
	"in\nsmall) ulimit -v 4000000;;\nnopath) export PATH=/nowhere;;\nflag) exec \"${@:2}\" " +
	"--bogus;;\njob) exec \"${@:2}\" --seed=7;;\nfolder) cd /;;\nnocache) unset " +
	"DISTAFF_CACHE; export HOME=/nowhere DISTAFF_CACHE=/proc/nowhere;;\nesac; fi\nexec " +
	"\"${@:2}\"\n"

// wrongCC is a C compiler that adds 1 to each product.
const wrongCC = "#!/bin/sh\nfor a; do case $a in *.c) sed -i 's/\\(+= x[0-9]* \\* " +
	"x[0-9]*\\);/\\1 + 1;/' \"$a\";; esac; done\nexec cc \"$@\"\n"

// TestLaunchedCodes checks how failing jobs end, in one process and under each MPI: soon, with the
// exit code of the failure, and with one message, from the rank that failed.
func TestLaunchedCodes(t *testing.T) {
	launchers := mpiLaunchers(t)
	dir := t.TempDir()
	distaff := program(t, dir)
	makeInputs(t, dir, distaff)
	for name, text := range map[string]string{"bad.tns": "1 2\n1 x\n",
		"few.tns": "1 1 2\n700000000 3 1\n", "rank": aRank, "cc": wrongCC} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	more := func(args ...string) []string { return append(append([]string{}, spmv...), args...) }
	codes := []struct {
		name string
		code int
		once string // a text that must be printed once
		args []string
		env  string
		rank string // how rank 1 differs; "small" affects one process of all ranks, too
	}{
		{"well", 0, "", spmv, "", ""},
		{"no file", 1, "missing.tcs", []string{"run", "y(i) = A(i,j)*x(j)", "-i=A:missing.tcs",
			"-i=x:x.tns", "-o=y:OUT.tns"}, "", ""},
		{"wrong statement", 2, "got the end of the statement",
			[]string{"run", "y(i) = A(i,j)*", "-i=A:a.tcs", "-o=y:OUT.tns"}, "", ""},
		{"wrong flag", 2, `no flag "--bogus"`, more("--bogus"), "", ""},
		{"wrong data", 3, "bad.tns:2", []string{"run", "y(i) = A(i,j)*x(j)", "-i=A:a.tcs",
			"-i=x:bad.tns", "-d=j:90", "-o=y:OUT.tns"}, "", ""},
		{"difference", 4, "--check: y at i = 0", more("--check"),
			"DISTAFF_CC=" + filepath.Join(dir, "cc"), ""},
		{"memory", 5, "needs 720 bytes", more("--memory-limit=600"), "", ""},
		// Rank 0 has 1,000 rows of the result, and rank 1 has more rows than its memory can store.
		{"memory that the system refuses one rank", 5,
			"[1] tensor y of sizes [700000000] as d needs 5.215 GiB, but the system has no " +
				"more memory",
			[]string{"run", "y(i) = A(i,j)*x(j)", "-i=A:few.tns", "-f=A:ss", "-d=A:700000000,9",
				"-g=x:dense:int", "--split=i:1000,", "--threads=1", "-o=y:OUT.tcs"}, "", "small"},
		{"ranks twice", 2, "leave the flag out", more("--ranks=4"), "", "all"},
		{"no MPI at one rank", 1, "[1] started as one of", spmv, "", "nopath"},
		{"a flag at one rank", 2, `[1] there is no flag "--bogus"`, spmv, "", "flag"},
		{"another job at one rank", 2, "[1] this rank has another job than rank 0: --seed",
			spmv, "", "job"},
		{"no file at one rank", 1, "[1] a.tcs", spmv, "", "folder"},
		{"no cache at one rank", 0, "", spmv, "", "nocache"},
		{"cores", 0, "3 threads share", more("--threads=3"), "", ""},
		{"cores by OpenMP's variable", 0, "50 threads share", spmv, "OMP_NUM_THREADS=50", ""},
	}
	for place := range len(launchers) + 1 {
		where := "local"
		if place > 0 {
			where = launchers[place-1].Name
		}
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			out := "fault-" + where
			for _, k := range codes {
				if place == 0 && (k.rank != "" && k.rank != "small" ||
					strings.HasPrefix(k.name, "cores")) {
					continue
				}
				args := strings.Split(strings.ReplaceAll(strings.Join(k.args, "\x00"), "OUT", out),
					"\x00")
				argv := append([]string{filepath.Join(dir, "rank"), k.rank, distaff}, args...)
				if place > 0 {
					argv = launchers[place-1].Argv(2, argv...)
				} else {
					argv = append(argv, "--ranks=2")
				}
				t.Run(k.name, func(t *testing.T) {
					r := launchIn(t, dir, argv, []string{k.env}, nil)
					if r.Code != k.code {
						t.Errorf("exit code %d, want %d", r.Code, k.code)
					}
					if n := strings.Count(r.Err, k.once); k.once != "" && n != 1 {
						t.Errorf("%q is there %d times, want once", k.once, n)
					}
					if strings.Contains(r.Err, stuck) {
						t.Error("only the watchdog of ranks that wait ended it")
					}
					if left, _ := filepath.Glob(filepath.Join(dir, "*"+out+"*")); k.code != 0 &&
						len(left) > 0 {
						t.Errorf("left behind: %v", left)
					}
					os.Remove(filepath.Join(dir, out+".tns"))
					if t.Failed() {
						t.Log(r.Out, r.Err)
					}
				})
			}
			if place > 0 {
				interrupted(t, launchers[place-1], dir, distaff)
			}
		})
	}
}

// stuck is the start of the watchdog's message about a job whose ranks all wait.
const stuck = "every rank waits"

// interrupted sends a signal to one rank of a long job, and to the launcher of another job.
func interrupted(t *testing.T, l mpitest.Launcher, dir, distaff string) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, whom := range []string{"a rank", "the launcher"} {
			t.Run(fmt.Sprintf("%s/%v to %s", l.Name, sig, whom), func(t *testing.T) {
				argv := l.Argv(2, append([]string{distaff},
					append(append([]string{}, spmv[:6]...), "-o=y:interrupted-"+l.Name+".tns",
						"--repeat=2000000000")...)...)
				running := filepath.Join(t.TempDir(), "running")
				compiler := brokenCompiler(t, t.TempDir(), saying(running))
				r := launchIn(t, dir, argv, []string{"DISTAFF_CC=" + compiler},
					func(cmd *exec.Cmd) {
						begun(t, running)
						ids := children(cmd.Process.Pid, "distaff")
						if whom == "a rank" && len(ids) == 2 {
							syscall.Kill(ids[1], sig)
						} else {
							cmd.Process.Signal(sig)
						}
					})
				// If Open MPI's mpirun itself is interrupted, it exits with its own code.
				own := l.Name == "openmpi" && whom == "the launcher"
				if want := 128 + int(sig); r.Code == 0 || r.Code != want && !own {
					t.Errorf("exit code %d, want %d\n%s", r.Code, want, r.Err)
				}
				if n := strings.Count(r.Err, "interrupted by") +
					strings.Count(r.Err, "distaff: stopped by"); n > 1 {
					t.Errorf("said %d times:\n%s", n, r.Err)
				}
				if strings.Contains(r.Err, stuck) {
					t.Errorf("only the watchdog of ranks that wait ended it:\n%s", r.Err)
				}
				if left, _ := filepath.Glob(filepath.Join(dir,
					"*interrupted-"+l.Name+"*")); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}
