// Command testsum runs `go test -json` with its arguments and prints a summary as results arrive:
// the output of failures, a line for each package when it ends, then the skipped tests with
// reasons, and the totals. On a terminal the last line shows the running tests. Elsewhere a line
// shows them after a minute in which nothing ended. It exits 1 if anything failed, if no test ran,
// or if the tests used more processor time than -budget.
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

// run passes the command's output to s, line by line, and returns the processor time of the command
// and its children.
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

// terminalWidth returns the width of a terminal, or 0 if the file is not a terminal.
func terminalWidth(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 20)
}
