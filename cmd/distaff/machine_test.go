package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"distaff/kernels/tune"
	"distaff/spmd"
)

// TestDoctorTune checks that doctor later prints the machine model that doctor --tune measured.
// Under each MPI, --tune adds the messages of that MPI to the model, and it is refused if there is
// no model of the processor.
func TestDoctorTune(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	dir, cache := t.TempDir(), t.TempDir()
	distaff := program(t, dir)
	run := func(args ...string) (out string, err error) {
		cmd := exec.Command(distaff, args...)
		cmd.Env = append(os.Environ(), "DISTAFF_CACHE="+cache)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	model := func(args ...string) *spmd.Machine {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		var told struct{ Machine *spmd.Machine }
		if err := json.Unmarshal([]byte(out), &told); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return told.Machine
	}
	if m := model("doctor", "--json"); m != nil {
		t.Errorf("a machine that was not measured: got %+v", m)
	}
	if out, err := run("doctor"); err != nil ||
		!strings.Contains(out, "not measured; distaff doctor --tune takes 3 seconds; until then there are no predicted times, and statistics cannot compare with the machine's limits") {
		t.Errorf("got %v\n%s", err, out)
	}
	for tries := 0; ; tries++ {
		out, err := run("doctor", "--tune", "--json")
		if err == nil {
			break
		}
		if !strings.Contains(out, "the machine cannot be measured while other programs run") {
			t.Fatalf("%v\n%s", err, out)
		}
		if m := model("doctor", "--json"); m != nil {
			t.Fatalf("a model that was refused is kept: %+v", m)
		}
		if tries == 5 {
			t.Skip("this machine is too busy: ", out)
		}
	}
	measured := model("doctor", "--json")
	if measured == nil || len(measured.Levels) == 0 || measured.Threads < 1 {
		t.Fatalf("got %+v", measured)
	}
	figures := []float64{measured.Call, measured.Atomic.One, measured.Atomic.All,
		measured.FirstTouch.One, measured.FirstTouch.All, measured.MultiplyAdds64.One,
		measured.MultiplyAdds32.All}
	for _, l := range measured.Levels {
		figures = append(figures, l.Read.One, l.Read.All, l.Write.One, l.Write.All, l.Dependent)
	}
	if x := measured.Between(tune.BetweenThreads); x == nil {
		t.Errorf("no messages between ranks of a process: %+v", measured.Messages)
	} else {
		figures = append(figures, x.Latency, x.Bandwidth)
	}
	for n, x := range figures {
		if !(x > 0) {
			t.Errorf("figure %d is %v", n, x)
		}
	}
	if m := model("doctor", "--json"); !reflect.DeepEqual(m, measured) {
		t.Errorf("doctor tells of %+v, and measured %+v", m, measured)
	}
	for _, cpus := range []float64{0, 1.5} {
		measured.OtherWork = cpus
		if err := tune.Keep(cache, measured); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"doctor"},
			{"plan", "y(i) = A(i,j)*x(j)", "-g=A:uniform:10", "-g=x:dense", "-d=A:8,8"}} {
			out, err := run(args...)
			if says := strings.Contains(out,
				"other programs kept 1.5 CPUs busy while this machine was measured"); err != nil ||
				says != (cpus > 0) {
				t.Errorf("%s, of a machine that was measured beside %v CPUs of other work: %v\n%s",
					args[0], cpus, err, out)
			}
		}
	}
	for _, l := range mpiLaunchers(t) {
		launched := func(cache string) (code int, stdout, stderr string) {
			r := launchIn(t, dir, l.Argv(2, distaff, "doctor", "--tune"),
				[]string{"DISTAFF_CACHE=" + cache}, nil)
			return r.Code, r.Out, r.Err
		}
		code, stdout, stderr := launched(cache)
		if code != 0 || strings.Count(stdout, "between processes of a machine") != 1 ||
			strings.Count(stdout, "between ranks of a process") != 1 {
			t.Errorf("%s: exit code %d\n%s%s", l.Name, code, stdout, stderr)
		}
		if m := model("doctor", "--json"); m == nil || m.Between(tune.BetweenProcesses) == nil ||
			!reflect.DeepEqual(m.Levels, measured.Levels) {
			t.Errorf("%s: the model is then %+v", l.Name, m)
		}
		code, stdout, stderr = launched(filepath.Join(dir, "empty"))
		if code != 1 || strings.Count(stderr, "this machine has not been measured") != 1 {
			t.Errorf("%s, no model: exit code %d\n%s%s", l.Name, code, stdout, stderr)
		}
	}
}

// TestScaled checks that a number is never rounded up to a thousand of its unit.
func TestScaled(t *testing.T) {
	for x, want := range map[float64]string{999.4: "999 B", 999.6: "1 kB", 1000: "1 kB",
		999600: "1 MB", 1234: "1.23 kB"} {
		if got := bytesText(x); got != want {
			t.Errorf("%v bytes: got %q, want %q", x, got, want)
		}
	}
}
