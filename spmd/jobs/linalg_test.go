package jobs_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"distaff/io/tcs"
	"distaff/io/tcsfile"
	"distaff/io/tensor"
	"distaff/kernels/lapack"
)

const wholeMatrices = `param n = 6
tensor A(n, n): dd from banded:2:int
tensor S(n, n): ds from banded:1
tensor B(n, 2): dd from dense
tensor b(n): d from dense
tensor C(n, n): dd:1,0 type float32
M(i,j) = A(i,j) + A(j,i)
X = solve(A, B)
G(i,j) = A(i,k) * A(j,k)
rr = 0
repeat 2 {
  x = solve(A, b)
  C = inv(G)
  P = pinv(B)
  (Q, R) = qr(B)
  (U, s, V) = svd(S)
  (w, W) = eigh(M)
  L = cholesky(G)
  d = det(A)
  r(i,k) = A(i,j) * X(j,k) - B(i,k)
  rr += r(i,k) * r(i,k)
  r1(i) = A(i,j) * x(j) - b(i)
  rr += r1(i) * r1(i)
  e(i,j) = U(i,k) * s(k) * V(k,j) - S(i,j)
  rr += e(i,j) * e(i,j)
  f(i,j) = W(i,k) * w(k) * W(j,k) - M(i,j)
  rr += f(i,j) * f(i,j)
  g(i,j) = L(i,k) * L(j,k) - G(i,j)
  rr += g(i,j) * g(i,j)
  h(i,j) = Q(i,k) * R(k,j) - B(i,j)
  rr += h(i,j) * h(i,j)
  t = B(i,j) * P(j,i) - 2
  rr += t * t
  t = C(i,j) * G(j,i) / 6 - 1
  S(i,j) = 2 * S(i,j)
}
print rr
print t
print d
print C
`

// TestLinalg checks the results of functions of whole matrices against their operands, that they are
// the same on any number of ranks, and that a plan counts what a run sends.
func TestLinalg(t *testing.T) {
	var first []string
	onRanks(t, func(t *testing.T, ranks int) {
		dense := strings.Replace(wholeMatrices, "tensor S(n, n): ds", "tensor S(n, n): dd", 1)
		for _, text := range []string{wholeMatrices, dense} {
			j := job(t, t.TempDir(), text, nil)
			j.Ranks, j.Check = ranks, true
			j.StatsFile = t.TempDir() + "/stats.json"
			report := j.run(t)
			if first == nil {
				first = j.said
			}
			if !slices.Equal(j.said[1:], first[1:]) {
				t.Errorf("got %q, want %q as on one rank", j.said, first)
			}
			if k := strings.Index(j.said[0], "e-"); k < 0 || j.said[0][k:] < "e-2" {
				t.Errorf("got residuals of %s, want almost 0", j.said[0])
			}
			if !strings.Contains(strings.Join(report.Lines, "\n"), "the results of svd fit") {
				t.Errorf("the check says nothing about svd: %q", report.Lines)
			}
			p, err := j.Plan(context.Background(), 0)
			if err != nil {
				t.Fatal(err)
			}
			for k, s := range report.Statements {
				it := p.Items[k]
				if it.Line != s.Line || it.Runs != s.Runs {
					t.Errorf("item %d: the plan has %+v, the run %+v", k, it, s)
				}
				if text == dense && !slices.Equal(it.Comm.BytesSent, s.Comm.BytesSent) {
					t.Errorf("%s: the plan sends %v bytes, the run %v", it.Text, it.Comm.BytesSent,
						s.Comm.BytesSent)
				}
				if it.Plan == nil && it.Memory == 0 {
					t.Errorf("%s: the plan says nothing about memory", it.Text)
				}
			}
		}
	}, 1, 2, 3)
	if len(first) != 4 || !strings.HasPrefix(first[2], "d = 20160") ||
		!strings.Contains(first[3], "6x6, dd:1,0, float32") {
		t.Errorf("got %q", first)
	}
}

// TestLinalgErrors checks that errors of functions of whole matrices have a place and an exit code,
// at every number of ranks.
func TestLinalgErrors(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		for _, c := range []struct {
			text, want string
			code       int
		}{
			{"tensor A(3, 3): dd from dense\nA(i,j) = 1\nX = inv(A)\n",
				"job.dst:3:1: the matrix is singular", 3},
			{"tensor A(2, 2): dd from dense\nA(i,j) = -1\nX = cholesky(A)\n",
				"job.dst:3:1: the matrix is not positive definite", 3},
			{"tensor A(3, 3): dd from dense\nA(i,j) = 0\nA(i,j) = A(i,j) / 0\n(U, s, V) = svd(A)\n",
				"job.dst:4:1: the matrix has values that are not finite", 3},
			{"tensor A(300, 300): dd from dense\nX = inv(A)\n", "inv of whole matrices needs ", 5},
		} {
			j := job(t, t.TempDir(), c.text, nil)
			j.Ranks = ranks
			if c.code == 5 {
				j.MemoryLimit = 5 << 20
			}
			_, err := j.Run(context.Background())
			var e interface{ ExitCode() int }
			if !errors.As(err, &e) || e.ExitCode() != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q with exit code %d", c.text, err, c.want, c.code)
			}
		}
	}, 1, 2, 3)
}

// TestComplexLinalg checks the functions of complex matrices, and what they say if no library has
// them.
func TestComplexLinalg(t *testing.T) {
	onRanks(t, func(t *testing.T, ranks int) {
		j := job(t, t.TempDir(), `tensor A(4, 4): dd type complex128 from dense
tensor z type complex128 from 1i
B(i,j) = z * A(i,j) + A(j,i)
X = inv(B)
(U, s, V) = svd(B)
d = det(B)
e = B(i,j) * X(j,i) - 4
f(i,j) = U(i,k) * s(k) * V(k,j) - B(i,j)
`, nil)
		j.Ranks, j.Outputs = ranks, map[string]string{}
		dir := t.TempDir()
		for _, name := range []string{"e", "f", "s", "d"} {
			j.Outputs[name] = dir + "/" + name + ".tcs"
		}
		_, err := j.Run(context.Background())
		if errors.Is(err, lapack.ErrComplex) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"e", "f"} {
			x := openTCS(t, j.Outputs[name])
			n := int64(1)
			for _, d := range x.Header.Dims {
				n *= d
			}
			for k := range n {
				if v := x.Value(k).C; real(v)*real(v)+imag(v)*imag(v) > 1e-24 {
					t.Errorf("%s is %v at %d, want 0", name, v, k)
				}
			}
		}
		if s := openTCS(t, j.Outputs["s"]); s.Header.Type != tensor.Float64 {
			t.Errorf("s has type %s, want float64", s.Header.Type)
		}
	}, 1, 3)
}

// openTCS opens a file until the end of the test.
func openTCS(t *testing.T, path string) *tcs.Tensor {
	t.Helper()
	x, err := tcsfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}
