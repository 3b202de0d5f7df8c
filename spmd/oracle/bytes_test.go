package oracle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"distaff/codegen/dtype"
	"distaff/spmd"
)

// TestOracleSameBytes holds the files that jobs of integer-valued data write, on 1 to 8
// ranks by a block schedule, to that of one rank without one.
func TestOracleSameBytes(t *testing.T) {
	n := uint64(25)
	if *nFlag > 0 {
		n = *nFlag
	}
	dir := t.TempDir()
	for k := range n {
		o := Options{Exact: true, Types: []dtype.Type{dtype.Float64}}
		if k%3 == 0 {
			o.Types = []dtype.Type{dtype.Int64}
		}
		c := Generate(Rand(*seedFlag+77, *firstFlag+k), o)
		p, err := c.Prepare()
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for i, e := range []Jobs{{Ranks: 1}, {Ranks: 1, Blocks: true}, {Ranks: 2, Blocks: true}, {Ranks: 3, Blocks: true}, {Ranks: 4, Blocks: true}, {Ranks: 6, Blocks: true}, {Ranks: 8, Blocks: true}} {
			e.Target = spmd.Interpreter
			kinds := []string{".tcs", ".tns", ".npy", ".mtx"}
			kind := kinds[k%uint64(len(kinds))]
			if kind == ".mtx" && len(p.Tensors[0].Dims) > 2 {
				kind = ".tns"
			}
			file := filepath.Join(dir, fmt.Sprint(i, kind))
			_, err := e.run(p, nil, func(j *spmd.Job) (*spmd.Report, error) {
				j.Outputs = []spmd.Output{{Tensor: p.Tensors[0].Name, File: file}}
				return j.Run(context.Background())
			})
			if err != nil {
				t.Fatalf("case %d on %d ranks: %v\n%s", k, e.Ranks, err, c.Text())
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			} else if !bytes.Equal(got, want) {
				t.Errorf("case %d: %d bytes that differ from the %d of one rank (%s)\n%s", k, len(got), len(want), e.Flags(p), c.Text())
			}
		}
	}
}
