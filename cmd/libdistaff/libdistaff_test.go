package libdistaff_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"distaff/io/pythontest"
	_ "distaff/kernels/verified"
)

// library builds the shared library as make wheel does, without a version, and returns its path.
func library(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libdistaff.so")
	out, err := exec.Command("go", "build", "-buildmode=c-shared", "-tags=libdistaff",
		"-ldflags=-s -w", "-o", path, "distaff/cmd/distaff").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestProgram compiles and runs a C program, and once more with the address sanitizer.
func TestProgram(t *testing.T) {
	lib := library(t)
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	for _, flags := range [][]string{{"-O2"}, {"-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"}} {
		program := filepath.Join(t.TempDir(), "program")
		args := append(flags, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g", "-o", program,
			"testdata/program.c", lib, "-lpthread", "-Wl,-rpath,"+filepath.Dir(lib))
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		c := exec.Command(program, t.TempDir())
		// Go's runtime handles the signals; what it allocates at exit is not a leak.
		c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:use_sigaltstack=0")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "all is right") {
			t.Errorf("%v: %v\n%s", flags, err, out)
		}
	}
}

// TestHeader checks that the header is C99 and C++ by itself.
func TestHeader(t *testing.T) {
	for _, lang := range []string{"-std=c99 -x c", "-std=c++11 -x c++"} {
		args := append(strings.Fields(lang), "-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror",
			"distaff.h")
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", lang, err, out)
		}
	}
}

// TestPython installs the wheel in a new virtual environment, as a user would, and runs the tests of
// the Python package there.
func TestPython(t *testing.T) {
	python := pythontest.Find(t, "import numpy, scipy.sparse, pytest, venv")
	lib := library(t)
	folder := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTHONDONTWRITEBYTECODE=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	wheel := run(python, "python/wheel.py", lib, folder, "test")
	if st, err := os.Stat(wheel); err != nil || st.Size() > 15<<20 {
		t.Fatalf("%s: got %v, %v, want a file of at most 15 MB", wheel, st, err)
	}
	env := filepath.Join(folder, "env")
	run(python, "-m", "venv", "--system-site-packages", "--without-pip", env)
	inside := filepath.Join(env, "bin", "python")
	pip := exec.Command(inside, "-m", "pip", "install", "-q", "--no-index", "--no-deps",
		"--root-user-action=ignore", wheel)
	if out, err := pip.CombinedOutput(); err != nil {
		if exec.Command(python, "-m", "pip", "--version").Run() == nil {
			t.Fatalf("pip: %v\n%s", err, out)
		}
		site := run(inside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
		run(python, "-m", "zipfile", "-e", wheel, site) // pip is not installed here
	}
	tests, err := filepath.Abs("python/tests")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=3", tests)
	c.Dir = folder
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONFAULTHANDLER=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Log(lastLine(string(out)))
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
