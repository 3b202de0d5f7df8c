// Command pictures draws docs/pictures: the way of a statement through the house,
// and the first table of docs/benchmarks.md as bars.
//
//	go run ./scripts/pictures
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	table, err := os.ReadFile("docs/benchmarks.md")
	if err != nil {
		fail(err)
	}
	lines, err := firstTable(string(table))
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(filepath.Join("docs", "pictures", "way.svg"), way(), 0o644); err != nil {
		fail(err)
	}
	if err := speed(lines, filepath.Join("docs", "pictures", "speed.svg")); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pictures:", err)
	os.Exit(1)
}
