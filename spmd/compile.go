package spmd

import (
	"context"

	"distaff/codegen"
	"distaff/codegen/emit/c"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tcs"
	"distaff/kernels/cc"
)

// Compiled is a statement that was compiled and not run.
type Compiled struct {
	Statement string
	Unit      *codegen.Unit
	Types     []ir.Type // value types of the unit's arguments
	C         string    // the leaf's source

	job     *Job
	ranks   bool   // Build compiles the leaves of several ranks or blocks, too
	anySize string // the C of the leaf for any sizes, where not all data is known or ranks have parts of it; "" for none
}

// Compile compiles the job's statement. Where every operand has an input, they
// are loaded and the leaf is the one that Run would call; else the compiler is
// told what formats, types, sizes and the files' headers say, and takes tensors
// to have fewer than 2^31 entries. name is the leaf's; "" is "leaf", with the
// trip counts of short dense loops compiled in, as Run has them.
func (j *Job) Compile(ctx context.Context, name string) (*Compiled, error) {
	given := true
	p, err := j.parse(false)
	if err != nil {
		return nil, err
	}
	for _, t := range p.names[1:] {
		if _, ok := j.Inputs[t]; !ok {
			given = false
		}
	}
	r, err := j.newRun(ctx, p, 1, 1)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if given {
		err = r.loadPhase()
	} else {
		err = r.headersPhase()
	}
	if err != nil {
		return nil, err
	}
	q := r.request()
	q.Exact = p.norm.Vars
	if name != "" { // for callers of any sizes
		q.Name, q.Exact = name, nil
	}
	if !given {
		for n, t := range q.Tensors {
			if n != p.result && t.NNZ < 0 {
				t.NNZ = unknownSize
				q.Tensors[n] = t
			}
		}
	}
	unit, err := codegen.Compile(q)
	if err != nil {
		return nil, err
	}
	for _, n := range unit.Notes {
		j.note(n)
	}
	out := &Compiled{Statement: p.stmt.String(), Unit: unit, C: c.File(unit.Func), job: j}
	spec, err := j.blockSpec()
	if err != nil {
		return nil, err
	}
	several := j.Ranks > 1 || !spec.Empty()
	out.ranks = given && several
	if (!given || several) && len(j.Schedule) == 0 {
		if u := anySize(q, unit); u != nil {
			out.anySize = c.File(u.Func)
		}
	}
	for _, a := range unit.Args {
		t := q.Tensors[a.Tensor].Type
		if a.Old {
			t = q.Old.Type
		}
		out.Types = append(out.Types, t)
	}
	return out, nil
}

// Build compiles the C of the leaf into the cache, and where that is another,
// the one for any sizes: a machine without a compiler runs the statement by it on
// whatever data has these formats and types. Of a job of several ranks or blocks
// whose operands all have inputs, it compiles the leaves that Run would call, too:
// those of groups of terms, and the sum of blocks.
func (u *Compiled) Build(ctx context.Context) error {
	b, err := (&run{job: u.job}).builder()
	if err != nil {
		return err
	}
	if _, err = b.Build(ctx, cc.Source{Text: u.C, Label: u.Statement}); err != nil {
		return err
	}
	if u.anySize != "" && u.anySize != u.C {
		if _, err = b.Build(ctx, cc.Source{Text: u.anySize, Label: u.Statement}); err != nil {
			return err
		}
	}
	if !u.ranks {
		return nil
	}
	j := *u.job
	j.compileOnly, j.Outputs, j.StatsFile = true, nil, ""
	_, err = j.runEmbedded(ctx)
	return err
}

// headersPhase is loadPhase without data: what no input tells is taken from the
// flags, and else is float64, dense and of unknown size.
func (r *run) headersPhase() error {
	if err := r.open(); err != nil {
		return err
	}
	// A guess is a lower bound, which counts only where nothing is exact.
	known := map[string][]notation.Known{}
	for _, name := range r.p.names {
		if s := r.sources[name]; s != nil && s.dims != nil && s.exact {
			known[name] = s.known()
			continue
		}
		for range r.p.orders[name] {
			known[name] = append(known[name], notation.Known{Size: unknownSize, From: "the compiler's guess"})
		}
	}
	var err error
	if r.sizes, err = notation.InferSizes(r.p.norm, known, r.job.Sizes); err != nil {
		return err
	}
	for _, name := range r.p.names[1:] {
		if r.sources[name] == nil {
			typ := tcsType(r.p.types[name])
			if typ == tcs.Invalid {
				typ = tcs.Float64
			}
			r.sources[name] = &source{name: name, order: r.p.orders[name], typ: typ, dense: true}
		}
	}
	if err := r.inferTypes(); err != nil {
		return err
	}
	r.pickFormats()
	return nil
}
