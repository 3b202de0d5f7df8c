package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rankPrefix matches the prefix of a line that a certain rank prints.
var rankPrefix = regexp.MustCompile(`(?m)^(distaff: )?\[\d+\]`)

// TestOneRankNamesNone checks that the messages of a job of one rank have no rank's prefix, however
// the job was started, and that the messages of several ranks have it.
func TestOneRankNamesNone(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", t.TempDir())
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, bad := file("good.tns", "1 1 2\n2 3 4\n"), file("bad.tns", "1 1 2\n2 x 4\n")
	cut := file("cut.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1\n")
	zero := file("zero.tns", "1 0\n2 1\n")
	never := file("never.dst",
		"tensor x(3): d from dense\ns = x(i)\nrepeat 2 until s < 0 or fail {\n  s = x(i)\n}\n")
	if err := os.WriteFile(filepath.Join(dir, "bad.tcs"), []byte("\x89TCS\r\n\x1a\n"),
		0o666); err != nil {
		t.Fatal(err)
	}
	product := []string{"run", "y(i) = A(i,j)*x(j)", "-g=x:dense:int", "-d=A:3,3", "-f=A:ds"}
	with := func(more ...string) []string { return append(slices.Clone(product), more...) }
	for _, c := range []struct {
		name string
		code int
		args []string
		env  string
	}{
		{"notes", 0, with("-i=A:"+good, "-v", "--progress=always", "--check"), ""},
		{"a malformed line", 3, with("-i=A:" + bad), ""},
		{"a short file", 3, with("-i=A:" + cut), ""},
		{"a corrupt file", 3, with("-i=A:" + filepath.Join(dir, "bad.tcs")), ""},
		{"no file", 1, with("-i=A:" + filepath.Join(dir, "none.tns")), ""},
		{"no folder", 1, with("-i=A:"+good, "-o=y:"+filepath.Join(dir, "none", "y.tns")), ""},
		{"no memory", 5, with("-i=A:"+good, "--memory-limit=100"), ""},
		{"no compiler", 1, with("-i=A:"+good, "--threads=1", "--cpu=x86-64-v3"),
			"DISTAFF_CC=/bin/false"},
		{"division by zero", 3, []string{"run", "y(i) = z(i)/w(i)", "-i=w:" + zero, "-i=z:" + zero,
			"-t=w:int64", "-t=z:int64", "-f=w:s", "-f=z:s"}, ""},
		{"a size that clashes", 2, with("-i=A:"+good, "-d=j:4"), ""},
		{"a schedule", 2, with("-i=A:"+good, "-s=unroll(q,4)"), ""},
		{"a job file that fails", 4, []string{"run", never}, ""},
		{"splits", 0, with("-i=A:"+good, "--split=j:3", "-v"), ""},
		{"an error of a split", 3, with("-i=A:"+bad, "--split=j:3"), ""},
	} {
		for _, how := range [][2]string{{"alone", ""}, {"--ranks=1", ""},
			{"mpirun of Open MPI",
				"OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0"},
			{"mpiexec of MPICH", "PMI_SIZE=1 PMI_RANK=0"}} {
			t.Run(c.name+"/"+how[0], func(t *testing.T) {
				for _, e := range strings.Fields(c.env + " " + how[1]) {
					name, value, _ := strings.Cut(e, "=")
					t.Setenv(name, value)
				}
				args := c.args
				if strings.HasPrefix(how[0], "--") {
					args = append(slices.Clone(args), how[0])
				}
				code, out, words := inProcess(args...)
				if code != c.code {
					t.Errorf("%q ends with code %d, want %d\n%s", args, code, c.code, words)
				}
				if at := rankPrefix.FindString(out + words); at != "" {
					t.Errorf("%q says %q:\n%s", args, at, out+words)
				}
			})
		}
	}
	if _, _, words := inProcess(with("-i=A:"+bad, "--ranks=2")...); !rankPrefix.MatchString(words) {
		t.Errorf("two ranks say %q, without a rank", words)
	}
}
