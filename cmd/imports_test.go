// Package cmd_test checks rules for the repository: which packages may import which, and that the
// pages in docs agree with the code.
package cmd_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed maps every top-level folder to the top-level folders, or single packages, that its
// packages may import.
var allowed = map[string][]string{
	"cmd":     {"cmd", "spmd", "kernels", "codegen", "io"},
	"spmd":    {"spmd", "kernels", "codegen", "io"},
	"kernels": {"kernels", "codegen", "io"},
	"codegen": {"codegen", "io/tensor"},
	"io":      {"io"},
	"scripts": {"scripts", "spmd", "kernels", "codegen", "io"},
	"slurm":   {}, // a test of the sbatch scripts
}

// inner maps packages below all others to the packages of this module that they may import.
// They hold no files either: they may not import the packages of outside.
var inner = map[string][]string{
	"distaff/io/tensor": {},
	"distaff/io/tcs":    {"distaff/io/tensor"},
}

// outside lists packages for files and their contents.
var outside = []string{"os", "io", "hash/crc32", "github.com/klauspost/compress/zstd"}

// cgoFree lists the top-level folders whose packages may not use cgo.
var cgoFree = []string{"codegen", "io"}

// ranks lists the packages of spmd. Each may import only packages that come after it in the list.
var ranks = []string{
	"oracle", ".", "planview", "jobs", "program", "forecast", "output", "check", "stats",
	"launch", "tuned", "messages", "prepared", "input", "env", "build", "estimate", "load",
	"prepared/gathered", "exec",
	"assemble", "store",
	"reduce", "merge", "transfer", "plan", "plan/flow", "partition", "summary", "usercode",
	"fault", "comm/mpi/mpitest", "comm/commtest", "comm/mpi", "comm/local", "comm",
}

// rank returns the index of a package in ranks, or -1 if the list does not contain it.
func rank(path string) int {
	rest, ok := strings.CutPrefix(path+"/", "distaff/spmd/")
	if rest = strings.TrimSuffix(rest, "/"); ok && rest == "" {
		rest = "."
	}
	return slices.Index(ranks, rest)
}

type pkg struct {
	ImportPath                string
	Imports, Deps             []string
	TestImports, XTestImports []string
	CgoFiles                  []string
}

func room(path string) string {
	rest, ok := strings.CutPrefix(path, "distaff/")
	if !ok {
		return ""
	}
	r, _, _ := strings.Cut(rest, "/")
	return r
}

func TestImportGraph(t *testing.T) {
	list := packages(t)
	for _, p := range list {
		from := room(p.ImportPath)
		ok, known := allowed[from]
		if !known {
			t.Errorf("%s is in a folder that allowed does not list", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			to := room(imp)
			if to == "" {
				continue
			}
			if from == "spmd" && to == "spmd" && rank(imp) <= rank(p.ImportPath) {
				t.Errorf("%s imports %s, which does not come after it in the list ranks", p.ImportPath,
					imp)
			}
			if !contains(ok, to) && !contains(ok, strings.TrimPrefix(imp, "distaff/")) {
				t.Errorf("%s imports %s: %s may import only %s", p.ImportPath, imp, from,
					strings.Join(ok, ", "))
			}
		}
		if may, ok := inner[p.ImportPath]; ok {
			for _, imp := range p.Imports {
				if room(imp) != "" && !contains(may, imp) || contains(outside, imp) {
					t.Errorf("%s imports %s: it may import only %v of ours, and no files", p.ImportPath,
						imp, may)
				}
			}
		}
		if contains(cgoFree, from) && len(p.CgoFiles) > 0 {
			t.Errorf("%s uses cgo (%v): %s must not", p.ImportPath, p.CgoFiles, from)
		}
		if from == "codegen" {
			for _, imp := range p.Imports {
				if imp == "os" || imp == "os/exec" || imp == "net" || imp == "syscall" {
					t.Errorf("%s imports %s: the compiler touches no files and starts nothing", p.ImportPath, imp)
				}
			}
		}
	}
}

// packages returns the module's packages.
func packages(t *testing.T) (list []pkg) {
	t.Helper()
	out, err := exec.Command("go", "list",
		"-json=ImportPath,Imports,Deps,CgoFiles,TestImports,XTestImports", "distaff/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 5 {
		t.Fatalf("go list named %d packages, want the whole module", len(list))
	}
	return list
}

// TestVerified checks that every test package that may compile leaves imports verified, which has
// the C of each leaf verified. It also checks that only packages whose names end in "test" import
// package testing.
func TestVerified(t *testing.T) {
	const kernels, verified = "distaff/kernels", "distaff/kernels/verified"
	list := packages(t)
	needs := map[string]bool{kernels: true} // packages that import kernels at some depth
	for _, p := range list {
		if slices.Contains(p.Deps, kernels) {
			needs[p.ImportPath] = true
		}
	}
	for _, p := range list {
		if slices.Contains(p.Imports, "testing") && !strings.HasSuffix(p.ImportPath, "test") {
			t.Errorf("%s imports testing outside of its tests", p.ImportPath)
		}
		tests := slices.Concat(p.TestImports, p.XTestImports)
		may := len(tests) > 0 && needs[p.ImportPath] ||
			slices.ContainsFunc(tests, func(s string) bool { return needs[s] })
		if may && !slices.Contains(tests, verified) {
			t.Errorf("tests of %s may compile leaves, and do not import %s", p.ImportPath, verified)
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
