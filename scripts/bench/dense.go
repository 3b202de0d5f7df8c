package main

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/cc"
	"distaff/spmd"
)

//go:embed hand/dense.c
var handDense string

// contraction is a statement of dense operands. It needs the same number of multiply-adds as a
// product of two square matrices with n rows. sizes are the sizes of the operands' modes. They are
// written in terms of n, s = 64, q = n/64 and h = n/2.
type contraction struct {
	name, stmt string
	sizes      map[string]string
	least      float64 // smallest speed, relative to a direct call of OpenBLAS for the product
	without    float64 // the same if leaves have no BLAS; 0 means no such line
}

var contractions = []contraction{
	{"product", "A(i,j) = B(i,k)*C(k,j)", map[string]string{"B": "nn", "C": "nn"}, 0.97, 0.7},
	{"product, transposed", "A(i,j) = B(k,i)*C(j,k)", map[string]string{"B": "nn", "C": "nn"}, 0.97,
		0.7},
	{"TTM", "A(i,j,l) = B(i,j,k)*C(k,l)", map[string]string{"B": "sqn", "C": "nn"}, 0.8, 0},
	{"pairs of variables", "A(i,j,k,l) = B(i,m,k,n)*C(n,j,m,l)",
		map[string]string{"B": "sqqs", "C": "sqqs"}, 0.8, 0},
	{"a pair apart", "A(a,b,c) = B(a,d,b)*C(d,c)", map[string]string{"B": "snq", "C": "nn"}, 0.8,
		0},
	{"MTTKRP, mode 0", "A(i,l) = B(i,j,k)*C(j,l)*D(k,l)",
		map[string]string{"B": "sqn", "C": "qn", "D": "nn"}, 0.8, 0},
	{"MTTKRP, mode 1", "A(j,l) = B(i,j,k)*C(i,l)*D(k,l)",
		map[string]string{"B": "sqn", "C": "sn", "D": "nn"}, 0.8, 0},
	{"MTTKRP, mode 2", "A(k,l) = B(i,j,k)*C(i,l)*D(j,l)",
		map[string]string{"B": "sqn", "C": "sn", "D": "qn"}, 0.8, 0},
	{"a chain of three", "A(i,l) = B(i,j)*C(j,k)*D(k,l)",
		map[string]string{"B": "nn", "C": "nh", "D": "hn"}, 0.8, 0},
}

// withoutBLAS is the environment variable for a run whose leaves have no BLAS.
const withoutBLAS = "DISTAFF_BLAS=none"

// dense prints the section of dense contractions, compared with direct calls of OpenBLAS. A second
// process of this command measures leaves without a BLAS.
func dense(b *bench) error {
	object, err := b.object(handDense)
	if err != nil {
		return err
	}
	alone := os.Getenv("DISTAFF_BLAS") == "none"
	n := b.square()
	if !alone {
		path, _, err := kernels.BLAS()
		if err != nil {
			return err
		}
		b.printf("products of %d multiply-adds, as of matrices of %d rows and columns; leaves "+
			"call %s\n\n", n*n*n, n, path)
		b.printf("%-36s %8s %12s %12s %7s %6s\n", "contraction", "threads", "distaff GF/s",
			"direct GF/s", "ratio", "least")
	}
	for _, c := range contractions {
		name, least := c.name, c.least
		if alone {
			name, least = c.name+", without a BLAS", c.without
		}
		if least == 0 || !b.wants(name) {
			continue
		}
		for _, threads := range b.threads {
			if err := b.contractDense(c, n, threads, name, least,
				func() ([]float64, error) { return b.openBLAS(n, threads, object) }); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if alone {
		return nil
	}
	return b.again(withoutBLAS)
}

// square returns the number of rows and columns of the matrices.
func (b *bench) square() int64 { return 64 * int64(math.Round(64*math.Cbrt(b.scale))) }

// again runs this section once more in a child process, with an additional environment variable
// that switches the BLAS off. From the child's output it copies the lines about leaves without a
// BLAS into this section.
func (b *bench) again(variable string) error {
	threads := strings.Trim(strings.ReplaceAll(fmt.Sprint(b.threads), " ", ","), "[]")
	cmd := exec.CommandContext(b.ctx, os.Args[0], "-only=dense", "-lines="+b.lines.String(),
		"-threads="+threads,
		fmt.Sprint("-rounds=", b.rounds), fmt.Sprint("-repeat=", b.repeat),
		fmt.Sprint("-scale=", b.scale))
	cmd.Env, cmd.Stderr = append(os.Environ(), variable), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "without a BLAS") {
			b.printf("%s", line)
			b.over(strings.HasSuffix(line, " over\n"))
		}
	}
	return nil
}

// contractDense times a contraction and its reference alternately, and prints its line.
func (b *bench) contractDense(c contraction, n int64, threads int, name string, least float64,
	other func() ([]float64, error)) error {
	var ours, theirs []float64
	for range b.rounds {
		x, err := b.contracted(c, n, threads)
		if err != nil {
			return err
		}
		y, err := other()
		if err != nil {
			return err
		}
		ours, theirs = append(ours, x...), append(theirs, y...)
	}
	flops := 2 * float64(n) * float64(n) * float64(n) / 1e9
	ratio := median(theirs) / median(ours)
	b.printf("%-36s %8d %12.1f %12.1f %7.2f %6.2f%s\n", name, threads, flops/median(ours),
		flops/median(theirs), ratio, least, b.over(ratio < least))
	return nil
}

// contracted runs a contraction and returns the times of its leaf.
func (b *bench) contracted(c contraction, n int64, threads int) ([]float64, error) {
	j, err := b.contraction(c, n, threads)
	if err != nil {
		return nil, err
	}
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, err
	}
	return report.Stats.Phases.Compute, nil
}

func (b *bench) contraction(c contraction, n int64, threads int) (*spmd.Job, error) {
	j := &spmd.Job{Statement: c.stmt, Inputs: map[string]spmd.Input{}}
	j.Threads, j.Repeat, j.Warmup = threads, b.repeat, 1
	for name, modes := range c.sizes {
		var dims []int64
		for _, m := range modes {
			dims = append(dims, map[rune]int64{'n': n, 's': 64, 'q': n / 64, 'h': n / 2}[m])
		}
		t, err := b.full(dims)
		if err != nil {
			return nil, err
		}
		j.Inputs[name] = spmd.InMemory(t)
	}
	return j, nil
}

// full returns a dense tensor of the given sizes. It makes only one for each list of sizes.
func (b *bench) full(dims []int64) (*tcs.Tensor, error) {
	key := fmt.Sprint("full ", dims)
	if t := b.tensors[key]; t != nil {
		return t, nil
	}
	vars := "i,j,k,l"[:2*len(dims)-1]
	j := &spmd.Job{Statement: "T(" + vars + ") = S(" + vars + ")",
		Sizes:  map[string][]int64{"S": dims},
		Inputs: map[string]spmd.Input{"S": spmd.Generated("dense")}, Keep: true}
	report, err := j.Run(b.ctx)
	if err != nil {
		return nil, err
	}
	b.tensors[key] = report.Result
	return report.Result, nil
}

// openBLAS returns the times of the product of two matrices by OpenBLAS.
func (b *bench) openBLAS(n int64, threads int, object *cc.Object) ([]float64, error) {
	t, err := b.full([]int64{n, n})
	if err != nil {
		return nil, err
	}
	leaf, err := kernels.Load(object, "openblas")
	if err != nil {
		return nil, err
	}
	defer leaf.Close()
	arena, runner := kernels.NewArena(nil), kernels.NewRunner()
	arena.Reuse(true)
	defer runner.Close()
	var times []float64
	for r := range b.repeat + 1 {
		out, err := emptyLike(t, "", arena)
		if err != nil {
			return nil, err
		}
		at := time.Now()
		err = leaf.Call(b.ctx, []*tcs.Tensor{out, t, t}, [][2]int64{{0, n}},
			kernels.Env{Threads: threads, Arena: arena, Runner: runner})
		if r > 0 {
			times = append(times, time.Since(at).Seconds())
		}
		out.Close()
		if err != nil {
			return nil, err
		}
	}
	return times, nil
}
