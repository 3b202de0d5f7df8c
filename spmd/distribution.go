package spmd

import (
	"fmt"

	"distaff/codegen/place"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// machine returns the machine (the grid of ranks) that the job names. If the job names none,
// machine returns nil, and the ranks form a grid of one dimension.
func (o *Options) machine() (*place.Machine, error) {
	if o.fileMachine != nil || o.Machine == "" {
		return o.fileMachine, nil
	}
	return place.ParseMachine(o.Machine)
}

// placements returns the placement of each tensor that the job places, by the tensor's name.
func (o *Options) placements() (map[string]place.Placement, error) {
	if o.filePlacements != nil {
		return o.filePlacements, nil
	}
	placed, said := map[string]place.Placement{}, map[string]string{}
	for _, text := range o.Placements {
		name, p, err := place.ParsePlaced(text)
		if err != nil {
			return nil, err
		}
		if old, ok := said[name]; ok {
			return nil, fault.Commandf("got both -p=%s and -p=%s, want one placement for %s",
				tensor.Printable(old),
				tensor.Printable(text), name)
		}
		placed[name], said[name] = p, text
	}
	return placed, nil
}

// distributingCommand returns the first scheduling command that distributes the statement over
// ranks, or nil if there is none.
func (o *Options) distributingCommand() (*schedule.Command, error) {
	list, err := schedule.Parse(o.Schedule)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.Distributes() {
			return c, nil
		}
	}
	return nil, nil
}

// checkOneDistribution refuses a block schedule together with any other option that decides which
// rank computes which part.
func (o *Options) checkOneDistribution() error {
	blocks := o.blockFlag()
	if blocks == "" {
		return nil
	}
	c, err := o.distributingCommand()
	if err != nil {
		return err
	}
	const both = "each decides which rank runs what, so give only one"
	switch {
	case c != nil:
		return c.Refuse(fmt.Sprintf("got both %s and %s: %s", tensor.Printable(blocks), c, both))
	case o.Machine != "":
		return fault.Commandf(
			"got both %s and -m=%s: %s; only commands that distribute, and placements, need a "+
				"machine", blocks,
			o.Machine, both)
	case len(o.Placements) > 0:
		return fault.Commandf("got both %s and -p=%s: %s", blocks, o.Placements[0], both)
	}
	return nil
}

// blockFlag returns the first flag of the job's block schedule, or "" if it has no block schedule.
func (o *Options) blockFlag() string {
	switch {
	case len(o.Splits) > 0:
		return "--split=" + o.Splits[0]
	case o.BlockOrder != "":
		return "--order=" + o.BlockOrder
	case len(o.Extend) > 0:
		return "--extend=" + o.Extend[0]
	case o.Map != "":
		return "--map=" + o.Map
	}
	return ""
}
