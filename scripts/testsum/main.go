// Command testsum reads `go test -json` from stdin and prints what a person
// wants to know: one line a package, the output of what failed, what was
// skipped and why, and the totals. It exits 1 if anything failed or no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	var passed, failed, skipped int
	output := map[string][]string{}
	reasons := map[string]int{}
	sc := bufio.NewScanner(os.Stdin)
	sc.Buffer(make([]byte, 1<<20), 1<<26)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			fmt.Println(sc.Text()) // build errors come as plain text
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				if e.Action != "skip" {
					fmt.Printf("%-5s %s (%.1f s)\n", e.Action, e.Package, e.Elapsed)
				}
				if e.Action == "fail" {
					failed++
					fmt.Print(strings.Join(output[key], ""))
				}
				continue
			}
			switch e.Action {
			case "pass":
				passed++
			case "fail":
				failed++
				fmt.Printf("--- FAIL %s\n%s", key, strings.Join(output[key], ""))
			case "skip":
				skipped++
				reasons[reason(output[key])]++
			}
			delete(output, key)
		}
	}
	if len(reasons) > 0 {
		fmt.Println("skipped, and why:")
		var list []string
		for r, n := range reasons {
			list = append(list, fmt.Sprintf("  %4d  %s", n, r))
		}
		sort.Strings(list)
		fmt.Println(strings.Join(list, "\n"))
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

// reason is the message of a skip: its last line with "file.go:line: ".
func reason(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		s := strings.TrimSpace(lines[i])
		if _, msg, ok := strings.Cut(s, ".go:"); ok {
			if _, m, ok := strings.Cut(msg, ": "); ok {
				return m
			}
		}
	}
	return "(no reason given)"
}
