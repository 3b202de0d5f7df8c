package spmd

import (
	"context"
	"errors"
	"maps"
	"os"
	"time"

	"distaff/codegen"
	"distaff/codegen/dtype"
	"distaff/codegen/format"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/kernels"
	"distaff/kernels/builtin"
	"distaff/kernels/cc"
	"distaff/kernels/interpret"
	"distaff/spmd/build"
)

var irTypes = map[dtype.Type]ir.Type{
	dtype.Int32: ir.Int32, dtype.Int64: ir.Int64, dtype.Float32: ir.Float32,
	dtype.Float64: ir.Float64, dtype.Complex64: ir.Complex64, dtype.Complex128: ir.Complex128,
}

// statement is a statement of the job, compiled and loaded: it is called on
// tensors, whole or blocks, that are stored as the compiler was told.
type statement struct {
	r            *run
	name         string           // the leaf's; "" for the compiler's choice
	stmt         *notation.Stmt   // for its left side, and for messages
	norm         *notation.Normal // what to compute, if not the whole of stmt
	operands     map[string]codegen.Tensor
	old          *codegen.Tensor // of a +=
	format       format.Format   // of the result, as it is wanted
	typ          dtype.Type      // of the result
	dims         []int64         // of the result
	exact        []string        // variables that the leaf always gets the whole range of
	widths       *codegen.Result // whose widths the result has, nil for the compiler's choice
	accumulate   bool            // the leaf adds to a result, if it can (unit.Result.Accumulate)
	fixedPattern bool            // the leaf writes values into a pattern that is given (unit.Result.FixedPattern)

	schedule []string          // the job's
	parts    []string          // of a schedule: variables that the leaf gets a part of the range of
	names    map[string]string // the user's names of operands, where norm has others

	unit     *codegen.Unit
	leaf     kernels.Leaf
	compiler string
}

// statement describes the job's own statement, over operands stored as given: the
// result's name is that of the tensor which += adds to.
func (r *run) statement(operands map[string]codegen.Tensor) *statement {
	name := r.p.result
	s := &statement{r: r, stmt: r.p.stmt, operands: operands, format: r.formats[name], typ: r.types[name], dims: r.sizes.Dims[name]}
	if old, ok := operands[name]; ok {
		s.old = &old
	}
	return s
}

// compile makes the unit. It runs no C compiler.
func (s *statement) compile() error {
	r := s.r
	req := codegen.Request{
		Name: s.name, Stmt: s.stmt, Normal: s.norm, Tensors: map[string]codegen.Tensor{}, Old: s.old, Sizes: r.sizes.Vars,
		ComputeType: irTypes[r.compute], Schedule: s.schedule, Exact: s.exact, Parts: s.parts, Names: s.names, Accumulate: s.accumulate, FixedPattern: s.fixedPattern,
		CapacityBytes: r.job.MemoryLimit / 8, // the same at every rank, which compile one leaf
	}
	maps.Copy(req.Tensors, s.operands)
	result := codegen.Tensor{Format: s.format, Type: irTypes[s.typ], Dims: s.dims, NNZ: -1}
	if s.widths != nil {
		result.PosWidth, result.CrdWidth = s.widths.PosWidth, s.widths.CrdWidth
	}
	req.Tensors[s.stmt.LHS.Name] = result
	if req.Verify = r.Detail != nil; r.Trace != nil {
		req.Trace = func(pass string, _ time.Duration, text func() string) { r.Trace(pass, text) }
	}
	var err error
	if s.unit, err = codegen.Compile(req); err == nil {
		r.detail("compiling " + s.stmt.String() + ": " + s.unit.TimesText())
	}
	return err
}

// load makes the leaf of the unit, which may become another: see builtin.StandIn.
// Collective, where there are several ranks.
func (s *statement) load() error {
	r := s.r
	b, err := r.makesLeaves()
	if err != nil {
		return err
	}
	s.compiler = b.Name()
	leaf, err := b.Build(r.ctx, s.unit)
	if errors.Is(err, kernels.ErrNoCompiler) {
		// Blocks of several leaves, and of ranks, are put together: they must be alike.
		leaf, s.unit, err = builtin.StandIn(r.ctx, b, s.unit, !r.prepared.whole, r.note, err)
	}
	s.leaf = leaf
	return err
}

func (s *statement) close() {
	if s.leaf != nil {
		s.leaf.Close()
	}
}

// makesLeaves is what makes the leaves: a backend for the job's target.
func (e *env) makesLeaves() (kernels.Backend, error) {
	if e.backend != nil {
		return e.backend, nil
	}
	if e.Interpret {
		e.backend = interpret.Backend{}
		return e.backend, nil
	}
	c, err := e.compiles()
	if err != nil {
		return nil, err
	}
	if e.backend = c; e.comm.Size() > 1 {
		e.backend = build.Shared(e.comm, c)
	}
	return e.backend, nil
}

// compiles is the backend that compiles C, as the options and the environment say.
func (o *Options) compiles() (*kernels.C, error) {
	cfg, err := cc.FromEnv(os.Getenv)
	if err != nil {
		return nil, commandErrorf("%v", err)
	}
	cfg.CPU, cfg.Note, cfg.Run = o.CPU, o.note, o.compiler
	if cfg.Run == nil {
		cfg.Run = build.Aside
	}
	if o.Tmp != "" {
		cfg.Tmp = o.Tmp
	}
	return kernels.NewC(cfg)
}

// arguments are the leaf's operands: those given, or conversions of them, which
// belong to the caller (in made).
func (s *statement) arguments(operands map[string]*tcs.Tensor) (args []*tcs.Tensor, made []*tcs.Tensor, err error) {
	for _, a := range s.unit.Args[1:] {
		if a.Map {
			continue
		}
		t := operands[a.Tensor]
		if t == nil {
			panic("BUG: spmd: no tensor for argument " + a.Tensor)
		}
		if a.Convert {
			t, err = coo.Repack(t, a.Format.Letters(), a.Format.Order, coo.KeepAll, s.r.config())
			if err == nil {
				made = append(made, t)
				err = t.Widen(a.PosWidth, a.CrdWidth, s.r.limit)
			}
			if err != nil {
				for _, m := range made {
					m.Close()
				}
				return nil, nil, err
			}
		}
		args = append(args, t)
	}
	return args, made, nil
}

// call runs the leaf on args (see arguments) over the ranges of the variables
// (all of a variable's where there is none), and returns the result's block of
// that box, stored as unit.Result says.
func (s *statement) call(ctx context.Context, args []*tcs.Tensor, ranges map[string][2]int64, box [][2]int64) (*tcs.Tensor, error) {
	t, err := s.newResult(args, box)
	if err != nil {
		return nil, err
	}
	if err := s.run(ctx, t, args, ranges); err != nil {
		t.Close()
		return nil, err
	}
	t.Trust()
	return t, nil
}

// run runs the leaf on its result and args.
func (s *statement) run(ctx context.Context, t *tcs.Tensor, args []*tcs.Tensor, ranges map[string][2]int64) error {
	r := s.r
	bounds := make([][2]int64, len(s.unit.Vars))
	for k, v := range s.unit.Vars {
		b, ok := ranges[v]
		if !ok {
			b = [2]int64{0, r.sizes.Vars[v]}
		}
		bounds[k] = b
	}
	env := kernels.Env{Threads: r.threads, Arena: r.arena, Vars: r.userNames(s.unit.Vars), What: r.p.stmt.String(), Runner: r.runner}
	err := s.leaf.Call(ctx, append([]*tcs.Tensor{t}, args...), bounds, env)
	if fault := (*kernels.FaultError)(nil); errors.As(err, &fault) {
		return s.left(fault)
	}
	if broken := (*kernels.BoundError)(nil); errors.As(err, &broken) {
		return brokenBound(broken, s.schedule, r.sizes.Vars)
	}
	return err
}

// finish brings what call returned into the wanted format, and its positions into the
// narrowest width; it takes t over.
func (s *statement) finish(t *tcs.Tensor) (*tcs.Tensor, error) {
	if s.unit.Result.Shares < 0 { // its arrays are its own
		t.Narrow()
	}
	if !s.unit.Result.Repack {
		return t, nil
	}
	defer t.Close()
	return coo.Repack(t, s.format.Letters(), s.format.Order, coo.KeepAll, s.r.config())
}

// userNames are the variables as the user wrote them.
func (r *run) userNames(vars []string) []string {
	out := make([]string, len(vars))
	for k, v := range vars {
		out[k] = v
		if s, ok := r.p.norm.Source[v]; ok {
			out[k] = s
		}
	}
	return out
}

// newResult is the result before the leaf runs: memory for a dense one, level
// arrays shared with an operand, or a frame that the leaf publishes into.
func (s *statement) newResult(args []*tcs.Tensor, box [][2]int64) (*tcs.Tensor, error) {
	r, u := s.r, s.unit.Result
	header := tcs.Header{Dims: s.dims, Box: box, Type: tcsType(s.typ)}
	if u.Format.AllDense() {
		shape := &tcs.Shape{Header: header, Kinds: u.Format.Letters(), Modes: u.Format.Order, Counts: make([]int64, len(u.Format.Levels))}
		return tcs.NewIn(shape, s.stmt.LHS.Name, r.arena.Alloc)
	}
	if box == nil {
		for _, d := range header.Dims {
			header.Box = append(header.Box, [2]int64{0, d})
		}
	}
	if u.Shares >= 0 {
		return s.sharing(header, args[u.Shares-1])
	}
	t := &tcs.Tensor{Header: header.Clone(), Levels: make([]tcs.Level, len(u.Format.Levels))}
	t.Vals.Width = uint8(t.Type.Size())
	for l, kind := range u.Format.Levels {
		m := u.Format.Order[l]
		lev := tcs.Level{Kind: byte(kind), Mode: m, Size: t.Dims[m]}
		if kind == format.Dense {
			lev.Size, lev.Offset = t.Box[m][1]-t.Box[m][0], t.Box[m][0]
		} else {
			lev.Pos.Width, lev.Crd.Width = u.PosWidth[l], u.CrdWidth[l]
		}
		t.Levels[l] = lev
	}
	return t, nil
}

// sharing is a result over the level arrays of an operand's outer levels, down
// to the result's last compressed one, with values of its own.
func (s *statement) sharing(header tcs.Header, from *tcs.Tensor) (*tcs.Tensor, error) {
	f := s.unit.Result.Format
	t := &tcs.Tensor{Header: header.Clone(), Levels: make([]tcs.Level, len(f.Order))}
	n, first := int64(1), int64(0) // positions of the last level, and where its arrays begin
	for l, m := range f.Order {
		lev := tcs.Level{Kind: byte(format.Dense), Size: t.Box[m][1] - t.Box[m][0], Offset: t.Box[m][0]}
		if l < len(f.Order)-f.TrailingDense() {
			lev = from.Levels[l]
			t.ShareArray(from, lev.Pos.Ptr)
			t.ShareArray(from, lev.Crd.Ptr)
		}
		lev.Mode = m
		t.Levels[l] = lev
		if lev.Kind == byte(format.Dense) {
			n, first = n*lev.Size, first*lev.Size
		} else {
			n, first = lev.Crd.Len, lev.Crd.First
		}
	}
	width := uint8(t.Type.Size())
	mem, err := s.r.arena.Alloc(n*int64(width), "the values of "+s.stmt.LHS.Name)
	if err != nil {
		t.Close()
		return nil, err
	}
	t.Vals = mem.Array(0, n, width)
	t.Vals.First = first
	t.Hold(mem)
	return t, mem.Release()
}
