package cc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"distaff/codegen/diag"
)

// Compiler is a C compiler found on this machine.
type Compiler struct {
	// absolute path to start; links are not resolved, because names like "gcc" select behaviour
	Path    string
	Args    []string // arguments that belong to the command itself, as in "ccache gcc"
	Real    string   // Path with links resolved
	Size    int64    // of Real
	ModTime int64    // of Real, in nanoseconds since 1970
}

// ErrNoCompiler reports that no C compiler was found. It ends a run with code 1.
var ErrNoCompiler error = noCompiler{}

type noCompiler struct{}

func (noCompiler) Error() string {
	return "no C compiler: gcc, cc and clang are not on PATH; either install one, or name one " +
		"with DISTAFF_CC, or fill the cache (DISTAFF_CACHE) with `distaff compile --cache` on " +
		"a machine that has one"
}

func (noCompiler) ExitCode() int { return 1 }

// FindError reports that a compiler that the user named cannot be used. It ends a run with code 1.
type FindError struct {
	Given  string // as the user wrote it
	Reason string
}

func (e *FindError) Error() string {
	return diag.Sprintf("DISTAFF_CC=%s: %s", e.Given, e.Reason)
}

func (e *FindError) ExitCode() int { return 1 }

// Find finds the C compiler without starting a process. command is DISTAFF_CC: a path or a name on
// PATH, followed by arguments. If command is "", Find searches PATH for cc, gcc and clang. It
// prefers a GNU compiler, because that comes with its OpenMP library.
func Find(command, path string) (*Compiler, error) {
	if command != "" {
		return findNamed(command, path)
	}
	var first *Compiler
	for _, name := range []string{"cc", "gcc", "clang"} {
		file, err := lookPath(name, path)
		if err != nil {
			continue
		}
		c, err := identify(file, nil)
		if err != nil {
			continue
		}
		if strings.Contains(filepath.Base(c.Real), "gcc") {
			return c, nil
		}
		if first == nil {
			first = c
		}
	}
	if first == nil {
		return nil, ErrNoCompiler
	}
	return first, nil
}

func findNamed(command, path string) (*Compiler, error) {
	// A path with spaces is a file before it is a command with arguments.
	if file, err := lookPath(command, path); err == nil {
		return identify(file, nil)
	}
	words, err := splitFlags(command)
	if err != nil {
		return nil, &FindError{command, err.Error()}
	}
	if len(words) == 0 {
		return nil, &FindError{command, "got an empty name, want a compiler"}
	}
	file, err := lookPath(words[0], path)
	if err != nil {
		return nil, &FindError{command, err.Error()}
	}
	c, err := identify(file, words[1:])
	if err != nil {
		return nil, &FindError{command, err.Error()}
	}
	return c, nil
}

// lookPath is like exec.LookPath over an explicit PATH, and returns an absolute path. It skips
// relative folders on PATH, because their contents depend on the current folder.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		abs, err := filepath.Abs(name)
		if err != nil {
			return "", err
		}
		return abs, executable(abs)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if executable(file) == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s is not on PATH", name)
}

func executable(file string) error {
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s does not exist", file)
	case err != nil:
		return err
	case st.IsDir():
		return fmt.Errorf("%s is a folder", file)
	case st.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable", file)
	}
	return nil
}

func identify(file string, args []string) (*Compiler, error) {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	return &Compiler{Path: file, Args: args, Real: real, Size: st.Size(),
		ModTime: st.ModTime().UnixNano()}, nil
}

// splitFlags splits a string like DISTAFF_CFLAGS into arguments at white space. Single and double
// quotes group as in a shell. Outside of single quotes, a backslash makes the next character an
// ordinary one. Nothing else of a shell is supported.
func splitFlags(s string) ([]string, error) {
	var out []string
	var word strings.Builder
	in, quote := false, rune(0)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		case quote == 0 && (r == '\'' || r == '"'):
			quote, in = r, true
		case r == quote: // r is not 0, because arguments and the environment cannot contain NUL
			quote = 0
		case r == '\\' && quote != '\'':
			if i+1 == len(runes) {
				return nil, fmt.Errorf("%q ends with a backslash, want a character after it", s)
			}
			i++
			word.WriteRune(runes[i])
			in = true
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has a %c that is not closed, want a second one", s, quote)
	}
	if in {
		out = append(out, word.String())
	}
	return out, nil
}
