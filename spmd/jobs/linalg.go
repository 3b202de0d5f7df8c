package jobs

import (
	"fmt"
	"slices"
	"time"

	"distaff/codegen/jobfile"
	"distaff/codegen/notation"
	"distaff/io/tensor"
	"distaff/spmd/forecast"
	"distaff/spmd/program"
)

// linalg computes a function of whole matrices.
func (r *execution) linalg(t *jobfile.Linalg) error {
	start, took := time.Now(), r.took[t]
	f := program.Linalg{Func: t.Func, Out: t.Out, In: t.In, Shapes: t.Shapes, Types: t.Types}
	var got, most float64
	if r.checks != nil && took.Runs == 0 {
		f.Residual = func(residual, limit float64) { got, most = residual, limit }
	}
	err := r.counted(t, func() error {
		if err := r.p.Linalg(f); err != nil {
			return err
		}
		for _, name := range t.Out {
			if err := r.settle(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	if took.Runs++; took.Runs == 1 {
		took.First = seconds
	}
	took.Seconds += seconds
	if f.Residual == nil {
		return nil
	}
	where := r.names.where(t) + ": first run: "
	var differs string
	err = program.Shared(r.p, &differs, func() error {
		line := fmt.Sprintf("%scheck: the results of %s fit its operands, with the relative "+
			"residual %.2g", where, t.Func, got)
		if !(got <= most) {
			differs = fmt.Sprintf("%scheck: the results of %s do not fit its operands: the relative "+
				"residual is %.2g, want at most %.2g", where, t.Func, got, most)
			line = differs
		}
		r.report.Lines = append(r.report.Lines, line)
		return nil
	})
	if err == nil && differs != "" {
		err = &NoOutputError{differs}
	}
	return err
}

// linalg plans a function of whole matrices: its operands move to rank 0, where its results are
// afterwards. An operand that is already there in the right form does not move.
func (x *follower) linalg(t *jobfile.Linalg) error {
	x.tally[count{item: t, what: runs}]++
	var in [][]int64
	var types []tensor.Type
	for _, name := range t.In {
		if err := x.fetch(name, nil); err != nil {
			return err
		}
		h := x.at.held[name]
		in, types = append(in, h.Blocks.Layout.Dims), append(types, h.Blocks.Layout.Type)
	}
	out, err := t.Shapes(in)
	if err != nil {
		return err
	}
	common := tensor.Common(types)
	for k, name := range t.In {
		g := program.Whole(in[k], common, x.ranks)
		x.move(t, name, forecast.Access{Operand: name, Blocks: g}, x.at.held[name],
			!slices.Contains(t.In[:k], name))
	}
	x.memory[t] = program.LinalgMemory(common, in...)
	for k, typ := range t.Types(types) {
		name := t.Out[k]
		decl := x.names.f.Tensor(name)
		key := placing{nil, fmt.Sprintf("%p %s", t, name)}
		if x.placed[key] == nil {
			if given := x.types[name]; given != tensor.None {
				typ = given
			}
			format := tensor.DenseOf(len(out[k]))
			if decl.Format != "" {
				if format, err = notation.ParseFormat(decl.Format); err != nil {
					return err
				}
			}
			x.placed[key] = program.AtRoot(out[k], typ, format, nil)
		}
		x.at.write(name, x.placed[key])
		if decl.Placement != nil && x.ranks > 1 {
			if err := x.place(t, name, decl.Placement.Placement); err != nil {
				return err
			}
		}
	}
	return nil
}

// linalgGiven records the results of a function of whole matrices for later statements: their sizes
// in dims, if the sizes of the operands are known, and their names in written.
func linalgGiven(t *jobfile.Linalg, dims map[string][]int64, written map[string]bool) error {
	var in [][]int64
	for _, name := range t.In {
		if d, ok := dims[name]; ok {
			in = append(in, d)
		}
	}
	if len(in) == len(t.In) {
		out, err := t.Shapes(in)
		if err != nil {
			return err
		}
		for k, name := range t.Out {
			dims[name] = out[k]
		}
	}
	for _, name := range t.Out {
		written[name] = true
	}
	return nil
}
