package main

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"distaff/io/tcs"
)

//go:embed peers
var peerSources embed.FS

// A peer is another library, driven by a program of ours in peers/ in a process
// of its own, on tensors that bench dumps: three int64 (rows, columns, stored
// entries, little-endian as is all that follows), then, of a sparse matrix, rows+1
// int32 positions, int32 column indices and float64 values; of a dense one its
// float64 values by rows. A sparse tensor of order 3 has four int64 (three sizes,
// stored entries), then each mode's coordinates as int32, then the values. It
// prints its times in seconds and the sum of its result, which must be ours.
type peer struct {
	name   string
	serial bool
	free   bool                       // it has the threads that it takes by itself
	does   map[string]bool            // functions of table()
	argv   func(threads int) []string // nil where the peer is not there
	reason string                     // why not
}

// matrixKernels are those of the libraries of sparse matrices, with results
// sorted; mttkrp that of the library of sparse tensors.
var (
	matrixKernels = map[string]bool{"spmv": true, "spmm": true, "spadd": true, "spadd3": true, "spgemm": true}
	tensorKernels = map[string]bool{"mttkrp": true}
)

// peers is the section of leaves against other libraries.
func peers(b *bench) error {
	dir, err := os.MkdirTemp("", "bench-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	list := []*peer{eigen(dir), scipy(dir), petsc(dir), splatt(dir)}
	names := ""
	for _, p := range list {
		if p.argv == nil {
			b.printf("%s is left out: %s\n", p.name, p.reason)
		}
		names += fmt.Sprintf(" %12s", p.name+" ms")
	}
	b.printf("%-22s %8s %12s%s %7s %6s\n", "kernel", "threads", "distaff ms", names, "ratio", "limit")
	for _, k := range table() {
		if !matrixKernels[k.function] && !tensorKernels[k.function] || !b.wants(k.name) {
			continue
		}
		files, err := b.dumpAll(dir, k)
		if err != nil {
			return err
		}
		for _, n := range b.threads {
			if err := b.againstPeers(k, n, list, files); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
		for _, f := range files {
			os.Remove(f)
		}
	}
	return nil
}

// againstPeers prints the line of one kernel: the ratio is to the best peer.
func (b *bench) againstPeers(k kernel, threads int, list []*peer, files []string) error {
	var ours []float64
	theirs := make([][]float64, len(list))
	for range b.rounds {
		x, result, err := b.ours(k, threads)
		if err != nil {
			return err
		}
		mine := total(result)
		result.Close()
		ours = append(ours, x...)
		for i, p := range list {
			if p.argv == nil || !p.does[k.function] || p.serial && threads > 1 {
				continue
			}
			times, sum, err := p.run(peerFunction(k), threads, b.repeat, files)
			if err != nil {
				return err
			}
			if math.Abs(sum-mine) > 1e-6*math.Abs(mine) {
				return fmt.Errorf("%s: the result's sum is %v, ours %v", p.name, sum, mine)
			}
			theirs[i] = append(theirs[i], times...)
		}
	}
	best, cells := math.Inf(1), ""
	for _, t := range theirs {
		if len(t) == 0 {
			cells += fmt.Sprintf(" %12s", "-")
			continue
		}
		best = min(best, median(t))
		cells += fmt.Sprintf(" %12.2f", 1e3*median(t))
	}
	if math.IsInf(best, 1) {
		b.printf("%-22s %8d %12.2f%s %7s %6.2f\n", k.name, threads, 1e3*median(ours), cells, "-", 1.0)
		return nil
	}
	ratio := median(ours) / best
	b.printf("%-22s %8d %12.2f%s %7.2f %6.2f%s\n", k.name, threads, 1e3*median(ours), cells, ratio, 1.0, b.over(ratio > 1))
	return nil
}

// peerFunction names a kernel to a peer's program: of MTTKRP it says the mode
// that is left, of those of A(i,j,k).
func peerFunction(k kernel) string {
	if k.function != "mttkrp" {
		return k.function
	}
	return k.function + strconv.Itoa(strings.IndexByte("ijk", k.stmt[len("Y(")]))
}

// run times a peer's kernel.
func (p *peer) run(function string, threads, repeat int, files []string) ([]float64, float64, error) {
	argv := append(p.argv(threads), function, strconv.Itoa(threads), strconv.Itoa(repeat))
	argv = append(argv, files...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	if !p.free {
		cmd.Env = append(cmd.Env, "OMP_NUM_THREADS="+strconv.Itoa(threads), "OPENBLAS_NUM_THREADS=1")
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	var x []float64
	for _, f := range strings.Fields(string(out)) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", p.name, err)
		}
		x = append(x, v)
	}
	if len(x) != repeat+1 {
		return nil, 0, fmt.Errorf("%s printed %q", p.name, out)
	}
	return x[:repeat], x[repeat], nil
}

// source writes a program of peers/ to dir, and is its path there.
func source(dir, name string) (string, error) {
	text, err := peerSources.ReadFile("peers/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

// compiled makes p the program that compiling a source gives.
func (p *peer) compiled(dir, name string, argv ...string) *peer {
	src, err := source(dir, name)
	if err != nil {
		p.reason = err.Error()
		return p
	}
	exe := filepath.Join(dir, p.name)
	args := append([]string{"-O3", "-march=native", "-DNDEBUG", "-o", exe, src}, argv[1:]...)
	if out, err := exec.Command(argv[0], args...).CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(string(out), "\n")
		p.reason = fmt.Sprintf("%s: %v: %s", argv[0], err, line)
		return p
	}
	p.argv = func(int) []string { return []string{exe} }
	return p
}

func eigen(dir string) *peer {
	p := &peer{name: "eigen", does: matrixKernels}
	const include = "/usr/include/eigen3"
	if _, err := os.Stat(include); err != nil {
		p.reason = "no " + include + " (scripts/install-peers.sh)"
		return p
	}
	return p.compiled(dir, "eigen.cpp", "g++", "-std=c++17", "-fopenmp", "-I"+include)
}

func scipy(dir string) *peer {
	p := &peer{name: "scipy", serial: true, does: matrixKernels}
	const python = "/usr/bin/python3" // Debian's, whose packages these are
	if err := exec.Command(python, "-c", "import scipy.sparse").Run(); err != nil {
		p.reason = python + " has no scipy (scripts/install-peers.sh)"
		return p
	}
	src, err := source(dir, "scipy_peer.py")
	if err != nil {
		p.reason = err.Error()
		return p
	}
	p.argv = func(int) []string { return []string{python, src} }
	return p
}

func petsc(dir string) *peer {
	p := &peer{name: "petsc", does: matrixKernels}
	found, _ := filepath.Glob("/usr/lib/petscdir/petsc*/*-real")
	if len(found) == 0 {
		p.reason = "no PETSc in /usr/lib/petscdir (scripts/install-peers.sh)"
		return p
	}
	home := found[len(found)-1]
	return p.launched(dir, "petsc.c", "-I"+home+"/include", "-L"+home+"/lib", "-lpetsc_real")
}

// scalapack multiplies by the OpenBLAS that leaves load: its library stands before the one that
// Debian's ScaLAPACK is linked with.
func scalapack(dir string) *peer {
	p := &peer{name: "scalapack", does: map[string]bool{"gemm": true}}
	found, _ := filepath.Glob("/usr/lib/*/libscalapack-openmpi.so")
	if len(found) == 0 {
		p.reason = "no libscalapack-openmpi.so (scripts/install-peers.sh)"
		return p
	}
	return p.launched(dir, "scalapack.c", "-lopenblas", "-lscalapack-openmpi")
}

// launched makes p a program that Open MPI's mpirun starts on as many ranks as it has threads.
func (p *peer) launched(dir, name string, flags ...string) *peer {
	mpicc, err := exec.LookPath("mpicc.openmpi")
	if err != nil {
		p.reason = "no mpicc.openmpi (scripts/install-mpi.sh)"
		return p
	}
	p.compiled(dir, name, append([]string{mpicc}, flags...)...)
	if run := p.argv; run != nil {
		p.argv = func(ranks int) []string {
			return append([]string{"mpirun.openmpi", "-n", strconv.Itoa(ranks), "--bind-to", "core"}, run(ranks)...)
		}
	}
	return p
}

// splatt is in no Debian release: SPLATT_DIR says where its include/ and lib/ are,
// built with 32-bit indices and installed by its own Makefile.
func splatt(dir string) *peer {
	p := &peer{name: "splatt", does: tensorKernels}
	home := os.Getenv("SPLATT_DIR")
	if home == "" {
		p.reason = "SPLATT_DIR is not set"
		return p
	}
	return p.compiled(dir, "splatt.c", "gcc", "-fopenmp", "-I"+filepath.Join(home, "include"), "-L"+filepath.Join(home, "lib"), "-lsplatt", "-llapack", "-lblas", "-lm")
}

// dumpAll writes a kernel's operands to files in dir, in the order of its
// arguments.
func (b *bench) dumpAll(dir string, k kernel) ([]string, error) {
	var files []string
	for _, name := range k.args {
		in := k.inputs[name]
		t, err := b.input(in)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, strings.ReplaceAll(in, ":", "-"))
		if err := dump(path, t); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// dump writes a tensor as peer says: CSR, a sparse tensor of order 3, or a dense
// matrix or vector.
func dump(path string, t *tcs.Tensor) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	head := [3]int64{t.Dims[0], 1, t.Vals.Len}
	if len(t.Dims) > 1 {
		head[1] = t.Dims[1]
	}
	put := func(x any) {
		if err == nil {
			err = binary.Write(w, binary.LittleEndian, x)
		}
	}
	if len(t.Dims) == 3 {
		put(t.Dims)
		put(t.Vals.Len)
		for m := range t.Dims {
			crd := make([]int32, 0, t.Vals.Len)
			t.Entries(func(c []int64, _ int64) bool { crd = append(crd, int32(c[m])); return true })
			put(crd)
		}
	} else {
		put(head)
	}
	if l := len(t.Levels) - 1; l == 1 && t.Levels[l].Kind == 's' {
		for _, a := range []tcs.Array{t.Levels[l].Pos, t.Levels[l].Crd} {
			if a.Width != 4 && err == nil {
				err = fmt.Errorf("%s: arrays of 64-bit integers are not for peers", path)
			}
			if err == nil {
				put(tcs.Slice[int32](a))
			}
		}
	}
	put(tcs.Slice[float64](t.Vals))
	if err == nil {
		err = w.Flush()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
