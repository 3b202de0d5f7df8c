package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"distaff/cmd/argv"
	"distaff/codegen/diag"
	"distaff/codegen/schedule"
	"distaff/io/pythontest"
)

// example is a command in a console block, with the output that the document shows.
type example struct {
	line    int
	command string
	want    []string
}

// examples returns the commands in the ```console blocks of a document. A line that begins with "$
// " is a command. The lines up to the next command are its standard output and standard error.
// "..." in a line matches any text, and a line that is only "..." matches any lines.
func examples(t *testing.T, path string) []example {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []example
	in := false
	for n, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```console"
		case in && strings.HasPrefix(line, "$ "):
			out = append(out, example{line: n + 1, command: line[2:]})
		case in && len(out) > 0:
			out[len(out)-1].want = append(out[len(out)-1].want, line)
		}
	}
	return out
}

// fileBlocks returns the code blocks of a document whose first line is a comment with the name of a
// file. The keys are the names.
func fileBlocks(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(?:go|c|python|dst)\n(?:// |# |/\\* "+
		")(\\S+)(?: \\*/)?\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// matches reports whether an output equals the expected lines, which may contain "...".
func matches(want []string, got string) bool {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for _, l := range want {
		if l == "..." {
			b.WriteString(`.*`)
			continue
		}
		parts := strings.Split(l, "...")
		for k, p := range parts {
			if k > 0 {
				b.WriteString(`[^\n]*`)
			}
			b.WriteString(regexp.QuoteMeta(p))
		}
		b.WriteString(`\n`)
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String()).MatchString(got)
}

var update = flag.Bool("update", false, "rewrite the outputs in docs/tutorial.md that have no ...")

// runExamples runs a document's commands in dir, one after another, and compares their output with
// the document. It first calls prepare, which returns why the command cannot be run here, or "". A
// command that cannot be run is a skipped test. With -update, runExamples writes the output of the
// commands into the document.
func runExamples(t *testing.T, path, dir string, env []string, prepare func(string) string) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	all := examples(t, path)
	if len(all) == 0 {
		t.Fatalf("%s has no commands", path)
	}
	var changed []example
	// Each command starts in the folder where the previous command ended.
	at := filepath.Join(t.TempDir(), "at")
	for _, e := range all {
		if why := prepare(e.command); why != "" {
			t.Run(fmt.Sprint("line ", e.line), func(t *testing.T) {
				t.Skipf("%s:%d is not run: %s", filepath.Base(path), e.line, why)
			})
			continue
		}
		cmd := exec.Command("bash", "-c", e.command+"\n"+`code=$?; pwd > "$AT"; exit $code`)
		cmd.Dir, cmd.Env = dir, append(env[:len(env):len(env)], "AT="+at)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if now, err := os.ReadFile(at); err == nil {
			dir = strings.TrimSpace(string(now))
		}
		if matches(e.want, out.String()) {
			continue
		}
		if *update && !strings.Contains(strings.Join(e.want, "\n"), "...") {
			changed = append(changed, example{e.line, out.String(), e.want})
		} else {
			t.Errorf("%s:%d: %s (%v)\ngot:\n%s\nwant:\n%s", path, e.line, e.command, err,
				out.String(), strings.Join(e.want, "\n"))
		}
	}
	if len(changed) > 0 {
		rewrite(t, path, changed)
	}
}

// rewrite replaces the output of the changed examples in the document by their actual output.
func rewrite(t *testing.T, path string, changed []example) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for _, e := range slices.Backward(changed) {
		var out []string
		if s := strings.TrimSuffix(e.command, "\n"); s != "" {
			out = strings.Split(s, "\n")
		}
		lines = slices.Replace(lines, e.line, e.line+len(e.want), out...)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
}

func cleanEnv(t *testing.T) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "DISTAFF_") && !strings.HasPrefix(v, "OMP_") {
			env = append(env, v)
		}
	}
	return append(env, "DISTAFF_CACHE="+filepath.Join(t.TempDir(), "cache"), "LC_ALL=C")
}

// TestReadme runs the README's first command unchanged, except that "go run ./cmd/distaff" runs
// this build. The last command must be "make test": .ci/run runs the README's commands as the
// tests.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(here, bytes.ReplaceAll(text, []byte("go run ./cmd/distaff"),
		[]byte("distaff")), 0o666); err != nil {
		t.Fatal(err)
	}
	if all := examples(t, here); len(all) < 2 || all[len(all)-1].command != "make test" {
		t.Errorf("README.md: the last command is not %q", "make test")
	}
	runExamples(t, here, root, cleanEnv(t), func(c string) string {
		if strings.HasPrefix(c, "make ") {
			return "it runs this test"
		}
		return ""
	})
}

// TestTutorial runs the commands of the tutorial in a folder that contains the files in testdata
// and the job files that the tutorial shows.
func TestTutorial(t *testing.T) {
	dir := t.TempDir()
	files, err := filepath.Glob("../../testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // a folder
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tutorial, err := filepath.Abs("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range fileBlocks(t, tutorial) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("# "+name+"\n"+text),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	// Without these two Open MPI's mpirun refuses to start as root.
	env := append(cleanEnv(t), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	runExamples(t, tutorial, dir, env, func(c string) string {
		if strings.HasPrefix(c, "mpirun ") {
			out, err := exec.Command("mpirun", "--version").Output()
			if err != nil {
				return err.Error() + " (scripts/install-mpi.sh installs it)"
			}
			if !strings.Contains(string(out), "Open MPI") {
				return "mpirun is not Open MPI's"
			}
		}
		return ""
	})
}

// TestNewcomersPages runs the commands of the pages for newcomers from other systems, in a copy of
// testdata.
func TestNewcomersPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/from-*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("got pages %v, error %v: want docs/from-*.md", pages, err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("../../testdata")); err != nil {
				t.Fatal(err)
			}
			runExamples(t, page, dir, cleanEnv(t), func(string) string { return "" })
		})
	}
}

// fetched writes a module proxy with only the modules that a build of this module and its tests
// needs. It returns environment variables for the go command, which select this proxy and a new
// module cache. Other modules in the machine's module cache are therefore not found.
func fetched(t *testing.T) []string {
	t.Helper()
	run := func(args ...string) []string {
		cmd := exec.Command("go", args...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go %v: %v", args, err)
		}
		return strings.Fields(string(out))
	}
	cache := filepath.Join(run("env", "GOMODCACHE")[0], "cache", "download")
	proxy := filepath.Join(t.TempDir(), "proxy")
	link := func(file string) {
		t.Helper()
		name, err := filepath.Rel(cache, file)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(proxy, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, to); err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	// The module graph needs the go.mod files of all modules.
	list := run("list", "-m", "-f", "{{.GoMod}}", "all")
	for _, mod := range list {
		if strings.HasPrefix(mod, cache) {
			link(mod)
		}
	}
	module := "{{with .Module}}{{if not .Main}}{{.GoMod}}{{end}}{{end}}"
	for _, mod := range run("list", "-deps", "-test", "-f", module, "distaff/...") {
		link(mod)
		link(strings.TrimSuffix(mod, ".mod") + ".zip")
	}
	// -modcacherw permits the removal of the cache.
	return []string{"GOFLAGS=-trimpath -modcacherw", "GOPROXY=file://" + proxy, "GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(),
		"GOWORK=off", "GOTOOLCHAIN=local"}
}

// TestPrograms builds and runs the programs in docs/programs.md. They may only use modules that
// Distaff itself needs. The C example is also compiled as C99 with warnings as errors, and runs
// under sanitizers.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the Go compiler")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs/programs.md")
	dir := t.TempDir()
	if err := os.Symlink(root, filepath.Join(dir, "distaff")); err != nil {
		t.Fatal(err)
	}
	files := fileBlocks(t, page)
	for _, name := range []string{"product/main.go", "multiply.c", "spmv.py", "times.py",
		"sparse/main.go"} {
		if _, ok := files[name]; !ok {
			t.Fatalf("%s has no %s", page, name)
		}
	}
	// With -trimpath, Go's cache keeps the compiled packages of Distaff for every folder.
	env := append(cleanEnv(t), fetched(t)...)
	python, noPython := pythontest.FindPython("import numpy, scipy.sparse")
	if noPython == nil {
		env = append(env, "PATH="+asPython3(t, python)+":"+os.Getenv("PATH"))
	}
	runExamples(t, page, dir, env, func(c string) string {
		// The page's commands create folders. A file is written when its folder exists.
		for name, text := range files {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(filepath.Dir(path)); err != nil {
				continue
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if strings.HasPrefix(c, "python3 ") && noPython != nil {
			return noPython.Error()
		}
		return ""
	})
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc in PATH")
	}
	for _, command := range []string{
		"gcc -std=c99 -pedantic -Wall -Wextra -Werror -c -o multiply.o multiply.c",
		"gcc -std=gnu99 -O3 -fopenmp -Wall -Wextra -Werror -c -o spmv.o spmv_c/spmv_c.c",
		"gcc -std=gnu99 -g -fopenmp -Wall -Wextra -Werror -fsanitize=address,undefined " +
			"-fno-sanitize-recover=all -o sanitized multiply.c spmv_c/spmv_c.c",
		"test \"$(./sanitized)\" = '102 30'",
	} {
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

// asPython3 returns a folder for PATH, whose command python3 runs the given Python interpreter.
func asPython3(t *testing.T, python string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", python)
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want string
		got  string
		ok   bool
	}{
		{"a\nb", "a\nb\n", true}, {"a", "b\n", false}, {"a...c", "abbc\n", true},
		{"a\n...\nd", "a\nb\nc\nd\n", true}, {"...", "", true}, {"a", "a\nb\n", false},
	} {
		if got := matches(strings.Split(c.want, "\n"), c.got); got != c.ok {
			t.Errorf("%q, %q: got %v", c.want, c.got, got)
		}
	}
}

// commandsText returns the section of the reference that is generated from the definitions of the
// commands: their usage, texts and flags. Examples of commands are in their help only.
func commandsText() string {
	var b strings.Builder
	shared := map[string]string{} // the first command that has a flag, by the flag's text
	for _, c := range visible() {
		fmt.Fprintf(&b, "### %s\n\n```text\n%s\n```\n\n", c.name, c.usage())
		long := strings.TrimSpace(c.long)
		if !strings.HasPrefix(long, c.name) {
			long = "`distaff " + c.name + "` " + strings.ToLower(long[:1]) + long[1:]
		}
		for _, part := range strings.Split(long, "\n\n") {
			if strings.HasPrefix(part, "  ") {
				part = "```text\n" + part + "\n```"
			}
			b.WriteString(part + "\n\n")
		}
		rows := ""
		var also []string // the flags that an earlier command has too; every command has talkFlags
		ofRun := 0        // how many of these flags the command run has
		for _, f := range c.flags {
			head, usage := argv.Describe(f)
			row := fmt.Sprintf("| `%s` | %s |\n", strings.ReplaceAll(head, "|", "\\|"),
				strings.ReplaceAll(usage, "|", "\\|"))
			if first, ok := shared[row]; ok {
				if first == "run" {
					ofRun++
				}
				if name := f.Names()[len(f.Names())-1]; name != "verbose" && name != "quiet" {
					also = append(also, "`--"+name+"`")
				}
				continue
			}
			shared[row] = c.name
			rows += row
		}
		if rows != "" {
			b.WriteString("| flag | |\n| --- | --- |\n" + rows + "\n")
		}
		if ofRun == len(visible()[0].flags) {
			fmt.Fprintf(&b, "`distaff %s` also accepts all flags of `distaff run`.\n\n", c.name)
		} else if len(also) > 0 {
			fmt.Fprintf(&b, "`distaff %s` also accepts these flags of other commands: %s.\n\n", c.name,
				strings.Join(also, ", "))
		}
	}
	return b.String()
}

// environmentText returns the table of the reference that is generated from environment.
func environmentText() string {
	var b strings.Builder
	b.WriteString("| variable | meaning |\n| --- | --- |\n")
	for _, e := range environment {
		fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(e[0], ", ", "`, `"), e[1])
	}
	return b.String()
}

const referencePage = "../../docs/reference.md"

// TestReference checks that the reference has the commands and the variables of the environment
// as they are defined. With -update it writes them into the page.
func TestReference(t *testing.T) {
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, part := range []struct{ begin, end, want string }{
		{"<!-- environment -->\n", "<!-- end of environment -->\n", environmentText()},
		{"<!-- commands -->\n", "<!-- end -->\n", commandsText()},
	} {
		before, rest, ok := strings.Cut(page, part.begin)
		got, after, ok2 := strings.Cut(rest, part.end)
		if !ok || !ok2 {
			t.Fatalf("%s lacks %q or %q", referencePage, part.begin, part.end)
		}
		if got != part.want && !*update {
			t.Fatalf("%s: what follows %q differs from its definition: go test ./cmd/distaff -run "+
				"Reference -update", referencePage, part.begin)
		}
		page = before + part.begin + part.want + part.end + after
	}
	if page == string(text) {
		return
	}
	if err := os.WriteFile(referencePage, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestReferenceComplete checks that the reference names every command, topic, flag, scheduling
// command and exit code, and every variable DISTAFF_... in the source of the program.
func TestReferenceComplete(t *testing.T) {
	text, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // each text that the page must have, with its source
	for _, c := range commands() {
		want["distaff "+c.name] = "the commands"
		for _, f := range c.flags {
			want["--"+f.Names()[len(f.Names())-1]] = "the flags of " + c.name
		}
	}
	for _, c := range topics() {
		want["`"+c.name+"`"] = "the topics of help"
	}
	_, section, _ := strings.Cut(string(text), "\n## Schedules\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var quoted []string // the words in backticks
	for k, part := range strings.Split(section, "`") {
		if k%2 == 1 {
			quoted = append(quoted, strings.Fields(part)...)
		}
	}
	for _, s := range schedule.Names() {
		if !slices.Contains(quoted, s) {
			t.Errorf("%s lacks `%s`, of the scheduling commands", referencePage, s)
		}
	}
	for n := range diag.ExitMemory + 1 {
		want[fmt.Sprintf("\n| %d |", n)] = "the exit codes"
	}
	own := regexp.MustCompile(`"(DISTAFF_[A-Z_]+)"`)
	internal := map[string]bool{ // the program sets these for its own child processes
		"DISTAFF_COMPILE_SERVER": true, "DISTAFF_MPI_PROBE": true,
		"DISTAFF_DATA": true, // only benchmarks and tests read it
	}
	for _, root := range []string{".", "../front", "../conv", "../../codegen", "../../io",
		"../../kernels", "../../spmd"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
				strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range own.FindAllStringSubmatch(string(b), -1) {
				if !internal[m[1]] {
					want[m[1]] = path
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(want) < 80 {
		t.Errorf("got %d names, want 80 at least: %v", len(want), want)
	}
	for w, from := range want {
		whole := regexp.MustCompile(`[^-\w]` + regexp.QuoteMeta(w) + `[^-\w]`)
		if !whole.Match(text) {
			t.Errorf("%s lacks %q, of %s", referencePage, w, from)
		}
	}
}

// TestNetworksPage runs the commands in docs/networks.md. With -update it writes their output into
// the page.
func TestNetworksPage(t *testing.T) {
	page, err := filepath.Abs("../../docs/networks.md")
	if err != nil {
		t.Fatal(err)
	}
	runExamples(t, page, t.TempDir(), cleanEnv(t), func(string) string { return "" })
}
