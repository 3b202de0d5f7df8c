package cuda_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"distaff/kernels/cuda/nvrtc"
)

// architectures lists the GPU architectures that tests compile kernels for.
var architectures = []string{"80", "90"}

// compileCUDA compiles a file of kernels for all architectures, with NVRTC, or with Clang to PTX if
// there is no NVRTC. Warnings are errors. If there is neither compiler, the test is skipped.
func compileCUDA(t *testing.T, what, text string) {
	t.Helper()
	c, err := nvrtc.Open()
	if err != nil {
		compileClang(t, what, text, err)
		return
	}
	for _, arch := range architectures {
		_, log, err := c.Compile(text, "sm_"+arch)
		if err != nil || log != "" {
			t.Errorf("%s: NVRTC for sm_%s: %v\n%s\n%s", what, arch, err, log, numbered(text))
		}
	}
}

// compileClang compiles with Clang. testdata/clang.h declares CUDA's built-in functions before the
// text.
func compileClang(t *testing.T, what, text string, noNVRTC error) {
	t.Helper()
	clang := ""
	for _, name := range []string{os.Getenv("DISTAFF_CLANG"), "clang++-19", "clang++-16", "clang++"} {
		if path, err := exec.LookPath(name); err == nil {
			clang = path
			break
		}
	}
	if clang == "" {
		t.Skipf("no clang++ either: %v", noNVRTC)
	}
	source := filepath.Join(t.TempDir(), "kernels.cu")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range architectures {
		cmd := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_"+arch,
			"-Xclang", "-target-feature", "-Xclang", "+ptx78",
			"-nocudainc", "-nocudalib", "-Wall", "-Wno-unused-function", "-Wno-pass-failed", "-Werror",
			"-include", "testdata/clang.h", "-O3", "-S", "-o", os.DevNull, source)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %s for sm_%s: %v\n%s\n%s", what, clang, arch, err, out, numbered(text))
		}
	}
}
