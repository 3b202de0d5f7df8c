// Command pictures draws the pictures in docs/pictures: diagrams that explain formats, placements,
// algorithms and the path of a statement through the program; a bar chart of the tables of leaves
// in docs/benchmarks.md; and the entries of real inputs, which distaff spy draws.
//
//	go run ./scripts/pictures
//
// # Files
//
//	main.go     all pictures, and where each is written
//	way.go      the path of a statement and of its data
//	formats.go  one matrix in four formats
//	places.go   a matrix on four ranks; the steps of two algorithms
//	tree.go     a contraction tree and its loops
//	speed.go    the bar chart of benchmarks
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"distaff/io/picture"
)

// spied maps the inputs that distaff spy draws to the names of the pictures.
var spied = map[string]string{
	"matrices/west0479.rb":           "matrix.svg",
	"tensors/flights20k_odth.tns.gz": "tensor.svg",
}

// diagrams maps the names of pictures that need no data to the functions that draw them.
var diagrams = map[string]func() *picture.Picture{
	"way.svg": way, "formats.svg": formats, "places.svg": places, "steps.svg": steps, "tree.svg": tree,
}

func main() {
	table, err := os.ReadFile("docs/benchmarks.md")
	if err != nil {
		fail(err)
	}
	runs, err := tables(string(table))
	if err != nil {
		fail(err)
	}
	for name, drawing := range diagrams {
		var text bytes.Buffer
		err := drawing().SVG(&text)
		if err == nil {
			err = os.WriteFile(filepath.Join("docs", "pictures", name), text.Bytes(), 0o644)
		}
		if err != nil {
			fail(err)
		}
	}
	if err := speed(runs, filepath.Join("docs", "pictures", "speed.svg")); err != nil {
		fail(err)
	}
	for file, picture := range spied {
		spy := exec.Command("go", "run", "./cmd/distaff", "spy",
			filepath.Join("testdata", "real", file),
			"--out="+filepath.Join("docs", "pictures", picture))
		spy.Stderr = os.Stderr
		if err := spy.Run(); err != nil {
			fail(fmt.Errorf("%s: %w", spy, err))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pictures:", err)
	os.Exit(1)
}
