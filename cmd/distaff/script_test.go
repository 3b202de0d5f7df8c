package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"distaff/kernels/cuda"
	_ "distaff/kernels/verified"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"distaff": main})
}

// TestScripts runs the scripts in testdata/script. $TESTDATA is this repository's testdata, and
// $NOTOOLS is a PATH that contains only distaff. All scripts use one cache of leaves, which nothing
// else uses. In addition to testscript's commands, they have the command
//
//	exits CODE COMMAND...   runs a command that must end with that code
func TestScripts(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH: statements cannot be compiled")
	}
	data, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(data, "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TESTDATA", data)
			env.Setenv("NOTOOLS", filepath.SplitList(env.Getenv("PATH"))[0])
			env.Setenv("DISTAFF_CACHE", cache)
			env.Setenv("DISTAFF_CFLAGS", "-O1") // these leaves run for microseconds only
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "cc":
				return haveCompiler(), nil
			case "gpu":
				return cuda.Probe().DriverErr == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// haveCompiler reports whether distaff finds a C compiler if DISTAFF_CC is not set.
func haveCompiler() bool {
	for _, name := range []string{"gcc", "cc", "clang"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("exits: %v", err)
	}
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("got exit code %d, want %d", got, want)
	}
}
