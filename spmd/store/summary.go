package store

import (
	"io"

	"distaff/io/coo"
	"distaff/spmd/comm"
)

// Summary returns the number of entries that the whole tensor stores, and calls add with this
// rank's values, in parts. It must not be used for padded levels, because it would count the
// padding. Every rank must call it.
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
	if t.isDense() {
		return newFrame(t.Layout.Dims, t.Layout.Format.Order).total, nil
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
		return lay.Positions[len(t.Layout.Format.Levels)-1], nil
	}
	p, err := newPieces(c, t, t.Layout.Format.Order, coo.KeepAll, false, cfg)
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
	return lay.Positions[len(t.Layout.Format.Levels)-1], nil
}

// values calls add with the values of block k.
func values(t *Blocks, k int, add func([]byte)) error {
	b := t.Own[k]
	if isExact(b) {
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
