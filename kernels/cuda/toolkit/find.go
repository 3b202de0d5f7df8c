// Package toolkit finds the libraries of NVIDIA's CUDA toolkit that are opened at run time: the
// compiler of kernels, cuBLAS and cuSPARSE.
package toolkit

import (
	"os"
	"path/filepath"
)

// Candidates returns the paths to try for a library. names are the library's file names, latest
// version first. If the environment variable is set, it names the file or its folder, and nothing
// else is tried. Otherwise the paths are:
//   - bare names, which the loader looks up (with LD_LIBRARY_PATH);
//   - the toolkit's folder (CUDA_HOME, CUDA_PATH or /usr/local/cuda);
//   - the folders where scripts/install-nvrtc.sh installs libraries.
//
// Paths in folders are listed only if the file exists.
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

// folders returns folders that may contain CUDA's libraries although the dynamic loader does not
// search them. env returns the value of an environment variable.
func folders(env func(string) string) []string {
	var list []string
	for _, root := range []string{env("CUDA_HOME"), env("CUDA_PATH"), "/usr/local/cuda"} {
		if root != "" {
			list = append(list, filepath.Join(root, "lib64"),
				filepath.Join(root, "targets/x86_64-linux/lib"),
				filepath.Join(root, "targets/sbsa-linux/lib"))
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

// inFolder returns the paths of the libraries in a folder, in the order of names (latest version
// first).
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
