package commtest

import "distaff/spmd/comm"

// Apart returns a view of the group c whose ranks claim to share no memory.
func Apart(c comm.Comm) comm.Comm { return apart{c} }

type apart struct{ comm.Comm }

func (apart) OneProcess() bool       { return false }
func (a apart) Uncounted() comm.Comm { return apart{a.Comm.Uncounted()} }

func (a apart) Split(color, key int) (comm.Comm, error) {
	c, err := a.Comm.Split(color, key)
	if c == nil || err != nil {
		return nil, err
	}
	return apart{c}, nil
}
