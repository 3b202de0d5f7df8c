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

// Wrapper is a wrapper's shared object, not yet loaded.
type Wrapper struct {
	From    string // where it comes from: a path, or the mpicc that built it
	Family  string // "openmpi", "mpich", "other"
	Version string
	bytes   []byte
}

// Compilers are the MPI compilers on PATH, or the one that DISTAFF_MPICC names;
// those of the family first.
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

// Build is the wrapper made by an MPI's compiler, from the cache if it is there.
// note is told what the user should know though nothing failed.
func Build(ctx context.Context, mpicc string, getenv func(string) string,
	note func(string)) (*Wrapper, error) {
	cfg, err := cc.FromEnv(getenv)
	if err != nil {
		return nil, err
	}
	cfg.Compiler, cfg.UserFlags, cfg.CPU, cfg.Kind, cfg.Ours, cfg.Note = mpicc, nil, cc.NoCPU, "mpi",
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

// WriteTo stores the wrapper, for DISTAFF_MPI_WRAPPER or beside an installed binary.
func (w *Wrapper) WriteTo(path string) error { return os.WriteFile(path, w.bytes, 0o755) }

// identify reads what a wrapper says of itself.
func identify(from string, b []byte) (*Wrapper, error) {
	_, rest, ok := bytes.Cut(b, []byte("@dst-mpi-wrapper "))
	text, _, ok2 := bytes.Cut(rest[:min(len(rest), 200)], []byte("@"))
	f := strings.SplitN(string(text), " ", 3)
	if !ok || !ok2 || len(f) != 3 {
		return nil, fmt.Errorf("%s is no MPI wrapper", from)
	}
	if v, err := strconv.Atoi(f[0]); err != nil || v != abi {
		return nil,
			fmt.Errorf(
				"%s is an MPI wrapper of version %s, want %d: it belongs to another version of this program",
				from, f[0], abi)
	}
	return &Wrapper{From: from, Family: f[1], Version: f[2], bytes: b}, nil
}

// read opens a wrapper's file, whose owner and folder must be trusted: it is
// run as code. It is checked and loaded from the bytes read here.
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

// Installed is where `make install` puts the wrapper of a family: beside the
// binary's folder, in lib/distaff.
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

// find is the wrapper for a launcher.
func find(ctx context.Context, l Launcher, getenv func(string) string, note func(string)) (*Wrapper,
	error) {
	fits := func(w *Wrapper) bool {
		return l.Family == "" || w.Family == l.Family ||
			w.Family == "other"
	}
	mismatch := func(w *Wrapper) error {
		return &LaunchError{fmt.Sprintf(
			"started by %s, but the MPI wrapper (%s) is for %s %s, another MPI: %s", l.Kind, w.From,
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
	families := []string{"openmpi", "mpich"} // the order that PMIx, which says no family, wants
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
				note(fmt.Sprintf("the installed MPI wrapper is not used: %v", err))
			}
		}
	}
	var problems []string
	var wrong *Wrapper
	tried := Compilers(getenv, families[0])
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
	text := fmt.Sprintf("started as one of %d ranks by %s, but no MPI can be used: ", l.Size, l.Kind)
	if len(tried) == 0 {
		text += "no mpicc is on PATH to build the MPI wrapper with; install the MPI's development package, or name mpicc with DISTAFF_MPICC, or a wrapper built elsewhere with DISTAFF_MPI_WRAPPER; or use --ranks for ranks within one process"
	} else {
		text += strings.Join(problems, "; ")
	}
	return nil, &LaunchError{text}
}

// Install builds the wrapper of every MPI whose compiler is found and writes
// them into dir, under the names that Installed looks for. It returns a line
// about each. An MPI whose wrapper does not build is a line, and no error.
func Install(ctx context.Context, dir string, getenv func(string) string) (lines []string,
	err error) {
	done := map[string]bool{}
	for _, mpicc := range Compilers(getenv, "") {
		w, err := Build(ctx, mpicc, getenv, func(string) {})
		if err != nil {
			lines = append(lines, diag.Sprintf("%s: no wrapper: %v", mpicc, err))
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
			"no MPI compiler was found: mpirun and srun jobs will build their wrapper when they first run"}
	}
	return lines, nil
}
