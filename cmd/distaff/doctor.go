package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
)

func doctorCommand() *command {
	return &command{
		name: "doctor", short: "says what this machine has, what is missing and what that costs",
		long: `Looks for all that jobs use: a C compiler with OpenMP, caches, MPI, CUDA and
BLAS, the cores and the memory that this process may use. Each line says ok, note or missing,
what was found and where; what is missing is followed by what it costs. The exit
code is 0 where statements can be compiled and run, else 1.`,
		examples: []string{"distaff doctor"},
		flags:    talkFlags(),
		action:   doctor,
	}
}

func doctor(x *invocation) error {
	if x.Args().Len() > 0 {
		return argv.Errorf("doctor takes no arguments, got %q", x.Args().First())
	}
	line := func(state, what, format string, args ...any) {
		fmt.Fprintf(x.stdout, "%-8s %-12s %s\n", state, what, fmt.Sprintf(format, args...))
	}
	printVersion(x.stdout)
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	f := kernels.Doctor(x.Context.Context, cfg)
	if f.CompilerErr != nil {
		line("missing", "compiler", "%v", f.CompilerErr)
		line("", "", "only statements whose leaves are in the cache or built in run")
	} else {
		line("ok", "compiler", "%s (%s)", f.Compiler, f.Version)
	}
	if f.OpenMPErr != nil {
		line("missing", "OpenMP", "%v", f.OpenMPErr)
	} else {
		line("ok", "OpenMP", "a parallel region gets its threads")
	}
	line("ok", "threads", "%d (%s)", f.Threads, f.ThreadsWhy)
	if len(f.CPU) > 0 {
		line("ok", "CPU", "native, %s", strings.Join(f.CPU, ", "))
	} else {
		line("ok", "CPU", "native")
	}
	bytes, why := spmd.DefaultMemory()
	line("ok", "memory", "%s for a job (90%% of %s)", spmd.FormatSize(bytes), why)
	if f.CacheErr != nil {
		line("missing", "cache", "%v", f.CacheErr)
	} else {
		line("ok", "cache", "%s: %d leaves, %s", f.Cache, f.CacheObjects, spmd.FormatSize(f.CacheBytes))
		if f.CacheBad > 0 {
			line("note", "", "%d of them are damaged and will be compiled again", f.CacheBad)
		}
	}
	line("ok", "BLAS", "%s", f.BLAS)
	line("ok", "temporary", "%s", tmpFolder())
	doctorMPI(line)
	line("missing", "CUDA", "not part of this version: --target=cuda is refused, leaves run on the CPU")
	if f.CompilerErr != nil {
		return &front.Silent{Code: 1}
	}
	return nil
}

// doctorMPI tells which MPI compilers are there. Nothing is run.
func doctorMPI(line func(state, what, format string, args ...any)) {
	found := false
	names := []string{"mpicc", "mpicc.openmpi", "mpicc.mpich"}
	if v := os.Getenv("DISTAFF_MPICC"); v != "" {
		names = []string{v}
	}
	seen := map[string]bool{}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			continue
		}
		seen[real], found = true, true
		line("note", "MPI", "%s is there, but jobs run on one rank in this version", real)
	}
	if !found {
		line("missing", "MPI", "no mpicc found: jobs run on one rank")
	}
}

func tmpFolder() string {
	if t := os.Getenv("DISTAFF_TMP"); t != "" {
		return t
	}
	return os.TempDir()
}
