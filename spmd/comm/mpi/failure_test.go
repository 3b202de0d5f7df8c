package mpi_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/spmd/comm/commtest"
	"distaff/spmd/comm/mpi/mpitest"
)

// stuck is the beginning of the watchdog's message about a job whose ranks all wait.
const stuck = "every rank waits"

// TestKilledAnywhere kills a random rank at a random moment of the suite. MPI is open by then,
// because mpirun of Open MPI 4.1.4 hangs if a rank is killed while it connects.
func TestKilledAnywhere(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for i := range *kills {
			t.Run(fmt.Sprintf("%s/%d", l.Name, i), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(uint64(i), 7))
				file := filepath.Join(t.TempDir(), "pid")
				r := launchArgv(t, l.Argv(3, os.Args[0]), "suite", []string{"DISTAFF_COMMTEST_PID=" + file},
					func(cmd *exec.Cmd, out *mpitest.Buffer) {
						victim := fmt.Sprintf("%s.%d", file, rnd.IntN(3))
						var pid int
						for pid == 0 {
							b, _ := os.ReadFile(victim)
							pid, _ = strconv.Atoi(strings.TrimSpace(string(b)))
							time.Sleep(time.Millisecond)
						}
						time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
						_ = syscall.Kill(pid, syscall.SIGKILL)
					})
				if strings.Contains(r.Err, stuck) {
					t.Errorf("only the watchdog of ranks that wait ended it\n%s", r.Err)
				}
				if passed := strings.Contains(r.Out, "all passed"); r.Code == 0 && !passed {
					t.Errorf("exit code 0\n%s\n%s", r.Out, r.Err)
				}
			})
		}
	}
}

// TestSilent checks that a silent rank ends the job, although its launcher sees nothing wrong.
func TestSilent(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			r := launchArgv(t, l.Argv(3, os.Args[0]), "wait", []string{"DISTAFF_COMMTEST_APART=3s"},
				func(cmd *exec.Cmd, out *mpitest.Buffer) {
					time.Sleep(2 * time.Second) // life goes on for a while
					signalRank1(t, out, syscall.SIGSTOP)
				})
			if r.Code == 0 || !strings.Contains(r.Err,
				"[1] it has not answered for 3s, as rank 0 reports") {
				t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
			}
		})
	}
}

// hanging are calls of MPI that do not return: MPI_Abort, whose launcher does not answer, and a
// call of the monitor, which holds the wrapper's mutex forever after a hundred calls.
var hanging = map[string]string{
	"MPI_Abort":  "int MPI_Abort(void *c, int code) { for (;;) pause(); }",
	"MPI_Iprobe": "int MPI_Iprobe(int from, int tag, void *c, int *flag, void *st) { static int n; if (n++ < 100) return 15; for (;;) pause(); }",
}

// endedByLauncher matches the message of MPICH's launcher about a rank that it ended.
var endedByLauncher = regexp.MustCompile(
	`EXIT STRING: (Hangup|Killed|Terminated) \(signal (1|9|15)\)`)

// TestMPIHangs checks that the processes of a failed job end by themselves if MPI does not end
// them, with the right exit code, and that the message appears once.
func TestMPIHangs(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	for call, text := range hanging {
		file := filepath.Join(dir, call)
		if err := os.WriteFile(file+".c", []byte("#include <unistd.h>\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-o", file+".so",
			file+".c").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, l := range mpitest.Launchers(t) {
			t.Run(l.Name+"/"+call, func(t *testing.T) {
				t.Parallel()
				r := launch(t, l, 2, "failure:error", "LD_PRELOAD="+file+".so")
				// Where one rank ends first, MPICH's launcher ends the others by a signal, and of
				// all ranks' codes takes any.
				killed := l.Name == "mpich" && endedByLauncher.MatchString(r.Out+r.Err) &&
					slices.Contains([]int{1, 9, 15}, r.Code)
				if r.Code != 3 && !killed || strings.Count(r.Err, "[1] b.tns:7:3: no number") != 1 {
					t.Errorf("exit code %d after %v\n%s%s", r.Code, r.Took, r.Out, r.Err)
				}
			})
		}
	}
}

// TestNeverOpened checks that ranks do not wait forever if another program runs in the place of a
// rank.
func TestNeverOpened(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", l.Name, first), func(t *testing.T) {
				t.Parallel()
				argv := append(append([]string{}, l.Mpirun...), "-n", "1", "true", ":", "-n", "2", os.Args[0])
				if !first {
					argv = append(append(append([]string{}, l.Mpirun...), "-n", "2", os.Args[0]), ":", "-n", "1",
						"true")
				}
				start := func() mpitest.Result {
					return launchArgv(t, argv, "suite", []string{"DISTAFF_COMMTEST_OPENING=2s"}, nil)
				}
				r := start()
				// Where the program without MPI ends after the others have begun to open it, Open
				// MPI's mpirun ends the job itself.
				for tries := 1; tries < 5 && r.Code != 0 &&
					strings.Contains(r.Err, "exiting improperly"); tries++ {
					r = start()
				}
				if r.Code == 0 || strings.Count(r.Err, "either have not come up, or have ended, or run another program") != 1 {
					t.Errorf("exit code %d after %v\n%s%s", r.Code, r.Took, r.Out, r.Err)
				}
			})
		}
	}
}

func TestFailures(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, f := range commtest.Failures() {
			t.Run(l.Name+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "partial")
				r := launch(t, l, 3, "failure:"+f.Name, "DISTAFF_COMMTEST_STUCK=500ms",
					"DISTAFF_COMMTEST_FILE="+file)
				if r.Code != f.Code {
					t.Errorf("exit code %d, want %d", r.Code, f.Code)
				}
				for i, w := range f.Want {
					if n := strings.Count(r.Err, w); n == 0 || (i == 0 && n > 1) {
						t.Errorf("%q is there %d times, want once", w, n)
					}
				}
				if !f.Stuck && strings.Contains(r.Err, stuck) {
					t.Error("only the watchdog of ranks that wait ended it")
				}
				if left, _ := filepath.Glob(file + "*"); f.Name != "agreed" && len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				if t.Failed() {
					t.Log(r.Out, r.Err)
				}
			})
		}
	}
}

// TestKilled checks that killing a rank ends the job.
func TestKilled(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%v", l.Name, sig), func(t *testing.T) {
				t.Parallel()
				r := launchArgv(t, l.Argv(3, os.Args[0]), "wait", nil,
					func(cmd *exec.Cmd, out *mpitest.Buffer) {
						signalRank1(t, out, sig)
					})
				if r.Code == 0 || strings.Contains(r.Err, stuck) {
					t.Errorf("exit code %d\n%s%s", r.Code, r.Out, r.Err)
				}
				t.Logf("exit code %d\n%s", r.Code, r.Err)
			})
		}
	}
}

// signalRank1 waits for "rank 1 is process N" and sends it a signal.
func signalRank1(t *testing.T, out *mpitest.Buffer, sig syscall.Signal) {
	t.Helper()
	for range 600 {
		if _, rest, ok := strings.Cut(out.String(), "rank 1 is process "); ok &&
			strings.Contains(rest, "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("rank 1 did not come up: " + out.String())
}

// TestInterrupt checks that SIGTERM and SIGINT to the launcher clean up and end the job.
func TestInterrupt(t *testing.T) {
	for _, l := range mpitest.Launchers(t) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprintf("%s/%v", l.Name, sig), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "partial")
				r := launchArgv(t, l.Argv(3, os.Args[0]), "wait", []string{"DISTAFF_COMMTEST_FILE=" + file},
					func(cmd *exec.Cmd, out *mpitest.Buffer) {
						for !strings.Contains(out.String(), "rank 1 is") {
							time.Sleep(20 * time.Millisecond)
						}
						if err := cmd.Process.Signal(sig); err != nil {
							t.Fatal(err)
						}
					})
				if r.Code == 0 {
					t.Error("exit code 0")
				}
				if left, _ := filepath.Glob(file + "*"); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
				t.Logf("exit code %d\n%s", r.Code, r.Err)
			})
		}
	}
}
