package kernels

/*
#include "dl.h"
*/
import "C"

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/ir"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// DivideError reports an integer division by zero. It ends a run with code 3.
type DivideError struct {
	What  string   // the statement
	Vars  []string // names of the coordinates; there may be fewer names than coordinates
	Coord []int64  // counted from 0
}

func (e *DivideError) Error() string {
	return failText("integer division by zero", e.What, e.Vars, e.Coord)
}

func (e *DivideError) ExitCode() int { return 3 }

// BoundError reports that a bound() of the schedule does not hold for the data. It ends a run with
// code 2.
type BoundError struct {
	What  string
	Vars  []string
	Coord []int64 // coordinates of the loops around the bounded one
	// Which names the bound and the reason, if the caller of the leaf knows them. It may be "".
	Which string
}

func (e *BoundError) Error() string {
	which := e.Which
	if which == "" {
		which = "a bound() in the schedule does not match the range"
	}
	return failText(which, e.What, e.Vars, e.Coord)
}

func (e *BoundError) ExitCode() int { return 2 }

// SpaceError reports that a schedule fuses variables and needs to count the points of the fused
// loops, but there are more than 2^62 points. The number of points is the product of the variables'
// sizes. It ends a run with code 2.
type SpaceError struct {
	What  string
	Sizes []int64
}

func (e *SpaceError) Error() string {
	var sizes []string
	for _, n := range e.Sizes {
		sizes = append(sizes, strconv.FormatInt(n, 10))
	}
	return failText("fuse: got "+strings.Join(sizes,
		" x ")+" points of fused loops to count, want at most 2^62"+
		" (the positions of a tensor, which pos takes, can be split instead)", e.What, nil, nil)
}

func (e *SpaceError) ExitCode() int { return 2 }

// PatternError reports that the pattern of a result, whose level arrays were given, differs from
// the pattern of the operands. It ends a run with code 3.
type PatternError struct {
	What  string
	Vars  []string
	Coord []int64 // coordinates of a difference
}

func (e *PatternError) Error() string {
	return failText(
		"the given level arrays of the result have another pattern than the operands produce",
		e.What, e.Vars, e.Coord)
}

func (e *PatternError) ExitCode() int { return 3 }

// NarrowError reports a value of the result that does not fit the requested type. It ends a run
// with code 3.
type NarrowError struct {
	Value tensor.Value
	Name  string // name of the result
	Type  tensor.Type
	What  string
	Vars  []string
	Coord []int64
}

func (e *NarrowError) Error() string {
	return failText(fmt.Sprintf("got the value %v for %s, which must fit into %v", e.Value,
		e.Name, e.Type), e.What, e.Vars, e.Coord)
}

func (e *NarrowError) ExitCode() int { return 3 }

// failText formats a failure: what happened, at which coordinates, and in which statement. A
// negative coordinate belongs to a variable that was not bound when the leaf failed, and is left
// out.
func failText(what, statement string, vars []string, coord []int64) string {
	var b strings.Builder
	b.WriteString(what)
	var ones []string // counted from 1, as text files count
	for i, c := range coord {
		if c < 0 {
			continue // a variable that was not bound when the leaf failed
		}
		b.WriteString([]string{" at ", ", "}[min(len(ones), 1)])
		ones = append(ones, strconv.FormatInt(c+1, 10))
		if i < len(vars) {
			fmt.Fprintf(&b, "%s = %d", vars[i], c)
		} else {
			fmt.Fprintf(&b, "coordinate %d", c)
		}
	}
	if len(ones) > 0 {
		b.WriteString(" (counted from 0; from 1: " + strings.Join(ones, ",") + ")")
	}
	if statement != "" {
		b.WriteString(" in " + statement)
	}
	return b.String()
}

// failure returns the error of a leaf that returned rc.
func failure(rc int, c *C.dst_call, env *Env) error {
	n := min(max(int(c.env.fail_ncoord), 0), len(c.env.fail_coord))
	coord := make([]int64, n)
	for i := range coord {
		coord[i] = int64(c.env.fail_coord[i])
	}
	if ir.FailCode(rc) == ir.FailMemory {
		return memoryFailure(c, env)
	}
	return Failure(ir.FailCode(rc), coord, *env)
}

// Failure returns the error for a leaf that failed. code must not be ir.FailMemory. coord has the
// coordinates at which the leaf failed or, if code is ir.FailSpace, the sizes of the fused
// variables.
func Failure(code ir.FailCode, coord []int64, env Env) error {
	switch code {
	case ir.FailDivide:
		return &DivideError{env.What, env.Vars, coord}
	case ir.FailBound:
		return &BoundError{What: env.What, Vars: env.Vars, Coord: coord}
	case ir.FailSpace:
		return &SpaceError{env.What, coord}
	case ir.FailPattern:
		return &PatternError{env.What, env.Vars, coord}
	}
	panic(fmt.Sprintf("BUG: kernels: a leaf returned %d", code))
}

// memoryFailure returns the error of a leaf that was refused memory.
func memoryFailure(c *C.dst_call, env *Env) error {
	what := "a result or workspace"
	if env.What != "" {
		what += " of " + env.What
	}
	switch want := int64(c.refused); want {
	case 0:
		panic("BUG: kernels: a leaf says that memory was refused, but none was")
	case math.MaxInt64:
		return &tcs.Error{Exit: 5, Msg: what + " takes more memory than there are addresses"}
	default:
		return env.Arena.refusal(what, want, int64(c.in_use), c.by_system != 0)
	}
}
