package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed peers
var peerSources embed.FS

// A peer is another library, which one of our programs in peers/ calls. The program runs in a
// process of its own. It prints its times in seconds and the sum of its result, which must be about
// equal to ours.
//
// Bench writes the operands to files for the program. All numbers are little-endian. A matrix or
// vector starts with three int64: rows, columns and stored entries. A sparse matrix continues with
// rows+1 int32 positions, int32 column indices and float64 values, and a dense matrix or vector
// with its float64 values by rows. A sparse tensor of order 3 starts with four int64 (three sizes,
// stored entries), then each mode's coordinates as int32, then the values.
type peer struct {
	name, does string // kernels of the group leaves, and others that the program knows
	source     string // the program in peers/
	// needs are patterns of paths. One path must exist. Variables of the environment are replaced
	// by their values.
	needs []string
	// build is the compiler with its flags. In it, # is replaced by the found path, and @ by the
	// path's folder. It is "" for a program in Python, and begins with mpicc for a program of
	// ranks.
	build  string
	serial bool // the peer runs on one thread
	free   bool // the peer chooses its number of threads itself

	argv []string // the program, when it was found
}

// The kernels that the libraries of sparse matrices support, and the kernels that the libraries of
// sparse tensors support. The programs return sorted results.
const (
	matrixKernels = "spmv spmm spadd spadd3 spgemm"
	tensorKernels = "mttkrp onecopy1 onecopy2"
)

const (
	mpicc  = "mpicc.openmpi"
	python = "/usr/bin/python3" // Debian's Python, which sees Debian's packages
)

// knownPeers lists the libraries. ScaLAPACK's program must use the OpenBLAS that our leaves load,
// and not the BLAS that Debian's ScaLAPACK depends on, so the linker gets OpenBLAS first. MKLROOT
// is set by Intel's own scripts. SPLATT_DIR has SPLATT's include/ and lib/, built with 32-bit
// indices and installed by its own Makefile. ALTO_DIR has ALTO's source; an MTTKRP needs only its
// headers.
var knownPeers = []peer{
	{name: "eigen", does: matrixKernels, source: "eigen.cpp", needs: []string{"/usr/include/eigen3"},
		build: "g++ -std=c++17 -fopenmp -I#"},
	{name: "scipy", does: matrixKernels, source: "scipy_peer.py",
		needs: []string{python}, serial: true},
	{name: "petsc", does: matrixKernels, source: "petsc.c",
		needs: []string{"/usr/lib/petscdir/petsc*/*-real"},
		build: mpicc + " -I#/include -L#/lib -lpetsc_real"},
	{name: "graphblas", does: "sddmm " + matrixKernels, source: "graphblas.c",
		needs: []string{"/usr/include/GraphBLAS.h", "/usr/include/suitesparse/GraphBLAS.h"},
		build: "gcc -fopenmp -I@ -lgraphblas -lm"},
	{name: "mkl", does: matrixKernels, source: "mkl.c", needs: []string{
		"$MKLROOT/lib/libmkl_rt.so*", "$MKLROOT/lib/intel64/libmkl_rt.so*",
		"$MKLROOT/local/lib/libmkl_rt.so*", "$CACHE/distaff-peers/mkl/lib/libmkl_rt.so*",
		"$CACHE/distaff-peers/mkl/lib/intel64/libmkl_rt.so*",
		"$CACHE/distaff-peers/mkl/local/lib/libmkl_rt.so*"},
		build: "gcc -I@/../include -I@/../../include # -Wl,-rpath,@"},
	{name: "splatt", does: tensorKernels, source: "splatt.c", needs: []string{"$SPLATT_DIR"},
		build: "gcc -fopenmp -I#/include -L#/lib -lsplatt -llapack -lblas -lm"},
	{name: "alto", does: tensorKernels, source: "alto.cpp", needs: []string{"$ALTO_DIR"},
		build: "g++ -std=c++17 -fopenmp -I#/include -D_GLIBCXX_PARALLEL"},
	{name: "scalapack", source: "scalapack.c", needs: []string{"/usr/lib/*/libscalapack-openmpi.so"},
		build: mpicc + " -lopenblas -lscalapack-openmpi"},
}

// libraries finds and compiles the peers that the group leaves needs and the flag -peers selects.
// The group also runs without peers, so libraries returns true.
func (b *bench) libraries() bool {
	b.find(func(p *peer) bool { return p.does != "" && b.peers.MatchString(p.name) })
	return true
}

// find finds the selected peers, compiles their programs, and reports peers that are missing.
func (b *bench) find(selected func(*peer) bool) {
	b.libs = nil
	for _, p := range knownPeers {
		if !selected(&p) {
			continue
		}
		var err error
		if p.argv, err = p.program(b.dir); err != nil {
			b.printf("%s is left out: %v\n", p.name, err)
			continue
		}
		b.libs = append(b.libs, &p)
	}
}

// program writes the peer's source to dir and compiles it there. It returns the command line of the
// program.
func (p *peer) program(dir string) ([]string, error) {
	path := p.path()
	if p.build == "" && exec.Command(python, "-c", "import scipy.sparse").Run() != nil {
		return nil, errors.New(python + " has no scipy (scripts/install-peers.sh)")
	}
	if path == "" {
		return nil, fmt.Errorf("no %s (docs/bench-lines.md)", p.needs[0])
	}
	for _, name := range []string{p.source, "files.h"} {
		text := must(peerSources.ReadFile("peers/" + name))
		check(os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	source, exe := filepath.Join(dir, p.source), filepath.Join(dir, p.name)
	if p.build == "" {
		return []string{python, source}, nil
	}
	build := strings.Fields(strings.NewReplacer("#", path, "@", filepath.Dir(path)).Replace(p.build))
	if _, err := exec.LookPath(build[0]); err != nil && build[0] == mpicc {
		return nil, fmt.Errorf("no %s (scripts/install-mpi.sh)", mpicc)
	}
	args := append([]string{"-O3", "-march=native", "-DNDEBUG", "-o", exe, source}, build[1:]...)
	if out, err := exec.Command(build[0], args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %v: %s", build[0], err, firstError(string(out)))
	}
	return []string{exe}, nil
}

// path returns the path of something that the peer needs, such as a library. It takes the first
// pattern of p.needs that matches a path. If the pattern matches several paths, it returns the last
// one in lexical order. It returns "" if no pattern matches.
func (p *peer) path() string {
	for _, pattern := range p.needs {
		set := true
		pattern = os.Expand(pattern, func(name string) string {
			value := os.Getenv(name)
			if name == "CACHE" {
				value, _ = os.UserCacheDir()
			}
			set = set && value != ""
			return value
		})
		if found, _ := filepath.Glob(pattern); set && len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
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

// runs reports whether the peer can compute kernel k on the given number of threads.
func (p *peer) runs(k kernel, threads int) bool {
	return slices.Contains(strings.Fields(p.does), k.function) && !(p.serial && threads > 1)
}

// peerFunction returns the name that a peer's program has for a kernel. The name of MTTKRP ends
// with the number of the mode of A(i,j,k) that is not summed.
func peerFunction(k kernel) string {
	if k.function != "mttkrp" {
		return k.function
	}
	return k.function + strconv.Itoa(strings.IndexByte("ijk", k.stmt[len("Y(")]))
}

// peer returns the side of a peer's function over the operands of a kernel. A program of ranks gets
// one rank for each thread.
func (b *bench) peer(p *peer, k kernel, function string, threads int) side {
	return func() outcome {
		argv := slices.Concat(p.argv,
			[]string{function, strconv.Itoa(threads), strconv.Itoa(b.repeat)})
		for _, operand := range k.list() {
			argv = append(argv, b.file(operand.input, "", dump))
		}
		if strings.HasPrefix(p.build, mpicc) {
			argv = append([]string{"mpirun.openmpi", "-n", strconv.Itoa(threads), "--bind-to", "core"},
				argv...)
		}
		env := []string{"GLIBC_TUNABLES=glibc.malloc.hugetlb=1"} // huge pages, as our memory has
		if !p.free {
			env = append(env, "OMP_NUM_THREADS="+strconv.Itoa(threads), "OPENBLAS_NUM_THREADS=1")
		}
		var x times
		for _, text := range strings.Fields(must(output(argv, env...))) {
			x = append(x, must(strconv.ParseFloat(text, 64)))
		}
		if len(x) != b.repeat+1 {
			fail(fmt.Errorf("%s printed %v", p.name, x))
		}
		return outcome{times: x[:b.repeat], sum: x[b.repeat], summed: true}
	}
}
