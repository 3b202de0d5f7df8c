package codegen_test

import (
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
)

// TestCapacity: the initial capacity of a result follows the expected number of its entries.
func TestCapacity(t *testing.T) {
	for _, c := range []struct{ request, capacity string }{
		// The result has about the number of entries of all operands.
		{"A(i,j)=B(i,j)+C(i,j) A:ds B:ds C:ds", "min(B_nnz + 16 + C_nnz, 1000001)"},
		{"A(i,j)=B(i,j)*C(i,j) A:ss B:ss C:ss", "min(B_nnz + 16 + C_nnz, 1000001)"},
		{"a(i)=b(i)*c(k) a:s b:s c:s i=100000", "min(b_nnz + 16 + c_nnz, 100001)"},
		// Each entry of B gives ten terms.
		{"A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds", "min((B_nnz + 16 + C_nnz) * 8, 1000001)"},
		{"A(i,j)=B(i,k)*C(k,j) A:ds B:ds C:ds k=10 i=100000 j=100000",
			"min((B_nnz + 16 + C_nnz) * 8, 10000000001)"},
		// 10,000 entries for each of 10,000 exceed the largest initial capacity, 1 << 26.
		{"A(i,j)=b(i)*c(j) A:ss b:s c:s i=100000 j=100000",
			"min((b_nnz + 16 + c_nnz) * 2048, 10000000001)"},
		{"A(i,j)=b(i)*c(j) A:ss b:s c:s", "min((b_nnz + 16 + c_nnz) * 64, 1000001)"},
		{"A(i,j)=2*b(i)*d(j) A:ss b:s d:d", "min((b_nnz + 16) * 128, 1000001)"},
	} {
		u, err := codegen.Compile(goldenRequest(t, strings.ReplaceAll(c.request, " ", "\n")))
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		text := ir.Print(u.Func)
		if !strings.Contains(text, "var capacity int64 = select(@\"threads\" <= 1, 0, "+c.capacity) {
			_, text, _ = strings.Cut(text, "var capacity")
			text, _, _ = strings.Cut(text, "\n")
			t.Errorf("%s: capacity%s, want %s", c.request, text, c.capacity)
		}
	}
}
