package strategy

import (
	"slices"

	"distaff/codegen/cin"
)

// Choices lists all choices, in the order of their commands in a default schedule.
var Choices = []*Choice{Temporaries, Assemble, Layout, Count, Unroll, Gallop, MergeBy, Jam,
	Workspace, Substitute, RowLanes, Threads, Units, Flatten, LongRows, Tile, Vectorize, Nontemporal,
	Fetch}

// Choose returns the default strategy of a statement. It follows the default instructions of each
// choice.
func Choose(p *Problem) *Value {
	f := newFacts(p)
	v, always := f.plain()
	made := make([][]Chosen, len(Choices))
	for k, c := range Choices {
		if c.Default != nil {
			made[k] = v.take(f, c, c.Default(f, v))
		}
		made[k] = append(made[k], always[k]...)
	}
	v.describe(f, made)
	return v
}

// Plain returns the strategy for a statement whose schedule gives no instructions. It follows the
// instructions that apply to every schedule (Choice.Always). Workspaces have their default forms,
// and the result has its default capacity. Everything else has the simplest form.
func Plain(p *Problem) *Value {
	v, _, err := Follow(p, nil)
	if err != nil {
		panic("BUG: strategy: " + err.Error())
	}
	return v
}

// Follow returns the strategy of a schedule: the plain strategy, changed by the schedule's
// instructions, orders. If instruction number n cannot be followed, it returns n and an error that
// says why.
func Follow(p *Problem, orders []Order) (v *Value, n int, err error) {
	f := newFacts(p)
	v, always := f.plain()
	for _, l := range f.parallel() {
		if f.grows() && !sums(l) {
			v.loop(l).Cut, _ = cutOf(f, l)
		}
	}
	for n, o := range orders {
		if err := v.follow(f, o); err != nil {
			return nil, n, err
		}
	}
	v.describe(f, always)
	v.Defaults = slices.DeleteFunc(v.Defaults, func(x Chosen) bool {
		return slices.ContainsFunc(orders, func(o Order) bool {
			return o.Choice == x.Order.Choice && o.Choice.Decides(f, o) == o.Choice.Decides(f, x.Order)
		})
	})
	return v, 0, nil
}

// Check returns an error that says why the instruction o cannot be followed after the instructions
// in before. It returns nil if o can be followed.
func Check(p *Problem, before []Order, o Order) error {
	if o.Choice.Follow == nil {
		return nil
	}
	f := newFacts(p)
	v, _ := f.plain()
	for _, b := range before {
		if v.follow(f, b) != nil {
			return nil // the caller has refused that order, or will do so
		}
	}
	return v.follow(f, o)
}

// CheckAtEnd returns an error if the instruction o cannot be followed after all commands.
func CheckAtEnd(p *Problem, o Order) error {
	if o.Choice.AtEnd == nil {
		return nil
	}
	return o.Choice.AtEnd(newFacts(p), o)
}

// follow makes v follow the instruction o.
func (v *Value) follow(f *facts, o Order) error {
	if o.Choice.Follow == nil {
		return nil
	}
	return o.Choice.Follow(f, v, o)
}

// plain returns the part of the default strategy that does not depend on the schedule. always[k]
// lists the instructions of choice Choices[k] that this part follows.
func (f *facts) plain() (v *Value, always [][]Chosen) {
	v = &Value{Stmt: f.stmt, Loops: map[*cin.Forall]*Loop{}, Tiles: map[cin.Stmt]int64{},
		Spaces: map[string]Space{}, Trips: map[string]int64{}, Lanes: map[string]bool{},
		Predicated: map[string]bool{}, Windowed: map[string]bool{}, OneBody: map[string]bool{},
		CrdWidth: f.crdWidths(), Weight: weights(f), PerThread: chunksPerThread,
		CachedPartials: f.problem.Target.FarBytes, Result: capacity(f)}
	f.spaces = v.Spaces
	defaultSpaces(f)
	v.Unrolled = unrolled(f)
	always = make([][]Chosen, len(Choices))
	for k, c := range Choices {
		if c.Always != nil {
			always[k] = v.take(f, c, c.Always(f, v))
		}
	}
	return v, always
}

// take makes v follow the instructions in list, which are default instructions of choice c. It
// returns list after setting the choice of each instruction to c.
func (v *Value) take(f *facts, c *Choice, list []Chosen) []Chosen {
	for k := range list {
		list[k].Order.Choice, list[k].Minor = c, list[k].Minor || c.Minor
		if err := v.follow(f, list[k].Order); err != nil {
			panic("BUG: strategy: " + list[k].Order.String() + ": " + err.Error())
		}
	}
	return list
}

// describe sets v.Defaults to the instructions that v follows although no command gave them.
// made[k] lists these instructions for the choice Choices[k]. If a choice has a function Made, the
// result of this function is used instead.
func (v *Value) describe(f *facts, made [][]Chosen) {
	for k, c := range Choices {
		if c.Made != nil {
			made[k] = c.Made(f, v)
			for n := range made[k] {
				made[k][n].Order.Choice = c
			}
		}
		v.Defaults = append(v.Defaults, made[k]...)
	}
}

// SharedSpaces returns the intermediates that threads may fill together: arrays with separate
// places for each thread, and workspaces with marks.
func SharedSpaces(p *Problem) map[string]bool {
	f, out := newFacts(p), map[string]bool{}
	v, _ := f.plain()
	for name, s := range v.Spaces {
		out[name] = s.shared() && f.problem.Intermediates[name].Shared()
	}
	return out
}
