// Command testsum runs `go test -json`, given by its arguments, and prints what
// a person wants to know, as it becomes known: the output of what fails, a line
// a package as it ends, then what was skipped and why, and the totals. On a
// terminal a last line says what runs; elsewhere a line says so after a minute
// in which nothing ended. It exits 1 if anything failed, no test ran, or the
// tests took more processor time than -budget.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/term"
)

func main() {
	packages := flag.Int("packages", 0,
		"number of packages with tests, for the line that says what runs")
	budget := flag.Duration("budget", 0,
		"user and system time that the tests may take, builds included; 0: any")
	flag.Parse()
	s := newSummary(os.Stdout, *packages, terminalWidth(os.Stdout))
	used, err := run(s, flag.Args())
	if !s.close(used, *budget) || err != nil {
		os.Exit(1)
	}
}

// run hands the command's output to s, line by line, and returns the processor
// time that it and its children took.
func run(s *summary, argv []string) (time.Duration, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		return 0, err
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadString('\n')
			if line != "" {
				lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for open := true; open; {
		var line string
		select {
		case line, open = <-lines:
			if open {
				s.add(line, time.Now())
			}
		case now := <-tick.C:
			s.tick(now)
		}
	}
	err = cmd.Wait()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// terminalWidth is the width of a terminal, 0 for anything else.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 20)
}
