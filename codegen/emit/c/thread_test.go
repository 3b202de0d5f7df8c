package c_test

import (
	"bytes"
	"os/exec"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/emit/c/program"
	"distaff/codegen/ir/irtest"
)

// TestOneThread checks that no leaf enters a parallel region on one thread. Entering a region ends
// the program here.
func TestOneThread(t *testing.T) {
	src := program.Sources(funcs()...)
	src["region.c"] =
		"void abort(void);\nvoid __wrap_GOMP_parallel(void);\nvoid __wrap_GOMP_parallel(void) { abort(); }\n"
	exe := build(t, src, append(c.Flags(""), "-O0", "-Wl,--wrap=GOMP_parallel")...)
	for _, x := range irtest.Cases() {
		f := x.Func()
		execute(t, exe, f, x, 1, 0)
		if x.Name != "spmv" {
			continue
		}
		cmd := exec.Command(exe, c.Symbol(f.Name), "2", "0")
		cmd.Stdin = bytes.NewReader(program.Input(f, x.Args(), x.Bounds))
		if err := cmd.Run(); err == nil {
			t.Error("two threads enter no region")
		}
	}
}
