package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"distaff/cmd/argv"
	"distaff/cmd/front"
	"distaff/codegen/diag"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/kernels/cuda"
	"distaff/spmd"
	"distaff/spmd/comm/mpi"
)

func doctorCommand() *command {
	return &command{
		name: "doctor", short: "says what this machine has, what is missing and what that costs",
		long: `Looks for everything that jobs use: a C compiler with OpenMP, caches, MPI, BLAS,
CUDA (the driver, NVRTC, cuBLAS, cuSPARSE and each GPU), and the cores and
memory that this process may use. Each line of the output says ok, note or
missing, what was found, and where. If something is missing, the line says what
its absence costs. The exit code is 0 if statements can be compiled and run on
this CPU, and 1 if they cannot.

With --tune, doctor first measures the machine for 3 seconds, during which
nothing else should run. The measurement covers the speeds of caches, memory,
gathers, multiply-adds, atomic additions, parallel regions, calls of leaves, and
messages between ranks of a process. Under mpirun or srun, --tune measures only
the messages between the ranks. The measured values are stored in the cache, and
doctor prints the values without --tune; --json prints the machine model, in
bytes and seconds.`,
		examples: []string{"distaff doctor", "distaff doctor --json", "distaff doctor --tune",
			"mpirun -n 2 distaff doctor --tune"},
		flags: join(talkFlags(), []cliFlag{on("json", nil, catOutput, "prints JSON"),
			on("tune", nil, catRun, "measures the machine, and keeps the model in the cache")}),
		action: doctor,
		ranks:  func(words []string) bool { return flagIn(words, "tune") },
	}
}

func doctor(x *invocation) error {
	if x.flags.Args().Len() > 0 {
		return argv.Errorf("doctor takes no arguments, got %q", x.flags.Args().First())
	}
	ctx := x.flags.Context
	var machine *spmd.Machine
	launched := false
	if x.flags.Bool("tune") {
		var err error
		// a rank other than 0
		if machine, launched, err = spmd.MeasureMessages(ctx); err != nil || launched &&
			machine == nil {
			return err
		}
		if !launched {
			if machine, err = spmd.MeasureMachine(ctx); err != nil {
				return err
			}
		}
	}
	tell, err := newTeller(x.stdout, x.flags.Bool("json"))
	if err != nil {
		return err
	}
	if launched {
		tellMessages(tell, machine)
		tell.machine = machine
		return tell.end()
	}
	well, err := examine(ctx, tell.line)
	if err != nil {
		return err
	}
	tellMachine(tell, machine)
	if err := tell.end(); err != nil {
		return err
	}
	if !well {
		return &front.Silent{Code: 1}
	}
	return nil
}

// finding is the result of one of doctor's searches.
type finding struct {
	State string   `json:"state"` // ok, note or missing
	What  string   `json:"what"`
	Says  []string `json:"says"`
}

// teller prints doctor's findings: each line at once, or everything as JSON at the end.
type teller struct {
	w       io.Writer
	json    bool
	list    []finding
	machine *spmd.Machine // nil if it was not measured
	err     error
}

func newTeller(w io.Writer, json bool) (*teller, error) {
	if json {
		return &teller{w: w, json: true}, nil
	}
	return &teller{w: w}, printVersion(w)
}

// line adds a finding. If state or what is "", the line continues the previous finding.
func (t *teller) line(state, what, format string, args ...any) {
	text := diag.Sprintf(format, args...)
	if !t.json {
		if _, err := fmt.Fprintf(t.w, "%-8s %-12s %s\n", state, what, text); err != nil &&
			t.err == nil {
			t.err = err
		}
		return
	}
	if n := len(t.list); n > 0 && (state == "" || what == "") {
		t.list[n-1].Says = append(t.list[n-1].Says, text)
		return
	}
	t.list = append(t.list, finding{state, what, []string{text}})
}

// end prints everything as JSON if that was requested, and returns the first error of printing. It
// must be called after the last line.
func (t *teller) end() error {
	if !t.json {
		return t.err
	}
	b, err := json.MarshalIndent(struct {
		Version string        `json:"version"`
		Found   []finding     `json:"found"`
		Machine *spmd.Machine `json:"machine,omitempty"`
	}{spmd.Version(), t.list, t.machine}, "", "  ")
	if err != nil {
		panic("BUG: distaff: what doctor found does not marshal: " + err.Error())
	}
	_, err = t.w.Write(append(b, '\n'))
	return err
}

// examine looks for everything that jobs use: the compiler, the cache, libraries, GPUs and memory.
// It calls report for each line of its findings. canRun is true if there is a C compiler whose
// leaves run.
func examine(ctx context.Context, report func(state, what, format string, args ...any)) (
	canRun bool, err error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return false, err
	}
	f := kernels.Doctor(ctx, cfg)
	if f.CompilerErr != nil {
		report("missing", "compiler", "%v", f.CompilerErr)
		report("", "",
			"only statements whose leaves are in the cache or built into distaff can run")
	} else {
		report("ok", "compiler", "%s (%s)", f.Compiler, f.Version)
	}
	if f.OpenMPErr != nil {
		report("missing", "OpenMP", "%v", f.OpenMPErr)
	} else {
		report("ok", "OpenMP", "a parallel region runs on its threads")
	}
	report("ok", "threads", "%d (%s)", f.Threads, f.ThreadsWhy)
	if len(f.CPU) > 0 {
		report("ok", "CPU", "native, %s", strings.Join(f.CPU, ", "))
	} else {
		report("ok", "CPU", "native")
	}
	bytes, why := spmd.DefaultMemory()
	report("ok", "memory", "%s for a job (90%% of %s)", spmd.FormatSize(bytes), why)
	if f.CacheErr != nil {
		report("missing", "cache", "%v", f.CacheErr)
	} else {
		report("ok", "cache", "%s: %s, %s", f.Cache, leaves(f.CacheObjects),
			spmd.FormatSize(f.CacheBytes))
		if f.CacheBad > 0 {
			report("note", "", "%d of them are damaged and will be compiled again", f.CacheBad)
		}
	}
	var blas *kernels.BLASError
	if errors.As(f.BLASErr, &blas) && blas.BadName {
		report("missing", "BLAS", "%v", blas)
	} else if f.BLASErr != nil {
		report("note", "BLAS", "%v", f.BLASErr)
		report("", "", "products of dense operands are computed by generated loops")
	} else {
		report("ok", "BLAS", "%s (%s)", f.BLAS, f.BLASConfig)
	}
	report("ok", "temporary", "%s", tmpFolder())
	doctorMPI(ctx, report)
	doctorCUDA(report)
	return f.CompilerErr == nil, nil
}

// doctorCUDA reports on the driver, on NVRTC (the compiler of kernels), on the CUDA libraries, and
// on each GPU.
func doctorCUDA(line func(state, what, format string, args ...any)) {
	r := cuda.Probe()
	if r.DriverErr != nil {
		line("missing", "CUDA", "%v", r.DriverErr)
		line("", "",
			"--target=cuda is refused, and auto is cpu; plan and compile --emit=cuda need no GPU")
	} else {
		line("ok", "CUDA", "driver %s, for CUDA %s", r.Driver, r.DriverVersion)
	}
	if r.NVRTCErr != nil {
		line("missing", "NVRTC", "%v", r.NVRTCErr)
	} else {
		line("ok", "NVRTC", "%s, version %s", r.NVRTC, r.NVRTCVersion)
	}
	for _, l := range r.Libraries {
		if l.Err != nil {
			line("note", l.Title, "%v", l.Err)
		} else {
			line("ok", l.Title, "%s", l.Path)
		}
	}
	for _, d := range r.Devices {
		if d.Err != nil {
			line("missing", "GPU", "%d: %v", d.Index, d.Err)
			continue
		}
		line("ok", "GPU", "%d: %s, %s, compute capability %s", d.Index, d.Name,
			spmd.FormatSize(d.Memory), d.Capability)
	}
}

// doctorMPI reports on MPI. For each MPI compiler that it finds, it builds a wrapper or takes the
// wrapper from the cache. For each version of an MPI, it also opens one wrapper in a separate
// process. At the end it reports installed wrappers.
func doctorMPI(ctx context.Context, line func(state, what, format string, args ...any)) {
	compilers := mpi.Compilers(os.Getenv, "")
	seen := map[string]bool{}
	for _, mpicc := range compilers {
		w, err := mpi.Build(ctx, mpicc, os.Getenv, func(string) {})
		if err != nil {
			line("missing", "MPI", "%s cannot build a wrapper: %v", mpicc, err)
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
				line("note", "",
					"root can start its mpirun only with --allow-run-as-root, or "+
						"OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
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
		line("missing", "MPI",
			"no mpicc and no wrapper: jobs run in one process (--ranks=N), not under mpirun or "+
				"srun")
	}
}

// refusesRoot reports whether Open MPI's mpirun refuses to run as this user.
func refusesRoot(uid int, getenv func(string) string) bool {
	return uid == 0 && (getenv("OMPI_ALLOW_RUN_AS_ROOT") != "1" ||
		getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") != "1")
}

func tmpFolder() string {
	if t := os.Getenv("DISTAFF_TMP"); t != "" {
		return t
	}
	return os.TempDir()
}
