package store

import (
	"distaff/io/coo"
	"distaff/spmd/comm"
)

// Gather calls write at rank 0 with a stream of all entries of the tensor, in the order of modes.
// write may read the stream several times. Rank 0 has at most two messages from each other rank in
// memory at a time.
//
// A dense level also stores zeros that are not entries. If zeros is coo.DropFill, the stream omits
// such zeros, and entries with equal coordinates are added. Every rank must call Gather.
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
