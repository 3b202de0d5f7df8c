package main

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"distaff/io/tcs"
)

//go:embed peers
var peerSources embed.FS

// A peer is another library, which one of our programs in peers/ calls. The program runs in a
// process of its own. It prints its times in seconds and the sum of its result, which must equal
// ours.
//
// Bench writes the operands to files for the program. All numbers are little-endian. A file starts
// with three int64: rows, columns and stored entries. A sparse matrix continues with rows+1 int32
// positions, int32 column indices and float64 values, and a dense matrix with its float64 values by
// rows. A sparse tensor of order 3 has four int64 (three sizes, stored entries), then each mode's
// coordinates as int32, then the values.
type peer struct {
	name   string
	serial bool
	free   bool                       // the peer chooses its number of threads itself
	does   []string                   // functions of table()
	argv   func(threads int) []string // nil if the peer is missing
	reason string                     // the reason
}

// matrixKernels are the kernels that the libraries of sparse matrices support. The programs that
// call the libraries return sorted results. tensorKernels are the kernels that the libraries of
// sparse tensors support.
var (
	matrixKernels = []string{"spmv", "spmm", "spadd", "spadd3", "spgemm"}
	tensorKernels = []string{"mttkrp", "onecopy1", "onecopy2"}
)

// libraries returns the peers that -peers selects for the section of leaves. It reports peers that
// are missing.
func (b *bench) libraries(dir string) []*peer {
	var list []*peer
	for _, make := range []func(string) *peer{eigen, scipy, petsc, graphblas, mkl, splatt, alto} {
		p := make(dir)
		if !b.peers.MatchString(p.name) {
			continue
		}
		if p.argv == nil {
			b.printf("%s is left out: %s\n", p.name, p.reason)
			continue
		}
		list = append(list, p)
	}
	return list
}

// runs reports whether the peer can compute kernel k on the given number of threads.
func (p *peer) runs(k kernel, threads int) bool {
	return slices.Contains(p.does, k.function) && !(p.serial && threads > 1)
}

// peerFunction returns the name that a peer's program has for a kernel. The name of MTTKRP ends
// with the number of the mode of A(i,j,k) that is not summed.
func peerFunction(k kernel) string {
	if k.function != "mttkrp" {
		return k.function
	}
	return k.function + strconv.Itoa(strings.IndexByte("ijk", k.stmt[len("Y(")]))
}

// run times a peer's kernel.
func (p *peer) run(function string, threads, repeat int, files []string) ([]float64, float64,
	error) {
	argv := append(p.argv(threads), function, strconv.Itoa(threads), strconv.Itoa(repeat))
	argv = append(argv, files...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"GLIBC_TUNABLES=glibc.malloc.hugetlb=1") // huge pages, as our memory has
	if !p.free {
		cmd.Env = append(cmd.Env, "OMP_NUM_THREADS="+strconv.Itoa(threads),
			"OPENBLAS_NUM_THREADS=1")
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

// source writes a file of the embedded folder peers/ to dir, and returns its path.
func source(dir, name string) (string, error) {
	text, err := peerSources.ReadFile("peers/" + name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, text, 0o600)
}

// compiled compiles a source file and makes the result the program of p. argv is the compiler and
// its flags. If compiling fails, it stores the reason in p.
func (p *peer) compiled(dir, name string, argv ...string) *peer {
	src, err := source(dir, name)
	if err == nil {
		_, err = source(dir, "files.h")
	}
	if err != nil {
		p.reason = err.Error()
		return p
	}
	exe := filepath.Join(dir, p.name)
	args := append([]string{"-O3", "-march=native", "-DNDEBUG", "-o", exe, src}, argv[1:]...)
	if out, err := exec.Command(argv[0], args...).CombinedOutput(); err != nil {
		p.reason = fmt.Sprintf("%s: %v: %s", argv[0], err, firstError(string(out)))
		return p
	}
	p.argv = func(int) []string { return []string{exe} }
	return p
}

// firstError returns the first line of a compiler's output that has an error, or else its first
// line.
func firstError(words string) string {
	for line := range strings.Lines(words) {
		if strings.Contains(line, "error") {
			return strings.TrimSpace(line)
		}
	}
	line, _, _ := strings.Cut(words, "\n")
	return line
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
	const python = "/usr/bin/python3" // Debian's Python, which sees Debian's packages
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

// scalapack returns the peer that multiplies dense matrices with ScaLAPACK. Its program must use
// the OpenBLAS that our leaves load, and not the BLAS that Debian's ScaLAPACK depends on. The
// linker therefore gets OpenBLAS first.
func scalapack(dir string) *peer {
	p := &peer{name: "scalapack", does: []string{"gemm"}}
	found, _ := filepath.Glob("/usr/lib/*/libscalapack-openmpi.so")
	if len(found) == 0 {
		p.reason = "no libscalapack-openmpi.so (scripts/install-peers.sh)"
		return p
	}
	return p.launched(dir, "scalapack.c", "-lopenblas", "-lscalapack-openmpi")
}

// launched prepares a peer like the method "compiled", but for a program that uses MPI. Open MPI's
// mpirun starts the program when the peer is measured, with one rank for each thread.
func (p *peer) launched(dir, name string, flags ...string) *peer {
	mpicc, err := exec.LookPath("mpicc.openmpi")
	if err != nil {
		p.reason = "no mpicc.openmpi (scripts/install-mpi.sh)"
		return p
	}
	p.compiled(dir, name, append([]string{mpicc}, flags...)...)
	if run := p.argv; run != nil {
		p.argv = func(ranks int) []string {
			return append([]string{"mpirun.openmpi", "-n", strconv.Itoa(ranks), "--bind-to",
				"core"}, run(ranks)...)
		}
	}
	return p
}

func graphblas(dir string) *peer {
	p := &peer{name: "graphblas", does: append([]string{"sddmm"}, matrixKernels...)}
	for _, include := range []string{"/usr/include", "/usr/include/suitesparse"} {
		if _, err := os.Stat(filepath.Join(include, "GraphBLAS.h")); err == nil {
			return p.compiled(dir, "graphblas.c", "gcc", "-fopenmp", "-I"+include, "-lgraphblas",
				"-lm")
		}
	}
	p.reason = "no GraphBLAS.h (scripts/install-peers.sh)"
	return p
}

// mkl returns the peer that calls MKL. It looks for MKL in MKLROOT, which Intel's own scripts set,
// and in the folder that install-peers.sh makes.
func mkl(dir string) *peer {
	p := &peer{name: "mkl", does: matrixKernels}
	homes := []string{os.Getenv("MKLROOT")}
	if cache, err := os.UserCacheDir(); err == nil {
		homes = append(homes, filepath.Join(cache, "distaff-peers", "mkl"))
	}
	for _, home := range homes {
		for _, lib := range []string{"lib", "lib/intel64", "local/lib"} {
			lib = filepath.Join(home, lib)
			found, _ := filepath.Glob(filepath.Join(lib, "libmkl_rt.so*"))
			if home == "" || len(found) == 0 {
				continue
			}
			include := filepath.Join(home, "include")
			if strings.HasSuffix(lib, "local/lib") {
				include = filepath.Join(home, "local", "include")
			}
			return p.compiled(dir, "mkl.c", "gcc", "-I"+include, found[0], "-Wl,-rpath,"+lib)
		}
	}
	p.reason = "MKLROOT has no libmkl_rt.so (scripts/install-peers.sh)"
	return p
}

// named returns a peer with the given name that supports the tensor kernels. home is the folder of
// the peer's library. The environment variable called variable contains this folder. If the
// variable is not set, home is "", and the peer's reason says so.
func named(name, variable string) (p *peer, home string) {
	p, home = &peer{name: name, does: tensorKernels}, os.Getenv(variable)
	if home == "" {
		p.reason = variable + " is not set"
	}
	return p, home
}

// splatt returns the peer that calls SPLATT. Debian has no package of SPLATT, so SPLATT_DIR names
// the folder with its include/ and lib/, built with 32-bit indices and installed by its own
// Makefile.
func splatt(dir string) *peer {
	p, home := named("splatt", "SPLATT_DIR")
	if home == "" {
		return p
	}
	return p.compiled(dir, "splatt.c", "gcc", "-fopenmp", "-I"+filepath.Join(home, "include"),
		"-L"+filepath.Join(home, "lib"), "-lsplatt", "-llapack", "-lblas", "-lm")
}

// alto returns the peer that calls ALTO. Debian has no package of ALTO, so ALTO_DIR names the
// folder with its source. An MTTKRP needs only ALTO's headers.
func alto(dir string) *peer {
	p, home := named("alto", "ALTO_DIR")
	if home == "" {
		return p
	}
	return p.compiled(dir, "alto.cpp", "g++", "-std=c++17", "-fopenmp",
		"-I"+filepath.Join(home, "include"), "-D_GLIBCXX_PARALLEL")
}

// dumpAll writes a kernel's operands to files in dir, in the order of its arguments.
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

// dump writes a tensor in the format that peer describes: CSR, a sparse tensor of order 3, or a
// dense matrix or vector.
func dump(path string, t *tcs.Tensor) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	head := [3]int64{t.Header.Dims[0], 1, t.Vals.Len}
	if len(t.Header.Dims) > 1 {
		head[1] = t.Header.Dims[1]
	}
	put := func(x any) {
		if err == nil {
			err = binary.Write(w, binary.LittleEndian, x)
		}
	}
	if len(t.Header.Dims) == 3 {
		put(t.Header.Dims)
		put(t.Vals.Len)
		for m := range t.Header.Dims {
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
