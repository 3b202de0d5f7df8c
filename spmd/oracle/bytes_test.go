package oracle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"distaff/io/tensor"
	"distaff/spmd"
)

// TestOracleSameBytes runs jobs with integer values on 1 to 8 ranks with a block schedule. Their
// files must equal the file of one rank without a block schedule. Half of the cases have zeros of
// both signs, and tensors with dense levels below other levels.
func TestOracleSameBytes(t *testing.T) {
	t.Parallel()
	n := uint64(25)
	if *nFlag > 0 {
		n = *nFlag
	}
	for k := *firstFlag; k < *firstFlag+n; k++ {
		o := Options{Exact: true, Types: []tensor.Type{tensor.Float64}}
		switch k % 6 {
		case 0:
			o.Types = []tensor.Type{tensor.Int64}
		case 1:
			o.Types = []tensor.Type{tensor.Complex64}
		}
		if k%2 == 1 {
			o.Zeros, o.Plus, o.MaxPoints = 0.8, 0.3, 300
		}
		c := Generate(Rand(*seedFlag+77, k), o)
		kinds := []string{".tcs", ".tns", ".npy", ".mtx", ".tcs", ".tcs", ".npz"}
		kind := kinds[k%uint64(len(kinds))]
		if order := len(c.Tensors[0].Dims); kind == ".mtx" && order > 2 || kind == ".npz" && order == 0 {
			kind = ".tns"
		}
		sameBytes(t, fmt.Sprint("case ", k), c, kind)
	}
}

// TestZerosSameBytes checks that the sign of a zero in a result's file does not depend on the
// number of ranks.
func TestZerosSameBytes(t *testing.T) {
	for k, text := range []string{
		// one rank assigns the -0 of a dense level; two ranks add it to a 0
		`A(i,j) = -B(i,j,k)
variant 782244
result A sd - 4x4
tensor B ssd:2,1,0 float64 4x4x5
2 0 1 -0
3 2 3 -1
2 2 4 -3
3 3 1 -1
0 1 4 -3
2 0 1 1
1 3 2 -0
`,
		// a block of the product has a 0 at a coordinate where the whole product is absent
		`A(i) = b(i) + C(i,j)*d(j)
variant 858409
result A s complex64 3
tensor b s complex64 3
0 (-1+5i)
2 (-3-1i)
1 (-0-1i)
tensor C sd complex64 3x2
0 1 (-0-0i)
tensor d d complex64 2
1 (-0+0i)
0 (-1-0i)
`,
	} {
		c, err := ParseCase(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []string{".tcs", ".tns", ".npy", ".npz", ".mtx"} {
			sameBytes(t, fmt.Sprint("case ", k), c, kind)
		}
	}
}

// TestWidthsSameBytes checks the index widths in files. A result that shares an operand's level
// arrays of 64 bits must be written with the same widths as the result of many ranks, which has its
// own arrays.
func TestWidthsSameBytes(t *testing.T) {
	for _, text := range []string{
		`A(i) = B(i)
variant 0
result A s - 2
tensor B s float64 2
0 7
`,
		`A(i,j) += b(j)*C(i,k)
variant 240595
result A sd - 2x3
tensor b d float64 3
1 -2
2 6
tensor C sd float64 2x1
1 0 3
`,
	} {
		c, err := ParseCase(text)
		if err != nil {
			t.Fatal(err)
		}
		if !c.hasWideIndices() {
			t.Fatalf("%s: its operands have 32 bits", c.Stmt)
		}
		sameBytes(t, c.Stmt, c, ".tcs")
		sameBytes(t, c.Stmt, c, ".tcs.zst")
	}
}

// sameBytes compares the files that jobs on several ranks write with the file of one rank. kind is
// the extension of the files.
func sameBytes(t *testing.T, name string, c *Case, kind string) {
	t.Helper()
	dir := t.TempDir()
	p, err := c.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i, e := range []Jobs{{Ranks: 1}, {Ranks: 2}, {Ranks: 1, Blocks: true},
		{Ranks: 2, Blocks: true}, {Ranks: 3, Blocks: true}, {Ranks: 4, Blocks: true},
		{Ranks: 6, Blocks: true}, {Ranks: 8, Blocks: true}} {
		e.Target = spmd.Interpreter
		file := filepath.Join(dir, fmt.Sprint(i, kind))
		_, err := e.run(p, nil, func(j *spmd.Job) (*spmd.Report, error) {
			j.Outputs = []spmd.Output{{Tensor: p.Case.Tensors[0].Name, File: file}}
			return j.Run(context.Background())
		})
		if err != nil {
			t.Fatalf("%s on %d ranks: %v\n%s", name, e.Ranks, err, c.Text())
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of a %s that differ from the %d of one rank (%s)\n%s", name, len(got),
				kind, len(want), e.Flags(p), c.Text())
		}
	}
}
