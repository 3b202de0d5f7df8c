package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEmitGo writes packages with compile --emit=go and runs a test of each that
// calls it from Go: a dense result, a sparse one that the leaf allocates, some
// that share an operand's pattern, and several packages in one program.
func TestEmitGo(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the Go compiler")
	}
	if _, err := exec.LookPath("go"); err != nil || !haveCompiler() {
		t.Skip("needs the go command and a C compiler on PATH")
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		args []string
	}{
		{"spmv", []string{"y(i) = A(i,j) * x(j)", "-f=A:ds"}},
		{"product", []string{"C(i,k) = A(i,j) * B(j,k)", "-f=A:ds", "-f=B:ds", "-f=C:ds", "-d=i:2", "-d=j:2", "-d=k:3"}},
		{"sddmm", []string{"A(i,j) = B(i,j) * c(i) * d(j)", "-f=A:ds", "-f=B:ds", "-t=d:float32"}},
		{"ttm", []string{"A(i,j,l) = B(i,j,k) * C(k,l)", "-f=B:sss", "-f=A:ssd"}},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"distaff", "compile", "--emit=go", "--out=" + filepath.Join(dir, "m", c.name)}, c.args...)
		if code := mainExit(args, &out, &errs); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
	}
	files := map[string]string{"m/go.mod": "module m\n\ngo 1.21\n", "m/both_test.go": bothTest}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"spmv", "product", "sddmm", "ttm"} {
		// Each was made outside a module and has one of its own; here they are
		// one.
		if err := os.Remove(filepath.Join(dir, "m", name, "go.mod")); err != nil {
			t.Errorf("%s has no go.mod of its own: %v", name, err)
		}
	}
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = filepath.Join(dir, "m")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
}

const bothTest = `package m

import (
	"reflect"
	"testing"

	"m/product"
	"m/sddmm"
	"m/spmv"
	"m/ttm"
)

func TestSpMV(t *testing.T) {
	// [2 0 1]
	// [0 3 0]
	a := spmv.Tensor[float64]{Levels: []spmv.Level{{Size: 2}, {Pos32: []int32{0, 2, 3}, Crd32: []int32{0, 2, 1}}}, Vals: []float64{2, 1, 3}}
	x := spmv.Tensor[float64]{Levels: []spmv.Level{{Size: 3}}, Vals: []float64{1, 10, 100}}
	y, err := spmv.Run(spmv.Sizes{I: 2, J: 3}, spmv.Operands{A: a, X: x}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{102, 30}; !reflect.DeepEqual(y.Vals, want) {
		t.Errorf("got %v, want %v", y.Vals, want)
	}
	// Arrays too short for what they say are refused.
	for k, want := range []string{"A: level 1: got a pos of 2, want 3", "A: level 1: got 2 coordinates, want 3", "A: got 2 values, want 3", "x: got 2 values, want 3"} {
		b, z := a, x
		b.Levels = append([]spmv.Level{}, a.Levels...)
		switch k {
		case 0:
			b.Levels[1].Pos32 = []int32{0, 3}
		case 1:
			b.Levels[1].Crd32 = []int32{0, 2}
		case 2:
			b.Vals = a.Vals[:2]
		case 3:
			z.Vals = x.Vals[:2]
		}
		if _, err := spmv.Run(spmv.Sizes{I: 2, J: 3}, spmv.Operands{A: b, X: z}, 2); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	a.Levels[1].Pos32, a.Levels[1].Pos64 = nil, []int64{0, 2, 3}
	if _, err := spmv.Run(spmv.Sizes{I: 2, J: 3}, spmv.Operands{A: a, X: x}, 1); err == nil {
		t.Error("numbers of another width are not refused")
	}
}

func TestProduct(t *testing.T) {
	a := product.Tensor[float64]{Levels: []product.Level{{Size: 2}, {Pos32: []int32{0, 1, 3}, Crd32: []int32{1, 0, 1}}}, Vals: []float64{2, 1, 3}}
	b := product.Tensor[float64]{Levels: []product.Level{{Size: 2}, {Pos32: []int32{0, 1, 3}, Crd32: []int32{2, 0, 2}}}, Vals: []float64{5, 7, 1}}
	c, err := product.Run(product.Sizes{I: 2, J: 2, K: 3}, product.Operands{A: a, B: b}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Levels[1].Pos32, []int32{0, 2, 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("pos: got %v, want %v", got, want)
	}
	if got, want := c.Levels[1].Crd32, []int32{0, 2, 0, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("crd: got %v, want %v", got, want)
	}
	if want := []float64{14, 2, 21, 8}; !reflect.DeepEqual(c.Vals, want) {
		t.Errorf("vals: got %v, want %v", c.Vals, want)
	}
}

func TestSDDMM(t *testing.T) {
	b := sddmm.Tensor[float64]{Levels: []sddmm.Level{{Size: 2}, {Pos32: []int32{0, 2, 3}, Crd32: []int32{0, 2, 1}}}, Vals: []float64{2, 1, 3}}
	c := sddmm.Tensor[float64]{Levels: []sddmm.Level{{Size: 2}}, Vals: []float64{10, 100}}
	d := sddmm.Tensor[float32]{Levels: []sddmm.Level{{Size: 3}}, Vals: []float32{1, 2, 3}}
	a, err := sddmm.Run(sddmm.Sizes{I: 2, J: 3}, sddmm.Operands{B: b, C: c, D: d}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a.Levels[1].Crd32, b.Levels[1].Crd32) || !reflect.DeepEqual(a.Levels[1].Pos32, b.Levels[1].Pos32) {
		t.Errorf("got levels %v, want those of B", a.Levels)
	}
	if want := []float64{20, 30, 600}; !reflect.DeepEqual(a.Vals, want) {
		t.Errorf("got %v, want %v", a.Vals, want)
	}
}

func TestTTM(t *testing.T) {
	// B(0,1,0) = 2, B(0,1,2) = 3, B(4,0,1) = 5
	b := ttm.Tensor[float64]{Levels: []ttm.Level{
		{Pos32: []int32{0, 2}, Crd32: []int32{0, 4}}, {Pos32: []int32{0, 1, 2}, Crd32: []int32{1, 0}}, {Pos32: []int32{0, 2, 3}, Crd32: []int32{0, 2, 1}},
	}, Vals: []float64{2, 3, 5}}
	c := ttm.Tensor[float64]{Levels: []ttm.Level{{Size: 3}, {Size: 2}}, Vals: []float64{1, 10, 2, 20, 3, 30}}
	a, err := ttm.Run(ttm.Sizes{I: 5, J: 2, K: 3, L: 2}, ttm.Operands{B: b, C: c}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{11, 110, 10, 100}; !reflect.DeepEqual(a.Vals, want) {
		t.Errorf("got %v, want %v", a.Vals, want)
	}
	if !reflect.DeepEqual(a.Levels[1].Crd32, []int32{1, 0}) || a.Levels[2].Size != 2 {
		t.Errorf("got levels %v", a.Levels)
	}
}
`
