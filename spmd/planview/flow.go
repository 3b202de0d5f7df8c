package planview

import (
	"fmt"
	"slices"
	"strings"

	"distaff/io/tcs"
	"distaff/spmd/forecast"
	"distaff/spmd/jobs"
)

// DrawnRanks is how many ranks' steps a page shows, the first ones: a plan that is drawn
// lists that many.
const DrawnRanks = 64

// momentArrows is the most arrows of one moment.
const momentArrows = 1 << 10

// elsewhere stands for the ranks behind those that are drawn.
const elsewhere = -1

// move is a block on its way from one rank to another, either of which may be elsewhere.
type move struct {
	block    forecast.PlannedBlock
	from, to int
	sum      bool // of a partial or complete block of the result
}

// moment is a part of the run in which blocks travel: the broadcasts before the steps, a step, or
// the sums after them.
type moment struct {
	name  string
	says  string
	moves []move
	lines []string // what each rank does
	idle  []int    // the ranks that run no step
}

// flow is the run of a plan as moments, or what brings tensors to a statement.
type flow struct {
	p       *forecast.Planned
	drawn   int // ranks
	exact   map[string]bool
	moments []moment
	left    int // arrows and lines that the page has room for
	steps   int // of the rank with most
	shown   int // of those
}

// newFlow follows a plan, with that many arrows and lines at most.
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

// drawn reports whether a moment has a picture.
func (m *moment) drawn() bool { return len(m.moves)+len(m.idle) > 0 }

// cost returns how much of a page's room a moment takes.
func (x *flow) cost(m *moment) int {
	n := min(len(m.moves), momentArrows) + len(m.lines) + 1
	if m.drawn() {
		n += x.drawn
	}
	return n
}

// bytes are those of all blocks that travel.
func (m *moment) bytes() (n int64) {
	for _, v := range m.moves {
		n += v.block.Bytes
	}
	return n
}

// rank is a rank as it is drawn.
func (x *flow) rank(r int) int {
	if r >= x.drawn {
		return elsewhere
	}
	return r
}

// placed is what brings operands from where they lie to where the steps want them.
func (x *flow) placed() moment {
	m := moment{name: "operands come to where the steps want them"}
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

// arrives adds a block that comes to a rank to a moment.
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

// broadcasts are the operands that one broadcast brings to every rank.
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

// step is the k-th step of every rank.
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

// ranges are those of a step's split variables.
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

// sums are the moments after the steps: partial results are added, and complete ones go to their
// owners.
func (x *flow) sums() (list []moment) {
	for _, final := range []bool{false, true} {
		m := moment{name: "sums: partial results are added"}
		verb := "is added to that of"
		if final {
			m.name, verb = "results go to their owners", "goes to"
		}
		for r, d := range x.p.PerRank[:x.drawn] {
			for _, s := range d.Sums {
				// Both ranks list a sum: it counts at the receiver, unless that is not drawn.
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

// block is a block with its bytes, in words.
func (x *flow) block(b forecast.PlannedBlock) string {
	return fmt.Sprintf("%v, %s,", b, About(x.exact[b.Tensor], tcs.Size(b.Bytes)))
}

// travels says how much of a moment travels, and what of it has no arrow.
func (x *flow) travels(m *moment) string {
	if len(m.moves) == 0 {
		return "; nothing travels"
	}
	exact := !slices.ContainsFunc(m.moves, func(v move) bool { return !x.exact[v.block.Tensor] })
	verb := "travel"
	if len(m.moves) == 1 {
		verb = "travels"
	}
	s := fmt.Sprintf("; %s %s, %s", countOf(len(m.moves), "block"), verb,
		About(exact, tcs.Size(m.bytes())))
	if len(m.moves) > momentArrows {
		s += fmt.Sprintf("; the first %s have arrows", grouped(momentArrows))
	}
	return s
}

// says is what of the run is drawn; "" where all is.
func (x *flow) says() string {
	s := ""
	if x.drawn < x.p.Ranks {
		s = fmt.Sprintf(
			"Drawn are the first %d of %s ranks, what comes to them, and what they add to others' results.",
			x.drawn, grouped(int64(x.p.Ranks)))
	}
	if x.shown < x.steps {
		s = joined(s, fmt.Sprintf("Of %s the first %d are drawn.", countOf(x.steps, "step"), x.shown))
	}
	return s
}

// transfers are what brings tensors to an item of a job file, from where others left them, on the
// machine of a plan.
func transfers(it jobs.PlannedItem, on *forecast.Planned) *flow {
	p := &forecast.Planned{Ranks: len(it.Comm.BytesSent), Machine: on.Machine}
	x := &flow{p: p, drawn: min(p.Ranks, DrawnRanks)}
	m := moment{name: "tensors come to where the item wants them"}
	for _, t := range it.Moves {
		p.Tensors = append(p.Tensors, forecast.PlannedTensor{Name: t.Tensor, Exact: t.Exact})
	}
	x.exact = Exact(p)
	for _, t := range it.Moves {
		for _, r := range t.Routes {
			x.arrives(&m, forecast.PlannedMove{
				PlannedBlock: forecast.PlannedBlock{Tensor: t.Tensor, Bytes: r.Bytes}, From: r.From, To: r.To})
		}
	}
	if m.says = strings.TrimPrefix(x.travels(&m), "; "); len(m.moves) > 0 {
		x.moments = []moment{m}
	}
	return x
}
