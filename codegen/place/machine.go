package place

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// Machine is a grid of points, or a hierarchy of grids: the grid of nodes, and then the grid inside
// each node. Points are numbered in row-major order. The rank with the number p mod the number of
// ranks runs point p.
type Machine struct {
	Name  string
	Grids []Grid // at least one
	// OfProduct says that Cosma will compute the grid for a product of dense matrices. Until then
	// Grids has a placeholder of three dimensions.
	OfProduct bool
	// Steps is the number of parts of the sum that a rank computes one after another, on a machine
	// that Cosma computed. On other machines it is 0.
	Steps int64
}

// Grid is one level of a machine.
type Grid struct {
	Name    string  // as in "nodes=2x2;gpus=4"; may be "" if there is only one grid
	Extents []int64 // each at least 1
}

// Line returns the default machine, which has one dimension with a point for each rank.
func Line(ranks int64) *Machine {
	return &Machine{Name: "M", Grids: []Grid{{Extents: []int64{ranks}}}}
}

// ParseMachine reads a machine: "4", "2x2", "nodes=2x2;gpus=4", or "cosma" for the grid that Cosma
// computes. DISTAL's spelling "Grid(2,2)" means "2x2". An error is a *diag.Error with the place in
// text.
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
					"got %s twice, want a different name for each level", grid.Name)
			}
		}
		m.Grids = append(m.Grids, grid)
		at += len(part) + 1
	}
	points := int64(1)
	for _, n := range m.Dims() {
		if points > math.MaxInt32/n {
			return nil, diag.At("machine", text, 0, len(text),
				"got a machine with too many points, want at most %d",
				math.MaxInt32)
		}
		points *= n
	}
	return m, nil
}

// parseGrid parses part, the description of one level of a machine. part begins at text[at], and
// errors show this place in text. If named is true, the level must have a name.
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
	by := "x"
	if inside, ok := strings.CutPrefix(strings.TrimLeft(extents, " "), "Grid("); ok {
		if inside, ok = strings.CutSuffix(strings.TrimRight(inside, " "), ")"); ok {
			at += strings.Index(extents, "Grid(") + len("Grid(")
			extents, by = inside, ","
		}
	}
	for part := range strings.SplitSeq(extents, by) {
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

// Dims returns the extents of all dimensions, outer grids first.
func (m *Machine) Dims() []int64 {
	var dims []int64
	for _, g := range m.Grids {
		dims = append(dims, g.Extents...)
	}
	return dims
}

// Points returns the number of points.
func (m *Machine) Points() int64 {
	n := int64(1)
	for _, d := range m.Dims() {
		n *= d
	}
	return n
}

// Dim returns the index in Dims of the dimension with the given name. In a single grid, dimensions
// are called x, y, z or 0, 1, 2 and so on; in a hierarchy, nodes.x and so on. The second result is
// false if the machine has no such dimension.
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

// DimName returns the name that commands use for dimension d, an index in Dims: M.x, or M.nodes.x
// in a hierarchy.
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

// String returns the text of the machine, which ParseMachine reads back.
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

// maxPoints is the largest number of points that one rank may run. Every point has lists of blocks
// and steps, which take some KiB and up to a millisecond even if most are empty.
const maxPoints = 1 << 12

// CheckRanks returns an error if the machine has too many points for the given number of ranks.
func (m *Machine) CheckRanks(ranks int) error {
	if n := m.Points(); n > maxPoints*int64(ranks) {
		return diag.Errorf(diag.ScheduleRefused,
			"machine %s (%s) has %d points, which is %d for each of the job's %s; want at "+
				"most %d for each",
			m.Name, m, n, (n+int64(ranks)-1)/int64(ranks), tensor.Count(ranks, "rank"), maxPoints)
	}
	return nil
}

// IdleNote returns a note for the user if some ranks have no point of the machine, so that no
// distributed work runs there. Otherwise it returns "".
func (m *Machine) IdleNote(ranks int) string {
	n := m.Points()
	if n >= int64(ranks) || m.OfProduct {
		return ""
	}
	return fmt.Sprintf(
		"machine %s (%s) has %s, but the job has %d ranks: the last %d get none", m.Name,
		m, tensor.Count(int(n), "point"), ranks, int64(ranks)-n)
}
