package codegen

import (
	"strings"
	"testing"

	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// TestInPlace checks which leaves use the memory of the left tensor's old value. The old value is
// the operand x of a statement that writes y, or the tensor that += adds to.
func TestInPlace(t *testing.T) {
	for _, c := range []struct {
		stmt, formats, schedule string
		want                    bool
	}{
		{"y = x + 1", "", "", true},
		{"y = x*n + x", "", "", true},
		{"y = x + p(i)*q(i)", "", "", true},
		{"y(i) = x(i) + a*p(i)", "", "", true},
		{"y(i) = p(i) + b/a*x(i)", "", "", true},
		{"y(i) = x(i)*x(i) - x(i)", "", "", true},
		{"y(i) = -x(i)", "", "", true},
		{"y(i) += a*p(i)", "", "", true},
		{"y(i) += A(i,j)*p(j)", "A:ds", "", true},
		{"y(i) = x(i) + A(i,j)*p(j)", "A:ds", "", true},
		{"y(i) = x(i)*A(i,j)*p(j)", "A:ds", "", true},
		{"y(i) = x(i) + p(i)", "p:s", "", true},
		{"y(i) = x(i) + p(i) - q(i)", "p:s q:s", "", true},
		{"y(i,j) = x(i,j) + A(i,j)", "A:ds", "", true},
		{"y(i,j) = x(i,j) + A(i,j)", "A:ss", "", true},
		{"y(i,k) = x(i,k) + A(i,j)*B(j,k)", "A:ds", "", true}, // rows in registers
		{"y(i,j) = 2*x(i,j)", "y:ds x:ds", "", true},
		{"y(i,j) = x(i,j)*p(j)", "y:ds x:ds", "", true},
		{"y(i,j) = x(i,j)*p(i)*q(j)", "y:ss x:ss", "", true},
		{"y(i,j,k) = x(i,j,k) + x(i,j,k)*B(j,k)", "y:ssd x:ssd", "", true},
		{"y(i) = x(i) + p(i)", "", "split(i,i0,i1,32),parallelize(i0,CPUThread,NoRaces)", true},
		{"y(i) = x(i) + A(i,j)*p(j)", "A:ds", "split(i,i0,i1,32),parallelize(i0,CPUThread,NoRaces)",
			true},

		{"y(i) = x(i)*p(i)", "p:s", "", false},                                   // 0 everywhere first
		{"y(i) = x(i)*A(i,j)*p(j)", "A:ss", "", false},                           // the same
		{"y(i,j) = x(i,j) + B(i,j)", "", "fuse(i,j,f),split(f,f0,f1,32)", false}, // the same
		// the same, except that rows are in registers
		{"y(i,l) = x(i,l) + A(i,j)*B(j,l)", "A:ds", "", false},
		{"y(i,j) = x(j,i)", "", "", false},                      // transposed
		{"y(i,j) = x(i,j) + x(j,i)", "", "", false},             // the same
		{"y(i) = x(j)*B(i,j)", "", "", false},                   // others' elements
		{"y(i) = x(i) + x(j)", "", "", false},                   // the same
		{"y(i,j) = x(i,i) + B(i,j)", "", "", false},             // the same
		{"y(i) = x(i) + A(j,i)*p(j)", "A:ds", "", false},        // summed in the result
		{"y(i) += A(j,i)*p(j)", "A:ds", "", false},              // the same
		{"y(i) = x(i) + p(i)", "x:s", "", false},                // another format
		{"y(i) = x(i) + p(i)", "y:s x:s p:s", "", false},        // a pattern of its own
		{"y(i,j) = x(i,j)*A(i,j)", "y:ds x:ds A:ds", "", false}, // the same
		{"y(i) = x(i) + p(i)", "x:int32", "", false},            // another type
		{"y(i) = x(i)*B(i,j)", "", "reorder(j,i)", false},
		{"y(i) = x(i)*B(i,j)", "", "split(j,j0,j1,8),reorder(j0,i,j1)", false},
		{"y(i) = x(i) + A(i,j)*p(j)", "A:ds",
			"fuse(i,j,f),pos(f,fp,A),split(fp,f0,f1,32),parallelize(f0,CPUThread,Atomics)", false},
	} {
		r := smallRequest(t, c.stmt)
		r.Tensors.InPlace, r.Tensors.Sizes["k"] = "x", 64
		for _, text := range strings.Fields(c.formats) {
			name, f, _ := strings.Cut(text, ":")
			x := r.Tensors.All[name]
			if f == "int32" {
				x.Type = tensor.Int32
			} else {
				x.Format, _ = notation.ParseFormat(f)
			}
			r.Tensors.All[name] = x
		}
		for _, name := range []string{"A", "B"} {
			if x, ok := r.Tensors.All[name]; ok && !strings.Contains(c.formats, name+":") {
				x.Format = tensor.DenseOf(len(x.Dims))
				r.Tensors.All[name] = x
			}
		}
		if r.Statement.Stmt.Accumulate {
			old := r.Tensors.All["y"]
			r.Tensors.Old, r.Tensors.InPlace = &old, "y"
		}
		if c.schedule != "" {
			r.Ask.Schedule = []string{c.schedule}
		}
		u, err := Compile(r)
		if err != nil {
			t.Errorf("%s: %v", c.stmt, err)
			continue
		}
		if got := u.Result.InPlace > 0; got != c.want {
			t.Errorf("%s, %s %s: in place %v, want %v:\n%s", c.stmt, c.formats, c.schedule, got, c.want,
				ir.Print(u.Func))
		}
		r.Tensors.InPlace = ""
		if u, err := Compile(r); err != nil || u.Result.InPlace > 0 {
			t.Errorf("%s: in place, and nothing was asked for: %v", c.stmt, err)
		}
	}
}
