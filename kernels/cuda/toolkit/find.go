// Package toolkit finds the libraries of NVIDIA's CUDA toolkit, which are opened at run time: the
// compiler of kernels, cuBLAS and cuSPARSE.
package toolkit

import (
	"os"
	"path/filepath"
)

// Candidates are the paths to try for a library that has these names, the latest version's first.
// The environment's variable names the file or its folder, and nothing else is tried then; else it
// is what the loader finds (by LD_LIBRARY_PATH, say), or lies in the toolkit's folder (of
// CUDA_HOME, or /usr/local/cuda), or where scripts/install-nvrtc.sh puts libraries. Those with a
// folder are there; a bare name is for the loader.
func Candidates(env func(string) string, variable string, names []string) []string {
	if given := env(variable); given != "" {
		if in := inFolder(given, names); len(in) > 0 {
			return in
		}
		return []string{given}
	}
	list := append([]string{}, names...)
	for _, dir := range folders(env) {
		list = append(list, inFolder(dir, names)...)
	}
	return list
}

// folders are where libraries may lie without the loader knowing it.
func folders(env func(string) string) []string {
	var list []string
	for _, root := range []string{env("CUDA_HOME"), env("CUDA_PATH"), "/usr/local/cuda"} {
		if root != "" {
			list = append(list, filepath.Join(root, "lib64"),
				filepath.Join(root, "targets/x86_64-linux/lib"), filepath.Join(root, "targets/sbsa-linux/lib"))
		}
	}
	cache := env("XDG_CACHE_HOME")
	if cache == "" && env("HOME") != "" {
		cache = filepath.Join(env("HOME"), ".cache")
	}
	if cache != "" {
		list = append(list, filepath.Join(cache, "distaff/nvrtc"))
	}
	return append(list, "/usr/local/lib/distaff/nvrtc")
}

// inFolder are the libraries in a folder, the latest version first.
func inFolder(dir string, names []string) []string {
	var list []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			list = append(list, path)
		}
	}
	return list
}
