package plan

import (
	"fmt"
	"slices"

	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/plan/flow"
)

// Given is the input of New.
type Given struct {
	Norm  *notation.Normal
	Names []string // names of all tensors
	Read  []string // tensors that are read; a result that += adds to is listed under its own name
	// name of the operand that is the result's old value; "" if the right side does not read it
	Old    string
	Sizes  map[string]int64 // by index variable
	Blocks *place.BlockSpec // empty selects the default
	Ranks  int
	// Machine is the grid of ranks. If it is nil, the ranks form a line. Placements place tensors
	// on the machine. Schedule holds the user's commands; its distribution commands make a nest.
	Machine    *place.Machine
	Placements map[string]place.Placement
	Device     bool // leaves run on devices, and placements may name device memory
	Schedule   []string
	// Limit is the memory limit of a rank in bytes, or 0 if there is none. ValueBytes is the size
	// of a value of the result. Both are used if the machine is computed for a product.
	Limit      int64
	ValueBytes int64
	Format     func(tensor string) tensor.Format
	Entries    func(tensor string) float64 // returns the estimated number of entries
}

// planner makes a plan from its input.
type planner struct {
	given *Given
	plan  *Problem // the plan, which the methods complete
}

// New determines which rank has which blocks of each tensor, and which rank runs which steps. It is
// deterministic, so that every rank computes the same problem from the same input.
func New(g Given) (*Problem, error) {
	for _, name := range g.Names {
		if err := g.Placements[name].CheckMemory(g.Device); err != nil {
			return nil, err
		}
	}
	if err := g.compute(); err != nil {
		return nil, err
	}
	if g.Machine != nil {
		if err := g.Machine.CheckRanks(g.Ranks); err != nil {
			return nil, err
		}
	}
	nest, err := g.nest()
	if err != nil {
		return nil, err
	}
	p := &Problem{Ranks: g.Ranks, schedule: g.Schedule,
		Whole: g.Ranks == 1 && g.Blocks.Empty() && nest == nil}
	pl := &planner{given: &g, plan: p}
	if p.Whole {
		pl.tensors()
	} else {
		pl.nameOperands(nest)
	}
	if nest != nil {
		return p, pl.distribute(nest)
	}
	spec := g.Blocks
	if g.Ranks > 1 && spec.Empty() {
		spec = pl.defaultSpec()
	}
	if p.Blocking, err = place.Resolve(spec, p.Norm, g.Sizes); err != nil {
		return nil, err
	}
	p.Nest = p.Blocking.Nest()
	pl.cutTensors()
	return p, pl.setHomes()
}

// cutTensors cuts the result and the operands by the split variables.
func (pl *planner) cutTensors() {
	p := pl.plan
	p.walk = flow.NewWalk(p.Nest, p.Ranks)
	p.Result, p.ResultCut = p.Partition(pl.cuts(p.Norm.LHS.Vars))
	for i := range p.Operands {
		o := &p.Operands[i]
		o.Partition, o.Cut = p.Partition(pl.cuts(o.Vars))
		o.Scope = len(p.Nest.Loops)
		for n, group := range p.Blocking.Groups {
			if p.Whole || slices.ContainsFunc(group.Terms,
				func(t int) bool { return readsTensor(p.Norm.Terms[t], o.Name) }) {
				o.Groups = append(o.Groups, n)
			}
		}
	}
	pl.cutStored()
}

// cuts returns, for each variable, the index of the split variable that cuts its mode, or -1.
func (pl *planner) cuts(vars []string) []int {
	split := pl.plan.Blocking.Vars
	out := make([]int, len(vars))
	for m, v := range vars {
		out[m] = slices.IndexFunc(split, func(x place.BlockVar) bool { return x.Name == v })
	}
	return out
}

// oldSuffix is appended to the name of the result of a += statement. The new name denotes the
// operand that holds the old value of the result.
const oldSuffix = "_old"

// nameOperands makes an operand of each access and gives it a unique name. Accesses with the same
// tensor and the same variables are one operand. The old value that += reads becomes an operand
// too.
func (pl *planner) nameOperands(nest *place.Nest) {
	p, g := pl.plan, pl.given
	n := g.Norm
	taken := map[string]bool{}
	for _, name := range g.Names {
		taken[name] = true
	}
	for _, v := range n.Vars {
		taken[v] = true
	}
	fresh := func(name string) string {
		for taken[name] {
			name += "_"
		}
		taken[name] = true
		return name
	}
	byKey := map[string]string{}
	used := map[string]bool{}
	rename := func(a *notation.Access) *notation.Access {
		key := fmt.Sprint(a.Name, a.Vars)
		name, ok := byKey[key]
		if !ok {
			name = a.Name
			if a.Name == n.LHS.Name {
				name = fresh(a.Name + oldSuffix)
			} else if used[a.Name] {
				name = fresh(a.Name)
			}
			used[a.Name], byKey[key] = true, name
			p.Operands = append(p.Operands, Operand{Name: name, Tensor: a.Name, Vars: a.Vars})
		}
		c := *a
		c.Name = name
		return &c
	}
	out := *n
	out.Terms = nil
	terms := n.Terms
	old := n.Accumulate && slices.Contains(g.Read, n.LHS.Name)
	separate := old && cutByEntries(n, nest)
	if old && !separate {
		terms = append([]*notation.Term{{Factors: []notation.Factor{n.LHS}}}, terms...)
	}
	out.Accumulate = false
	for _, t := range terms {
		out.Terms = append(out.Terms, notation.MapAccesses(t, rename))
	}
	p.Norm = &out
	if separate {
		a := *n.LHS
		a.Name = fresh(n.LHS.Name + oldSuffix)
		p.Added = &Addend{len(p.Operands), &notation.Term{Factors: []notation.Factor{&a}}}
		p.Operands = append(p.Operands, Operand{Name: a.Name, Tensor: n.LHS.Name, Vars: n.LHS.Vars})
	}
}

// cutByEntries reports whether the result shares a variable with the tensor whose entries are cut
// into chunks.
func cutByEntries(n *notation.Normal, nest *place.Nest) bool {
	return nest != nil && slices.ContainsFunc(nest.Chunks, func(c place.Chunks) bool {
		return c.Positions != nil &&
			slices.ContainsFunc(c.Positions.Vars,
				func(v string) bool { return slices.Contains(n.LHS.Vars, v) })
	})
}

// tensors makes an operand of every tensor that is read.
func (pl *planner) tensors() {
	pl.plan.Norm = pl.given.Norm
	for _, name := range pl.given.Read {
		o := Operand{Name: name, Tensor: name, Vars: pl.accessVars(name)}
		pl.plan.Operands = append(pl.plan.Operands, o)
	}
}

// accessVars returns the variables of the first access of a tensor, in the result or on the right
// side.
func (pl *planner) accessVars(name string) (vars []string) {
	for _, t := range append([]*notation.Term{{Factors: []notation.Factor{pl.plan.Norm.LHS}}},
		pl.plan.Norm.Terms...) {
		notation.MapAccesses(t, func(a *notation.Access) *notation.Access {
			if a.Name == name && vars == nil {
				vars = a.Vars
			}
			return a
		})
	}
	return vars
}

func readsTensor(t *notation.Term, name string) bool {
	found := false
	notation.WalkTerm(t, func(e notation.Expr) bool {
		if a, ok := e.(*notation.Access); ok && a.Name == name {
			found = true
		}
		return true
	})
	return found
}

// defaultSpec returns the block schedule that cuts the outermost stored mode of the largest operand
// over all ranks. If the mode's variable cannot be cut, it tries the next stored mode, and then the
// next operand.
func (pl *planner) defaultSpec() *place.BlockSpec {
	p, g := pl.plan, pl.given
	ops := slices.Clone(p.Operands)
	slices.SortStableFunc(ops, func(a, b Operand) int {
		x, y := g.Entries(a.Tensor), g.Entries(b.Tensor)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, o := range ops {
		for _, m := range g.Format(o.Tensor).Order {
			if place.Splittable(p.Norm, o.Vars[m]) == "" {
				return place.Default(p.Norm, o.Vars[m], g.Ranks)
			}
		}
	}
	for _, v := range p.Norm.LHS.Vars {
		return place.Default(p.Norm, v, g.Ranks)
	}
	return &place.BlockSpec{}
}
