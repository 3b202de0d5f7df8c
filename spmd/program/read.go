package program

import (
	"strings"

	"distaff/codegen/place"
	"distaff/io/convert"
	"distaff/io/outfile"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/comm"
	"distaff/spmd/env"
	"distaff/spmd/fault"
	"distaff/spmd/output"
	"distaff/spmd/stats"
)

// lentTensor returns a tensor whose values are in memory, and marks it as lent: until
// Program.settle, other ranks may read its blocks.
func (p *Program) lentTensor(name string) (*programTensor, error) {
	t, err := p.inMemory(name)
	if err == nil {
		t.lent = true
	}
	return t, err
}

// inMemory returns a tensor after bringing its values to the host's memory: it loads the tensor if
// no statement has read it, and copies newer values from the device.
func (p *Program) inMemory(name string) (*programTensor, error) {
	if err := p.usable(); err != nil {
		return nil, err
	}
	t, err := p.tensor(name)
	if err != nil {
		return nil, err
	}
	if t.held == nil {
		if err := p.fetch(t, nil); err != nil {
			return nil, err
		}
	}
	if err := t.fetch(); err != nil {
		return nil, p.failed(err)
	}
	return t, nil
}

// fetch loads a tensor that no statement has read yet, by preparing the statement that Loading
// returns. blocks is a block schedule of that statement; nil selects the default one.
func (p *Program) fetch(t *programTensor, blocks *place.BlockSpec) error {
	order, err := t.order()
	if err != nil {
		return err
	}
	text, _ := Loading(t.name, order, func(name string) bool { return p.tensors[name] != nil })
	s := &Statement{p: p, text: text, how: How{Blocks: blocks}, loads: true}
	defer s.close()
	return s.prepare()
}

// Loading returns the text of a statement whose only purpose is to load a tensor, and the index
// variables of the tensor's modes. The statement sums the tensor over all modes. name is the name
// of the tensor, and order the number of its modes. The result of the statement gets a name for
// which isTaken returns false.
func Loading(name string, order int, isTaken func(name string) bool) (statement string,
	vars []string) {
	for k := range order {
		vars = append(vars, name+"_"+string(rune('a'+k%26))+string(rune('a'+k/26)))
	}
	sum := name + "_"
	for isTaken(sum) {
		sum += "_"
	}
	return sum + " = " + name + "(" + strings.Join(vars, ",") + ")", vars
}

// Evenly returns a block schedule for the statement that Loading returns. The schedule cuts one
// mode of the loaded tensor evenly over the ranks. If mode is -1, rank 0 gets the whole tensor.
// vars holds the index variables of the modes. The result is nil for a scalar.
func Evenly(vars []string, mode, ranks int) *place.BlockSpec {
	switch {
	case len(vars) == 0:
		return nil
	case mode < 0:
		mode, ranks = 0, 1
	}
	v := vars[mode]
	return &place.BlockSpec{Splits: []place.SplitSpec{{Var: v, Count: int64(ranks)}},
		Extend: []string{v}, Map: []string{v}}
}

// order returns the number of modes of a tensor that is not loaded.
func (t *programTensor) order() (int, error) {
	switch {
	case t.how.Sizes != nil: // a scalar has none
		return len(t.how.Sizes), nil
	case t.in.Tensor != nil:
		return t.in.Tensor.Order(), nil
	case t.how.Format != "":
		letters, _, _ := strings.Cut(t.how.Format, ":")
		return len(letters), nil
	}
	return 0, fault.Commandf(
		"%s: the number of modes is not known; give its sizes or format, or read it in a "+
			"statement first", t.name)
}

// Value returns the value of a scalar at every rank. Every rank must call it.
func (p *Program) Value(name string) (tensor.Value, error) {
	t, err := p.inMemory(name)
	if err != nil {
		return tensor.Value{}, err
	}
	b := t.held.Blocks
	if len(b.Layout.Dims) != 0 {
		return tensor.Value{}, fault.Commandf("%s has %s, want a scalar", name,
			tensor.Count(int64(len(b.Layout.Dims)), "mode"))
	}
	var v tensor.Value
	if x := b.Own[0]; x != nil {
		v = x.Value(0)
	}
	if x := t.held.Replica; x != nil {
		return x.Value(0), nil
	}
	if p.env.Comm.Size() == 1 {
		return v, nil
	}
	c := p.env.Comm.Uncounted()
	parts := []float64{real(v.C), imag(v.C)}
	number := []int64{v.I}
	if err := c.Bcast(comm.Of(parts), b.Owners[0]); err != nil {
		return v, p.failed(err)
	}
	if err := c.Bcast(comm.Of(number), b.Owners[0]); err != nil {
		return v, p.failed(err)
	}
	return tensor.Value{Type: b.Layout.Type, I: number[0], C: complex(parts[0], parts[1])}, nil
}

// Tensor returns the whole tensor at rank 0, and nil at other ranks. The caller closes it. With one
// rank it may be a view of the program's memory, so that a later statement that writes the tensor
// may change its values. Every rank must call it.
func (p *Program) Tensor(name string) (*tcs.Tensor, error) {
	t, err := p.lentTensor(name)
	if err != nil {
		return nil, err
	}
	p.loosen(t)
	whole, err := p.result(t).Gather()
	if err != nil {
		return nil, p.failed(err)
	}
	if p.env.Comm.Size() > 1 {
		t.ours = false // the caller may have the memory of another rank's block
	}
	return whole, nil
}

// loosen records that the caller may have got the tensor's own memory and may change its values. No
// copy of the values is kept on a device from then on.
func (p *Program) loosen(t *programTensor) {
	t.held.MayChange = true
	t.forget()
	for s := range p.statements {
		for _, r := range s.reads {
			if r.name == t.name && s.k != nil && !r.gone {
				s.k.Operands.Loosen(r.operand)
			}
		}
	}
}

// Traffic returns what this rank has sent and received so far during the runs of statements and
// between them.
func (p *Program) Traffic() comm.Counters { return p.env.Comm.Counters() }

// Statistics returns the statistics of all ranks at rank 0, and nil at other ranks. The statistics
// are the traffic and the peak memory of each rank. If parts are given, the traffic is the sum of
// the parts. Otherwise it is all traffic so far. Every rank must call Statistics.
func (p *Program) Statistics(parts ...comm.Counters) ([]stats.Rank, error) {
	return p.StatisticsWith(stats.Rank{}, parts...)
}

// StatisticsWith returns the same as Statistics, and includes further statistics of each rank. mine
// holds the further statistics of this rank. Every rank must call it.
func (p *Program) StatisticsWith(mine stats.Rank, parts ...comm.Counters) ([]stats.Rank, error) {
	all := p.Traffic()
	if parts != nil {
		all = comm.Counters{}
	}
	for _, n := range parts {
		all = all.Add(n)
	}
	mine.Sent, mine.Received, mine.Messages, mine.Parts = all.BytesSent, all.BytesReceived,
		all.MessagesSent, parts
	mine.PeakRSS, mine.Allocated = env.PeakRSS(), p.env.Limit.Peak()
	return stats.Gather(p.env.Comm.Uncounted(), mine)
}

// Tmp returns the folder for temporary files.
func (p *Program) Tmp() string { return p.env.Tmp }

// Threads returns the number of threads of a rank.
func (p *Program) Threads() int { return p.env.Threads }

// Summary returns a line about a tensor at rank 0, as the command run prints it. Every rank must
// call it.
func (p *Program) Summary(name string) (string, error) {
	t, err := p.lentTensor(name)
	if err != nil {
		return "", err
	}
	line, err := p.result(t).Summary()
	if err != nil {
		return "", p.failed(err)
	}
	return line, nil
}

// Write writes tensors to files in the formats of their extensions. Either all files appear
// completely, or none does. Every rank must call it.
func (p *Program) Write(list ...output.Output) error { return p.WriteWith("", nil, list...) }

// WriteWith writes tensors to files as Write does, and one more file, whose name is statsFile.
// After the tensors were written, every rank calls stats. Rank 0 writes the result of its call to
// this file. If statsFile is "", there is no such file, and stats must be nil. Every rank must call
// WriteWith.
func (p *Program) WriteWith(statsFile string, stats func() ([]byte, error),
	list ...output.Output) error {
	if p.env.Root() {
		if err := outfile.Apart(output.Uses(list, statsFile)...); err != nil {
			return p.failed(err)
		}
	}
	for _, o := range list {
		t, err := p.lentTensor(o.Tensor)
		if err != nil {
			return err
		}
		if err := convert.Writable(o.File, len(t.held.Blocks.Layout.Dims)); err != nil {
			return err
		}
	}
	files, err := output.Create(p.env, list, statsFile)
	if err != nil {
		return p.failed(err)
	}
	defer files.Abort()
	return p.finish(files, nil, stats)
}

// finish writes the outputs, calls stats, writes its result to the file for statistics, and then
// commits all files under their final names. operand returns a whole operand of a Job, at rank 0.
// It is nil if all outputs are tensors of the program. Every rank must call finish.
func (p *Program) finish(files *output.Files, operand func(name string) (*tcs.Tensor, error),
	stats func() ([]byte, error)) error {
	err := files.Store(func(name string) *output.Result {
		if t := p.tensors[name]; t != nil {
			return p.result(t)
		}
		return nil
	}, p.o.Write, operand)
	if err != nil {
		return p.failed(err)
	}
	// Blocks may share level arrays with a mapped file. The outputs are valid only if every rank
	// finds its input files unchanged.
	for s := range p.statements {
		if s.reader != nil {
			if err := s.reader.Unchanged(); err != nil {
				return p.failed(err)
			}
		}
	}
	if err := p.env.Comm.Uncounted().Barrier(); err != nil {
		return p.failed(err)
	}
	if err := files.Flush(); err != nil {
		return p.failed(err)
	}
	var text []byte
	if stats != nil {
		if text, err = stats(); err != nil {
			return p.failed(err)
		}
	}
	if err := files.Commit(text); err != nil {
		return p.failed(err)
	}
	return nil
}
