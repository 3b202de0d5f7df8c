package program

import (
	"distaff/io/tcs"
	"distaff/spmd/check"
)

// Snapshot holds the operands and the result of one run of a statement, as whole tensors at rank 0.
type Snapshot struct {
	operands map[string]*tcs.Tensor
	result   *tcs.Tensor
}

// Close releases the tensors.
func (n *Snapshot) Close() {
	for _, t := range n.operands {
		t.Close()
	}
	if n.result != nil {
		n.result.Close()
	}
}

// Before returns a snapshot of the tensors that a run of the statement will read. If the program
// has Options.Fresh, the run does not overwrite them. Every rank must call it.
func (s *Statement) Before() (*Snapshot, error) {
	if err := s.Ready(); err != nil { // brings the operands up to date
		return nil, err
	}
	n := &Snapshot{operands: map[string]*tcs.Tensor{}}
	for _, r := range s.reads {
		whole, err := s.p.Tensor(r.name)
		if err != nil {
			n.Close()
			return nil, err
		}
		if whole != nil {
			n.operands[r.operand] = whole
		}
	}
	return n, nil
}

// After adds the result of the run to the snapshot. Every rank must call it.
func (s *Statement) After(n *Snapshot) (err error) {
	n.result, err = s.p.Tensor(s.parsed.Result)
	return err
}

// Compare compares a run with the reference evaluator, at rank 0. If the result agrees, it returns
// a line that says so. Otherwise it returns the first difference.
func (s *Statement) Compare(n *Snapshot) (said string, d *check.Difference, err error) {
	if n.result == nil {
		return "", nil, nil
	}
	r := s.reader
	p := check.Problem{Env: s.p.env, Norm: s.parsed.Norm, Sizes: r.Sizes, Compute: r.ComputeType,
		Types: r.Types, Tensors: n.operands, Seed: s.p.o.Seed}
	return p.Compare(n.result)
}
