package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// completed lists incomplete command lines, each with the words that the command receives after
// completion.
var completed = []struct {
	typed string
	want  []string
}{
	{"conv", []string{"convert"}},
	{"help form", []string{"help", "formats"}},
	{"completion z", []string{"completion", "zsh"}},
	{"run S --verb", []string{"run", "S", "--verbose"}},
	{"run S --target=cp", []string{"run", "S", "--target=cpu"}},
	{"run S --cpu=na", []string{"run", "S", "--cpu=native"}},
	{"run S --cpu=x", []string{"run", "S", "--cpu=x86-64-v"}},
	{"run S --write=pa", []string{"run", "S", "--write=parallel"}},
	{"run S --progress al", []string{"run", "S", "--progress", "always"}},
	{"compile S --emit=ci", []string{"compile", "S", "--emit=cin"}},
	{"compile S --emit pr", []string{"compile", "S", "--emit", "provenance"}},
	{"compile S --emit=after:nes", []string{"compile", "S", "--emit=after:nest"}},
	{"convert --duplicates=e", []string{"convert", "--duplicates=error"}},
	{"run S -i=A:matr", []string{"run", "S", "-i=A:matrix.mtx"}},
	{"run S --stats=matr", []string{"run", "S", "--stats=matrix.mtx"}},
	{"info matr", []string{"info", "matrix.mtx"}},
	{"run S --allow-u", []string{"run", "S", "--allow-user-code"}},
}

// completionFolder returns a folder with a shell's completion script and a file whose name can be
// completed.
func completionFolder(t *testing.T, shell, name string) string {
	dir := t.TempDir()
	var out, errs bytes.Buffer
	if code := mainExit([]string{"distaff", "completion", shell}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	for file, text := range map[string][]byte{name: out.Bytes(), "matrix.mtx": nil} {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBashCompletion types into an interactive bash. It tests one that splits words at = and :, and
// one that does not.
func TestBashCompletion(t *testing.T) {
	for _, breaks := range []string{"", `COMP_WORDBREAKS=${COMP_WORDBREAKS//[=:]/}`} {
		dir := completionFolder(t, "bash", "completion")
		sh := typeInto(t, dir, "bash", "--norc", "--noprofile", "-i")
		sh.say("bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set "+
			"enable-bracketed-paste off'; "+breaks, "")
		sh.say("source ./completion; "+echoWords, "")
		sh.complete(breaks)
	}
}

func TestZshCompletion(t *testing.T) {
	dir := completionFolder(t, "zsh", "_distaff")
	sh := typeInto(t, dir, "zsh", "-f", "-i")
	sh.say("unset zle_bracketed_paste; unsetopt prompt_sp beep; fpath=($PWD $fpath); autoload -U "+
		"compinit; compinit -u -D; "+echoWords, "")
	sh.complete("")
}

func TestFishCompletion(t *testing.T) {
	if _, err := exec.LookPath("fish"); err != nil {
		t.Skip("no fish on PATH")
	}
	dir := completionFolder(t, "fish", "completion")
	for _, c := range completed {
		cmd := exec.Command("fish", "--no-config", "-c",
			"source completion; complete -C 'distaff "+c.typed+"'")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		var got []string
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			word, _, _ := strings.Cut(l, "\t")
			got = append(got, word)
		}
		want := c.want[len(c.want)-1]
		if typed := strings.Fields(c.typed); typed[len(typed)-1] == want {
			want = "" // nothing to add
		}
		if !slices.ContainsFunc(got, func(w string) bool {
			return w == want || w != "" &&
				want != "" && strings.HasPrefix(w, want)
		}) {
			t.Errorf("%s: got %q, want %s", c.typed, got, want)
		}
	}
}

// echoWords defines a shell function distaff that prints its arguments.
const echoWords = `distaff() { printf '<%s>' "$@"; echo; }`

// shell is an interactive shell at a terminal.
type shell struct {
	t    *testing.T
	tty  *os.File
	from chan string
}

const prompt = "ready> "

// escapes matches the escape sequences that a shell sends to its terminal.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// typeInto starts a shell in the folder dir, on a new terminal.
func typeInto(t *testing.T, dir, name string, args ...string) *shell {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip("no " + name + " on PATH")
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(tty.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 100, Col: 400})
	}
	if err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, end, end, end
	cmd.Env = append(os.Environ(), "PS1="+prompt, "PROMPT="+prompt, "TERM=dumb", "HISTFILE=",
		"LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end.Close()
	s := &shell{t, tty, make(chan string, 1000)}
	go func() {
		defer close(s.from)
		b := make([]byte, 4096)
		for {
			n, err := tty.Read(b)
			if err != nil {
				return
			}
			s.from <- string(b[:n])
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		tty.Close()
	})
	s.until("")
	return s
}

// say types a line, and returns the output up to the next prompt that follows mark.
func (s *shell) say(line, mark string) string {
	s.t.Helper()
	if _, err := s.tty.WriteString(line + "\r"); err != nil {
		s.t.Fatal(err)
	}
	return s.until(mark)
}

// until waits for the prompt that follows mark, and returns all output, without escape sequences.
func (s *shell) until(mark string) string {
	s.t.Helper()
	var all strings.Builder
	hung := time.After(time.Minute)
	for {
		select {
		case text, ok := <-s.from:
			all.WriteString(text)
			if got := escapes.ReplaceAllString(all.String(), ""); strings.Contains(got, mark) &&
				strings.HasSuffix(got, prompt) {
				return got
			} else if !ok {
				s.t.Fatalf("the shell ended:\n%s", got)
			}
		case <-hung:
			s.t.Fatalf("no prompt:\n%q", all.String())
		}
	}
}

// complete types the command lines in completed, and checks the resulting words.
func (s *shell) complete(note string) {
	s.t.Helper()
	for _, c := range completed {
		got := s.say("distaff "+c.typed+"\t", ">\r\n")
		if want := "<" + strings.Join(c.want, "><") + ">"; !strings.Contains(got, want) {
			s.t.Errorf("%s %s: got %q, want %s", note, c.typed, got, want)
		}
	}
}
