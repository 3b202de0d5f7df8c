package spmd

import (
	"distaff/io/convert"
	"distaff/io/coo"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/spmd/comm"
	"distaff/spmd/plan"
	"distaff/spmd/store"
	"distaff/spmd/transfer"
)

// createOutputs starts every output of the job, at rank 0, so that a folder that is not
// there is found out before anything is loaded, and looks whether the job's statistics
// can be written.
func (r *run) createOutputs() error {
	if !r.root() {
		return nil
	}
	if path := r.StatsFile; path != "" {
		if err := outfile.Check(path); err != nil {
			return err
		}
	}
	for _, out := range r.job.Outputs {
		f, err := convert.Create(out.File)
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
	}
	return nil
}

// store writes every output, the result by all ranks, and brings it to disk; none where
// the check has found a difference. commit names them. Collective.
func (r *run) store() error {
	differs := []int64{0}
	if r.difference != nil {
		differs[0] = 1
	}
	if err := r.comm.Uncounted().Bcast(comm.Of(differs), 0); err != nil {
		return err
	}
	if differs[0] == 0 {
		for n, o := range r.job.Outputs {
			if err := r.ctx.Err(); err != nil {
				return err
			}
			if err := r.storeOutput(n, o); err != nil {
				return err
			}
		}
	}
	// Blocks of the result may share level arrays with a mapped file: what was
	// written counts once every rank has found its files as they were.
	if err := r.unchanged(); err != nil {
		return err
	}
	if err := r.comm.Uncounted().Barrier(); err != nil {
		return err
	}
	if differs[0] != 0 {
		return nil
	}
	return outfile.FlushAll(r.files...)
}

// commit writes the statistics and then gives all files of the job their names: the
// outputs' too, unless there is a difference. After an error every file is as it was
// before the job.
func (r *run) commit() error {
	if !r.root() {
		return nil
	}
	var files []*outfile.File
	if r.difference == nil {
		files = append(files, r.files...)
	}
	if r.StatsFile != "" {
		f, err := outfile.Create(r.StatsFile)
		if err != nil {
			return err
		}
		defer f.Abort()
		if _, err := f.Write(r.report.Stats.JSON()); err != nil {
			return err
		}
		files = append(files, f)
	}
	return outfile.CommitAll(files...)
}

// storeOutput writes the result by all ranks, or an operand by rank 0.
func (r *run) storeOutput(n int, o Output) error {
	var file *outfile.File
	if r.root() {
		file = r.files[n]
	}
	var err error
	switch {
	case o.Tensor == r.p.result:
		var mode store.Mode
		if mode, err = store.ParseMode(r.Write); err != nil {
			return commandErrorf("--write: %v", err)
		}
		err = store.Write(r.comm, r.resultBlocks(), file, o.File, mode, r.config())
	case r.root():
		var t *tcs.Tensor
		if t, err = r.whole(o.Tensor); err != nil {
			return err
		}
		err = convert.WriteTo(file, o.File, t, convert.WriteOptions{Threads: r.threads, Limit: r.limit, Tmp: r.Tmp})
	}
	if file != nil && err != nil {
		return file.Errorf(err)
	}
	return err
}

// resultBlocks describes the result's blocks.
func (r *run) resultBlocks() *store.Blocks {
	p, f := r.prepared.problem, r.formats[r.p.result]
	b := &store.Blocks{Dims: r.sizes.Dims[r.p.result], Type: tcsType(r.types[r.p.result]), Kinds: f.Letters(), Modes: f.Order, Own: map[int]*tcs.Tensor{}}
	for n := range plan.Block(p.SpaceOf(p.Result).Size()) {
		b.Owners = append(b.Owners, p.Owner(p.Result, n))
		b.Boxes = append(b.Boxes, p.Box(p.Result, n, b.Dims))
	}
	for n, t := range r.blocks {
		b.Own[int(n)] = t
	}
	return b
}

// gather brings the result to rank 0, in the wanted format; nil elsewhere. The caller
// closes it. Collective.
func (r *run) gather() (*tcs.Tensor, error) {
	if r.prepared.whole {
		return r.blocks[0].Alias(), nil
	}
	b := r.resultBlocks()
	if r.formats[r.p.result].AllDense() {
		return r.gatherDense(b)
	}
	var whole *tcs.Tensor
	err := store.Gather(r.comm, b, b.Modes, coo.KeepAll, r.config(), func(s coo.Stream) (err error) {
		spec := coo.Spec{Kinds: b.Kinds, Modes: b.Modes, Dims: b.Dims, Type: b.Type, Name: r.p.result}
		whole, err = coo.Assemble(s, spec, r.config())
		return err
	})
	return whole, err
}

// gatherDense copies dense blocks into their places at rank 0.
func (r *run) gatherDense(b *store.Blocks) (*tcs.Tensor, error) {
	c := r.comm.Uncounted()
	f := r.formats[r.p.result]
	like := r.prepared.exec.Result
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
