package kernels_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/codegen/ir"
	"distaff/kernels"
	"distaff/kernels/backendtest"
	"distaff/kernels/cc"
	"distaff/kernels/lint"
	_ "distaff/kernels/verified"
)

// quick are flags that compile a leaf quickly.
var quick = []string{"-O1", "-fopenmp"}

func TestC(t *testing.T) {
	b, err := kernels.NewC(cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU, Flags: quick})
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Run(t, b)
}

// TestVerify makes a leaf that calls C with an undeclared variable. The error comes without a
// compiler.
func TestVerify(t *testing.T) {
	u := backendtest.Unit(t)
	if err := kernels.Verify(u); err != nil {
		t.Fatal(err)
	}
	u.Func.Body.List = append(u.Func.Body.List, &ir.Call{Func: &ir.Extern{
		File: "f.c", Name: "f", Text: "void f(void) { nowhere = 1; }", Result: "void",
	}})
	b, err := kernels.NewC(cc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(context.Background(), u)
	var wrong *lint.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, want an error about nowhere", err)
	}
	if _, err := b.Object(context.Background(), u); !errors.As(err, &wrong) {
		t.Errorf("got %v of an object, want an error about nowhere", err)
	}
}

// carried is a Portable that builds every leaf through its bytes.
type carried struct{ kernels.Portable }

func (c carried) Build(ctx context.Context, u *codegen.Unit) (kernels.Leaf, error) {
	object, err := c.Object(ctx, u)
	if err != nil {
		return nil, err
	}
	return c.Load(object, u)
}

func TestCObjects(t *testing.T) {
	b, err := kernels.NewC(cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU, Flags: quick})
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Run(t, carried{b})
}

func TestCWithoutCompiler(t *testing.T) {
	b, err := kernels.NewC(cc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Complete() {
		t.Error("a backend without a compiler says that it makes every leaf")
	}
	u := backendtest.Unit(t)
	if _, err := b.Build(context.Background(), u); !errors.Is(err, kernels.ErrNoCompiler) {
		t.Errorf("got %v, want %v", err, kernels.ErrNoCompiler)
	}
	var load *kernels.LoadError
	if _, err := b.Load([]byte("no object"), u); !errors.As(err, &load) {
		t.Errorf("got %v of what is no object, want a LoadError", err)
	}
}
