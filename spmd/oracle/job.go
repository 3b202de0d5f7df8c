package oracle

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"distaff/codegen/dtype"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/reference"
	"distaff/io/tcs"
	"distaff/spmd"
)

// Jobs runs a case as a whole job (package spmd), on ranks in this process.
type Jobs struct {
	Ranks int
	// Blocks gives each case a random block schedule.
	Blocks bool
}

// Name is "job" with the number of ranks.
func (e Jobs) Name() string {
	name := "job on " + strconv.Itoa(max(e.Ranks, 1)) + " ranks"
	if e.Blocks {
		name += " by blocks"
	}
	return name
}

// Flags are those of the command line that stand for the engine's own choices.
func (e Jobs) Flags(p *Prepared) string {
	o := spmd.Options{Ranks: max(e.Ranks, 1), Threads: 1 + p.variant()%2}
	e.blocks(p, &o)
	out := " --ranks=" + strconv.Itoa(o.Ranks) + " --threads=" + strconv.Itoa(o.Threads)
	for _, s := range o.Splits {
		out += " --split=" + s
	}
	if o.BlockOrder != "" {
		out += " --order=" + o.BlockOrder
	}
	for _, v := range o.Extend {
		out += " --extend=" + v
	}
	if o.Map != "" {
		out += " --map=" + o.Map
	}
	return out
}

func (e Jobs) blocks(p *Prepared, o *spmd.Options) {
	if e.Blocks {
		Blocks(rand.New(rand.NewPCG(uint64(p.variant()), 1)), p, o)
	}
}

// Run runs the case as a job.
func (e Jobs) Run(ctx context.Context, p *Prepared) (out *Output, err error) {
	job := &spmd.Job{
		Statement: p.Stmt, Formats: map[string]string{}, Types: map[string]string{},
		Sizes: map[string][]int64{}, Inputs: map[string]spmd.Input{}, Keep: true,
		Options: spmd.Options{Ranks: e.Ranks, Threads: 1 + p.variant()%2},
	}
	out = &Output{}
	job.Note = func(line string) {
		if strings.Contains(line, "converting ") {
			out.Converted = append(out.Converted, line)
		}
	}
	e.blocks(p, &job.Options)
	for k, t := range p.Tensors {
		if len(t.Dims) > 0 {
			job.Formats[t.Name] = t.Format.String()
			job.Sizes[t.Name] = t.Dims
		}
		if k == 0 && t.Type != dtype.None {
			job.Types[t.Name] = t.Type.String()
		}
		if !t.Input {
			continue
		}
		if len(t.Dims) == 0 {
			job.Inputs[t.Name] = spmd.Scalar(scalar(t.Type, t.Entries[0].Value))
			continue
		}
		s, err := t.Assemble(p.variant()%5 == 0)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		job.Inputs[t.Name] = spmd.InMemory(s)
	}
	report, err := job.Run(ctx)
	if err != nil {
		return nil, err
	}
	if report == nil || report.Result == nil {
		return nil, errors.New("a job without an error gave no result")
	}
	defer func() { err = errors.Join(err, report.Result.Close()) }()
	out.Entries = output(report.Result).Entries
	return out, checkType(report.Result, p)
}

func checkType(t *tcs.Tensor, p *Prepared) error {
	if t.Type != tcsTypes[p.Result] {
		return errors.New("the result's type is " + t.Type.String() + ", want " + p.Result.String())
	}
	if err := t.Validate(); err != nil {
		return err
	}
	if f := p.Tensors[0].Format.String(); t.FormatString() != f {
		return errors.New("the result's format is " + t.FormatString() + ", want " + f)
	}
	return nil
}

// scalar is a value as the job takes it.
func scalar(t dtype.Type, v reference.Value) any {
	switch t {
	case dtype.Int32:
		return int32(v.I)
	case dtype.Int64:
		return v.I
	case dtype.Float32:
		return float32(real(v.C))
	case dtype.Float64:
		return real(v.C)
	case dtype.Complex64:
		return complex64(v.C)
	}
	return v.C
}

// Blocks sets a random block schedule of the case: splits by counts and by
// points (repeated ones too, so that blocks are empty), an order of the block
// loops, extended reduction variables, a mapping.
func Blocks(r *rand.Rand, p *Prepared, o *spmd.Options) {
	var split, reductions []string
	for _, v := range p.Normal.Vars {
		_, renamed := p.Normal.Source[v]
		if renamed || ambiguous(p.Normal, v) || place.Splittable(p.Normal, v) != "" || r.IntN(3) == 0 {
			continue
		}
		text := v + ":"
		if size := p.Sizes.Vars[v]; r.IntN(2) == 0 || size == 0 {
			text += strconv.Itoa(1 + r.IntN(4))
		} else {
			at := int64(0)
			for k := range 1 + r.IntN(3) {
				if at += r.Int64N(size/2 + 1); at > size {
					at = size
				}
				if k > 0 {
					text += ","
				}
				text += strconv.FormatInt(at, 10)
			}
			if !strings.Contains(text, ",") {
				text += ","
			}
		}
		o.Splits = append(o.Splits, text)
		split = append(split, v)
		if !slices.Contains(p.Normal.LHS.Vars, v) {
			reductions = append(reductions, v)
		}
	}
	if len(split) == 0 {
		return
	}
	r.Shuffle(len(split), func(a, b int) { split[a], split[b] = split[b], split[a] })
	if r.IntN(2) == 0 {
		o.BlockOrder = strings.Join(split, ",")
	}
	for _, v := range reductions {
		if r.IntN(2) == 0 {
			o.Extend = append(o.Extend, v)
		}
	}
	if r.IntN(3) == 0 {
		o.Map = strings.Join(split[:1+r.IntN(len(split))], ",")
	}
}

// ambiguous tells whether v is one of several variables that the user wrote alike.
func ambiguous(n *notation.Normal, v string) bool {
	for _, s := range n.Source {
		if s == v {
			return true
		}
	}
	return false
}
