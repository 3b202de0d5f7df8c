// Package check compares a result with the reference evaluator (codegen/reference), which
// computes the statement by its definition, on all threads of the rank.
//
// # Files
//
//	check.go      a problem, and a difference
//	all.go        every coordinate compared
//	sample.go     some of very many coordinates compared
//	lookup.go     values of a tensor by coordinate
//	reference.go  the problem as the reference evaluator takes it
package check

import (
	"fmt"
	"slices"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/spmd/env"
)

// Up to checkAll coordinates the result is compared everywhere, beyond that at
// checkSample of them.
const (
	checkAll    = 100_000_000
	checkSample = 10_000
)

// Difference is what Check found (exit 4).
type Difference struct {
	Tensor string
	Vars   []string // the result's index variables
	Coord  []int64
	Got    string
	Want   string
	Within float64 // the tolerance; 0 where the values must be equal
	More   int64   // coordinates that differ besides this one
}

func (d *Difference) Error() string {
	at := d.Tensor
	for k, c := range d.Coord {
		at += fmt.Sprintf("%s%s = %d", []string{" at ", ", "}[min(k, 1)], d.Vars[k], c)
	}
	if len(d.Coord) > 0 {
		at += " (counted from 0)"
	}
	s := fmt.Sprintf("--check: %s: got %s, want %s", at, d.Got, d.Want)
	if d.Within > 0 {
		s += fmt.Sprintf(" within %.3g", d.Within)
	}
	if d.More > 0 {
		s += fmt.Sprintf("; %s more", tcs.Count(d.More, "coordinate"))
	}
	return s
}

// ExitCode is that of a difference.
func (d *Difference) ExitCode() int { return diag.ExitDiffer }

// checker compares a result with the reference.
type checker struct {
	problem *Problem
	team    *reference.Team
	found   found
}

// found is what differs at some of the coordinates.
type found struct {
	first *Difference
	n     int64 // of coordinates that differ
}

// Problem is what a result is compared with: a statement over operands in memory.
type Problem struct {
	Env     *env.Env
	Norm    *notation.Normal
	Sizes   *notation.Sizes
	Compute dtype.Type // that the statement computes in
	Types   map[string]dtype.Type
	Tensors map[string]*tcs.Tensor // the operands, whole, and what += adds to under the result's name
	Seed    int64                  // of the sample
}

// Compare compares the whole result with the reference evaluator: at every coordinate
// where there are few enough, else at a sample. said is a line for the user; where there is a
// difference, which is no error yet, there is none.
func (p *Problem) Compare(result *tcs.Tensor) (said string, difference *Difference, err error) {
	q, err := p.reference()
	if err != nil {
		return "", nil, err
	}
	team := reference.NewTeam(q, p.Env.Threads)
	c := &checker{problem: p, team: team}
	defer p.Env.WatchWork("check of "+tcs.Printable(p.Norm.LHS.Name), team)()
	name := p.Norm.LHS.Name
	space, fits := tcs.Coordinates(p.Sizes.Dims[name])
	if fits && space <= checkAll {
		said = fmt.Sprintf("all %s of %s agree", tcs.Count(space, "coordinate"), name)
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

// compare holds a value against the reference's point.
func (c *checker) compare(f *found, coord []int64, p reference.Point, v tcs.Value) {
	if p.Agrees(reference.Value{I: v.I, C: v.C}) {
		return
	}
	c.differ(f, coord, v, tcsValue(v.Type, p.Value).Text(), p.Tolerance())
}

// compareAbsent holds a value against absence, which is zero.
func (c *checker) compareAbsent(f *found, coord []int64, v tcs.Value) {
	if !v.IsZero() {
		c.differ(f, coord, v, "0 (absent)", 0)
	}
}

func (c *checker) differ(f *found, coord []int64, v tcs.Value, want string, within float64) {
	f.n++
	if f.first == nil {
		f.first = &Difference{Tensor: c.problem.Norm.LHS.Name, Vars: c.problem.Norm.LHS.Vars,
			Coord: slices.Clone(coord), Got: v.Text(), Want: want, Within: within}
	}
}
