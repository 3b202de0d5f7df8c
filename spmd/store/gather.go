package store

import (
	"distaff/io/coo"
	"distaff/spmd/comm"
)

// Gather runs write at rank 0 with the tensor's entries, in the order of modes,
// which it may read again; a batch of each rank is in memory at a time. Of zeros that
// only a dense level makes room for, zeros says whether they are entries; without
// them, as files have it, entries of one coordinate are summed. Collective.
func Gather(c comm.Comm, t *Blocks, modes []int, zeros coo.Zeros, cfg coo.Config,
	write func(coo.Stream) error) error {
	c = c.Uncounted()
	t.Unsign(cfg.Threads)
	t, end, err := t.Boxed()
	if err != nil {
		return err
	}
	defer end()
	runs, err := t.runs(modes, zeros, zeros == coo.DropFill, cfg)
	if err != nil {
		return err
	}
	defer closeRuns(runs)
	x, err := newExchange(c, t, modes, runs, bounds(runs, nil, c.Size()), cfg.Limit)
	if err != nil {
		return err
	}
	if c.Rank() == 0 {
		err = x.pass(func() error { return write(coo.Presorted(x.stream, modes)) })
	}
	return x.close(err)
}
