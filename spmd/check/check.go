// Package check compares a result with the reference evaluator (codegen/reference), which
// computes the statement by its definition.
package check

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"unsafe"

	"distaff/codegen/diag"
	"distaff/codegen/dtype"
	"distaff/codegen/notation"
	"distaff/codegen/reference"
	"distaff/io/coo"
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
	*Problem
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
	e := reference.New(q)
	c := &checker{Problem: p}
	name := p.Norm.LHS.Name
	space, fits := tcs.Coordinates(p.Sizes.Dims[name])
	if fits && space <= checkAll {
		said = fmt.Sprintf("all %s of %s agree", tcs.Count(space, "coordinate"), name)
		if space == 1 {
			said = name + " agrees"
		}
		err = c.all(e, result)
	} else {
		said = fmt.Sprintf("%d sampled coordinates of %s agree", checkSample, name)
		err = c.sample(e, result)
	}
	if err != nil {
		return "", nil, err
	}
	if c.first != nil {
		c.first.More = c.n - 1
		return "", c.first, nil
	}
	return "check: " + said + " with the reference", nil, nil
}

// all compares every coordinate: the evaluator's points and the result's
// entries, both in order, are merged. What one side lacks is zero.
func (c *checker) all(e *reference.Evaluator, result *tcs.Tensor) error {
	s, err := c.inOrder(result)
	if err != nil {
		return err
	}
	defer s.close()
	err = e.Each(c.Env.Ctx, func(coord []int64, p reference.Point) error {
		for {
			at, v, ok, err := s.peek()
			if err != nil {
				return err
			}
			cmp := 1
			if ok {
				cmp = slices.Compare(at, coord)
			}
			if cmp < 0 { // the reference is absent here
				c.compareAbsent(at, v)
				s.advance()
				continue
			}
			if cmp > 0 {
				v = tcs.Value{Type: result.Type}
			} else {
				s.advance()
			}
			c.compare(coord, p, v)
			return nil
		}
	})
	if err != nil {
		return err
	}
	for {
		at, v, ok, err := s.peek()
		if err != nil || !ok {
			return err
		}
		c.compareAbsent(at, v)
		s.advance()
	}
}

// compare holds a value against the reference's point.
func (c *checker) compare(coord []int64, p reference.Point, v tcs.Value) {
	if p.Agrees(reference.Value{I: v.I, C: v.C}) {
		return
	}
	c.differ(coord, v, tcsValue(v.Type, p.Value).Text(), p.Tolerance())
}

// compareAbsent holds a value against absence, which is zero.
func (c *checker) compareAbsent(coord []int64, v tcs.Value) {
	if !v.IsZero() {
		c.differ(coord, v, "0 (absent)", 0)
	}
}

func (c *checker) differ(coord []int64, v tcs.Value, want string, within float64) {
	c.n++
	if c.first == nil {
		c.first = &Difference{Tensor: c.Norm.LHS.Name, Vars: c.Norm.LHS.Vars, Coord: slices.Clone(coord), Got: v.Text(), Want: want, Within: within}
	}
}

// sample compares coordinates drawn evenly, and entries of the result.
func (c *checker) sample(e *reference.Evaluator, result *tcs.Tensor) error {
	look := &lookup{result}
	rnd := rand.New(rand.NewPCG(uint64(c.Seed), 0x636865636b))
	dims := c.Sizes.Dims[c.Norm.LHS.Name]
	coord := make([]int64, len(dims))
	for k := range checkSample {
		if err := c.Env.Ctx.Err(); err != nil {
			return err
		}
		// Every other one where the result has entries: an even draw would
		// hardly meet one.
		if k%2 != 0 || result.Vals.Len == 0 || !look.entry(rnd.Int64N(result.Vals.Len), coord) {
			for m, d := range dims {
				coord[m] = rnd.Int64N(d)
			}
		}
		p, err := e.At(coord)
		if err != nil {
			return err
		}
		c.compare(coord, p, look.at(coord))
	}
	return nil
}

// inOrder makes the result's entries a cursor in order of modes.
func (c *checker) inOrder(result *tcs.Tensor) (*entryCursor, error) {
	kinds, order := result.Format()
	t := result
	if !slices.Equal(order, tcs.Identity(len(order))) || tcs.KeepsRepeats(kinds) {
		sparse := make([]byte, len(order))
		for l := range sparse {
			sparse[l] = 's'
		}
		packed, err := coo.Repack(result, string(sparse), nil, coo.KeepAll, c.Env.Config())
		if err != nil {
			return nil, err
		}
		t = packed
	}
	s := &entryCursor{t: t, own: t != result, stream: coo.FromTensor(t, coo.KeepAll), coord: make([]int64, t.Order())}
	return s, nil
}

// entryCursor walks a tensor's entries one by one.
type entryCursor struct {
	t      *tcs.Tensor
	own    bool
	stream coo.Stream
	b      coo.Batch
	k      int
	end    bool
	coord  []int64
}

// peek is the current entry; ok is false after the last. The coordinates are
// valid until the next call.
func (s *entryCursor) peek() (coord []int64, v tcs.Value, ok bool, err error) {
	for !s.end && s.k == s.b.N {
		s.k = 0
		if err := s.stream.Next(&s.b); err == io.EOF {
			s.end = true
		} else if err != nil {
			return nil, v, false, err
		}
	}
	if s.end {
		return nil, v, false, nil
	}
	for m := range s.coord {
		s.coord[m] = s.b.Coords[m][s.k]
	}
	return s.coord, s.t.Type.Load(unsafe.Pointer(&s.b.Vals[s.k*s.t.Type.Size()])), true, nil
}

func (s *entryCursor) advance() { s.k++ }

func (s *entryCursor) close() {
	s.stream.Close()
	if s.own {
		s.t.Close()
	}
}
