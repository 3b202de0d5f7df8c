package target

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"distaff/kernels/cc"
)

// TestTargets: each name leads to its backend, of which only compiled leaves can be kept and
// shared, and ask for a CPU that there is.
func TestTargets(t *testing.T) {
	for name, want := range map[string]string{"": "*kernels.C", "cpu": "*kernels.C", "interpreter": "interpret.Backend", "cuda": "", "CPU": ""} {
		if got := Has(name); got != (want != "") {
			t.Errorf("%q: got %v, want %v", name, got, want != "")
		}
		if want == "" {
			continue
		}
		b, err := Backend(name, cc.Config{Path: os.Getenv("PATH"), CPU: cc.NoCPU})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%T", b); got != want {
			t.Errorf("%q: got a %s, want a %s", name, got, want)
		}
		if _, err := Backend(name, cc.Config{CPU: "abacus"}); (err != nil) != (want == "*kernels.C") {
			t.Errorf("%q: a CPU that is none: got %v", name, err)
		}
	}
	if got := Names(); !slices.Equal(got, []string{"cpu", "interpreter"}) {
		t.Errorf("got targets %v", got)
	}
}
