package place

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
)

// Machine is a grid of points, or a hierarchy of grids: that of the nodes, then the one inside
// each node. Point p is on rank p mod the number of ranks; points are numbered row-major.
type Machine struct {
	Name  string
	Grids []Grid // one at least
	// OfProduct says that the grid is to be computed for a product of dense matrices (Cosma), in
	// whose place the one of three dimensions that is here stands.
	OfProduct bool
	// Steps, of a machine that was computed so, is in how many parts a rank takes the sum; else 0.
	Steps int64
}

// Grid is one level of a machine.
type Grid struct {
	Name    string  // as in "nodes=2x2;gpus=4"; "" where the machine is one grid
	Extents []int64 // each 1 at least
}

// Line is the machine of one dimension that there is where nothing is said.
func Line(ranks int64) *Machine {
	return &Machine{Name: "M", Grids: []Grid{{Extents: []int64{ranks}}}}
}

// ParseMachine reads a machine: "4", "2x2", "nodes=2x2;gpus=4", or "cosma" for the grid that
// Cosma computes. Errors are *diag.Error with the place in text.
func ParseMachine(text string) (*Machine, error) {
	if text == "cosma" {
		return &Machine{Name: "M", Grids: []Grid{{Extents: []int64{1, 1, 1}}}, OfProduct: true}, nil
	}
	m := &Machine{Name: "M"}
	at := 0
	for part := range strings.SplitSeq(text, ";") {
		grid, err := parseGrid(text, at, part, strings.Contains(text, ";"))
		if err != nil {
			return nil, err
		}
		for _, g := range m.Grids {
			if g.Name == grid.Name {
				return nil, diag.At("machine", text, at, at+len(part),
					"got %s twice, want a name for each level", grid.Name)
			}
		}
		m.Grids = append(m.Grids, grid)
		at += len(part) + 1
	}
	points := int64(1)
	for _, n := range m.Dims() {
		if points > math.MaxInt32/n {
			return nil, diag.At("machine", text, 0, len(text), "got a machine of more than %d points",
				math.MaxInt32)
		}
		points *= n
	}
	return m, nil
}

// parseGrid reads one level, which stands at text[at:].
func parseGrid(text string, at int, part string, named bool) (Grid, error) {
	var g Grid
	name, extents, ok := strings.Cut(part, "=")
	if ok {
		g.Name = strings.TrimSpace(name)
		if !notation.IsName(g.Name) {
			return g, diag.At("machine", text, at, at+max(len(name), 1),
				"got %q, want the name of a level, as in nodes=2x2;gpus=4", g.Name)
		}
		at += len(name) + 1
	} else {
		if extents = part; named {
			return g, diag.At("machine", text, at, at+max(len(part), 1),
				"got %q, want NAME=EXTENTxEXTENT..., as in nodes=2x2;gpus=4", part)
		}
	}
	for part := range strings.SplitSeq(extents, "x") {
		n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
		if err != nil || n < 1 {
			return g, diag.At("machine", text, at, at+max(len(part), 1),
				"got %q, want an extent of 1 or more, as in 2x2 or nodes=2x2;gpus=4", part)
		}
		g.Extents = append(g.Extents, n)
		at += len(part) + 1
	}
	return g, nil
}

// Dims are the extents of all dimensions, those of outer grids first.
func (m *Machine) Dims() []int64 {
	var dims []int64
	for _, g := range m.Grids {
		dims = append(dims, g.Extents...)
	}
	return dims
}

// Points is how many points there are.
func (m *Machine) Points() int64 {
	n := int64(1)
	for _, d := range m.Dims() {
		n *= d
	}
	return n
}

// Dim is the index of a dimension by its name: x, y, z or 0, 1, 2 and so on of one grid, nodes.x of
// a hierarchy.
func (m *Machine) Dim(name string) (int, bool) {
	before := 0
	for _, g := range m.Grids {
		of := name
		if g.Name != "" {
			rest, ok := strings.CutPrefix(name, g.Name+".")
			if !ok && len(m.Grids) > 1 {
				before += len(g.Extents)
				continue
			}
			if ok {
				of = rest
			}
		}
		k := strings.Index("xyz", of)
		if k < 0 || len(of) != 1 {
			n, err := strconv.Atoi(of)
			if err != nil || strconv.Itoa(n) != of {
				return 0, false
			}
			k = n
		}
		if k < 0 || k >= len(g.Extents) {
			return 0, false
		}
		return before + k, true
	}
	return 0, false
}

// DimName is the name by which commands call a dimension, an index of Dims: M.x, or M.nodes.x of a
// hierarchy.
func (m *Machine) DimName(d int) string {
	for _, g := range m.Grids {
		if d >= len(g.Extents) {
			d -= len(g.Extents)
			continue
		}
		name := m.Name + "."
		if len(m.Grids) > 1 {
			name += g.Name + "."
		}
		if len(g.Extents) <= len("xyz") {
			return name + "xyz"[d:d+1]
		}
		return name + strconv.Itoa(d)
	}
	panic("BUG: a dimension that the machine does not have")
}

// String prints the machine so that ParseMachine gives it back.
func (m *Machine) String() string {
	if m.OfProduct {
		return "cosma"
	}
	levels := make([]string, len(m.Grids))
	for k, g := range m.Grids {
		extents := make([]string, len(g.Extents))
		for i, n := range g.Extents {
			extents[i] = strconv.FormatInt(n, 10)
		}
		levels[k] = strings.Join(extents, "x")
		if g.Name != "" {
			levels[k] = g.Name + "=" + levels[k]
		}
	}
	return strings.Join(levels, ";")
}

// maxPoints is how many points of a machine a rank may stand for. Blocks and steps are listed for
// each of them, which takes some KiB and up to a millisecond, also where most are empty.
const maxPoints = 1 << 12

// CheckRanks refuses a machine with more points than so many ranks can stand for.
func (m *Machine) CheckRanks(ranks int) error {
	if n := m.Points(); n > maxPoints*int64(ranks) {
		return diag.Errorf(diag.ScheduleRefused,
			"machine %s (%s) has %d points, %d for each of the job's %s, want at most %d for each",
			m.Name, m, n, (n+int64(ranks)-1)/int64(ranks), diag.Count(ranks, "rank"), maxPoints)
	}
	return nil
}

// IdleNote tells the user of ranks that have no point of the machine, so that nothing that is
// distributed over it runs there; "" for none.
func (m *Machine) IdleNote(ranks int) string {
	n := m.Points()
	if n >= int64(ranks) || m.OfProduct {
		return ""
	}
	return fmt.Sprintf("machine %s (%s) has %s, and the job %d ranks: the last %d have none", m.Name,
		m, diag.Count(int(n), "point"), ranks, int64(ranks)-n)
}
