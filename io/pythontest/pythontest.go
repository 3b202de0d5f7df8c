// Package pythontest finds a Python for tests. PATH's python3 may lack modules that the system's
// Python has: scripts/install-python.sh installs them for the latter.
package pythontest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// FindPython returns the path of the first Python that runs the statements in imports without an
// error. It tries $PYTHON if that is set, and otherwise PATH's python3 and then /usr/bin/python3.
// The error has the last line that each Python printed.
func FindPython(imports string) (string, error) {
	tried := []string{"python3", "/usr/bin/python3"}
	if p := os.Getenv("PYTHON"); p != "" {
		tried = []string{p}
	}
	return look(tried, imports)
}

func look(tried []string, imports string) (string, error) {
	var failed []string
	for _, name := range tried {
		path, err := exec.LookPath(name)
		if err != nil {
			failed = append(failed, "no "+name)
			continue
		}
		out, err := exec.Command(path, "-c", imports).CombinedOutput()
		if err == nil {
			return path, nil
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		failed = append(failed, fmt.Sprintf("%s: %v: %s", path, err, lines[len(lines)-1]))
	}
	return "", errors.New(strings.Join(slices.Compact(failed), "; "))
}

// Find returns the path that FindPython finds, and skips the test if there is none.
func Find(t testing.TB, imports string) string {
	t.Helper()
	path, err := FindPython(imports)
	if err != nil {
		t.Skipf("no Python for %q: %v", imports, err)
	}
	return path
}
