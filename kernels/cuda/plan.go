package cuda

import (
	"errors"
	"maps"

	"distaff/codegen/ir"
)

// Sizes holds what is known about a leaf's arguments before a call.
type Sizes struct {
	// number of elements of an argument's array; 0 if there is no array
	Elements func(ir.Slot) int64
	Size     func(ir.Slot) int64 // value of a slot that names an integer
	Bounds   [][2]int64          // bounds of the leaf's variables
}

// Need is the device memory that a call needs.
type Need struct {
	Arguments int64 // bytes of the arguments' arrays that kernels use, including results
	Peak      int64 // maximum number of bytes at one time: arguments and the leaf's allocations
	// Unknown lists arrays whose length is known only while the leaf runs, for example the arrays
	// of a sparse result. Peak does not count them.
	Unknown []string
}

// Memory returns the device memory that a call of a leaf needs. The device rounds the size of each
// array up by at most 2 MiB, and may then use a kept block that is up to a quarter larger.
func Memory(f *ir.Func, sizes Sizes) Need {
	p := &planner{f: f, vars: scope{}, live: map[*ir.Array]int64{}}
	used := arraysUsed(f.Body)
	for _, q := range f.Params {
		switch {
		case q.A != nil && used[q.A]:
			p.need.Arguments += sizes.Elements(q.Slot) * q.A.Elem.Size()
		case q.V != nil:
			p.vars[q.V] = ir.Int(sizes.Size(q.Slot))
		}
	}
	for k, vs := range f.Bounds {
		for side, v := range vs {
			if v != nil && k < len(sizes.Bounds) {
				p.vars[v] = ir.Int(sizes.Bounds[k][side])
			}
		}
	}
	if f.Threads != nil {
		p.vars[f.Threads] = ir.Int(1)
	}
	p.now, p.need.Peak = p.need.Arguments, p.need.Arguments
	p.run(f.Body)
	return p.need
}

// arraysUsed returns the arrays that must be on the device: the arrays that a kernel launch or a
// device operation (such as a copy or fill) accesses. Arrays that only the host reads stay on the
// host.
func arraysUsed(b *ir.Block) map[*ir.Array]bool {
	used := map[*ir.Array]bool{}
	ir.WalkRows(b, func(s ir.Stmt, r *ir.Row) {
		for a, role := range r.Arrays() {
			if role == ir.Loads || role == ir.Stores || role == ir.Updates {
				used[a] = true
			}
		}
		if s, ok := s.(*ir.Launch); ok {
			ir.WalkExprs(s.Body, func(x ir.Expr) {
				if a := ir.ArrayOf(x); a != nil {
					used[a] = true
				}
			})
		}
	})
	return used
}

// planner simulates a leaf's host part without the contents of arrays, to find out how much device
// memory the leaf needs.
type planner struct {
	f    *ir.Func
	vars scope
	live map[*ir.Array]int64 // sizes of the current allocations
	now  int64
	need Need
}

// errUnknown is the error for values that are known only while the leaf runs.
var errUnknown = errors.New("unknown")

func (p *planner) load(*ir.Array, int64) (*ir.Lit, error) { return nil, errUnknown }

// run simulates a statement. If a condition is unknown, run simulates both branches and counts the
// allocations of both. It simulates the body of a loop once.
func (p *planner) run(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Block:
		if s != nil {
			for _, t := range s.List {
				p.run(t)
			}
		}
	case *ir.Declare:
		p.assign(s.V, s.Init)
	case *ir.Assign:
		x := s.X
		if s.Accumulate {
			x = &ir.Binary{Op: ir.Add, X: s.V, Y: s.X}
		}
		p.assign(s.V, x)
	case *ir.If:
		p.branch(s)
	case *ir.For:
		p.forgetAssigned(s.Body)
		delete(p.vars, s.V)
		p.run(s.Body)
	case *ir.While:
		p.forgetAssigned(s.Body)
		p.run(s.Body)
	case *ir.Alloc:
		p.alloc(s.A, s.Len)
	case *ir.Local:
		p.alloc(s.A, ir.Int(s.Len))
	case *ir.Free:
		p.now -= p.live[s.A]
		delete(p.live, s.A)
	}
}

func (p *planner) assign(v *ir.Var, x ir.Expr) {
	if l, err := p.vars.eval(x, p); err == nil {
		p.vars[v] = l
	} else {
		delete(p.vars, v)
	}
}

func (p *planner) branch(s *ir.If) {
	if yes, err := p.vars.truth(s.Cond, p); err == nil {
		if yes {
			p.run(s.Then)
		} else {
			p.run(s.Else)
		}
		return
	}
	before := maps.Clone(p.vars)
	p.run(s.Then)
	after := p.vars
	p.vars = before
	p.run(s.Else)
	for v, l := range p.vars {
		if after[v] == nil || !ir.Same(after[v], l) {
			delete(p.vars, v)
		}
	}
}

// forgetAssigned forgets the values of the variables that a loop with body b assigns.
func (p *planner) forgetAssigned(b *ir.Block) {
	ir.WalkRows(b, func(_ ir.Stmt, r *ir.Row) {
		for v, role := range r.Vars() {
			if role == ir.Sets {
				delete(p.vars, v)
			}
		}
	})
}

func (p *planner) alloc(a *ir.Array, length ir.Expr) {
	n, err := p.vars.int(length, p)
	if err != nil {
		p.unknown(a)
		return
	}
	p.now += n*a.Elem.Size() - p.live[a]
	p.live[a] = n * a.Elem.Size()
	p.need.Peak = max(p.need.Peak, p.now)
}

func (p *planner) unknown(a *ir.Array) {
	for _, name := range p.need.Unknown {
		if name == a.Name {
			return
		}
	}
	p.need.Unknown = append(p.need.Unknown, a.Name)
}
