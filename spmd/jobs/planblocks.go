package jobs

import (
	"fmt"

	"distaff/codegen/jobfile"
)

// passed holds the counts of one pass of a repeat, and the state after the pass.
type passed struct {
	counted tally
	end     *state
}

// repeat follows the passes of a repeat, at most t.N. If a pass leaves the state unchanged, repeat
// does not follow the remaining passes, because their counts are equal to the counts of this pass.
func (x *follower) repeat(t *jobfile.Repeat) error {
	x.atMost = x.atMost || t.Until != nil
	for left := t.N; left > 0; left-- {
		begin := x.at.key()
		key := fmt.Sprintf("%p\n%s", t, begin)
		if _, ok := x.done[key]; !ok {
			all := x.tally
			x.tally = tally{}
			if err := x.pass(t); err != nil {
				return err
			}
			x.done[key] = passed{x.tally, x.at.clone()}
			x.tally = all
		}
		p := x.done[key]
		x.at = p.end.clone()
		if x.at.key() == begin {
			x.tally.add(p.counted, left)
			return nil
		}
		x.tally.add(p.counted, 1)
	}
	return nil
}

// pass plans one execution of the body of a repeat. It then plans the loading of the scalars that
// the condition of the repeat reads.
func (x *follower) pass(t *jobfile.Repeat) error {
	if err := x.items(t.Body); err != nil || t.Until == nil {
		return err
	}
	return x.read(t.Until)
}

// read plans the loading of the scalars that a condition reads.
func (x *follower) read(c *jobfile.Cond) error {
	for _, name := range c.Scalars() {
		if err := x.fetch(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// branches follows both blocks of an if from the same state, because the plan does not know the
// condition, and counts both. It then continues with the state after the first block, and with the
// tensors that only the second one writes. If the second block leaves another state, the counts of
// later items are estimates.
func (x *follower) branches(t *jobfile.If) error {
	x.atMost = true
	if err := x.read(t.Cond); err != nil {
		return err
	}
	before := x.at.clone()
	if err := x.items(t.Then); err != nil {
		return err
	}
	then := x.at
	x.at = before
	if err := x.items(t.Else); err != nil {
		return err
	}
	other := x.at
	x.at = then
	x.differ = x.differ || then.key() != other.key()
	for name, h := range other.held {
		if then.held[name] == nil {
			then.held[name] = h
		}
	}
	for s, k := range other.ready {
		if then.ready[s] == nil {
			then.ready[s], then.has[s] = k, map[string]bool{}
		}
	}
	return nil
}
