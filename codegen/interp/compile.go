package interp

import (
	"fmt"

	"distaff/codegen/ir"
)

// Program is a leaf compiled to closures. It has no state: runs may go on at
// once.
type Program struct {
	name                           string
	ints, floats, complexs, tracks int
	intNames                       []string
	arrays                         []*ir.Array
	tables                         []*ir.Table
	params                         []param
	publishes                      []ir.Slot
	bounds                         [][2]int // slots in ints; -1 for none
	threads                        int
	kernels                        int
	body                           stmtFn
}

// param binds a slot to an array or to an integer variable.
type param struct {
	slot  ir.Slot
	index int
}

type (
	stmtFn    func(*frame)
	intFn     func(*frame) int64 // Bool as 0 and 1, too
	floatFn   func(*frame) float64
	complexFn func(*frame) complex128
)

// compiler turns nodes into closures. An invalid node panics: ir.Verify stands
// before it.
type compiler struct {
	p      *Program
	vars   map[*ir.Var]int
	arrays map[*ir.Array]int
	tables map[*ir.Table]int
	loops  []trackedLoop
	// kernel is that of the Launch around the statement at hand, launched the arrays that it stores
	// to.
	kernel   *kernel
	launched map[*ir.Array]bool
}

// trackedLoop is a loop whose iterations must not race around the statement at hand.
type trackedLoop struct {
	kind    ir.ForKind
	written map[*ir.Array]bool
	ordered *ir.Ordered // nil for none
}

// Compile turns f into a Program; the error is ir.Verify's.
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

// array is the handle's place in the frame.
func (c *compiler) array(a *ir.Array) int {
	k, ok := c.arrays[a]
	if !ok {
		k = len(c.p.arrays)
		c.arrays[a] = k
		c.p.arrays = append(c.p.arrays, a)
	}
	return k
}

// variable is the variable's place among those of its class.
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

// launchTracks are those of an array in which the threads of a launch may race. They have no
// number: frame.touch tells them by its thread.
var launchTracks = []int{}

// tracks lists the loops around in which a may race; nil for most.
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
