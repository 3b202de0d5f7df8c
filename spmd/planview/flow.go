package planview

import (
	"fmt"
	"slices"
	"strings"

	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// DrawnRanks is the largest number of ranks whose steps a page shows; it shows the first ones. A
// plan for a page must list the steps of this many ranks, or of all ranks if there are fewer.
const DrawnRanks = 64

// momentArrows is the largest number of arrows of one moment.
const momentArrows = 1 << 10

// otherRanks represents all ranks that are not drawn.
const otherRanks = -1

// move is a block that travels from one rank to another. Either rank may be otherRanks.
type move struct {
	block    forecast.PlannedBlock
	from, to int
	sum      bool // a partial or complete block of the result
}

// moment is a part of the run, for example a step, or the moves of operands from their placements
// before the steps. In a job file it can also be the transfers before a statement runs.
type moment struct {
	name  string
	says  string
	moves []move
	lines []string // what each rank does
	idle  []int    // the ranks that run no step
}

// flow describes a series of pictures, which a stage draws. Each picture shows a moment of a plan's
// run, or of the transfers before a statement runs.
type flow struct {
	p       *forecast.Planned
	drawn   int // number of drawn ranks
	exact   map[string]bool
	moments []moment
	left    int // how much the page still has room for, in the units of cost
	steps   int // number of steps of the drawn rank with most steps
	shown   int // number of steps that are shown
}

// newFlow returns the flow of a plan. If the moments would cost more than `most` (see cost),
// newFlow leaves out the last steps. The first step stays in any case.
func newFlow(p *forecast.Planned, most int) *flow {
	x := &flow{p: p, drawn: min(p.Ranks, DrawnRanks, len(p.PerRank)), exact: Exact(p), left: most}
	before, after := []moment{x.placed(), x.broadcasts()}, x.sums()
	for _, m := range slices.Concat(before, after) {
		x.left -= x.cost(&m)
	}
	for _, r := range p.PerRank[:x.drawn] {
		x.steps = max(x.steps, len(r.Steps))
	}
	for _, m := range before {
		if len(m.moves) > 0 {
			x.moments = append(x.moments, m)
		}
	}
	for x.shown < x.steps {
		m := x.step(x.shown)
		if x.left -= x.cost(&m); x.left < 0 && x.shown > 0 {
			break
		}
		x.moments = append(x.moments, m)
		x.shown++
	}
	x.moments = append(x.moments, after...)
	return x
}

// drawn reports whether the moment has a picture.
func (m *moment) drawn() bool { return len(m.moves)+len(m.idle) > 0 }

// cost returns the number of items that a moment adds to the page: its arrows, its lines, its name,
// and the cells of its picture. flow.left limits the number of items.
func (x *flow) cost(m *moment) int {
	n := min(len(m.moves), momentArrows) + len(m.lines) + 1
	if m.drawn() {
		n += x.drawn
	}
	return n
}

// bytes returns the size of all blocks that travel, in bytes.
func (m *moment) bytes() (n int64) {
	for _, v := range m.moves {
		n += v.block.Bytes
	}
	return n
}

// rank returns r, or otherRanks if rank r is not drawn.
func (x *flow) rank(r int) int {
	if r >= x.drawn {
		return otherRanks
	}
	return r
}

// placed returns the moment before the steps at which operands are moved. Operands move from their
// placements to the ranks that own their blocks. Rows of gathered operands move to the ranks that
// read the rows.
func (x *flow) placed() moment {
	m := moment{name: "operands are moved to the ranks that read them"}
	for r, d := range x.p.PerRank[:x.drawn] {
		for _, v := range d.Moves {
			if v.To == r {
				x.arrives(&m, v)
			}
		}
	}
	m.says = strings.TrimPrefix(x.travels(&m), "; ")
	return m
}

// arrives adds move v to moment m. Move v brings a block to rank v.To.
func (x *flow) arrives(m *moment, v forecast.PlannedMove) {
	m.moves = append(m.moves, move{block: v.PlannedBlock, from: x.rank(v.From), to: x.rank(v.To)})
	if len(m.lines) < momentArrows {
		from := "ranks that are not drawn"
		if v.From != jobs.Others {
			from = fmt.Sprintf("rank %d", v.From)
		}
		m.lines = append(m.lines,
			fmt.Sprintf("rank %d gets %s from %s", v.To, x.block(v.PlannedBlock), from))
	}
}

// broadcasts returns the moment before the steps, when operands are broadcast to all ranks.
func (x *flow) broadcasts() moment {
	m := moment{name: "before the steps"}
	for _, t := range x.p.Tensors {
		if !t.Broadcast || len(t.Owners) == 0 || x.p.Ranks == 1 {
			continue
		}
		b := forecast.PlannedBlock{Tensor: t.Name, Entries: t.Entries, Bytes: t.Bytes}
		for _, n := range t.Sizes {
			b.Box = append(b.Box, [2]int64{0, n})
		}
		for to := range x.drawn {
			if to != t.Owners[0] {
				m.moves = append(m.moves, move{block: b, from: x.rank(t.Owners[0]), to: to})
			}
		}
		m.lines = append(m.lines,
			fmt.Sprintf("rank %d broadcasts %s", t.Owners[0], strings.TrimSuffix(x.block(b), ",")))
	}
	m.says = countOf(len(m.lines), "broadcast")
	return m
}

// step returns a moment that shows step k of every rank that is drawn.
func (x *flow) step(k int) moment {
	m := moment{name: fmt.Sprintf("step %d", k)}
	running := 0
	for r, d := range x.p.PerRank[:x.drawn] {
		if k >= len(d.Steps) {
			m.idle = append(m.idle, r)
			continue
		}
		running++
		s := d.Steps[k]
		var parts []string
		if at := x.ranges(s); at != "" {
			parts = append(parts, at)
		}
		for _, f := range s.Fetches {
			if f.All || f.From == r {
				continue
			}
			m.moves = append(m.moves, move{block: f.PlannedBlock, from: x.rank(f.From), to: r})
			parts = append(parts, fmt.Sprintf("gets %s from rank %d", x.block(f.PlannedBlock), f.From))
		}
		if len(parts) == 0 {
			parts = []string{"the whole statement"}
		}
		m.lines = append(m.lines, fmt.Sprintf("rank %d: %s", r, strings.Join(parts, "; ")))
	}
	m.says = fmt.Sprintf("%s of %d run", countOf(running, "rank"), x.drawn) + x.travels(&m)
	return m
}

// ranges returns the ranges of a step's split variables in words.
func (x *flow) ranges(s forecast.PlannedStep) string {
	var at []string
	for v, c := range s.Ranges {
		if l := x.p.Loops[v]; l.Entries != "" {
			at = append(at, fmt.Sprintf("%s, part %d of %d", l.What(), c[0]+1, l.Parts))
		} else {
			at = append(at, fmt.Sprintf("%s %d:%d", l.Var, c[0], c[1]))
		}
	}
	return strings.Join(at, ", ")
}

// sums returns the moments after the steps: partial results are added, and complete results are
// sent to their owners.
func (x *flow) sums() (list []moment) {
	for _, final := range []bool{false, true} {
		m := moment{name: "sums: partial results are added"}
		verb := "is added to the block of"
		if final {
			m.name, verb = "results go to their owners", "goes to"
		}
		for r, d := range x.p.PerRank[:x.drawn] {
			for _, s := range d.Sums {
				// Both ranks list a sum. It is counted at the receiver, or at the sender if the
				// receiver is not drawn.
				if s.Final != final || s.From == s.To || r != s.To && s.To < x.drawn {
					continue
				}
				m.moves = append(m.moves, move{s.PlannedBlock, x.rank(s.From), x.rank(s.To), true})
				if len(m.lines) < momentArrows {
					m.lines = append(m.lines,
						fmt.Sprintf("%s of rank %d %s rank %d", x.block(s.PlannedBlock), s.From, verb, s.To))
				}
			}
		}
		if len(m.moves) == 0 {
			continue
		}
		m.says = strings.TrimPrefix(x.travels(&m), "; ")
		list = append(list, m)
	}
	return list
}

// block returns the name and the size of a block as text.
func (x *flow) block(b forecast.PlannedBlock) string {
	return fmt.Sprintf("%v, %s,", b, About(x.exact[b.Tensor], tensor.Bytes(b.Bytes)))
}

// travels returns a phrase about the blocks that travel in a moment: their number and total size.
// If the picture does not draw an arrow for each block, the phrase also says how many arrows it
// draws.
func (x *flow) travels(m *moment) string {
	if len(m.moves) == 0 {
		return "; nothing is sent"
	}
	exact := !slices.ContainsFunc(m.moves, func(v move) bool { return !x.exact[v.block.Tensor] })
	verb := "travel"
	if len(m.moves) == 1 {
		verb = "travels"
	}
	s := fmt.Sprintf("; %s %s, %s", countOf(len(m.moves), "block"), verb,
		About(exact, tensor.Bytes(m.bytes())))
	if len(m.moves) > momentArrows {
		s += fmt.Sprintf("; the first %s have arrows", grouped(momentArrows))
	}
	return s
}

// says returns sentences that say which ranks and steps the pictures show, or "" if they show all.
func (x *flow) says() string {
	s := ""
	if x.drawn < x.p.Ranks {
		s = fmt.Sprintf(
			"The pictures show the first %d of %s ranks, the blocks that they receive, and the "+
				"blocks that they add to other ranks' results.",
			x.drawn, grouped(int64(x.p.Ranks)))
	}
	if x.shown < x.steps {
		s = joined(s, fmt.Sprintf("The pictures show the first %d of %s.", x.shown, countOf(x.steps, "step")))
	}
	return s
}

// transfers returns a flow that shows the transfers before an item of a job file. They move the
// item's tensors from the ranks where earlier items left them to the ranks that need them. The flow
// shows the machine of plan.
func transfers(it jobs.PlannedItem, plan *forecast.Planned) *flow {
	p := &forecast.Planned{Ranks: len(it.Comm.BytesSent), Machine: plan.Machine}
	x := &flow{p: p, drawn: min(p.Ranks, DrawnRanks)}
	m := moment{name: "tensors are moved to the ranks that need them"}
	for _, t := range it.Moves {
		p.Tensors = append(p.Tensors, forecast.PlannedTensor{Name: t.Tensor, Exact: t.Exact})
	}
	x.exact = Exact(p)
	for _, t := range it.Moves {
		for _, r := range t.Routes {
			x.arrives(&m, forecast.PlannedMove{
				PlannedBlock: forecast.PlannedBlock{Tensor: t.Tensor,
					Bytes: r.Bytes}, From: r.From, To: r.To})
		}
	}
	if m.says = strings.TrimPrefix(x.travels(&m), "; "); len(m.moves) > 0 {
		x.moments = []moment{m}
	}
	return x
}
