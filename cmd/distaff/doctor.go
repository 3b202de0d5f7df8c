package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/codegen/diag"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
	"distaff/spmd/comm/mpi"
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
	err := printVersion(x.stdout)
	if err != nil {
		return err
	}
	line := func(state, what, format string, args ...any) {
		if _, werr := fmt.Fprintf(x.stdout, "%-8s %-12s %s\n", state, what, diag.Sprintf(format, args...)); werr != nil && err == nil {
			err = werr
		}
	}
	cfg, cerr := cc.FromEnv(os.Getenv)
	if cerr != nil {
		return cerr
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
		line("ok", "cache", "%s: %s, %s", f.Cache, leaves(f.CacheObjects), spmd.FormatSize(f.CacheBytes))
		if f.CacheBad > 0 {
			line("note", "", "%d of them are damaged and will be compiled again", f.CacheBad)
		}
	}
	line("ok", "BLAS", "%s", f.BLAS)
	line("ok", "temporary", "%s", tmpFolder())
	doctorMPI(x.Context.Context, line)
	line("missing", "CUDA", "not part of this version: --target=cuda is refused, leaves run on the CPU")
	if f.CompilerErr != nil && err == nil {
		return &front.Silent{Code: 1}
	}
	return err
}

// doctorMPI builds, or finds in the cache, the wrapper of each MPI that is here,
// and opens it, in a process of its own.
func doctorMPI(ctx context.Context, line func(state, what, format string, args ...any)) {
	compilers := mpi.Compilers(os.Getenv, "")
	seen := map[string]bool{}
	for _, mpicc := range compilers {
		w, err := mpi.Build(ctx, mpicc, os.Getenv, func(string) {})
		if err != nil {
			line("missing", "MPI", "%s makes no wrapper: %v", mpicc, err)
			continue
		}
		if id := w.Family + " " + w.Version; !seen[id] {
			seen[id] = true
			library, threads, err := mpi.Probe(ctx, w)
			if err != nil {
				line("missing", "MPI", "%s, by %s: %v", id, mpicc, err)
				continue
			}
			line("ok", "MPI", "%s, %s, by %s", library, threads, mpicc)
			if w.Family == "openmpi" && refusesRoot(os.Geteuid(), os.Getenv) {
				line("note", "", "as root its mpirun starts nothing without --allow-run-as-root, or OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			}
		}
	}
	for _, family := range []string{"openmpi", "mpich"} {
		if path := mpi.Installed(family); path != "" {
			if _, err := os.Stat(path); err == nil {
				line("ok", "MPI", "installed wrapper %s", path)
				compilers = append(compilers, path)
			}
		}
	}
	if len(compilers) == 0 {
		line("missing", "MPI", "no mpicc and no wrapper: jobs run in one process (--ranks=N), not under mpirun or srun")
	}
}

// refusesRoot tells whether Open MPI's mpirun wants to be told that it may run as this user.
func refusesRoot(uid int, getenv func(string) string) bool {
	return uid == 0 && (getenv("OMPI_ALLOW_RUN_AS_ROOT") != "1" || getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != "1")
}

func tmpFolder() string {
	if t := os.Getenv("DISTAFF_TMP"); t != "" {
		return t
	}
	return os.TempDir()
}
