package kernels

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"distaff/kernels/cc"
)

func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	f := Doctor(context.Background(), cc.Config{Cache: filepath.Join(dir, "cache")})
	if !errors.Is(f.CompilerErr, cc.ErrNoCompiler) || f.OpenMPErr == nil ||
		(f.BLAS == "") != (f.BLASErr != nil) || f.Threads < 1 {
		t.Errorf("without a compiler: %+v", f)
	}
	broken := filepath.Join(dir, "broken")
	script := "#!/bin/sh\ncase \"$*\" in *--version*) echo broken 1.0;; *) exit 1;; esac\n"
	if err := os.WriteFile(broken, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	f = Doctor(context.Background(), cc.Config{Compiler: broken, Path: os.Getenv("PATH")})
	if f.Version == "" || f.CompilerErr == nil || f.OpenMPErr == nil {
		t.Errorf("with a compiler that only tells its version: %+v", f)
	}
	f = Doctor(context.Background(), cc.Config{Path: os.Getenv("PATH")})
	if f.CacheErr == nil || !strings.Contains(f.CacheErr.Error(), "DISTAFF_CACHE") {
		t.Errorf("without a cache: %v", f.CacheErr)
	}
	if f.CompilerErr != nil {
		t.Skip(f.CompilerErr)
	}
	if f.Version == "" || !filepath.IsAbs(f.Compiler) {
		t.Errorf("compiler %q, version %q", f.Compiler, f.Version)
	}
	if (f.OpenMPErr == nil) != (f.OpenMPThreads == 2) {
		t.Errorf("OpenMP: %d threads, %v", f.OpenMPThreads, f.OpenMPErr)
	}
}
