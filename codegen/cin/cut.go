package cin

import (
	"fmt"
	"slices"
	"strconv"
)

// CutKind is a way of cutting a loop for threads.
type CutKind uint8

const (
	Whole  CutKind = iota // the loop is not cut; threads only set the result to 0 before it
	Blocks                // chunks of equal work; each writes a block of the result
	// chunks of equal work; each appends to the result after the chunk before it
	Ordered
	// N chunks of equal work, each with a partial result; the results are added in order
	Partial
	// N chunks of equal work, each with a partial sum; the sums are added in order
	Reduction
	Rows // every thread runs the whole loop for its own part of the result
)

// cutWords has the words of the ways in the text form.
var cutWords = [...]string{Whole: "whole", Blocks: "blocks", Ordered: "ordered",
	Partial: "partial", Reduction: "reduction", Rows: "rows"}

// Cut says how a loop on CPU threads is cut.
type Cut struct {
	How CutKind
	// N is the number of chunks for Partial and Reduction. For Ordered it is the least work of a
	// chunk, or 0 if the number of chunks depends only on the threads.
	N int64
	// Streamed is the smallest number of entries of a result made by Ordered chunks that is copied
	// past the caches.
	Streamed int64
	// Own, for Rows, is a variable of the result. Each thread has a part of its range.
	Own string
}

// text returns the note of the cut, or "" for a loop that is not cut.
func (c Cut) text() string {
	word := cutWords[c.How]
	switch c.How {
	case Whole:
		return ""
	case Ordered:
		return fmt.Sprintf("%s %d %d", word, c.N, c.Streamed)
	case Partial, Reduction:
		return word + " " + strconv.FormatInt(c.N, 10)
	case Rows:
		return word + " " + c.Own
	}
	return word
}

// cut reads the note of a cut, if there is one, and the comma after it.
func (p *parser) cut() (c Cut) {
	if !p.notes(cutWords[1:]...) {
		return c
	}
	c.How = CutKind(slices.Index(cutWords[:], p.tok))
	p.next()
	switch c.How {
	case Ordered:
		c.N, c.Streamed = p.number(), p.number()
	case Partial, Reduction:
		c.N = p.number()
	case Rows:
		c.Own = p.name()
	}
	p.expect(",")
	return c
}
