package forecast

import "distaff/codegen"

// PlannedLeaf is the schedule of a leaf. Statement is the part of the statement that the leaf
// computes.
type PlannedLeaf struct {
	Statement string           `json:"statement"`
	Commands  []PlannedCommand `json:"commands"`
}

// PlannedCommand is a scheduling command. Reason says why the default schedule has the command. It
// is "" if the user gave the command.
type PlannedCommand struct {
	Command string `json:"command"`
	Reason  string `json:"reason,omitempty"`
}

// Explain adds the schedules of the leaves to the plan. It compiles each leaf several times, so it
// takes longer than the plan of a small job.
func (p *Planned) Explain() error {
	p.Leaves = nil
	for _, u := range p.units {
		lines, err := codegen.Schedule(u.Request)
		if err != nil {
			return err
		}
		leaf := PlannedLeaf{Statement: p.Statement, Commands: []PlannedCommand{}}
		if n := u.Request.Statement.Normal; n != nil {
			leaf.Statement = n.String()
		}
		for _, l := range lines {
			leaf.Commands = append(leaf.Commands, PlannedCommand{l.Command, l.Why})
		}
		p.Leaves = append(p.Leaves, leaf)
	}
	return nil
}

// Repeated returns the predicted seconds of a repeated run, which computes and sends but neither
// loads nor compiles. It returns false if the time is not predicted.
func (p *Planned) Repeated() (seconds float64, ok bool) {
	if p.Time == nil || p.Time.Compute == nil || p.Time.Messages == nil {
		return 0, false
	}
	return *p.Time.Compute + *p.Time.Messages, true
}
