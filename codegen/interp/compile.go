package interp

import (
	"fmt"

	"distaff/codegen/ir"
)

// Program is a leaf compiled to closures. It is immutable, so several runs may use it at the same
// time.
type Program struct {
	name                           string
	ints, floats, complexs, tracks int
	intNames                       []string
	arrays                         []*ir.Array
	tables                         []*ir.Table
	params                         []param
	publishes                      []ir.Slot
	bounds                         [][2]int // indices in frame.ints; -1 if unused
	threads                        int
	kernels                        int
	body                           stmtFn
}

// param binds a slot of an argument to an index in frame.arrays or frame.ints.
type param struct {
	slot  ir.Slot
	index int
}

type (
	stmtFn    func(*frame)
	intFn     func(*frame) int64 // also of Bool, as 0 and 1
	floatFn   func(*frame) float64
	complexFn func(*frame) complex128
)

// compiler turns nodes into closures. Compile runs ir.Verify first. An invalid node is therefore a
// bug, for which the compiler panics.
type compiler struct {
	p      *Program
	vars   map[*ir.Var]int
	arrays map[*ir.Array]int
	tables map[*ir.Table]int
	loops  []trackedLoop
	// kernel belongs to the Launch around the current statement. It is nil outside launches.
	// launched has the arrays that the Launch stores to.
	kernel   *kernel
	launched map[*ir.Array]bool
}

// trackedLoop is a loop around the current statement whose iterations are checked for races.
type trackedLoop struct {
	kind    ir.ForKind
	written map[*ir.Array]bool
	ordered *ir.Ordered // the loop's ordered section, or nil
}

// Compile turns f into a Program. It returns the error of ir.Verify.
func Compile(f *ir.Func) (*Program, error) {
	if err := ir.Verify(f); err != nil {
		return nil, fmt.Errorf("interp: %w", err)
	}
	c := &compiler{
		p:      &Program{name: f.Name, threads: -1},
		vars:   map[*ir.Var]int{},
		arrays: map[*ir.Array]int{},
		tables: map[*ir.Table]int{},
	}
	for _, q := range f.Params {
		switch {
		case q.A != nil:
			c.p.params = append(c.p.params, param{q.Slot, c.array(q.A)})
		case q.V != nil:
			c.p.params = append(c.p.params, param{q.Slot, c.variable(q.V)})
		}
	}
	for _, b := range f.Bounds {
		pair := [2]int{-1, -1}
		for side, v := range b {
			if v != nil {
				pair[side] = c.variable(v)
			}
		}
		c.p.bounds = append(c.p.bounds, pair)
	}
	if f.Threads != nil {
		c.p.threads = c.variable(f.Threads)
	}
	c.p.body = c.block(f.Body)
	return c.p, nil
}

// array returns the index of a in frame.arrays.
func (c *compiler) array(a *ir.Array) int {
	k, ok := c.arrays[a]
	if !ok {
		k = len(c.p.arrays)
		c.arrays[a] = k
		c.p.arrays = append(c.p.arrays, a)
	}
	return k
}

// variable returns the index of v in the frame's ints, floats or complexs.
func (c *compiler) variable(v *ir.Var) int {
	k, ok := c.vars[v]
	if ok {
		return k
	}
	switch {
	case v.Typ.IsFloat():
		k = c.p.floats
		c.p.floats++
	case v.Typ.IsComplex():
		k = c.p.complexs
		c.p.complexs++
	default:
		k = c.p.ints
		c.p.ints++
		c.p.intNames = append(c.p.intNames, v.Name)
	}
	c.vars[v] = k
	return k
}

// launchTracks is the list of tracks for an array that a Launch stores to. The list is empty
// because the races of a Launch are between threads, and not between iterations of loops. It is not
// nil, because a nil list means that accesses are not checked for races.
var launchTracks = []int{}

// tracks returns the numbers of the loops around the current statement whose iterations may race on
// a. It returns nil if there are no such loops, as for most arrays. If the Launch around the
// statement stores to a, tracks returns launchTracks instead.
func (c *compiler) tracks(a *ir.Array) []int {
	if c.launched[a] {
		return launchTracks
	}
	var list []int
	for d, l := range c.loops {
		if l.written[a] {
			list = append(list, d)
		}
	}
	return list
}
