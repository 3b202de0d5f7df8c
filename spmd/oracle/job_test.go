package oracle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"distaff/codegen/place"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd"
	"distaff/spmd/comm"
)

// Jobs is an engine that runs a case as an spmd.Job on ranks in this process. The case's variant
// determines all random choices.
type Jobs struct {
	Ranks  int    // the number of ranks; 0 means 1, 2, 3, 4, 6 or 8 at random
	Blocks bool   // draw a block schedule for three quarters of the cases
	Target string // spmd.Options.Target
	// Dir, if not "", is a folder for files. Half of the jobs read some of their operands from
	// files, and most of these jobs write their results to files.
	Dir string
	// Limits runs a third of the jobs again with memory limits below the memory that they used. If
	// the limit is refused, the earlier result counts.
	Limits bool
	// Networks draws how products of several tensors are contracted.
	Networks bool
}

// Name returns "jobs" and the choices.
func (e Jobs) Name() string {
	name := "jobs"
	if e.Ranks > 0 {
		name += fmt.Sprintf(" on %d ranks", e.Ranks)
	}
	if e.Blocks {
		name += " by blocks"
	}
	if e.Networks {
		name += ", contracted"
	}
	if e.Target != "" {
		name += ", target " + e.Target
	}
	return name
}

// options draws the options of a case's job.
func (e Jobs) options(p *Prepared) spmd.Options {
	r := rand.New(rand.NewPCG(p.Case.Variant, 5))
	o := spmd.Options{Ranks: e.Ranks, Threads: 1 + r.IntN(2), Target: e.Target}
	if e.Target == spmd.Interpreter {
		o.Threads = 1
	}
	if e.Ranks == 0 {
		o.Ranks = []int{1, 2, 3, 4, 6, 8}[r.IntN(6)]
	}
	if e.Blocks && r.IntN(4) > 0 {
		Blocks(r, p, &o)
	}
	o.Repeat = 1 + r.IntN(2) // a second run uses the patterns of the first one
	if e.Networks {
		o.Network = []string{"auto", "pairwise", "pairwise", "direct"}[r.IntN(4)]
		if o.IntermediateOrder = max(r.IntN(6)-3, 0); o.Network == "pairwise" {
			o.IntermediateOrder = 0 // a limit may be refused with pairwise
		}
	}
	return o
}

// Flags returns the flags of the command line for the case's options and files.
func (e Jobs) Flags(p *Prepared) string {
	o := e.options(p)
	out := fmt.Sprintf(" --ranks=%d --threads=%d", o.Ranks, o.Threads)
	if o.Target != "" {
		out += " --target=" + o.Target
	}
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
	if o.Network != "" {
		out += " --network=" + o.Network
	}
	if o.IntermediateOrder > 0 {
		out += fmt.Sprintf(" --intermediate-order=%d", o.IntermediateOrder)
	}
	return out + e.files(p).String()
}

// Run runs the case as a job.
func (e Jobs) Run(ctx context.Context, p *Prepared) (*Output, error) {
	return e.run(p, nil, func(j *spmd.Job) (*spmd.Report, error) {
		first, err := runPlanned(ctx, j)
		r := rand.New(rand.NewPCG(p.Case.Variant, 8))
		if err != nil || !e.Limits || r.IntN(3) > 0 {
			return first, err
		}
		for range 3 { // a job adapts to its limit, so a still lower one may succeed
			share := []float64{0.999, 0.9, 0.8, 0.6, 0.3}[r.IntN(5)]
			j.MemoryLimit = int64(share * float64(slices.Max(first.Allocated)))
			if j.MemoryLimit == 0 {
				break
			}
			next, err := runPlanned(ctx, j)
			if err != nil && exitCode(err) == 5 {
				break
			}
			if err != nil {
				err = fmt.Errorf("with a memory limit of %d bytes: %w", j.MemoryLimit, err)
			}
			if err = errors.Join(err, first.Result.Close()); err != nil {
				return next, err
			}
			first = next
		}
		return first, nil
	})
}

// runPlanned runs a job. It returns an error if a rank uses more memory than the job's plan says.
func runPlanned(ctx context.Context, j *spmd.Job) (*spmd.Report, error) {
	quiet := *j
	quiet.Note = nil
	plan, err := quiet.Plan(ctx, 0)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	report, err := j.Run(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkMemory(report, plan); err != nil {
		return nil, errors.Join(err, report.Result.Close())
	}
	return report, nil
}

// checkMemory returns an error if some rank used more memory than the plan says.
func checkMemory(r *spmd.Report, plan *spmd.Planned) error {
	for rank, took := range r.Allocated {
		if most := plan.Memory[rank]; took > most {
			return fmt.Errorf("rank %d took %d bytes, and the plan says %d", rank, took, most)
		}
	}
	return nil
}

// RunOn runs the case as one rank of c. Every rank must call it. It returns the output at rank 0,
// and nil at the other ranks.
func (e Jobs) RunOn(c comm.Comm, p *Prepared) (*Output, error) {
	e.Ranks = c.Size()
	out, err := e.run(p, c, func(j *spmd.Job) (*spmd.Report, error) { return j.RunOn(c, c.Size(), 1) })
	if c.Rank() > 0 && errors.Is(err, errNoResult) {
		return nil, nil
	}
	return out, err
}

var errNoResult = errors.New("a job without an error gave no result")

// run builds the job of a case, passes it to the function run, and checks the result. If c is not
// nil, this process is a rank of c; otherwise the function must run all ranks.
func (e Jobs) run(p *Prepared, c comm.Comm, run func(*spmd.Job) (*spmd.Report, error)) (out *Output,
	err error) {
	job := &spmd.Job{
		Statement: p.Case.Stmt, Formats: map[string]string{}, Types: map[string]string{},
		Sizes: map[string][]int64{}, Inputs: map[string]spmd.Input{}, Keep: true, Options: e.options(p),
	}
	out = &Output{Narrowed: true}
	job.Note = func(line string) {
		// contractions may convert operands
		if strings.Contains(line, "converting ") && !e.Networks {
			out.Converted = append(out.Converted, line)
		}
	}
	for k, t := range p.Case.Tensors {
		name := t.inJob()
		if name == "" {
			continue
		}
		if len(t.Dims) > 0 {
			job.Formats[name] = t.Format.String()
			job.Sizes[name] = t.Dims
		}
		if (k == 0 || t.OldOf != "") && t.Type != tensor.None {
			job.Types[name] = t.Type.String()
		}
		if !t.Input {
			continue
		}
		if len(t.Dims) == 0 {
			job.Inputs[name] = spmd.Scalar(scalar(t.Type, t.Entries[0].Value))
			continue
		}
		s, err := t.Assemble(p.Case.hasWideIndices())
		if err != nil {
			return nil, fmt.Errorf("storing %s: %w", t.Name, err)
		}
		defer s.Close()
		job.Inputs[name] = spmd.InMemory(s)
	}
	f := e.files(p)
	if err := f.prepare(job, p, c); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.remove(c)) }()
	report, err := run(job)
	if err != nil {
		return nil, fmt.Errorf("%w\n(%s)", err, e.Flags(p))
	}
	if report == nil || report.Result == nil {
		return nil, errNoResult
	}
	defer func() { err = errors.Join(err, report.Result.Close()) }()
	out.Entries = output(report.Result).Entries
	return out, errors.Join(checkResult(report.Result, p), f.check(report.Result))
}

// checkResult checks the result's type, format and invariants.
func checkResult(t *tcs.Tensor, p *Prepared) error {
	if t.Header.Type != p.Result {
		return fmt.Errorf("the result's type is %s, want %s", t.Header.Type, p.Result)
	}
	if f := p.Case.Tensors[0].Format.String(); t.Format().String() != f {
		return fmt.Errorf("the result's format is %s, want %s", t.Format().String(), f)
	}
	return t.Validate()
}

// scalar returns a value as the Go type that corresponds to t, for spmd.Scalar.
func scalar(t tensor.Type, v tensor.Value) any {
	switch t {
	case tensor.Bool:
		return v.I != 0
	case tensor.Int8:
		return int8(v.I)
	case tensor.Int16:
		return int16(v.I)
	case tensor.Int32:
		return int32(v.I)
	case tensor.Int64:
		return v.I
	case tensor.Uint8:
		return uint8(v.I)
	case tensor.Uint16:
		return uint16(v.I)
	case tensor.Uint32:
		return uint32(v.I)
	case tensor.Uint64:
		return uint64(v.I)
	case tensor.Float32:
		return float32(real(v.C))
	case tensor.Float64:
		return real(v.C)
	case tensor.Complex64:
		return complex64(v.C)
	}
	return v.C
}

// Blocks draws a block schedule for a case and sets it in o. Some variables are split, evenly or at
// points. Points may be equal, so that blocks are empty. Some of the split variables are ordered,
// extended or mapped.
func Blocks(r *rand.Rand, p *Prepared, o *spmd.Options) {
	var names, reductions []string
	blocks := int64(1)
	for _, v := range p.Normal.Vars {
		name := v
		if s, ok := p.Normal.Source[v]; ok {
			name = s
		}
		if slices.Contains(names, name) || !isSplittable(p, name) || r.IntN(2) == 0 {
			continue
		}
		cuts, n := randomCuts(r, p.Sizes.Vars[v])
		cut := blocks
		// Normalization may have given one variable of the user several names.
		for _, u := range p.Normal.Vars {
			if u == name || p.Normal.Source[u] == name {
				cut = min(cut*n, maxBlocks+1)
			}
		}
		if cut > maxBlocks {
			continue
		}
		blocks = cut
		names = append(names, name)
		o.Splits = append(o.Splits, name+":"+cuts)
		if !slices.Contains(p.Normal.LHS.Vars, v) {
			reductions = append(reductions, name)
		}
	}
	some := func(list []string) []string {
		var out []string
		for _, k := range r.Perm(len(list)) {
			if r.IntN(2) == 0 {
				out = append(out, list[k])
			}
		}
		return out
	}
	o.BlockOrder = strings.Join(some(names), ",")
	o.Extend = some(reductions)
	o.Map = strings.Join(some(names), ",")
}

// maxBlocks is the largest number of blocks of a drawn schedule.
const maxBlocks = 1 << 14

// randomCuts draws the argument of a split for a variable of the given size. The split has n
// blocks.
func randomCuts(r *rand.Rand, size int64) (text string, n int64) {
	switch kind := r.IntN(8); {
	case kind == 0 || kind < 4 && size > 5: // enough to merge some before others are computed
		n = int64(5 + r.IntN(20))
		return fmt.Sprint(n), n
	case kind < 5:
		n = int64(1 + r.IntN(4))
		return fmt.Sprint(n), n
	}
	points := make([]int64, 1+r.IntN(3))
	for k := range points {
		points[k] = r.Int64N(size + 1)
	}
	slices.Sort(points)
	for _, x := range points {
		text += fmt.Sprint(x, ",")
	}
	return text, int64(len(points)) + 1
}

// isSplittable reports whether all variables that the user wrote as name can be split.
func isSplittable(p *Prepared, name string) bool {
	for _, v := range p.Normal.Vars {
		if (v == name || p.Normal.Source[v] == name) && place.Splittable(p.Normal, v) != "" {
			return false
		}
	}
	return true
}
