package jobs

import (
	"context"

	"distaff/codegen/jobfile"
	"distaff/codegen/place"
	"distaff/spmd/forecast"
	"distaff/spmd/input"
	"distaff/spmd/load"
	"distaff/spmd/plan"
	"distaff/spmd/program"
)

// placing identifies the move of a tensor to a placement. old describes the blocks before the move.
type placing struct {
	old       *input.Held
	placement string
}

// place follows a place item: it counts what Program.Place or Program.PlaceOn would send, and
// updates the state.
func (x *follower) place(it jobfile.Item, name string, p place.Placement) error {
	mode, on, err := x.names.target(p, x.ranks)
	if err != nil {
		return err
	}
	if on != nil {
		mode = program.LoadedBy
	}
	if err := x.fetch(name, &mode); err != nil {
		return err
	}
	h := x.at.held[name]
	var g *load.Target
	if on == nil {
		g = program.PlacedEvenly(h.Blocks, mode, x.ranks)
	} else {
		part, err := plan.Placed(p, on, h.Blocks.Layout.Dims, h.Blocks.Layout.Format.Order, x.ranks)
		if err != nil {
			return err
		}
		switch a := part.Ordered(); {
		case a == nil:
		case h.File != nil && load.Findable(h.File):
			if a.Keys, err = load.Keys(context.Background(), h.File, a.Ordered); err != nil {
				return err
			}
		default:
			keys, ok := load.DenseKeys(h.Blocks.Layout.Format.Levels, a.Ordered, h.Blocks.Layout.Dims)
			if a.Keys = keys; !ok {
				a.Guess(h.Blocks.Layout.Dims, float64(h.Entries))
			}
		}
		g = program.Placed(h.Blocks, part)
	}
	if g.Partition.Ordered() == nil && h.AsIs && g.Same(h.Blocks) {
		return nil
	}
	x.move(it, name, forecast.Access{Operand: name, Blocks: g}, h, true)
	key := placing{h, p.String()}
	if x.placed[key] == nil {
		x.placed[key] = &input.Held{Blocks: g.Blocks(), Entries: h.Entries, AsIs: true, Kind: h.Kind,
			File: h.File}
	}
	x.at.write(name, x.placed[key])
	return nil
}
