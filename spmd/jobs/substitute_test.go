package jobs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"distaff/kernels/cc"
)

// TestSubstitute compares an MTTKRP in a job file that is computed as products of matrices by a
// BLAS with a plain MTTKRP.
func TestSubstitute(t *testing.T) {
	const text = `tensor D(6, 4, 5): ddd from dense:int
tensor V(5, 3): dd from dense:int
tensor U(4, 3): dd from dense:int
T(i,k,j) = D(i,k,l) * V(l,j)
  substitute({k,j,l},gemm)
A(i,j) = T(i,k,j) * U(k,j)
B(i,j) = D(i,k,l) * V(l,j) * U(k,j)
d = (A(i,j) - B(i,j)) * (A(i,j) - B(i,j))
b = B(i,j)
print d
print b
`
	for _, ranks := range []int{1, 3} {
		j := job(t, t.TempDir(), text, nil)
		j.Ranks = ranks
		if _, err := j.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(j.said, "d = 0") {
			t.Errorf("%d ranks: got %q", ranks, j.said)
		}
	}
}

// TestFunctions checks C functions that replace loops of a job file, in distributed statements too.
// The functions' files are in the folder of the job file. They are refused without permission, or
// if a file is missing.
func TestFunctions(t *testing.T) {
	const code = `#include <stdint.h>
static void tile(int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t k0, int64_t k1,
    double *C, int64_t C_i, int64_t C_j, const double *A, int64_t A_i, int64_t A_k, const double *B, int64_t B_k, int64_t B_j) {
    for (int64_t i = i0; i < i1; i++)
        for (int64_t j = j0; j < j1; j++)
            for (int64_t k = k0; k < k1; k++)
                C[i * C_i + j * C_j] += A[i * A_i + k * A_k] * B[k * B_k + j * B_j];
}
`
	const text = `machine M(2, p/2)
tensor A(17, 13): dd place (x,y) -> M(x,y) from dense:int
tensor B(13, 11): dd place (x,y) -> M(x,y) from dense:int
tensor C(17, 11): dd place (x,y) -> M(x,y)
C(i,j) = A(i,k) * B(k,j)
  distribute({i,j},{io,jo},{Hash,ji},M)
  divide(k, ko, ki, M.x)
  reorder(io, jo, ko, Hash, ji, ki)
  communicate({A,B}, ko)
  substitute({Hash,ji,ki}, KERNEL)
D(i,j) = A(i,k) * B(k,j)
d = (C(i,j) - D(i,j)) * (C(i,j) - D(i,j))
print d
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tile.c"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ kernel, want string }{
		{"gemm", ""}, {`"tile.c:tile"`, ""}, {`"tile.c:none"`, "tile.c defines no function none"},
		{`"none.c:tile"`, "none.c: no such file or directory"},
	} {
		j := job(t, dir, strings.ReplaceAll(text, "KERNEL", x.kernel), nil)
		j.Ranks, j.Check, j.AllowUserCode, j.Target = 4, true, true, ""
		_, err := j.Run(context.Background())
		switch {
		case errors.Is(err, cc.ErrNoCompiler):
			t.Skip(err)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want) ||
			!strings.Contains(err.Error(), ":10:")):
			t.Errorf("%s: got %v, want %s at line 10", x.kernel, err, x.want)
		case x.want == "" && (err != nil || !slices.Contains(j.said, "d = 0")):
			t.Errorf("%s: got %q, %v", x.kernel, j.said, err)
		}
		if x.kernel != "gemm" {
			j.AllowUserCode = false
			if _, err := j.Run(context.Background()); err == nil ||
				!strings.Contains(err.Error(), "--allow-user-code") {
				t.Errorf("%s without permission: got %v", x.kernel, err)
			}
		}
	}
}
