package program

import (
	"distaff/io/tcs"
	"distaff/spmd/check"
)

// Snapshot is what a statement read in one run, and what it wrote, whole at rank 0.
type Snapshot struct {
	operands map[string]*tcs.Tensor
	result   *tcs.Tensor
}

// Close gives the tensors back.
func (n *Snapshot) Close() {
	for _, t := range n.operands {
		t.Close()
	}
	if n.result != nil {
		n.result.Close()
	}
}

// Before is what a run of the statement will read. Of a program with Options.Fresh, nothing
// writes over it. Collective.
func (s *Statement) Before() (*Snapshot, error) {
	if err := s.ready(); err != nil { // what it reads is settled
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

// After adds what the run wrote. Collective.
func (s *Statement) After(n *Snapshot) (err error) {
	n.result, err = s.p.Tensor(s.parsed.Result)
	return err
}

// Compare compares a run with the reference evaluator, at rank 0: what was compared, in
// words, and a difference.
func (s *Statement) Compare(n *Snapshot) (said string, d *check.Difference, err error) {
	if n.result == nil {
		return "", nil, nil
	}
	r := s.reader
	p := check.Problem{Env: s.p.env, Norm: s.parsed.Norm, Sizes: r.Sizes, Compute: r.ComputeType,
		Types: r.Types, Tensors: n.operands, Seed: s.p.o.Seed}
	return p.Compare(n.result)
}
