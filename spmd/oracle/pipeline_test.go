package oracle

import (
	"fmt"
	"maps"
	"strings"

	"distaff/codegen"
	"distaff/codegen/cin"
	"distaff/codegen/forms"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
)

// compiled is a case whose operands are stored and whose leaf is compiled to ir.
type compiled struct {
	p       *Prepared
	unit    *codegen.Unit
	args    []*tcs.Tensor // arguments of the leaf; args[0] is the result
	bounds  [][2]int64    // the range of each variable in unit.Vars
	threads int
	owned   []*tcs.Tensor // closed with the case
	// values is a second leaf of the same statement, or nil. If the result of unit is sparse, the
	// second leaf computes values for a given pattern. If the result is dense, it adds to the
	// result, and is compiled for some cases only.
	values *codegen.Unit
}

// hasWideIndices reports whether the positions and coordinates of the case's operands have 64
// bits.
func (c *Case) hasWideIndices() bool { return c.Variant%5 == 0 }

// compile stores the operands and compiles the case to a leaf with the given name.
func compile(p *Prepared, name string) (*compiled, error) { return compileAs(p, name, nil) }

// compileAs does the same as compile, but calls the function modify with the request before it
// compiles the request. modify may be nil. name is the name of the leaf.
func compileAs(p *Prepared, name string, modify func(*codegen.Request) error) (c *compiled,
	err error) {
	c = &compiled{p: p, threads: 1 + int(p.Case.Variant%3)}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	left := p.Case.Tensors[0]
	req := codegen.Request{
		Statement: codegen.Statement{Stmt: p.Parsed, ComputeType: p.Compute},
		Tensors:   codegen.Tensors{All: map[string]codegen.Tensor{}, Sizes: p.Sizes.Vars},
		Ask:       codegen.Ask{Name: name, Verify: true},
		Target:    codegen.Target{ChunkWork: 1 + int64(p.Case.Variant%2)<<10},
	}
	if p.Case.Variant/64%2 == 0 {
		req.Target.LongRow = 1 // distribute even short rows over the threads
	}
	if p.Case.Variant/256%2 == 0 {
		// compile sizes in, and prefetch rows and entries
		req.Tensors.Exact, req.Target.FarBytes, req.Target.Forms = p.Normal.Vars, 1,
			forms.Set{forms.Streams: 128, forms.Merges: 1}
	}
	if p.Case.Variant/1024%2 == 0 {
		req.Target.MergeTime = 1 // look up coordinates in tables instead of merging
	}
	if p.Case.Variant/2048%2 == 0 {
		req.Target.FlatFrom = 1 // treat even a single intermediate as a long sequence
	}
	if p.Case.Variant/512%2 == 0 {
		req.Target.GemmWork = 1 // treat even small products of dense operands as matrix products
	}
	stored := map[string]*tcs.Tensor{}
	for _, t := range p.Case.Tensors {
		if !t.Input {
			continue
		}
		s, err := t.Assemble(p.Case.hasWideIndices())
		if err != nil {
			return c, fmt.Errorf("storing %s: %w", t.Name, err)
		}
		c.owned = append(c.owned, s)
		stored[t.Name] = s
		spec := describe(s, t)
		switch p.Case.Variant / 8 % 4 {
		case 0:
			spec.NNZ, spec.Counts = -1, nil // unknown
		case 1:
			spec.NNZ = 1 << 30 // enough for every parallel form
		}
		if t == left {
			req.Tensors.Old = &spec
		} else {
			req.Tensors.All[t.Name] = spec
		}
	}
	req.Tensors.All[left.Name] = codegen.Tensor{Format: left.Format, Type: p.Result,
		Dims: left.Dims, NNZ: -1}
	if modify != nil {
		if err = modify(&req); err != nil {
			return c, err
		}
	}
	if c.unit, err = codegen.Compile(req); err != nil {
		return c, err
	}
	if c.values, err = c.secondLeaf(req); err != nil {
		return c, err
	}
	for _, v := range c.unit.Vars {
		c.bounds = append(c.bounds, [2]int64{0, p.Sizes.Vars[v]})
	}
	if err = c.arguments(stored); err != nil {
		return c, err
	}
	c.args[0], err = c.result()
	return c, err
}

// secondLeaf compiles the leaf compiled.values. It returns nil if the case has no second leaf.
func (c *compiled) secondLeaf(req codegen.Request) (*codegen.Unit, error) {
	switch u := c.unit.Result; {
	case u.Format.AllDense() && req.Target.Kind == codegen.CPU && c.p.Case.Variant/512%addsShare == 0:
		req.Ask.Accumulate = true
		req.Ask.Name += "_adds"
		return codegen.Compile(req)
	case !u.Format.AllDense() && req.Ask.Schedule == nil:
		left := req.Tensors.All[c.p.Case.Tensors[0].Name]
		left.Format, left.PosWidth, left.CrdWidth = u.Format, u.PosWidth, u.CrdWidth
		req.Tensors.All = maps.Clone(req.Tensors.All)
		req.Tensors.All[c.p.Case.Tensors[0].Name] = left
		req.Ask.FixedPattern = true
		req.Ask.Name += "_values"
		return codegen.Compile(req)
	}
	return nil, nil
}

// arguments sets the leaf's arguments, except the result. It converts the stored tensors that the
// leaf requires in another format.
func (c *compiled) arguments(stored map[string]*tcs.Tensor) (err error) {
	c.args = []*tcs.Tensor{nil}
	for _, a := range c.unit.Args[1:] {
		t := stored[a.Tensor]
		if a.Convert {
			if t, err = coo.Repack(t, a.Format, coo.KeepAll,
				coo.Config{Threads: 1}); err != nil {
				return fmt.Errorf("converting %s to %s: %w", a.Tensor, a.Format, err)
			}
			c.owned = append(c.owned, t)
			if err := t.Widen(a.PosWidth, a.CrdWidth, nil); err != nil {
				return err
			}
		}
		c.args = append(c.args, t)
	}
	return nil
}

// describe returns the compiler's description of a stored tensor.
func describe(s *tcs.Tensor, t *Tensor) codegen.Tensor {
	out := codegen.Tensor{Format: t.Format, Type: t.Type, Dims: t.Dims, NNZ: s.Vals.Len,
		Longest: s.LongestSegment()}
	for l, lev := range s.Levels {
		out.PosWidth = append(out.PosWidth, lev.Pos.Width)
		out.CrdWidth = append(out.CrdWidth, lev.Crd.Width)
		out.Counts = append(out.Counts, s.Positions(l))
	}
	return out
}

// result returns the left tensor as the leaf expects it. A dense result has memory for its values.
// A result that shares an argument's pattern has that argument's level arrays and memory for its
// values. Any other result has no arrays, because the leaf allocates them.
func (c *compiled) result() (*tcs.Tensor, error) {
	u, left := c.unit.Result, c.p.Case.Tensors[0]
	header := tcs.Header{Dims: left.Dims, Type: c.p.Result}
	if u.Format.AllDense() {
		shape := &tcs.Shape{Header: header, Format: u.Format, Counts: make([]int64, len(left.Dims))}
		t, err := tcs.New(shape, nil, left.Name)
		if err == nil {
			scribble(t.Vals)
		}
		return t, err
	}
	for _, d := range left.Dims {
		header.Box = append(header.Box, [2]int64{0, d})
	}
	t := &tcs.Tensor{Header: header.Clone(), Levels: make([]tcs.Level, len(u.Format.Levels))}
	t.Vals.Width = uint8(t.Header.Type.Size())
	for l, kind := range u.Format.Levels {
		m := u.Format.Order[l]
		lev := tcs.Level{Kind: kind, Mode: m, Size: left.Dims[m]}
		switch {
		case kind == tensor.Dense:
		case u.Shares >= 0:
			from := c.args[u.Shares].Levels[l]
			lev.Pos, lev.Crd = from.Pos, from.Crd
		default:
			lev.Pos.Width, lev.Crd.Width = u.PosWidth[l], u.CrdWidth[l]
		}
		t.Levels[l] = lev
	}
	if u.Shares < 0 {
		return t, nil
	}
	n := int64(1)
	if last := len(t.Levels) - 1; last >= 0 {
		n = t.Positions(last)
	}
	mem, err := tcs.Alloc(nil, n*int64(t.Vals.Width), "values")
	if err != nil {
		return nil, err
	}
	t.Vals = mem.Array(0, n, t.Vals.Width)
	scribble(t.Vals)
	t.Share(c.args[u.Shares])
	t.Hold(mem)
	return t, mem.Release()
}

// scribble fills an array with garbage, so that a leaf that reads it before writing gives a wrong
// result.
func scribble(a tcs.Array) {
	b := a.Bytes()
	for k := range b {
		b[k] = 0xa5
	}
}

// execute passes the leaf's arguments and bounds to the function call, which runs the leaf. It then
// returns the result in the format of the case.
func (c *compiled) execute(call func(args []*tcs.Tensor, bounds [][2]int64) error) (*Output,
	error) {
	if err := call(c.args, c.bounds); err != nil {
		return nil, err
	}
	t := c.args[0]
	if err := t.Validate(); err != nil {
		return nil, fmt.Errorf("the leaf's result is not a valid %s tensor: %w", c.unit.Result.Format,
			err)
	}
	if c.unit.Result.Repack {
		f := c.p.Case.Tensors[0].Format
		r, err := coo.Repack(t, f, coo.KeepAll, coo.Config{Threads: 1})
		if err != nil {
			return nil, fmt.Errorf("storing the result as %s: %w", f, err)
		}
		defer r.Close()
		t = r
	}
	out := output(t)
	for _, a := range c.unit.Args {
		if a.Convert && !a.Format.AllDense() {
			out.Converted = append(out.Converted, a.Tensor)
		}
	}
	return out, nil
}

func (c *compiled) close() {
	for _, t := range append(c.args, c.owned...) {
		if t != nil {
			t.Close()
		}
	}
	c.args, c.owned = nil, nil
}

// stages returns the loop order and the concrete index notation, for the report of a failure.
func (c *compiled) stages() string {
	return fmt.Sprintf("loops %s\n%s", strings.Join(c.unit.Order, ","), cin.String(c.unit.CIN))
}
