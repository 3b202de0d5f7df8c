package codegen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"distaff/codegen"
	"distaff/codegen/emit/c"
)

// TestC counts patterns in the C functions of kernels of testdata/golden that have no golden of
// their C code. The patterns show the intended structure of the code.
func TestC(t *testing.T) {
	const (
		parallel = `#pragma omp parallel for`
		lanes    = `#pragma omp simd\n`
		sums     = `#pragma omp simd reduction\(\+ : `
		merge    = `while \(\w+_p < \w+ && \w+_p < \w+\)`
		memory   = `dst_alloc\(`
		ordered  = `schedule\(monotonic:dynamic, 1\)`
	)
	for name, want := range map[string]map[string]int{
		// A run of equal rows is one row, whose entries are summed in a plain loop.
		"coo": {parallel: 1, merge: 0, memory: 0, `while \(B_r < B_e_2 && B_crd0\[B_r\] == i\)`: 1,
			sums: 0, `#pragma GCC unroll`: 0},
		// One search in each row, a piece of the result for each chunk, in order.
		"diagonal": {`dst_search_i32\(B_crd1`: 1, parallel: 2, ordered: 1, `dst_ordered_enter\(`: 1,
			merge: 0},
		// Sums of chunks, added in their order.
		"dot": {parallel: 1, merge: 0, `t_parts\[chunk\] = `: 1, memory: 1, sums: 2},
		// Where both have entries, then the rest of the numerator.
		"quotient": {merge: 1, `while \(b_p < b_e_2\)`: 1, `while \(c_p < `: 0, ordered: 1},
		// Rows of 32 in registers, in lanes.
		"spmm": {parallel: 1, lanes: 3, `dst_alone\(\);\n *const int64_t j = B_crd1`: 1, `k_lane < 32`: 1,
			merge: 0, memory: 0, `dst_fetch\(C_vals`: 2, `dst_fetch_far\(C_vals`: 2},
		// What is left of an operand is taken in plain loops; the merge itself has no such mark.
		"spadd": {`while \(\w+ < \w+ && \w+ < \w+\)`: 1, `while \(\w+ < \w+\) \{\n *dst_alone\(\);`: 2,
			`dst_alone\(`: 2},
		// Columns on threads, each into a copy of the result; the copies are then summed.
		"spmv_csc": {parallel: 3, memory: 1, `omp atomic`: 0, merge: 0},
		// One loop over positions, in lanes, and three over chunks.
		"transpose": {parallel: 1, lanes: 1, `for \(`: 4, memory: 0},
		"ttm":       {parallel: 1, lanes: 1, merge: 0, memory: 0, `B_crd[01]`: 0},
		"ttv":       {parallel: 1, sums: 0, merge: 0, memory: 0, `B_crd[01]`: 0},
	} {
		data, err := os.ReadFile("testdata/golden/" + name + ".txtar")
		if err != nil {
			t.Error(err)
			continue
		}
		u, err := codegen.Compile(goldenRequest(t, string(txtar.Parse(data).Comment)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, text, ok := strings.Cut(c.File(u.Func), "\n// The loop over ") // after the helper functions
		if !ok {
			t.Errorf("%s: no loop of its own", name)
		}
		for pattern, n := range want {
			if got := len(regexp.MustCompile(pattern).FindAllString(text, -1)); got != n {
				t.Errorf("%s: %s is there %d times, want %d, in\n%s", name, pattern, got, n, text)
			}
		}
	}
}
