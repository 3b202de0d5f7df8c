package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/outfile"
)

// probeVar is the environment variable in which Probe passes the wrapper's path to the process that
// it starts.
const probeVar = "DISTAFF_MPI_PROBE"

// Probe opens the wrapper's MPI in another process, which runs this program again. It returns the
// library's version and the thread level that the library grants.
func Probe(ctx context.Context, w *Wrapper) (library, threads string, err error) {
	dir, err := outfile.MkdirTemp("", "distaff-probe-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "wrapper.so")
	if err := w.WriteTo(path); err != nil {
		return "", "", err
	}
	exe, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	cmd := exec.CommandContext(ctx, exe)
	// Without the last variable, Open MPI starts a daemon for a job of one rank.
	cmd.Env = append(os.Environ(), probeVar+"="+path, "OMPI_MCA_ess_singleton_isolated=1")
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("cannot open the MPI library of %s: %w", w.From, err)
	}
	library, threads, _ = strings.Cut(strings.TrimSpace(string(out)), "\n")
	return library, threads, nil
}

// init takes over the process that Probe starts. It probes the MPI library there, prints the
// library's name and thread level, and ends the process, so that the program's main does not run.
// In any other process, init does nothing.
func init() {
	path := os.Getenv(probeVar)
	if path == "" {
		return
	}
	err := func() error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		w, err := identify(path, b)
		if err != nil {
			return err
		}
		e, err := w.load()
		if err != nil {
			return err
		}
		if err := e.init(); err != nil {
			return err
		}
		fmt.Printf("%s\n%s\n", e.library, levelNames[e.level])
		return e.finalize()
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, diag.Lines(err.Error()))
		os.Exit(1)
	}
	os.Exit(0)
}
