// Package check compares a result with the reference evaluator (codegen/reference), which computes
// the statement by its definition, on all threads of the rank.
//
// # Files
//
//	check.go      Problem and Difference
//	all.go        compares every coordinate
//	sample.go     compares a sample, if there are very many coordinates
//	lookup.go     values of a tensor by coordinate
//	reference.go  the input of the reference evaluator
package check

import (
	"fmt"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/env"
)

// Results with up to checkAll coordinates are compared completely, larger ones at checkSample
// coordinates.
const (
	checkAll    = 100_000_000
	checkSample = 10_000
)

// Difference is the error that spmd.Job.Run returns if Check is set and the result is wrong (exit
// code 4).
type Difference struct {
	Tensor string
	Vars   []string // the result's index variables
	Coord  []int64
	Got    string
	Want   string
	Within float64 // the tolerance; 0 if the values must be equal
	More   int64   // number of other coordinates that differ
}

func (d *Difference) Error() string {
	at := d.Tensor
	for k, c := range d.Coord {
		at += fmt.Sprintf("%s%s = %d", []string{" at ", ", "}[min(k, 1)], d.Vars[k], c)
	}
	if len(d.Coord) > 0 {
		at += " (counted from 0)"
	}
	s := fmt.Sprintf("--check: %s: got %s, want %s",
		at, d.Got, d.Want)
	if d.Within > 0 {
		s += fmt.Sprintf(" within %.3g", d.Within)
	}
	if d.More > 0 {
		s += fmt.Sprintf("; %s more", tensor.Count(d.More, "coordinate"))
	}
	return s
}

// ExitCode returns the exit code for a difference.
func (d *Difference) ExitCode() int { return diag.ExitDiffer }

// checker compares a result with the reference.
type checker struct {
	problem *Problem
	team    *reference.Team
	found   found
}

// found counts the differences at the coordinates that were compared so far, and holds the first
// difference.
type found struct {
	first *Difference
	n     int64 // number of coordinates that differ
}

// Problem is the statement whose result is checked, with its operands in memory.
type Problem struct {
	Env     *env.Env
	Norm    *notation.Normal
	Sizes   *notation.Sizes
	Compute tensor.Type // the type that the statement computes in
	Types   map[string]tensor.Type
	Tensors map[string]*tcs.Tensor // the whole operands; for +=, also the old result under its name
	Seed    int64                  // seed of the sample
}

// Compare compares the whole result with the reference evaluator. If the result has more than
// checkAll coordinates, it compares a sample of the coordinates. If the compared values agree, said
// is a line for the user that says so. If they do not agree, said is "", and difference describes
// the first difference; err is nil.
func (p *Problem) Compare(result *tcs.Tensor) (said string, difference *Difference, err error) {
	q, err := p.reference()
	if err != nil {
		return "", nil, err
	}
	team := reference.NewTeam(q, p.Env.Threads)
	c := &checker{problem: p, team: team}
	defer p.Env.WatchWork("check of "+tensor.Printable(p.Norm.LHS.Name), team)()
	name := p.Norm.LHS.Name
	space, fits := tcs.Coordinates(p.Sizes.Dims[name])
	if fits && space <= checkAll {
		said = fmt.Sprintf("all %s of %s agree", tensor.Count(space, "coordinate"), name)
		if space == 1 {
			said = name + " agrees"
		}
		err = c.all(result)
	} else {
		said = fmt.Sprintf("%d sampled coordinates of %s agree", checkSample, name)
		err = c.sample(result)
	}
	if err != nil {
		return "", nil, err
	}
	if c.found.first != nil {
		c.found.first.More = c.found.n - 1
		return "", c.found.first, nil
	}
	return "check: " + said + " with the reference", nil, nil
}

// compare records a difference if value v at coord does not agree with the reference's point p.
func (c *checker) compare(f *found, coord []int64, p reference.Point, v tensor.Value) {
	if p.Agrees(v) {
		return
	}
	c.differ(f, coord, v, p.Value.Text(), p.Tolerance())
}

// compareAbsent records a difference if value v is not zero. The reference lacks the coordinate
// coord, so that its value there is zero.
func (c *checker) compareAbsent(f *found, coord []int64, v tensor.Value) {
	if !v.IsZero() {
		c.differ(f, coord, v, "0 (absent)", 0)
	}
}

func (c *checker) differ(f *found, coord []int64, v tensor.Value, want string, within float64) {
	f.n++
	if f.first == nil {
		f.first = &Difference{Tensor: c.problem.Norm.LHS.Name, Vars: c.problem.Norm.LHS.Vars,
			Coord: slices.Clone(coord), Got: v.Text(), Want: want, Within: within}
	}
}
