package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"distaff/codegen"
	"distaff/kernels/cc"
	_ "distaff/kernels/verified"
)

// TestTargets checks the backend of each name. Only compiled leaves can be kept and shared, and
// need a CPU that exists.
func TestTargets(t *testing.T) {
	for name, want := range map[string]string{"cpu": "*kernels.C",
		"interpreter": "interpret.Backend", "gpu": "", "CPU": ""} {
		if got := Has(name); got != (want != "") {
			t.Errorf("%q: got %v, want %v", name, got, want != "")
		}
		if want == "" {
			continue
		}
		b, err := Backend(name, Config{CC: cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU}})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%T", b); got != want {
			t.Errorf("%q: got a %s, want a %s", name, got, want)
		}
		_, err = Backend(name, Config{CC: cc.Config{CPU: "abacus"}})
		if (err != nil) != (want == "*kernels.C") {
			t.Errorf("%q: a CPU that is none: got %v", name, err)
		}
	}
	for _, x := range []struct {
		name string
		kind codegen.Kind
		want string
	}{{"", codegen.CPU, CPU}, {"", codegen.CUDA, CUDA}, {CUDAOnly, codegen.CUDA, CUDA},
		{CUDAOnly, codegen.CPU, CPU}, {Auto, codegen.CPU, CPU},
		{Interpreter, codegen.CUDA, Interpreter}} {
		if got := Of(x.name, x.kind); got != x.want {
			t.Errorf("%q, %s: got %s, want %s", x.name, x.kind, got, x.want)
		}
	}
	if got := Names(); !slices.Equal(got, []string{"auto", "cpu", "cuda", "cuda!", "interpreter"}) {
		t.Errorf("got targets %v", got)
	}
}

// TestCUDA checks that without a driver the target cuda exists, and that its error names the
// missing part and has exit code 1.
func TestCUDA(t *testing.T) {
	if !Has(CUDA) || Code(CUDA) != codegen.CUDA || Code("") != codegen.CPU ||
		Code(Interpreter) != codegen.CPU {
		t.Fatalf("cuda: has %v, code %v; cpu %v", Has(CUDA), Code(CUDA), Code(""))
	}
	b, err := Backend(CUDA, Config{})
	if err == nil {
		t.Skipf("there is a GPU: %s", b.Name())
	}
	var coded interface{ ExitCode() int }
	if !errors.As(err, &coded) || coded.ExitCode() != 1 ||
		!strings.Contains(err.Error(), "--target=cpu") {
		t.Errorf("got %v, want an error of exit code 1 that names --target=cpu", err)
	}
}
