package place

import (
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// Home says where the pieces of a tensor are stored on a machine: how it is distributed along each
// dimension.
type Home struct {
	Machine *Machine
	Dims    []HomeDim // one for each of Machine.Dims()
	ordered *Ordered
}

// HomeDim says how a tensor is distributed along one dimension of a machine.
type HomeDim struct {
	// Kind is Cut, Copy, Fix or Nonzeros. Nonzeros dimensions distribute the ranges of
	// Home.Ordered. The coordinates of these dimensions are the digits of a range's number in mixed
	// radix, in the order of Ordered.Cuts.
	Kind DimKind
	// Cut: the mode. If an inner dimension cuts the mode again, it cuts each piece of the outer
	// one.
	Mode int
	At   int64 // Fix: the coordinate of the machine
}

// Ordered returns how the machine divides the tensor along the tensor's storage order. It returns
// nil if no dimension of the machine divides the tensor in this way.
func (h *Home) Ordered() *Ordered { return h.ordered }

// Check returns an error if the placement does not match machine m, or if it does not have the
// given number of modes. Resolve finds further errors. If m is a single grid, the placement may use
// the name of the grid or the name of the machine. In a hierarchy, each level must name its grid,
// in the order of the machine.
func (p Placement) Check(m *Machine, modes int) error {
	if len(p) != len(m.Grids) {
		return p.refused("the placement has %s, want %[3]d: one for each grid of the machine %[2]s",
			tensor.Count(len(p), "level"), m, len(m.Grids))
	}
	for k, l := range p {
		g := m.Grids[k]
		names := m.gridNames(g)
		switch {
		case !slices.Contains(names, l.Machine):
			return p.refused("the placement names machine %s, want %s", l.Machine,
				strings.Join(names, " or "))
		case len(l.Modes) != modes:
			return p.refused("the placement names %s, want %d: one for each mode of the tensor",
				tensor.Count(len(l.Modes), "mode"),
				modes)
		case len(l.Dims) != len(g.Extents):
			return p.refused("the placement has %[2]s of %[1]s, want %[3]d: one for each dimension of "+
				"the grid", l.Machine,
				tensor.Count(len(l.Dims), "dimension"), len(g.Extents))
		}
		for n, d := range l.Dims {
			if d.Kind == Fix && (d.At < 0 || d.At >= g.Extents[n]) {
				return p.refused(
					"got coordinate %d of %s, want less than its extent, %d",
					d.At, l.Machine, g.Extents[n])
			}
		}
	}
	return nil
}

// CheckMemory returns an error if the placement is in the memory of a device and leaves do not run
// on a device. device is true if leaves run on a device.
func (p Placement) CheckMemory(device bool) error {
	if p.Memory() == Device && !device {
		return p.refused(
			"got a device's memory, but the job runs on CPUs; want either in host or " +
				"--target=cuda")
	}
	return nil
}

func (p Placement) refused(format string, args ...any) error {
	return diag.Errorf("placement", "got the placement %s: %s", p, diag.Sprintf(format, args...))
}

// Resolve returns what the placement means for a tensor on a machine. Level l of the tensor stores
// mode order[l].
func (p Placement) Resolve(m *Machine, order []int) (*Home, error) {
	if err := p.Check(m, len(order)); err != nil {
		return nil, err
	}
	h := &Home{Machine: m}
	for k, l := range p {
		for n, d := range l.Dims {
			at := HomeDim{Kind: d.Kind, At: d.At}
			if d.Kind == Cut {
				at.Mode = d.Modes[0]
			}
			why := ""
			switch d.Kind {
			case Nonzeros:
				why = h.nonzeros(&l, d.Modes, order, m.Grids[k].Extents[n])
			case Cut:
				why = h.coordinates(&l, at.Mode)
			}
			if why != "" {
				return nil, p.refused("%s", why)
			}
			h.Dims = append(h.Dims, at)
		}
	}
	return h, nil
}

// gridNames returns the names that a placement may use for grid g of the machine.
func (m *Machine) gridNames(g Grid) []string {
	switch {
	case g.Name == "":
		return []string{m.Name}
	case len(m.Grids) == 1:
		return []string{m.Name, g.Name}
	}
	return []string{g.Name}
}

// Cuts returns where each mode is cut by coordinates. If c is the result for a mode, range k of the
// mode is [c[k], c[k+1]), which may be empty. c is nil if the mode is not cut by coordinates.
func (h *Home) Cuts(sizes []int64) [][]int64 {
	cuts := make([][]int64, len(sizes))
	extents := h.Machine.Dims()
	for k, d := range h.Dims {
		if d.Kind != Cut {
			continue
		}
		if cuts[d.Mode] == nil {
			cuts[d.Mode] = []int64{0, sizes[d.Mode]}
		}
		cuts[d.Mode] = CutEvenly(cuts[d.Mode], extents[k])
	}
	return cuts
}

// CutEvenly divides each range [cuts[k], cuts[k+1]) into n ranges whose sizes differ by at most
// one, and returns the new cuts. If a range [a, b) is divided, part k begins at a +
// floor(k*(b-a)/n).
func CutEvenly(cuts []int64, n int64) []int64 {
	out := make([]int64, 1, int64(len(cuts)-1)*n+1)
	out[0] = cuts[0]
	for k, a := range cuts[:len(cuts)-1] {
		for _, c := range EvenCuts(cuts[k+1]-a, n)[1:] {
			out = append(out, a+c)
		}
	}
	return out
}
