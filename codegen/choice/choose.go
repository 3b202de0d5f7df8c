package choice

import (
	"slices"

	"distaff/codegen/analysis"
	"distaff/codegen/cin"
	"distaff/codegen/strategy"
)

// Choices lists all choices, in the order of their commands in a default schedule.
var Choices = []*Choice{Temporaries, Hoist, Lookup, Assemble, Layout, Count, Unroll, Gallop, MergeBy, Jam,
	Workspace, Substitute, RowLanes, Grid, Threads, Units, Flatten, LongRows, Tile, Vectorize,
	Nontemporal, Fetch}

// Choose returns the default strategy of a statement, and the instructions that it follows, in the
// order of a default schedule.
func Choose(p *analysis.Problem) (*strategy.Value, []Chosen) {
	f := analysis.New(p)
	v, always := plain(f)
	made := make([][]Chosen, len(Choices))
	for k, c := range Choices {
		if c.Default != nil {
			made[k] = take(f, v, c, c.Default(f, v))
		}
		made[k] = append(made[k], always[k]...)
	}
	return v, describe(f, v, made)
}

// Refusal is the error for instruction number N of a schedule, which cannot be followed.
type Refusal struct {
	N   int
	Why error
}

func (e *Refusal) Error() string { return e.Why.Error() }

// Follow returns the strategy of a schedule. orders has the schedule's instructions. The second
// result has the instructions that the strategy follows although no command gave them.
//
// Follow changes the plain strategy as orders says. The plain strategy follows the instructions
// that apply to every schedule (Choice.Always). Its workspaces have their default forms, and the
// result has its default capacity. Loops on threads that make the level arrays of the result are
// divided into chunks by default. An error is a *Refusal.
func Follow(p *analysis.Problem, orders []Order) (*strategy.Value, []Chosen, error) {
	f := analysis.New(p)
	v, always := plain(f)
	for _, l := range f.Parallel() {
		if f.Grows() && !analysis.IsSum(l) {
			v.At(l).Cut, _ = cutOf(f, l)
		}
	}
	for n, o := range orders {
		if err := follow(f, v, o); err != nil {
			return nil, nil, &Refusal{n, err}
		}
	}
	defaults := slices.DeleteFunc(describe(f, v, always), func(x Chosen) bool {
		return slices.ContainsFunc(orders, func(o Order) bool {
			return o.Choice == x.Order.Choice && o.Choice.DecisionKey(f, o) == o.Choice.DecisionKey(f, x.Order)
		})
	})
	return v, defaults, nil
}

// Check returns an error if the instruction o cannot be followed after the instructions in before.
// The error is the reason. Check returns nil if an instruction in before cannot be followed,
// because the caller reports that instruction.
func Check(p *analysis.Problem, before []Order, o Order) error {
	if o.Choice.Follow == nil {
		return nil
	}
	f := analysis.New(p)
	v, _ := plain(f)
	for _, b := range before {
		if follow(f, v, b) != nil {
			return nil // the caller has refused that order, or will do so
		}
	}
	return follow(f, v, o)
}

// CheckAtEnd returns an error if the final loops do not allow the instruction o. It is called after
// all commands have been applied.
func CheckAtEnd(p *analysis.Problem, o Order) error {
	if o.Choice.AtEnd == nil {
		return nil
	}
	return o.Choice.AtEnd(analysis.New(p), o)
}

// follow makes v follow the instruction o.
func follow(f *analysis.Facts, v *strategy.Value, o Order) error {
	if o.Choice.Follow == nil {
		return nil
	}
	return o.Choice.Follow(f, v, o)
}

// plain returns the strategy before the instructions of a schedule are applied. always[k] lists the
// instructions of Choices[k] that v follows with every schedule (Choice.Always).
func plain(f *analysis.Facts) (v *strategy.Value, always [][]Chosen) {
	v = &strategy.Value{Stmt: f.Stmt, Loops: map[*cin.Forall]*strategy.Loop{},
		Tiles:  map[cin.Stmt]int64{},
		Spaces: map[string]strategy.Space{}, Trips: map[string]int64{}, Lanes: map[string]bool{},
		Predicated: map[string]bool{}, Windowed: map[string]bool{}, OneBody: map[string]bool{},
		CrdWidth: f.CrdWidths(), Weight: weights(f), PerThread: chunksPerThread,
		CachedPartials: f.Problem.Target.FarBytes, Result: capacity(f)}
	f.Spaces = v.Spaces
	defaultSpaces(f)
	v.Unrolled = unrolled(f)
	always = make([][]Chosen, len(Choices))
	for k, c := range Choices {
		if c.Always != nil {
			always[k] = take(f, v, c, c.Always(f, v))
		}
	}
	return v, always
}

// take makes v follow the instructions in list, which are default instructions of choice c. It also
// sets the choice of each instruction to c, and returns list.
func take(f *analysis.Facts, v *strategy.Value, c *Choice, list []Chosen) []Chosen {
	for k := range list {
		list[k].Order.Choice, list[k].Minor = c, list[k].Minor || c.Minor
		if err := follow(f, v, list[k].Order); err != nil {
			panic("BUG: choice: " + list[k].Order.String() + ": " + err.Error())
		}
	}
	return list
}

// describe returns the instructions that v follows although no command gave them. made[k] lists the
// instructions of Choices[k]. If this choice has a function Made, describe uses the result of Made
// instead of made[k].
func describe(f *analysis.Facts, v *strategy.Value, made [][]Chosen) (list []Chosen) {
	for k, c := range Choices {
		if c.Made != nil {
			made[k] = c.Made(f, v)
			for n := range made[k] {
				made[k][n].Order.Choice = c
			}
		}
		list = append(list, made[k]...)
	}
	return list
}

// SharedSpaces maps the name of each workspace to whether threads may fill it together. They may if
// the workspace is an array or has marks, and if enough values are added to it.
func SharedSpaces(p *analysis.Problem) map[string]bool {
	f, out := analysis.New(p), map[string]bool{}
	v, _ := plain(f)
	for name, s := range v.Spaces {
		out[name] = s.Shared() && MayShare(f.Problem.Intermediates[name])
	}
	return out
}
