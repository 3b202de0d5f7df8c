package nvrtc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compiler opens the library, or skips the test and says why.
func compiler(t *testing.T) *Compiler {
	t.Helper()
	c, err := Open()
	if err != nil {
		t.Skip(err)
	}
	return c
}

const twice = `extern "C" __global__ void twice(double *x, long long n) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= 2;
}
`

func TestCompile(t *testing.T) {
	c := compiler(t)
	major, minor := c.Version()
	t.Logf("NVRTC %d.%d at %s", major, minor, c.Path())
	if major < 11 {
		t.Errorf("got version %d.%d, want at least 11", major, minor)
	}
	ptx, log, err := c.Compile(twice, "compute_80")
	if err != nil || log != "" {
		t.Fatalf("got %v and a log %q", err, log)
	}
	if !bytes.Contains(ptx, []byte(".target sm_80")) ||
		!bytes.Contains(ptx, []byte(".entry twice")) || ptx[len(ptx)-1] != 0 {
		t.Errorf("got %q, want PTX for sm_80 with an entry twice and a zero byte at its end", ptx)
	}
	cubin, _, err := c.Compile(twice, "sm_90", "--std=c++14")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(cubin, []byte("\x7fELF")) {
		t.Errorf("got %q..., want a cubin, which is an ELF file", cubin[:4])
	}
	if a := c.Architectures(); !slices.Contains(a, 80) || !slices.Contains(a, 90) ||
		!slices.IsSorted(a) {
		t.Errorf("got architectures %v, want 80 and 90 among them, ascending", a)
	}
}

func TestErrors(t *testing.T) {
	c := compiler(t)
	for _, x := range []struct{ name, source, arch, want string }{
		{"a mistake", "__global__ void f() { undeclared = 1; }", "sm_80",
			`identifier "undeclared" is undefined`},
		{"an architecture that is none", twice, "sm_1", "gpu-architecture"},
		{"no architecture", twice, "80", "want an architecture, as in sm_90 or compute_90"},
	} {
		image, _, err := c.Compile(x.source, x.arch)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), x.want) || image != nil {
			t.Errorf("%s: got an image of %d bytes and %v, want an *Error with %q", x.name,
				len(image), err, x.want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "libnvrtc.so.12")
	if err := os.WriteFile(text, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{dir, text, filepath.Join(dir, "nothing.so")} {
		_, err := find(func(name string) string {
			return map[string]string{
				"DISTAFF_NVRTC": given}[name]
		})
		var e *NotFoundError
		if !errors.As(err, &e) || len(e.Tried) != 1 || !strings.Contains(e.Tried[0], given) {
			t.Errorf("DISTAFF_NVRTC=%s: got %v, want a *NotFoundError about it alone", given, err)
		}
	}
	got := candidates(func(name string) string {
		return map[string]string{"CUDA_HOME": dir,
			"HOME": "/none"}[name]
	})
	if !slices.Contains(got, "libnvrtc.so.12") {
		t.Errorf("got %v, want the loader asked for libnvrtc.so.12", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "distaff/nvrtc"), 0o700); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "distaff/nvrtc/libnvrtc.so.13")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got = candidates(func(name string) string {
		return map[string]string{
			"XDG_CACHE_HOME": dir}[name]
	})
	if !slices.Contains(got, own) {
		t.Errorf("got %v, want %s, where the script installs it", got, own)
	}
}

// crashing is a stand-in for NVRTC that has an internal error unless it gets the option LESS.
const crashing = `#include <string.h>
static int code;
const char *nvrtcGetErrorString(int rc) { return rc == 11 ? "NVRTC_ERROR_INTERNAL_ERROR" : "NVRTC_ERROR_COMPILATION"; }
int nvrtcVersion(int *a, int *b) { return *a = 12, *b = 4, 0; }
int nvrtcCreateProgram(void **p, const char *s, const char *n, int k, void *h, void *i) { return *p = &code, 0; }
int nvrtcCompileProgram(void *p, int n, const char **o) {
    for (int k = 0; k < n; k++)
        if (!strcmp(o[k], LESS))
            return 0;
    return FAILS;
}
int nvrtcDestroyProgram(void **p) { return 0; }
int nvrtcGetProgramLogSize(void *p, size_t *n) { return *n = 5, 0; }
int nvrtcGetProgramLog(void *p, char *s) { return strcpy(s, "said"), 0; }
int nvrtcGetPTXSize(void *p, size_t *n) { return *n = 4, 0; }
int nvrtcGetPTX(void *p, char *s) { return strcpy(s, "ptx"), 0; }
int nvrtcGetCUBINSize(void *p, size_t *n) { return *n = 4, 0; }
int nvrtcGetCUBIN(void *p, char *s) { return strcpy(s, "bin"), 0; }
`

// TestInternalError checks that a file is compiled with less optimization after an internal error.
func TestInternalError(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc, which compiles the stand-in for NVRTC")
	}
	for n, x := range []struct {
		fails, less string
		log, err    string
	}{
		{"11", lessOptimized, "NVRTC_ERROR_INTERNAL_ERROR at full optimization: compiled with " +
			lessOptimized + "\nsaid", ""},
		{"11", "never", "said", "NVRTC cannot compile for sm_80: NVRTC_ERROR_INTERNAL_ERROR\nsaid"},
		{"6", lessOptimized, "said",
			"NVRTC cannot compile for sm_80: NVRTC_ERROR_COMPILATION\nsaid"},
		{"0", lessOptimized, "said", ""},
	} {
		lib := filepath.Join(t.TempDir(), fmt.Sprintf("libnvrtc%d.so", n))
		cmd := exec.Command(gcc, "-shared", "-fPIC", "-DFAILS="+x.fails, `-DLESS="`+x.less+`"`,
			"-o", lib, "-x", "c", "-")
		cmd.Stdin = strings.NewReader(crashing)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		c, err := openPath(lib)
		if err != nil {
			t.Fatal(err)
		}
		image, log, err := c.Compile("kernels", "sm_80")
		if log != x.log || fmt.Sprint(err) != cmp.Or(x.err, "<nil>") ||
			err == nil && string(image) != "bin\x00" {
			t.Errorf("%+v: got %q, log %q, %v", x, image, log, err)
		}
	}
	// The option is one that NVRTC knows.
	if image, _, err := compiler(t).Compile(twice, "sm_90", lessOptimized); err != nil ||
		!bytes.HasPrefix(image, []byte("\x7fELF")) {
		t.Errorf("got %v", err)
	}
}
