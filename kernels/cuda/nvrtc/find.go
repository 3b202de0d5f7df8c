package nvrtc

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"distaff/kernels/cuda/toolkit"
)

// names are the library's, the latest version first: the name with no version is that of
// a development kit's link.
var names = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}

// NotFoundError says that there is no library to open, and where it was looked for.
type NotFoundError struct{ Tried []string }

func (e *NotFoundError) Error() string {
	return "no NVRTC, the library that compiles CUDA kernels (libnvrtc.so.12): name it with DISTAFF_NVRTC, or install it with " +
		"scripts/install-nvrtc.sh; tried " + strings.Join(e.Tried, "; ")
}

// ExitCode is that of a machine that lacks something.
func (e *NotFoundError) ExitCode() int { return 1 }

var once = sync.OnceValues(open)

// Open finds and opens libnvrtc, once in a process. The environment's DISTAFF_NVRTC names the file
// or its folder, and nothing else is tried then; else it is what the loader finds (by
// LD_LIBRARY_PATH, say), or lies in the CUDA toolkit's folder (of CUDA_HOME, or /usr/local/cuda),
// or where scripts/install-nvrtc.sh puts it. The error is a *NotFoundError.
func Open() (*Compiler, error) { return once() }

func open() (*Compiler, error) {
	return find(os.Getenv)
}

// find opens the first library that can be.
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

// candidates are the paths to try.
func candidates(env func(string) string) []string {
	return toolkit.Candidates(env, "DISTAFF_NVRTC", names)
}
