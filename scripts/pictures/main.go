// Command pictures draws the pictures in docs/pictures: diagrams that explain formats, placements,
// algorithms and the path of a statement through the program; a bar chart of the tables of leaves
// in docs/benchmarks.md; the roofline of tables in docs/machine.md; and the entries of real
// inputs, which distaff spy draws.
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
//	roofline.go jobs and the limits of a machine
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

// diagrams maps the names of pictures to the functions that draw them. main adds the roofline.
var diagrams = map[string]func() *picture.Picture{
	"way.svg": way, "formats.svg": formats, "places.svg": places, "steps.svg": steps, "tree.svg": tree,
}

func main() {
	runs, err := tables(page("docs/benchmarks.md"))
	if err != nil {
		fail(err)
	}
	limits, err := roofOf(page("docs/machine.md"))
	if err != nil {
		fail(err)
	}
	diagrams["roofline.svg"] = limits.draw
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

// page returns the text of a page. It ends the program if the page cannot be read.
func page(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		fail(err)
	}
	return string(text)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pictures:", err)
	os.Exit(1)
}
