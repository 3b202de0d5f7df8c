package tune

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"distaff/codegen/emit/c"
	"distaff/codegen/forms"
	"distaff/io/tcs"
	"distaff/kernels/cc"
	_ "distaff/kernels/verified"
)

// formerFunc times forms on a machine whose clock stands still.
type formerFunc func(name string, form int64) (float64, error)

func (f formerFunc) form(name string, form int64) (float64, error) { return f(name, form) }
func (f formerFunc) elapsed() float64                              { return 0 }

// TestFastest checks that the fastest form is found from known times that are slowed down at
// random. A form that gains less than a twentieth must not replace the default.
func TestFastest(t *testing.T) {
	choices := []forms.Measured{{Name: "a", Forms: []int64{0, 4, 8}, Default: 4},
		{Name: "b", Forms: []int64{0, 1}}}
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		for _, x := range []struct {
			a    [3]float64
			b    [2]float64
			want forms.Set
		}{
			{[3]float64{3, 2, 1}, [2]float64{2, 1}, forms.Set{"a": 8, "b": 1}},
			{[3]float64{1, 1.04, 2}, [2]float64{1.04, 1}, forms.Set{"a": 4, "b": 0}},
			{[3]float64{1, 1.06, 1}, [2]float64{1, 2}, forms.Set{"a": 0, "b": 0}},
		} {
			runs, of := 0, map[string]int{}
			got, err := fastest(t.Context(), choices,
				formerFunc(func(name string, form int64) (float64, error) {
					runs++
					key := formKey(name, form)
					slow := 1 + 0.005*random.Float64()
					if of[key]++; of[key]%3 == 0 { // other work disturbs one run in three
						slow += random.Float64()
					}
					if of[key] == maxRounds-1 { // at least one run is not disturbed
						slow = 1
					}
					if name == "a" {
						return slow * x.a[form/4], nil
					}
					return slow * x.b[form], nil
				}))
			if err != nil || !reflect.DeepEqual(got, x.want) {
				t.Errorf("seed %d: got %v, %v, want %v", seed, got, err, x.want)
			}
			if want := maxRounds * 5; runs != want {
				t.Errorf("%d runs, want %d", runs, want)
			}
		}
	}
	fails := errors.New("a leaf fails")
	if _, err := fastest(t.Context(), choices,
		formerFunc(func(string, int64) (float64, error) { return 0, fails })); err != fails {
		t.Errorf("got %v, want %v", err, fails)
	}
}

// TestShipped checks that the shipped forms are in the table of choices, and that this CPU has a
// model name.
func TestShipped(t *testing.T) {
	for model, forms := range shipped {
		if len(forms) == 0 || !reflect.DeepEqual(forms.Known(), forms) {
			t.Errorf("%s: got %v, want forms of the table", model, forms)
		}
	}
	model := cc.CPUModel()
	if words := strings.Fields(model); runtime.GOARCH == "amd64" && len(words) != 3 {
		t.Errorf("got the model %q, want a vendor, a family and a model", model)
	}
	if got := Shipped(); !maps.Equal(got, shipped[model]) {
		t.Errorf("got %v for %s, want %v", got, model, shipped[model])
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			said[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if want := said["vendor_id"] + " " + said["cpu family"] + " " +
		said["model"]; runtime.GOARCH == "amd64" && said["model"] != "" && model != want {
		t.Errorf("got %q, the kernel says %q", model, want)
	}
}

// TestForms checks that the leaves of all forms run and give the same result to the bit.
func TestForms(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("needs a C compiler")
	}
	cfg := cc.Config{Path: os.Getenv("PATH"), Tmp: t.TempDir()}
	l, err := newLeaves(t.Context(), cfg, blank(1), 16<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for n := range tcs.Slice[float64](l.data.Vals) {
		tcs.Slice[float64](l.data.Vals)[n] = 1 / float64(n+3)
	}
	if err := l.makeForms(cfg); err != nil {
		t.Fatal(err)
	}
	got, err := fastest(t.Context(), measured(), l)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(measured()) || !reflect.DeepEqual(got.Known(), got) {
		t.Errorf("got the forms %v", got)
	}
	for _, x := range measured() {
		if !slices.Contains(x.Forms, x.Default) {
			t.Errorf("%s: its default %d is none of its forms", x.Name, x.Default)
		}
		args := l.formed.data[x.Name]
		texts, results := map[string]bool{}, map[uint64]bool{}
		for _, form := range x.Forms {
			u, leaf, err := l.formed.leaf(x.Name, form)
			if err != nil {
				t.Fatal(err)
			}
			text := *u.Func
			text.Name = "f"
			texts[c.File(&text)] = true
			if s, err := l.timeForm(leaf, u, l.formCase(x.Name), args); err != nil || !(s > 0) {
				t.Fatalf("got %v seconds, %v", s, err)
			}
			leaf.Close()
			sum := 0.0
			for n, v := range tcs.Slice[float64](args[0].Vals) {
				sum += v * float64(n%1000)
			}
			results[math.Float64bits(sum)] = sum > 0
		}
		if len(texts) != len(x.Forms) {
			t.Errorf("%s: %d forms have %d texts", x.Name, len(x.Forms), len(texts))
		}
		if len(results) != 1 || slices.Contains(slices.Collect(maps.Values(results)), false) {
			t.Errorf("%s: %d forms make the results %v", x.Name, len(x.Forms), results)
		}
	}
}
