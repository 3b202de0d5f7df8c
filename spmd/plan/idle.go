package plan

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/place"
	"distaff/io/tensor"
	"distaff/spmd/plan/flow"
)

// Mapping says how many ranks have work if blocks are mapped to ranks by some variables.
type Mapping struct {
	Vars    []string // variables of the map, as the user writes them
	Working int      // number of ranks that run a block
}

// Mapping returns the variables that map blocks to ranks, and the number of ranks that have work.
func (p *Problem) Mapping() Mapping {
	m := Mapping{}
	for _, k := range p.Blocking.Map {
		if v := p.userName(k); !slices.Contains(m.Vars, v) {
			m.Vars = append(m.Vars, v)
		}
	}
	w, tuple, groups := p.Walk(), make([]int64, len(p.Blocking.Vars)), []int(nil)
	for r := range p.Ranks {
		for point := range w.Points(r) {
			p.tuple(point, tuple)
			if groups = p.Blocking.Running(tuple, groups); len(groups) > 0 {
				m.Working++
				break
			}
		}
	}
	return m
}

// BetterMapping returns a mapping that gives work to more ranks than the problem's own mapping. It
// starts from the problem's own mapping and adds one split variable after another, each time the
// variable that gives work to the most ranks. It stops when no further variable helps.
// BetterMapping returns false if no single variable helps.
func (p *Problem) BetterMapping() (Mapping, bool) {
	best, found := p.Mapping(), false
	for at := p; ; {
		if int64(best.Working) == min(int64(p.Ranks), p.Blocking.Blocks()) {
			return best, found
		}
		next := at
		for k := range p.Blocking.Vars {
			q := at.mappedBy(k)
			if m := q.Mapping(); m.Working > best.Working {
				best, next = m, q
			}
		}
		if next == at {
			return best, found
		}
		at, found = next, true
	}
}

// mappedBy returns a copy of the problem that also maps blocks to ranks by split variable k, and by
// the other split variables that have the same name in the user's statement.
func (p *Problem) mappedBy(k int) *Problem {
	blocking := *p.Blocking
	blocking.Map = slices.Clone(p.Blocking.Map)
	for n := range p.Blocking.Vars {
		if p.userName(n) == p.userName(k) && !slices.Contains(p.Blocking.Map, n) {
			blocking.Map = append(blocking.Map, n)
		}
	}
	q := *p
	q.Blocking, q.Nest = &blocking, blocking.Nest()
	q.walk, q.facts = flow.NewWalk(q.Nest, q.Ranks), facts{}
	return &q
}

// userName returns the name that the user gave to split variable k.
func (p *Problem) userName(k int) string {
	name := p.Blocking.Vars[k].Name
	if s, ok := p.Norm.Source[name]; ok {
		return s
	}
	return name
}

// IdleNote returns a message about ranks without work in a block schedule, if another value of
// --map would give work to more ranks. Otherwise it returns "". spec is the block schedule of the
// user's flags.
func (p *Problem) IdleNote(spec *place.BlockSpec) string {
	if p.Ranks == 1 || p.Distributed || spec.Empty() {
		return ""
	}
	better, ok := p.BetterMapping()
	if !ok {
		return ""
	}
	own, by := p.Mapping(), "without --map, the variables of the result decide which"
	if spec.Map != nil {
		by = "by --map=" + strings.Join(spec.Map, ",")
	}
	run := "run"
	if own.Working == 1 {
		run = "runs"
	}
	return fmt.Sprintf(
		"only %[2]d of %[1]d ranks %[3]s all %[4]s of the schedule (%[5]s); with --map=%[6]s, "+
			"%[7]d ranks would",
		p.Ranks, own.Working, run,
		tensor.Count(p.Blocking.Blocks(), "block"), by, strings.Join(better.Vars, ","),
		better.Working)
}
