package jobs

import (
	"fmt"

	"distaff/codegen/jobfile"
	"distaff/io/tensor"
	"distaff/spmd/program"
)

// checks compares runs of statements with the reference evaluator: the first run and the last run
// of each statement.
type checks struct {
	r    *execution
	last map[*jobfile.Statement]*lastRun // nil after a single run
}

// lastRun is the newest run of a statement, which was not compared yet.
type lastRun struct {
	s *program.Statement
	n *program.Snapshot
}

// after records a run that has ended. It compares the first run of a statement at once and keeps
// the snapshot of the newest other run.
func (c *checks) after(s *jobfile.Statement, k *program.Statement, n *program.Snapshot) error {
	if err := k.After(n); err != nil {
		n.Close()
		return err
	}
	old, again := c.last[s]
	if !again {
		c.last[s] = nil
		return c.compare(s, k, n, "first")
	}
	if old != nil {
		old.n.Close()
	}
	c.last[s] = &lastRun{k, n}
	return nil
}

// finish compares the last run of each statement that ran more than once.
func (c *checks) finish() (err error) {
	for s := range c.r.names.f.Statements() {
		if l := c.last[s]; l != nil && err == nil {
			err = c.compare(s, l.s, l.n, "last")
		}
	}
	return err
}

// compare compares a run with the reference evaluator and closes its snapshot. If they differ,
// every rank gets an *Ended. which is "first" or "last".
func (c *checks) compare(s *jobfile.Statement, k *program.Statement, n *program.Snapshot,
	which string) error {
	defer n.Close()
	line, _ := c.r.names.f.Position(s.Span().Pos)
	where := fmt.Sprintf("%s:%d: %s run: ", tensor.Printable(c.r.names.f.Name), line, which)
	var differs string
	err := program.Shared(c.r.p, &differs, func() error {
		said, d, err := k.Compare(n)
		if said != "" {
			c.r.report.Lines = append(c.r.report.Lines, where+said)
		}
		if d != nil {
			differs = where + d.Error()
		}
		return err
	})
	if err != nil {
		return c.r.names.at(s, err)
	}
	if differs != "" {
		return &Ended{differs}
	}
	return nil
}
