package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// helpOf returns what `distaff help NAME` prints.
func helpOf(t *testing.T, name string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := mainExit([]string{"distaff", "help", name}, &out, &errs); code != 0 {
		t.Fatalf("help %s: exit code %d: %s", name, code, errs.String())
	}
	return out.String()
}

// TestTopics checks that each topic fits a terminal, that its tables are filled in, and that it
// cites pages that exist.
func TestTopics(t *testing.T) {
	page := regexp.MustCompile(`docs/[a-z-]+\.md`)
	for _, c := range topics() {
		text := helpOf(t, c.name)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(lines) < 30 || len(lines) > 70 {
			t.Errorf("%s has %d lines, want 30 to 70", c.name, len(lines))
		}
		for _, l := range lines {
			if len(l) > 80 || strings.Contains(l, "{{") || strings.HasSuffix(l, " ") {
				t.Errorf("%s: got the line %q, want at most 80 columns of text", c.name, l)
			}
		}
		cited := page.FindAllString(text, -1)
		if len(cited) == 0 {
			t.Errorf("%s cites no page", c.name)
		}
		for _, p := range cited {
			if _, err := os.Stat("../../" + p); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// topicExamples returns the commands of a topic, in order, and writes its job files into dir. A
// command with the word FORM is a pattern: each indented line below it, up to the next pattern, has
// a text for FORM, at least two blanks, and what the text means.
func topicExamples(t *testing.T, c topic, dir string) []string {
	t.Helper()
	var out []string
	file := regexp.MustCompile(`^  # (\S+\.dst):`)
	meaning := regexp.MustCompile(`   *`)
	pattern := ""
	lines := strings.Split(c.text, "\n")
	for k := 0; k < len(lines); k++ {
		line := lines[k]
		switch {
		case file.MatchString(line):
			text := ""
			for ; lines[k] != ""; k++ {
				text += strings.TrimPrefix(lines[k], "  ") + "\n"
			}
			name := filepath.Join(dir, file.FindStringSubmatch(line)[1])
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(line, "  distaff "):
			command := strings.TrimSpace(line)
			for ; strings.HasSuffix(lines[k], `\`); k++ {
				command = strings.TrimSuffix(command, `\`) + strings.TrimSpace(lines[k+1])
			}
			if strings.Contains(command, "FORM") {
				pattern = command
			} else {
				out = append(out, command)
			}
		case strings.HasPrefix(line, "  ") && pattern != "":
			parts := meaning.Split(strings.TrimSpace(line), 2)
			if len(parts) != 2 {
				t.Errorf("%s: got %q, want a form and its meaning", c.name, line)
				continue
			}
			out = append(out, strings.Replace(pattern, "FORM", parts[0], 1)+" # "+parts[1])
		}
	}
	return out
}

// TestTopicExamples runs the examples of each topic. An example whose comment begins with
// "refused:" must end with exit code 2.
func TestTopicExamples(t *testing.T) {
	if !haveCompiler() {
		t.Skip("no C compiler on PATH")
	}
	env := append(cleanEnv(t), "DISTAFF_CFLAGS=-O1")
	for _, c := range topics() {
		t.Run(c.name, func(t *testing.T) {
			dir, refused := t.TempDir(), 0
			all := topicExamples(t, c, dir)
			for _, command := range all {
				want := 0
				if strings.Contains(command, "# refused: ") {
					want = 2
					refused++
				}
				cmd := exec.Command("bash", "-c", command)
				cmd.Dir, cmd.Env = dir, env
				text, err := cmd.CombinedOutput()
				got := 0
				if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
					got = exit.ExitCode()
				} else if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("%s: exit code %d, want %d\n%s", command, got, want, text)
				}
			}
			if len(all) < 5 || refused == 0 {
				t.Errorf("got %d examples and %d refused ones, want 5 and 1 at least", len(all),
					refused)
			}
		})
	}
}
