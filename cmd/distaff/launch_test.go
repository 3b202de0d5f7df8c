package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"distaff/spmd"
	"distaff/spmd/comm/mpi/mpitest"
)

// mpiLaunchers returns the installed MPIs that have both a launcher and a compiler.
func mpiLaunchers(t *testing.T) []mpitest.Launcher {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	return mpitest.Launchers(t)
}

// program creates the command distaff in dir and returns its path. The command is this test binary,
// which acts as distaff if it is started by that name.
func program(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "distaff")
	if os.Link(self, to) == nil {
		return to
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// launchIn runs a command in dir, with the caches that all tests on this machine share, so that MPI
// wrappers are built once. If started is not nil, it is called with the running command.
func launchIn(t *testing.T, dir string, argv []string, env []string,
	started func(*exec.Cmd)) mpitest.Result {
	t.Helper()
	c := mpitest.Command{Argv: argv, Dir: dir, Env: append([]string{"DISTAFF_CFLAGS=-O1"}, env...),
		Limit: 2 * time.Minute}
	if started != nil {
		c.Started = func(cmd *exec.Cmd, _ *mpitest.Buffer) { started(cmd) }
	}
	return mpitest.Run(t, c)
}

// wholeJob is a job whose outputs must have the same bytes for every number of ranks.
type wholeJob struct {
	name    string
	args    []string // OUT is replaced by the name of the output file
	outputs []string // extensions
}

// wholeJobs read text files and .tcs files, which makeInputs writes, and write both kinds.
var wholeJobs = []wholeJob{
	{"spmv", []string{"y(i) = A(i,j)*x(j)", "-i=A:a.tcs", "-i=x:x.tns", "-f=x:d", "-d=j:90",
		"-o=y:OUT.tns"}, []string{".tns"}},
	{"blocks", []string{"C(i,k) = A(i,j)*B(j,k) + D(i,k)", "-i=A:a.tcs", "-i=B:b.mtx", "-i=D:d.tns",
		"-d=i:80", "-d=k:70", "-f=A:ds", "-f=B:ds", "-f=D:ds", "-f=C:ds",
		"--split=i:3", "--split=j:4", "--extend=j", "--map=i,j", "-o=C:OUT.tcs", "-o=A:OUT.mtx"},
		[]string{".tcs", ".mtx"}},
	{"accumulate", []string{"y(i) += A(i,j)*x(j)", "-i=y:y0.tns", "-i=A:a.tcs", "-i=x:x.tns",
		"-d=j:90", "-d=i:80", "--split=j:5", "--order=j", "-o=y:OUT.npy"}, []string{".npy"}},
	// A leaf's result grows so large that it is moved by changing page tables. MPIs watch mappings.
	{"grows", []string{"C(i,j) = A(i,k)*B(k,j)", "-g=A:uniform:200000:int",
		"-g=B:uniform:10000:int", "-d=A:2500,2000", "-d=j:400", "-f=A:ds", "-f=B:ds", "-f=C:ds",
		"-o=C:OUT.tcs"}, []string{".tcs"}},
}

// makeInputs writes the files that wholeJobs read, on one rank.
func makeInputs(t *testing.T, dir, distaff string) {
	t.Helper()
	for _, args := range [][]string{
		{"A(i,j) = G(i,j)", "-g=G:uniform:1500:int", "-d=G:80,90", "-f=G:ds", "-f=A:ds",
			"-o=A:a.tcs"},
		{"B(j,k) = G(j,k)", "-g=G:zipf:900:1.1:int", "-d=G:90,70", "-f=B:ds", "-o=B:b.mtx"},
		{"D(i,k) = G(i,k)", "-g=G:banded:2:int", "-d=G:80,70", "-f=D:ds", "-o=D:d.tns"},
		{"x(j) = G(j)", "-g=G:dense:int", "-d=G:90", "-f=x:s", "-o=x:x.tns"},
		{"y(i) = G(i)", "-g=G:uniform:40:int", "-d=G:80", "-f=y:s", "-o=y:y0.tns"},
	} {
		if r := launchIn(t, dir, append([]string{distaff, "run"}, args...), nil, nil); r.Code != 0 {
			t.Fatalf("making inputs: exit code %d\n%s", r.Code, r.Err)
		}
	}
}

// command returns the job's command line with outputs named name.
func (j wholeJob) command(name string, more ...string) []string {
	args := []string{"run"}
	for _, a := range j.args {
		args = append(args, strings.ReplaceAll(a, "OUT", name))
	}
	return append(args, more...)
}

// same compares the outputs named name with the outputs of one rank.
func (j wholeJob) same(t *testing.T, dir, name string) {
	t.Helper()
	for _, ext := range j.outputs {
		want, err := os.ReadFile(filepath.Join(dir, j.name+"-1"+ext))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, name+ext))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes that differ from the %d of one rank", name+ext, len(got),
				len(want))
		}
	}
}

// jobFolder prepares dir: it creates the command distaff and the inputs, and runs each job on one
// rank. It returns the path of distaff.
func jobFolder(t *testing.T, dir string) string {
	t.Helper()
	distaff := program(t, dir)
	makeInputs(t, dir, distaff)
	for _, j := range wholeJobs {
		if r := launchIn(t, dir, append([]string{distaff}, j.command(j.name+"-1")...), nil,
			nil); r.Code != 0 {
			t.Fatalf("%s on one rank: exit code %d\n%s", j.name, r.Code, r.Err)
		}
	}
	return distaff
}

func TestLocalRanksWriteTheSameBytes(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	distaff := jobFolder(t, dir)
	for _, ranks := range []int{2, 3, 4, 6, 8} {
		for _, j := range wholeJobs {
			name := fmt.Sprintf("%s-local-%d", j.name, ranks)
			r := launchIn(t, dir, append([]string{distaff},
				j.command(name, fmt.Sprintf("--ranks=%d", ranks))...), nil, nil)
			if r.Code != 0 {
				t.Errorf("%s: exit code %d\n%s", name, r.Code, r.Err)
				continue
			}
			j.same(t, dir, name)
		}
	}
}

// TestMPIRuns runs jobs under mpirun of each MPI.
func TestMPIRuns(t *testing.T) {
	launchers := mpiLaunchers(t)
	dir := t.TempDir()
	distaff := jobFolder(t, dir)
	for _, l := range launchers {
		t.Run(l.Name, func(t *testing.T) {
			run := func(n int, args ...string) mpitest.Result {
				return launchIn(t, dir, append(l.Argv(n, distaff), args...), nil, nil)
			}
			for n := 2; n <= 4; n++ {
				for _, j := range wholeJobs {
					name := fmt.Sprintf("%s-%s-%d", j.name, l.Name, n)
					more := []string{"--stats=" + name + ".json"}
					if j.name == "blocks" {
						more = append(more, "--check")
					}
					if r := run(n, j.command(name, more...)...); r.Code != 0 {
						t.Errorf("%s: exit code %d\n%s", name, r.Code, r.Err)
						continue
					}
					j.same(t, dir, name)
					if j.name == "spmv" {
						vectorAlone(t, filepath.Join(dir, name+".json"), n, 90*8)
					}
				}
			}
			compiledOnce(t, l, dir, distaff)
			killedRank(t, l, dir, distaff)
		})
	}
}

// vectorAlone checks in a statistics file that SpMV with blocks of rows sends only the vector,
// once.
func vectorAlone(t *testing.T, file string, n int, bytes int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var st spmd.Stats
	if err := json.Unmarshal(text, &st); err != nil {
		t.Fatal(err)
	}
	var sent, received, messages int64
	for r := range n {
		sent, received, messages = sent+st.Comm.BytesSent[r], received+st.Comm.BytesReceived[r],
			messages+st.Comm.MessagesSent[r]
	}
	if st.Ranks != n || sent != bytes || received != int64(n-1)*bytes || messages != 1 {
		t.Errorf("%d ranks: %d bytes sent in %d messages, %d received; want %d in 1, %d", st.Ranks,
			sent, messages, received, bytes, int64(n-1)*bytes)
	}
	if len(st.Balance.Nonzeros) != n || slices.Min(st.Balance.Nonzeros) == 0 {
		t.Errorf("balance %v on %d ranks", st.Balance.Nonzeros, n)
	}
}

// compiledOnce checks that a job compiles its leaf once, and not in a process that has called
// MPI_Init.
func compiledOnce(t *testing.T, l mpitest.Launcher, dir, distaff string) {
	t.Helper()
	log := filepath.Join(dir, "compiled-"+l.Name)
	script := filepath.Join(dir, "cc-"+l.Name)
	text := "#!/bin/sh\ntr '\\0' '\\n' < /proc/$PPID/environ | grep -c ^DISTAFF_COMPILE_SERVER=1 " +
		">> " + log + "\nexec cc \"$@\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	name := "spmv-once-" + l.Name
	r := launchIn(t, dir, append(l.Argv(3, distaff), wholeJobs[0].command(name)...),
		[]string{"DISTAFF_CC=" + script}, nil)
	if r.Code != 0 {
		t.Fatalf("exit code %d\n%s", r.Code, r.Err)
	}
	wholeJobs[0].same(t, dir, name)
	if said, err := os.ReadFile(log); err != nil || string(said) != "1\n" {
		t.Errorf("3 ranks compiled, by compile servers or not: %q, %v; want one compilation by a "+
			"server", said, err)
	}
	// One rank reports the compiler's error, with its exit code.
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho no luck >&2\nexit 1\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	r = launchIn(t, dir, append(l.Argv(3, distaff), wholeJobs[0].command(name)...),
		[]string{"DISTAFF_CC=" + script}, nil)
	if r.Code != 1 || strings.Count(r.Err, "no luck") != 1 {
		t.Errorf("a compiler that fails: exit code %d\n%s", r.Code, r.Err)
	}
}

// killedRank kills one rank of a long job. The job must end with an exit code that reports this,
// and must not change the old output.
func killedRank(t *testing.T, l mpitest.Launcher, dir, distaff string) {
	t.Helper()
	old := filepath.Join(dir, "old-"+l.Name+".tns")
	if err := os.WriteFile(old, []byte("1 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := l.Argv(2, distaff, "run", "y(i) = A(i,j)*x(j)", "-i=A:a.tcs", "-i=x:x.tns", "-d=j:90",
		"--repeat=2000000000", "-o=y:"+old)
	running := filepath.Join(t.TempDir(), "running")
	compiler := brokenCompiler(t, t.TempDir(), saying(running))
	r := launchIn(t, dir, argv, []string{"DISTAFF_CC=" + compiler}, func(cmd *exec.Cmd) {
		begun(t, running)
		if ranks := children(cmd.Process.Pid, "distaff"); len(ranks) == 2 {
			syscall.Kill(ranks[1], syscall.SIGKILL)
			return
		}
		t.Error("there are not two ranks")
		cmd.Process.Kill()
	})
	if r.Code == 0 {
		t.Errorf("a killed rank: exit code 0\n%s", r.Err)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "1 7\n" {
		t.Errorf("the old output is harmed: %q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// children returns the descendants of process pid whose program has the given name.
func children(pid int, name string) []int {
	parents := map[int]int{}
	var named []int
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		text, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		var id, parent int
		var state string
		at := bytes.LastIndexByte(text, ')')
		if _, err := fmt.Sscanf(string(text[at+1:]), "%s %d", &state, &parent); err != nil {
			continue
		}
		if _, err := fmt.Sscan(e.Name(), &id); err != nil {
			continue
		}
		parents[id] = parent
		if exe, err := os.Readlink("/proc/" + e.Name() + "/exe"); err == nil &&
			filepath.Base(exe) == name {
			if env, _ := os.ReadFile("/proc/" + e.Name() + "/environ"); bytes.Contains(env,
				[]byte("DISTAFF_COMPILE_SERVER=1")) {
				continue // a helper process of a rank
			}
			named = append(named, id)
		}
	}
	var below []int
	for _, id := range named {
		for p := parents[id]; p > 1; p = parents[p] {
			if p == pid {
				below = append(below, id)
				break
			}
		}
	}
	slices.Sort(below)
	return below
}

// TestOnce checks that only rank 0 of a launcher's ranks runs a command that is not a job.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	distaff := program(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "x.tns"), []byte("1 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"info", "x.tns"}, {"show", "x.tns"}, {"convert", "x.tns", "y.mtx"},
		{"diff", "x.tns", "x.tns"}, {"version"}, {"--version"}, {"help"}, {"run", "--help"},
		{"doctor"},
		{"spy", "x.tns"}, {"cache"}, {"completion", "bash"}, {"plan", "s = x(i)",
			"-i=x:x.tns"}, {"compile", "s = x(i)"}, {"nothing"}, {"info", "--bogus"}, {}, {"-q"},
	} {
		for _, env := range [][]string{{"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=2"},
			{"PMI_SIZE=3", "PMI_RANK=1"}, {"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1"}} {
			r := launchIn(t, dir, append([]string{distaff}, args...), env, nil)
			if r.Code != 0 || r.Out != "" || r.Err != "" {
				t.Errorf("%q as rank %s: got exit code %d, %q and %q, want 0 and nothing", args,
					env[1], r.Code, r.Out, r.Err)
			}
		}
	}
	if got := files(t, dir); got != "distaff x.tns" {
		t.Errorf("files left: %s", got)
	}
	first := launchIn(t, dir, []string{distaff, "convert", "x.tns", "y.mtx"},
		[]string{"OMPI_COMM_WORLD_SIZE=3", "OMPI_COMM_WORLD_RANK=0"}, nil)
	if got := files(t, dir); first.Code != 0 || got != "distaff x.tns y.mtx" {
		t.Errorf("rank 0: got exit code %d and %q, and the files %s", first.Code, first.Err, got)
	}
	if first = launchIn(t, dir, []string{distaff, "info", "none.tns"},
		[]string{"PMI_SIZE=3", "PMI_RANK=0"}, nil); first.Code != 1 ||
		!strings.Contains(first.Err, "none.tns") {
		t.Errorf("rank 0 without a file: got exit code %d and %q", first.Code, first.Err)
	}
	for _, l := range mpiLaunchers(t) {
		r := launchIn(t, dir, append(l.Argv(3, distaff), "info", "x.tns"), nil, nil)
		if n := strings.Count(r.Out, "entries    1"); r.Code != 0 || n != 1 {
			t.Errorf("%s: got exit code %d and the file %d times\n%s%s", l.Name, r.Code, n, r.Out,
				r.Err)
		}
		r = launchIn(t, dir, append(l.Argv(3, distaff), "info", "none.tns"), nil, nil)
		if n := strings.Count(r.Err, "distaff: none.tns"); r.Code != 1 || n != 1 {
			t.Errorf("%s without a file: got exit code %d, said %d times\n%s", l.Name, r.Code, n,
				r.Err)
		}
	}
}

// TestSharedMistake checks that a message does not name a rank if the command line or the job file
// is wrong, or names a file that does not exist: every rank has the same job.
func TestSharedMistake(t *testing.T) {
	dir := t.TempDir()
	distaff := program(t, dir)
	for name, text := range map[string]string{"x.tns": "1 1\n",
		"job.dst": "tensor x(n): s from \"none.tns\"\ns = x(i)\nprint s\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	starts := []mpitest.Launcher{{}}
	if _, err := exec.LookPath("cc"); err == nil {
		starts = append(starts, mpitest.Launchers(t)...)
	}
	for _, l := range starts {
		for _, c := range [][]string{
			{`got foo, want a scheduling command`, "s = x(i)", "-i=x:x.tns", "-s=foo(i)"},
			{"x.tns:1:1: got 2 columns, want 3", "s = x(i,j)", "-i=x:x.tns"},
			{"y: no input", "s = x(i)*y(i)", "-i=x:x.tns"},
			{`there is no flag "--bogus"`, "s = x(i)", "-i=x:x.tns", "--bogus"},
			{"none.tns: no such file", "s = x(i)", "-i=x:none.tns"},
			{"none/y.tns: can't write the file", "y(i) = x(i)", "-i=x:x.tns", "-o=y:none/y.tns"},
			{"none/s.json: can't write the file", "s = x(i)", "-i=x:x.tns", "--stats=none/s.json"},
			{"job.dst:1:21: none.tns: no such file", "job.dst"},
		} {
			argv := append([]string{distaff, "run"}, c[1:]...)
			if l.Name == "" {
				argv = append(argv, "--ranks=2")
			} else {
				argv = append(l.Argv(2, distaff, "run"), c[1:]...)
			}
			r := launchIn(t, dir, argv, nil, nil)
			if strings.Count(r.Err, c[0]) != 1 || !strings.Contains(r.Err, "distaff: ") ||
				strings.Contains(r.Err, "[0] ") || strings.Contains(r.Err, "[1] ") {
				t.Errorf("%s %q: got exit code %d and %q, want %q once, without a rank", l.Name,
					c[1:], r.Code, r.Err, c[0])
			}
		}
	}
}

// TestRankWithoutLauncher checks that a process reports an error itself if the environment says
// that it is rank 1 and there is no rank 0 that could report it.
func TestRankWithoutLauncher(t *testing.T) {
	dir := t.TempDir()
	distaff := program(t, dir)
	for _, l := range mpiLaunchers(t) {
		env := map[string][]string{
			"openmpi": {"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1",
				"DISTAFF_MPICC=mpicc.openmpi"},
			"mpich": {"PMI_SIZE=2", "PMI_RANK=1", "DISTAFF_MPICC=mpicc.mpich"},
		}[l.Name]
		if env == nil {
			continue
		}
		r := launchIn(t, dir, []string{distaff, "run", "s = x(i)", "-g=x:dense", "-d=i:3"}, env,
			nil)
		if want := "started as rank 1 of 2 by mp"; r.Code != 1 || strings.Count(r.Err, want) != 1 ||
			r.Out != "" {
			t.Errorf("%s: got exit code %d, %q and %q, want 1 and %q", l.Name, r.Code, r.Out, r.Err,
				want)
		}
	}
}
