package spmd

import (
	"strings"

	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// storePhase checks the result where the job asks for it, and writes the
// outputs. It closes the blocks. A difference is rank 0's. Collective.
func (k *ranked) storePhase(out *outputs, own map[plan.Block]*tcs.Tensor) (difference, err error) {
	defer func() {
		for _, b := range own {
			b.Close()
		}
	}()
	r, c := k.r, k.c.Uncounted()
	defer func() {
		if whole := r.report.Result; err != nil && whole != nil {
			r.report.Result = nil
			whole.Close()
		}
	}()
	blocks := k.blocks(own)
	if r.job.Check || r.job.Keep { // the result is wanted whole, at rank 0
		whole, err := k.gather(blocks)
		if err != nil {
			return nil, err
		}
		if difference, err = k.wholeAtRoot(whole); err != nil {
			return nil, err
		}
	}
	differs := []int64{0}
	if difference != nil {
		differs[0] = 1
	}
	if err := c.Bcast(comm.Of(differs), 0); err != nil {
		return nil, err
	}
	if differs[0] == 0 {
		if err := k.storeOutputs(out, blocks); err != nil {
			return nil, err
		}
	}
	// Blocks of the result may share level arrays with a mapped file: what was
	// written counts once every rank has found its files as they were.
	if err := r.unchanged(); err != nil {
		return nil, err
	}
	if err := c.Barrier(); err != nil {
		return nil, err
	}
	if out != nil && difference == nil {
		if err := outfile.FlushAll(out.files...); err != nil {
			return nil, err
		}
	}
	return difference, k.summarize(blocks)
}

// blocks describes the result's blocks to store.
func (k *ranked) blocks(own map[plan.Block]*tcs.Tensor) *store.Blocks {
	r := k.r
	f := r.formats[r.p.result]
	space := k.problem.SpaceOf(k.problem.Result)
	b := &store.Blocks{Dims: r.sizes.Dims[r.p.result], Type: tcsType(r.types[r.p.result]), Kinds: f.Letters(), Modes: f.Order, Own: map[int]*tcs.Tensor{}}
	for n := range plan.Block(space.Size()) {
		b.Owners = append(b.Owners, k.problem.Owner(k.problem.Result, n))
		b.Boxes = append(b.Boxes, k.problem.Box(k.problem.Result, n, b.Dims))
	}
	for n, t := range own {
		b.Own[int(n)] = t
	}
	return b
}

// wholeAtRoot keeps and checks the result, which other ranks have no part of
// any more.
func (k *ranked) wholeAtRoot(whole *tcs.Tensor) (difference, err error) {
	r := k.r
	if k.c.Rank() != 0 {
		return nil, nil
	}
	if r.job.Keep {
		r.report.Result = whole
	} else {
		r.closers = append(r.closers, whole.Close)
	}
	if !r.job.Check {
		return nil, nil
	}
	if err := k.loadWhole(); err != nil {
		return nil, err
	}
	d, err := r.check(whole)
	if d != nil {
		difference = d
	}
	return difference, err
}

// loadWhole loads the operands at this rank, whole.
func (k *ranked) loadWhole() error {
	r := k.r
	if k.wholes {
		return nil
	}
	k.wholes = true
	for _, s := range r.sources {
		if s.stream != nil && s.read {
			if err := s.stream.Rewind(); err != nil {
				return err
			}
		}
	}
	return r.load()
}

// storeOutputs writes every output: the result by all ranks, operands by rank 0.
func (k *ranked) storeOutputs(out *outputs, blocks *store.Blocks) error {
	r := k.r
	mode, err := store.ParseMode(r.job.Write)
	if err != nil {
		return commandErrorf("--write: %v", err)
	}
	for n, o := range r.job.Outputs {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var file *outfile.File
		if out != nil {
			file = out.files[n]
		}
		if o.Tensor == r.p.result {
			err := store.Write(k.c, blocks, file, o.File, mode, r.config())
			if file != nil {
				err = file.Errorf(err)
			}
			if err != nil {
				return err
			}
			continue
		}
		if file == nil {
			continue
		}
		if err := k.loadWhole(); err != nil {
			return err
		}
		opt := convert.WriteOptions{Threads: r.threads, Limit: r.limit, Tmp: r.job.Tmp}
		t := r.tensors[o.Tensor]
		if err := convert.WriteTo(file, o.File, t, opt); err != nil {
			return file.Errorf(err)
		}
	}
	return nil
}

// summarize adds the line about the result that no file was asked for.
func (k *ranked) summarize(blocks *store.Blocks) error {
	r := k.r
	for _, o := range r.job.Outputs {
		if o.Tensor == r.p.result {
			return nil
		}
	}
	if len(blocks.Dims) == 0 || strings.Contains(blocks.Kinds, "p") { // a value; or padding, which is found in the whole
		whole, err := k.gather(blocks)
		if whole != nil {
			r.summarize(whole)
			whole.Close()
		}
		return err
	}
	mine := adder{typ: blocks.Type}
	entries, err := store.Summary(k.c, blocks, r.config(), mine.add)
	if err != nil {
		return err
	}
	c := k.c.Uncounted()
	ints, floats := make([]int64, c.Size()), make([]float64, 4*c.Size())
	if err := c.Gather(comm.Of([]int64{mine.n}), comm.Of(ints), 0); err != nil {
		return err
	}
	if err := c.Gather(comm.Of([]float64{mine.re, mine.cre, mine.im, mine.cim}), comm.Of(floats), 0); err != nil || c.Rank() != 0 {
		return err
	}
	total := adder{typ: blocks.Type}
	for n := range ints {
		f := floats[4*n:]
		total.merge(adder{n: ints[n], re: f[0], cre: f[1], im: f[2], cim: f[3]})
	}
	r.report.Lines = append(r.report.Lines, summaryLine(r.p.result, blocks.Dims, tcs.FormatString(blocks.Kinds, blocks.Modes), blocks.Type, entries, total.total()))
	return nil
}

// gather brings the result to rank 0, in the wanted format; nil elsewhere.
func (k *ranked) gather(b *store.Blocks) (*tcs.Tensor, error) {
	r := k.r
	if r.formats[r.p.result].AllDense() {
		return k.gatherDense(b)
	}
	var whole *tcs.Tensor
	err := store.Gather(k.c, b, b.Modes, coo.KeepAll, r.config(), func(s coo.Stream) (err error) {
		spec := coo.Spec{Kinds: b.Kinds, Modes: b.Modes, Dims: b.Dims, Type: b.Type, Name: r.p.result}
		whole, err = coo.Assemble(s, spec, r.config())
		return err
	})
	return whole, err
}

// gatherDense copies dense blocks into their places at rank 0.
func (k *ranked) gatherDense(b *store.Blocks) (*tcs.Tensor, error) {
	r, c := k.r, k.c.Uncounted()
	f := r.formats[r.p.result]
	like := k.exec.Result
	if c.Rank() != 0 {
		for n, owner := range b.Owners {
			if owner != c.Rank() {
				continue
			}
			s, err := transfer.Send(c, b.Own[n], 0, 0)
			if err == nil {
				err = s.Wait()
			}
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	shape := &tcs.Shape{Header: tcs.Header{Dims: b.Dims, Type: b.Type}, Kinds: f.Letters(), Modes: f.Order, Counts: make([]int64, len(f.Levels))}
	whole, err := tcs.New(shape, r.limit, r.p.result)
	if err != nil {
		return nil, err
	}
	for n, owner := range b.Owners {
		block := b.Own[n]
		if owner != 0 {
			if block, err = transfer.Recv(c, like, owner, 0, transfer.Pages(r.limit)); err != nil {
				whole.Close()
				return nil, err
			}
		}
		copyDense(whole, block)
		if owner != 0 {
			block.Close()
		}
	}
	return whole, nil
}

// copyDense copies a block of a dense tensor into its place.
func copyDense(whole, block *tcs.Tensor) {
	n := len(whole.Levels)
	if n == 0 {
		whole.SetValue(0, block.Value(0))
		return
	}
	size := int64(whole.Type.Size())
	from, to := block.Vals.Bytes(), whole.Vals.Bytes()
	var copyBelow func(l int, src, dst int64)
	copyBelow = func(l int, src, dst int64) {
		b, w := block.Levels[l], whole.Levels[l]
		at := b.Offset - w.Offset
		if l == n-1 {
			s, d := src*b.Size*size, (dst*w.Size+at)*size
			copy(to[d:d+b.Size*size], from[s:s+b.Size*size])
			return
		}
		for i := range b.Size {
			copyBelow(l+1, src*b.Size+i, dst*w.Size+at+i)
		}
	}
	copyBelow(0, 0, 0)
}
