package mpi

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/kernels/cc"
)

//go:embed wrapper/wrapper.h
var wrapperHeader string

//go:embed wrapper/wrapper.c
var wrapperSource string

// abi is DST_MPI_ABI of wrapper.h.
const abi = 1

// Wrapper is a wrapper's shared object, as bytes that are not loaded yet.
type Wrapper struct {
	From    string // a path, or the mpicc that built it
	Family  string // "openmpi", "mpich", "other"
	Version string
	bytes   []byte
}

// Compilers returns the paths of MPI compilers. If the variable DISTAFF_MPICC is set, its value is
// the only result. Otherwise Compilers searches PATH. If family is "openmpi" or "mpich", the
// family's own compiler comes first and mpicc second, and the compiler of the other family is left
// out.
func Compilers(getenv func(string) string, family string) []string {
	if c := getenv("DISTAFF_MPICC"); c != "" {
		return []string{c}
	}
	names := []string{"mpicc", "mpicc.openmpi", "mpicc.mpich"}
	switch family {
	case "openmpi":
		names = []string{"mpicc.openmpi", "mpicc"}
	case "mpich":
		names = []string{"mpicc.mpich", "mpicc"}
	}
	var found []string
	seen := map[string]bool{}
	for _, n := range names {
		for _, dir := range filepath.SplitList(getenv("PATH")) {
			path := filepath.Join(dir, n)
			st, err := os.Stat(path)
			if !filepath.IsAbs(dir) || err != nil || st.IsDir() || st.Mode()&0o111 == 0 || seen[path] {
				continue
			}
			seen[path] = true
			found = append(found, path)
			break
		}
	}
	return found
}

// Build compiles the wrapper with the MPI compiler mpicc. If the cache already has the wrapper,
// Build returns it without compiling. note is called with lines that the user should read although
// nothing failed.
func Build(ctx context.Context, mpicc string, getenv func(string) string,
	note func(string)) (*Wrapper, error) {
	cfg, err := cc.FromEnv(getenv)
	if err != nil {
		return nil, err
	}
	cfg.Compiler, cfg.UserFlags, cfg.CPU, cfg.Kind, cfg.Internal, cfg.Note = mpicc, nil, cc.NoCPU, "mpi",
		true, note
	cfg.Flags = []string{"-std=gnu99", "-O2"}
	b, err := cc.New(cfg)
	if err != nil {
		var f *cc.FindError
		if errors.As(err, &f) {
			return nil, errors.New(diag.Sprintf("MPI compiler %s: %s", mpicc, f.Reason))
		}
		return nil, err
	}
	o, err := b.Build(ctx, cc.Source{Text: wrapperHeader + wrapperSource, Label: "MPI wrapper"})
	if err != nil {
		return nil, err
	}
	return identify(b.Compiler().Path, o.Bytes)
}

// WriteTo writes the wrapper to a file.
func (w *Wrapper) WriteTo(path string) error { return os.WriteFile(path, w.bytes, 0o755) }

// identify finds out for which MPI a wrapper library was built. b holds the bytes of the library.
// origin says in error messages where the wrapper comes from.
func identify(origin string, b []byte) (*Wrapper, error) {
	_, rest, ok := bytes.Cut(b, []byte("@dst-mpi-wrapper "))
	text, _, ok2 := bytes.Cut(rest[:min(len(rest), 200)], []byte("@"))
	f := strings.SplitN(string(text), " ", 3)
	if !ok || !ok2 || len(f) != 3 {
		return nil, fmt.Errorf("%s is not an MPI wrapper; build one with distaff wrappers", origin)
	}
	if v, err := strconv.Atoi(f[0]); err != nil || v != abi {
		return nil,
			fmt.Errorf(
				"%s is an MPI wrapper of version %s, want %d; it was built for another "+
					"version of this program",
				origin, f[0], abi)
	}
	return &Wrapper{From: origin, Family: f[1], Version: f[2], bytes: b}, nil
}

// read reads a wrapper's file. The owner of the file and its folder must be trusted, because the
// file is run as code. The bytes that are checked here are the bytes that are loaded later.
func read(path string) (*Wrapper, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	b, err := cc.ReadTrusted(real)
	if err != nil {
		return nil, err
	}
	return identify(path, b)
}

// Installed returns the path where `make install` puts the wrapper for a family of MPIs. The
// wrapper is in lib/distaff, next to the folder of the binary. Installed returns "" if the binary's
// path is not known.
func Installed(family string) string {
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(exe); err == nil {
		exe = real
	}
	return filepath.Join(filepath.Dir(filepath.Dir(exe)), "lib", "distaff", "mpi-"+family+".so")
}

// find returns the wrapper for the launcher's MPI.
func find(ctx context.Context, l Launcher, getenv func(string) string, note func(string)) (*Wrapper,
	error) {
	fits := func(w *Wrapper) bool {
		return l.Family == "" || w.Family == l.Family ||
			w.Family == "other"
	}
	mismatch := func(w *Wrapper) error {
		return &LaunchError{fmt.Sprintf(
			"started by %s, but the MPI wrapper (%s) is for %s %s, which is another MPI; %s",
			l.Kind, w.From,
			w.Family, w.Version, l.hint())}
	}
	if path := getenv("DISTAFF_MPI_WRAPPER"); path != "" {
		w, err := read(path)
		if err != nil {
			return nil, &LaunchError{fmt.Sprintf("DISTAFF_MPI_WRAPPER=%s: %v", path, err)}
		}
		if !fits(w) {
			return nil, mismatch(w)
		}
		return w, nil
	}
	families := []string{"openmpi", "mpich"} // the order to try if PMIx does not name a family
	if l.Family != "" {
		families = []string{l.Family}
	}
	if getenv("DISTAFF_MPICC") == "" {
		for _, f := range families {
			w, err := read(Installed(f))
			switch {
			case err == nil && fits(w):
				return w, nil
			case err != nil && !errors.Is(err, os.ErrNotExist):
				note(fmt.Sprintf("the installed MPI wrapper cannot be used: %v", err))
			}
		}
	}
	var problems []string
	var wrong *Wrapper
	tried := Compilers(getenv, l.Family)
	for _, mpicc := range tried {
		w, err := Build(ctx, mpicc, getenv, note)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			problems = append(problems, err.Error())
		case fits(w):
			return w, nil
		default:
			wrong = w
		}
	}
	if wrong != nil {
		return nil, mismatch(wrong)
	}
	text := fmt.Sprintf("started as one of %d ranks by %s, but no MPI can be used: ",
		l.Size, l.Kind)
	if len(tried) == 0 {
		text +=
			"no mpicc is on PATH to build the MPI wrapper with; either install the MPI's " +
				"development package, or name mpicc with DISTAFF_MPICC, or name a wrapper built " +
				"elsewhere with DISTAFF_MPI_WRAPPER, or use --ranks for ranks in one process"
	} else {
		text += strings.Join(problems, "; ")
	}
	return nil, &LaunchError{text}
}

// Install builds the wrapper of every MPI whose compiler it finds, and writes it into dir under the
// name that Installed expects. Of several MPIs of one family it takes the first. It returns a line
// about each MPI that it takes. If a wrapper does not build, a line says so; that is not an error.
func Install(ctx context.Context, dir string, getenv func(string) string) (lines []string,
	err error) {
	done := map[string]bool{}
	for _, mpicc := range Compilers(getenv, "") {
		w, err := Build(ctx, mpicc, getenv, func(string) {})
		if err != nil {
			lines = append(lines, diag.Sprintf("%s: no wrapper can be built: %v", mpicc, err))
			continue
		}
		if done[w.Family] {
			continue
		}
		done[w.Family] = true
		path := filepath.Join(dir, "mpi-"+w.Family+".so")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return lines, err
		}
		if err := os.WriteFile(path, w.bytes, 0o755); err != nil {
			return lines, err
		}
		lines = append(lines, diag.Sprintf("%s: for %s %s, by %s", path, w.Family, w.Version, mpicc))
	}
	if len(lines) == 0 {
		lines = []string{
			"no MPI compiler was found, so mpirun and srun jobs will build their wrapper when " +
				"they first run"}
	}
	return lines, nil
}
