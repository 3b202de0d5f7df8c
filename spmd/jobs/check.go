package jobs

import (
	"fmt"

	"distaff/codegen/jobfile"
	"distaff/spmd/program"
)

// checks compares runs of statements with the reference evaluator: the first run and the last run
// of each statement.
type checks struct {
	r    *execution
	last map[*jobfile.Statement]*lastRun // nil after a single run
}

// lastRun is the newest run of a statement that has run more than once. It is kept for finish,
// which compares the result of the run with the reference.
type lastRun struct {
	s *program.Statement
	n *program.Snapshot
}

// after records a run that has ended. If it is the first run of the statement, after compares it
// with the reference evaluator at once. Otherwise after keeps the run's snapshot n for finish, and
// closes the snapshot that was kept before.
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

// finish compares the last run of each statement with the reference evaluator. It leaves out
// statements that ran only once, because their first run was already compared.
func (c *checks) finish() (err error) {
	for s := range c.r.names.f.Statements() {
		if l := c.last[s]; l != nil && err == nil {
			err = c.compare(s, l.s, l.n, "last")
		}
	}
	return err
}

// compare compares the result of a run with the reference evaluator, and closes n, the snapshot of
// the run. If the two results differ, every rank gets a *NoOutputError. ordinal says in the message
// which run it was: "first" or "last".
func (c *checks) compare(s *jobfile.Statement, k *program.Statement, n *program.Snapshot,
	ordinal string) error {
	defer n.Close()
	where := fmt.Sprintf("%s: %s run: ", c.r.names.where(s), ordinal)
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
		return &NoOutputError{differs}
	}
	return nil
}
