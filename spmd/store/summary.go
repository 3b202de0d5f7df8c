package store

import (
	"io"

	"distaff/io/coo"
	"distaff/spmd/comm"
)

// Summary counts the entries that the whole tensor stores, and hands each rank's
// values to add, block by block. Not for padded levels, whose padding it would
// count. Collective.
func Summary(c comm.Comm, t *Blocks, cfg coo.Config, add func(vals []byte)) (entries int64,
	err error) {
	c = c.Uncounted()
	t, end, err := t.Boxed()
	if err != nil {
		return 0, err
	}
	defer end()
	for _, k := range t.numbers() {
		if err := values(t, k, add); err != nil {
			return 0, err
		}
	}
	if t.dense() {
		return newFrame(t.Dims, t.Modes).total, nil
	}
	x, err := newConcat(c, t)
	if err != nil {
		return 0, err
	}
	if x != nil {
		lay, err := x.shape.Layout()
		if err != nil {
			return 0, err
		}
		return lay.Positions[len(t.Kinds)-1], nil
	}
	p, err := newPieces(c, t, t.Modes, coo.KeepAll, false, cfg)
	if err != nil {
		return 0, err
	}
	j, err := p.count()
	if err := p.close(err); err != nil {
		return 0, err
	}
	lay, err := j.Shape().Layout()
	if err != nil {
		return 0, err
	}
	return lay.Positions[len(t.Kinds)-1], nil
}

// values hands out a block's values.
func values(t *Blocks, k int, add func([]byte)) error {
	b := t.Own[k]
	if exact(b) {
		add(b.Vals.Bytes())
		return nil
	}
	s := coo.FromTensor(b, coo.KeepAll)
	var batch coo.Batch
	for {
		switch err := s.Next(&batch); err {
		case nil:
			add(batch.Vals)
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}
