package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// evil is a text that must not reach a terminal. It contains escape sequences that begin with one
// byte and with two, a line end after which the text looks like a message of distaff, and a
// character that reverses the direction of writing.
const evil = "\x1b[31m\u009b1m\a\r\nFORGED\u202e\x7f"

// drives returns the first part of a command's messages that would control a terminal, or "". If
// lines is true, the messages may contain line ends.
func drives(words string, lines bool) string {
	if !utf8.ValidString(words) {
		return "bytes that are no UTF-8"
	}
	for _, r := range words {
		if r != '\n' && r != '\t' && !strconv.IsPrint(r) {
			return strconv.QuoteRune(r)
		}
	}
	if !lines {
		for _, l := range strings.Split(words, "\n") {
			if strings.HasPrefix(l, "FORGED") {
				return "a line that is not ours"
			}
		}
	}
	return ""
}

// base returns a valid command line for each command. The test adds arguments to these lines.
func base(dir string) map[string][]string {
	in := filepath.Join(dir, "a.tns")
	run := []string{"y(i) = A(i,j) * x(j)", "-i=A:" + in, "-g=x:dense", "-d=A:3,3"}
	return map[string][]string{
		"run":     run,
		"compile": append(slices.Clone(run), "--emit=cin"),
		"plan":    append(slices.Clone(run), "--ranks=2"),
		"convert": {in, filepath.Join(dir, "out.tns")},
		"info":    {in},
		"show":    {in},
		"diff":    {in, in},
		"spy":     {in},
		"doctor":  {}, "cache": {"path"}, "completion": {"bash"}, "version": {}, "man": {},
		"wrappers": {},
	}
}

// TestTerminal checks that foreign text never controls the terminal. The text comes from every flag
// of every command, every argument, every environment variable, every kind of file, and the
// compiler.
func TestTerminal(t *testing.T) {
	t.Setenv("DISTAFF_CACHE", filepath.Join(t.TempDir(), "cache"))
	t.Setenv("DISTAFF_CFLAGS", "-O0")
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("a.tns", []byte("1 1 2\n3 2 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	sources := 0
	try := func(t *testing.T, name string, lines bool, args ...string) {
		t.Helper()
		sources++
		code, out, words := inProcess(args...)
		for what, text := range map[string]string{"stdout": out, "stderr": words} {
			if bad := drives(text, lines); bad != "" {
				t.Errorf("%s: %s gets %s (code %d): %q", name, what, bad, code, text)
			}
			for _, l := range strings.Split(text, "\n") {
				if what == "stderr" && !lines && utf8.RuneCountInString(l) > 1100 {
					t.Errorf("%s: a line of %d characters: %.300s", name, utf8.RuneCountInString(l),
						l)
				}
			}
		}
	}
	for _, c := range commands() {
		args := append([]string{c.name}, base(dir)[c.name]...)
		for _, f := range c.flags {
			name := f.Names()[0]
			for _, v := range []string{evil, "A:" + evil, evil + ":1", "@" + evil,
				strings.Repeat("x", 100000)} {
				_, isBool := f.(*cli.BoolFlag)
				if strings.ContainsRune(v, '@') && name != "s" || !isBool && name == "out" &&
					c.name == "compile" && len(v) < 1000 {
					continue // would write a file of that name
				}
				try(t, c.name+" --"+name, false, append(slices.Clone(args), "--"+name+"="+v)...)
			}
		}
		try(t, c.name+" with an unknown flag", false, append(slices.Clone(args), "--"+evil+"=1")...)
		for k := 1; k < len(args); k++ {
			if strings.HasPrefix(args[k], "-") {
				continue
			}
			for _, v := range []string{evil, "a" + evil + ".tns", evil + ".tcs", evil + ".dst",
				"y(i) = " + evil, "y(i) = A(i) ++ " + strings.Repeat("b*", 50000)} {
				changed := slices.Clone(args)
				changed[k] = v
				if c.name == "convert" && k == 2 {
					changed[k] = "nowhere/" + v
				}
				try(t, c.name+" with an argument", false, changed...)
			}
		}
	}
	for _, v := range []string{"DISTAFF_CC", "DISTAFF_CFLAGS", "DISTAFF_CACHE", "XDG_CACHE_HOME",
		"HOME", "DISTAFF_BLAS", "DISTAFF_MPICC", "DISTAFF_MPI_WRAPPER", "DISTAFF_MEMORY_LIMIT",
		"DISTAFF_TMP", "TMPDIR", "OMP_NUM_THREADS", "NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG",
		"CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_CPUS_PER_TASK",
		"SRUN_CPUS_PER_TASK", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PATH"} {
		t.Run(v, func(t *testing.T) {
			t.Setenv(v, "/nowhere/"+evil)
			for _, args := range [][]string{append([]string{"run"}, base(dir)["run"]...),
				{"doctor"}, {"cache", "path"}, {"cache", "list"}, {"cache", "clear"},
				{"convert", "a.tns", "b.tcs"}, {"spy", "a.tns"}} {
				try(t, v+" "+args[0], false, args...)
			}
		})
	}
	for name, text := range evilFiles(t) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range readings(path, filepath.Join(dir, "out.tns"), 2) {
			try(t, "a line of "+name, false, args...)
		}
		try(t, "a schedule in "+name, false, append(append([]string{"run"}, base(dir)["run"]...),
			"-s=@"+path)...)
	}
	cc := filepath.Join(dir, "cc")
	if err := os.WriteFile(cc,
		[]byte("#!/bin/sh\nprintf '%b' 'the \\033[31mcompiler\\033[0m\\r says\\nFORGED\\007\\n' "+
			">&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DISTAFF_CC", cc)
	try(t, "the compiler", true, "run", "y(i) = A(i,j) * x(j) + 7", "-i=A:a.tns", "-g=x:dense",
		"-d=A:3,3")
	t.Logf("%d texts", sources)
}

// evilFiles returns files of each format that contain the text evil, one for each place where a
// file may contain text.
func evilFiles(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	long := strings.Repeat("x", 1<<20)
	for name, text := range map[string]string{
		"word.tns":   "1 1 X\n",
		"second.tns": "1 1 2\n1 X 3\n",
		"banner.mtx": "%%MatrixMarket X coordinate real general\n",
		"sizes.mtx":  "%%MatrixMarket matrix coordinate real general\n3 X 1\n",
		"value.mtx":  "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 X\n",
		"list.mtx":   "%%MatrixMarket matrix array real general\n1 1\nX\n",
		"value.ttx":  "%%MatrixMarket tensor coordinate real general\n3 3 1\n1 1 X\n",
		"title.rua":  "X\n 3 1 1 1\nX\n",
		"format.rua": "title\n 3 1 1 1\nRUA 1 1 1\nX\n",
		"magic.npy":  "X",
		"header.npy": "\x93NUMPY\x01\x00\x40\x00{'descr': 'X'" + strings.Repeat(" ", 100),
		"magic.tcs":  "X",
		"magic.npz":  "X",
	} {
		files[name] = []byte(strings.ReplaceAll(text, "X", evil))
		files["quoted."+name] = []byte(strings.ReplaceAll(text, "X",
			strings.NewReplacer("\r", "", "\n", "").Replace(evil)))
		files["long."+name] = []byte(strings.ReplaceAll(text, "X", long))
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{evil + ".npy", "a" + evil + ".npy", evil} {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files["members.npz"] = b.Bytes()
	return files
}
