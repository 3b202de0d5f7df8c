package nvrtc

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"distaff/kernels/cuda/toolkit"
)

// names are the file names of the library, latest version first. The name without a version is the
// link in a development kit.
var names = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}

// NotFoundError reports that the NVRTC library could not be opened. Tried lists the paths that were
// tried, with the error of each.
type NotFoundError struct{ Tried []string }

func (e *NotFoundError) Error() string {
	return "no NVRTC, the library that compiles CUDA kernels (libnvrtc.so.12); either name it " +
		"with DISTAFF_NVRTC or install it with scripts/install-nvrtc.sh; tried " +
		strings.Join(e.Tried, "; ")
}

// ExitCode returns 1, the code for a machine that lacks something.
func (e *NotFoundError) ExitCode() int { return 1 }

var once = sync.OnceValues(open)

// Open finds and opens libnvrtc, once per process. If DISTAFF_NVRTC is set, it names the file or
// its folder, and nothing else is tried. Otherwise Open tries the loader (with LD_LIBRARY_PATH),
// the folder of the CUDA toolkit (CUDA_HOME, CUDA_PATH or /usr/local/cuda), and the folders where
// scripts/install-nvrtc.sh installs it. The error is a *NotFoundError.
func Open() (*Compiler, error) { return once() }

func open() (*Compiler, error) {
	return find(os.Getenv)
}

// find tries the candidate paths of NVRTC in order and opens the first library that can be opened.
// env returns the value of an environment variable.
func find(env func(string) string) (*Compiler, error) {
	var tried []string
	for _, path := range candidates(env) {
		c, err := openPath(path)
		if err == nil {
			return c, nil
		}
		tried = append(tried, fmt.Sprintf("%s (%v)", path, err))
	}
	return nil, &NotFoundError{tried}
}

// candidates returns the paths to try.
func candidates(env func(string) string) []string {
	return toolkit.Candidates(env, "DISTAFF_NVRTC", names)
}
