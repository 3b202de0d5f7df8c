package prepared

import (
	"errors"
	"maps"
	"slices"
	"time"

	"distaff/codegen"
	"distaff/codegen/forms"
	"distaff/codegen/network"
	"distaff/codegen/notation"
	"distaff/io/coo"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/kernels"
	"distaff/kernels/builtin"
	"distaff/spmd/fault"
)

// leaf is the compiled and loaded code of a statement, or of some terms of a statement. Its
// arguments are whole tensors or blocks of tensors. An argument must have the format and the array
// widths that were given to the compiler.
type leaf struct {
	p          *Planned
	name       string           // name of the function; "" lets the compiler choose
	stmt       *notation.Stmt   // its left side is the result; messages name it
	norm       *notation.Normal // what to compute; nil means all of stmt
	forms      forms.Set
	operands   map[string]codegen.Tensor
	old        *codegen.Tensor // the old value of a +=; otherwise nil
	format     tensor.Format   // requested format of the result
	typ        tensor.Type     // type of the result
	dims       []int64         // sizes of the result
	exact      []string        // variables whose whole range the leaf always gets
	widths     *codegen.Result // widths of the result; nil lets the compiler choose
	accumulate bool            // ask for a leaf that adds to a result (unit.Result.Accumulate)
	// ask for a leaf that computes only the values of an existing pattern
	// (unit.Result.FixedPattern)
	fixedPattern bool
	// operand that the leaf may write over (unit.Result.InPlace); may be ""
	inPlace string

	schedule []string // the job's commands; nil means the default schedule
	parts    []string // with a schedule: variables whose range the leaf gets in parts
	// elsewhere lists names that occur only in terms of other leaves. otherTree says that --network
	// gives a tree for the terms of another leaf.
	elsewhere []string
	otherTree bool

	unit     *codegen.Unit
	leaf     kernels.Leaf
	compiler string
}

// smallWork is the least work for which several threads are used. The work is the number of
// coordinates of a leaf call, or the number of values of the operands and the dense result (see
// oneCall.threads).
const smallWork = 1 << 15

// newLeaf returns a leaf, not compiled yet, of the user's statement. set holds the forms of code
// that the leaf is compiled in. operands holds the specification of each operand; the operand with
// the result's name is the old value of a +=.
func newLeaf(p *Planned, set forms.Set, operands map[string]codegen.Tensor) *leaf {
	name := p.Parsed.Result
	s := &leaf{p: p, forms: set, stmt: p.Parsed.Stmt, operands: operands,
		format: p.Reader.Formats[name],
		typ:    p.Reader.ResultType, dims: p.Reader.Sizes.Dims[name]}
	if old, ok := operands[name]; ok {
		s.old = &old
	}
	return s
}

// request returns the request to the compiler.
func (s *leaf) request() codegen.Request {
	p := s.p
	req := codegen.Request{
		Statement: codegen.Statement{Stmt: s.stmt, Normal: s.norm, Names: p.userNames(),
			InOtherTerms: s.elsewhere, ComputeType: p.Reader.ComputeType},
		Tensors: codegen.Tensors{All: map[string]codegen.Tensor{}, Old: s.old,
			Sizes: p.Reader.Sizes.Vars, Exact: s.exact, InPlace: s.inPlace},
		// the capacity is equal at all ranks, which compile one leaf
		Target: codegen.Target{Kind: p.Target.Kind, Forms: s.forms,
			CapacityBytes: p.Options.MemoryLimit / 8},
		// a plan must decide the same as a run, and a plan knows sizes but only estimates of
		// entries
		Ask: codegen.Ask{Name: s.name, Schedule: s.schedule, Parts: s.parts,
			ConvertBySize: s.schedule != nil && !p.Problem.Whole, IntermediateOrder: p.Options.Order,
			Accumulate: s.accumulate, FixedPattern: s.fixedPattern, Extern: p.Reader.Env.Extern},
	}
	if s.stmt == p.Parsed.Stmt { // not the sum of two blocks
		req.Ask.Cuts, req.Ask.Ranks = p.cuts(), p.Problem.Ranks
		if req.Ask.Network = p.Options.Network; s.otherTree {
			req.Ask.Network = network.Auto.String()
		}
		if at := p.Problem.Stored(); at >= 0 {
			req.Tensors.Chunked = p.Problem.Operands[at].Name
		}
	}
	if req.Target.Kind == codegen.CUDA { // the result has GPU arrays other than the old value's
		req.Tensors.InPlace = ""
	}
	maps.Copy(req.Tensors.All, s.operands)
	result := codegen.Tensor{Format: s.format, Type: s.typ, Dims: s.dims, NNZ: -1}
	if s.widths != nil {
		result.PosWidth, result.CrdWidth = s.widths.PosWidth, s.widths.CrdWidth
	}
	req.Tensors.All[s.stmt.LHS.Name] = result
	req.Ask.Verify = p.Options.Verify
	if trace := p.Options.Trace; trace != nil {
		req.Ask.Trace = func(pass string, _ time.Duration, text func() string) { trace(pass, text) }
	}
	return req
}

// compile compiles s to a unit. It runs no C compiler.
func (s *leaf) compile() error {
	p := s.p
	var err error
	if s.unit, err = codegen.Compile(s.request()); err == nil {
		p.Reader.Env.Detail("compiling " + s.stmt.String() + ": " + s.unit.TimesText())
		s.setHasty()
	}
	return p.Problem.AsWritten(err)
}

// load builds the leaf from its unit. If there is no C compiler, load looks for a stored or
// built-in leaf instead (see builtin.Substitute). The unit of that leaf then replaces s.unit. If
// there are several ranks, every rank must call it.
func (s *leaf) load() error {
	p := s.p
	if err := p.Reader.Env.Allow(s.unit); err != nil {
		return err
	}
	b, err := p.Reader.Env.Backend(p.Target.Kind)
	if err != nil {
		return err
	}
	s.compiler = b.Name()
	leaf, err := b.Build(p.Reader.Env.Ctx, s.unit)
	if errors.Is(err, kernels.ErrNoCompiler) {
		// The blocks of several leaves and ranks are combined, so they must have equal formats.
		leaf, s.unit, err = builtin.Substitute(p.Reader.Env.Ctx, b, s.unit, !p.Problem.Whole,
			p.Reader.Env.Note, err)
	}
	s.leaf = leaf
	return err
}

// close releases the leaf. s may be nil.
func (s *leaf) close() {
	if s != nil && s.leaf != nil {
		s.leaf.Close()
	}
}

// converted returns an operand in the format that the leaf reads for argument a. The caller closes
// it.
func (s *leaf) converted(a codegen.Arg, t *tcs.Tensor) (*tcs.Tensor, error) {
	if err := s.p.Reader.Env.Fetch(t); err != nil {
		return nil, err
	}
	c, err := coo.Repack(t, a.Format, coo.KeepAll, s.p.Reader.Env.Config())
	if err != nil {
		return nil, err
	}
	if err := c.Widen(a.PosWidth, a.CrdWidth, s.p.Reader.Env.Limit); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// bounds returns the ranges of the leaf's variables. A variable that is missing in ranges has its
// whole range, and an idle variable an empty one.
func (s *leaf) bounds(ranges map[string][2]int64) [][2]int64 {
	bounds, idle := make([][2]int64, len(s.unit.Vars)), s.idleVars()
	for n, v := range s.unit.Vars {
		b, ok := ranges[v]
		if !ok {
			b = [2]int64{0, s.p.Reader.Sizes.Vars[v]}
		}
		if slices.Contains(idle, v) {
			b[1] = b[0]
		}
		bounds[n] = b
	}
	return bounds
}

// env returns the environment of a call over the given bounds, with the number of threads. A call
// over few coordinates gets one thread.
func (s *leaf) env(bounds [][2]int64) kernels.Env {
	p := s.p
	threads := p.Reader.Env.Threads
	if points(bounds) < smallWork {
		threads = 1
	}
	return kernels.Env{Threads: threads, Arena: p.Reader.Env.Arena,
		Vars: p.UserVars(s.unit.Vars), What: p.Parsed.Stmt.String(), Runner: p.Reader.Env.Runner,
		Progress: p.Reader.Env.Leaf}
}

// userError returns the error of a leaf call for the user. For a bound() that does not hold, it
// names the command; for a leaf that stopped in the middle, it says why (see interrupted).
func (s *leaf) userError(err error) error {
	if err == nil {
		return nil
	}
	if f := (*kernels.FaultError)(nil); errors.As(err, &f) {
		return s.interrupted(f)
	}
	if broken := (*kernels.BoundError)(nil); errors.As(err, &broken) {
		which, at := whichBound(s.schedule, s.p.Reader.Sizes.Vars)
		b := *broken
		b.Which = which
		return at.Refuse(b.Error())
	}
	return err
}

// finish converts the result t of a call to the requested format. It stores positions in the
// narrowest width, unless t shares arrays of an operand. It takes ownership of t.
func (s *leaf) finish(t *tcs.Tensor) (*tcs.Tensor, error) {
	if s.unit.Result.Shares < 0 { // it shares no arrays
		t.Narrow()
	}
	if !s.unit.Result.Repack {
		return t, nil
	}
	defer t.Close()
	return coo.Repack(t, s.format, coo.KeepAll, s.p.Reader.Env.Config())
}

// newResult allocates the result of a call before the leaf runs. A dense result gets its memory. A
// result that shares an operand's level arrays gets memory for values. Any other result has no
// arrays yet; the leaf adds them. If box is nil, the result is the whole tensor.
func (s *leaf) newResult(args []*tcs.Tensor, box [][2]int64) (*tcs.Tensor, error) {
	p, u := s.p, s.unit.Result
	header := tcs.Header{Dims: s.dims, Box: box, Type: s.typ}
	if u.Format.AllDense() {
		shape := &tcs.Shape{Header: header, Format: u.Format,
			Counts: make([]int64, len(u.Format.Levels))}
		return tcs.NewIn(shape, s.stmt.LHS.Name, p.Reader.Env.Arena.Alloc)
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
	t.Vals.Width = uint8(t.Header.Type.Size())
	for l, kind := range u.Format.Levels {
		m := u.Format.Order[l]
		lev := tcs.Level{Kind: kind, Mode: m, Size: t.Header.Dims[m]}
		if kind == tensor.Dense {
			lev.Size, lev.Offset = t.Header.Box[m][1]-t.Header.Box[m][0], t.Header.Box[m][0]
		} else {
			lev.Pos.Width, lev.Crd.Width = u.PosWidth[l], u.CrdWidth[l]
		}
		t.Levels[l] = lev
	}
	return t, nil
}

// sharing returns a new result with the given header. Its levels down to the result's last
// compressed level share the level arrays of the tensor source. Its values have their own memory.
func (s *leaf) sharing(header tcs.Header, source *tcs.Tensor) (*tcs.Tensor, error) {
	f := s.unit.Result.Format
	t := &tcs.Tensor{Header: header.Clone(), Levels: make([]tcs.Level, len(f.Order))}
	n, first := int64(1), int64(0) // positions of the last level, and the first of them
	for l, m := range f.Order {
		lev := tcs.Level{Kind: tensor.Dense, Size: t.Header.Box[m][1] - t.Header.Box[m][0],
			Offset: t.Header.Box[m][0]}
		if l < len(f.Order)-f.TrailingDense() {
			lev = source.Levels[l]
			t.ShareArray(source, lev.Pos.Ptr)
			t.ShareArray(source, lev.Crd.Ptr)
		}
		lev.Mode = m
		t.Levels[l] = lev
		if lev.Kind == tensor.Dense {
			// first may overflow; there are no values in memory then
			n, first = tensor.Times(n, lev.Size), first*lev.Size
		} else {
			n, first = lev.Crd.Len, lev.Crd.First
		}
	}
	if err := s.p.allocValues(t, s.stmt.LHS.Name, n, first); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// interrupted returns the error of a leaf that stopped in the middle. It says why: an input file
// changed, the leaf has a fault, or another job or rank stopped it.
func (s *leaf) interrupted(f *kernels.FaultError) error {
	p := s.p
	err := p.Reader.Fault()
	if err == nil && f.Signal != 0 {
		err = fault.Runf(
			"BUG: %v; no input file has changed meanwhile; the leaf's key in the cache is %s", f,
			s.cacheKey())
	}
	if err == nil { // another job or rank stopped it, whose own error says why
		err = f
	}
	p.Reader.End(err)
	return err
}

// cacheKey returns the leaf's key in the cache of compiled leaves, for messages.
func (s *leaf) cacheKey() string {
	b, err := s.p.Reader.Env.Backend(s.p.Target.Kind)
	if err != nil {
		return "unknown: " + err.Error()
	}
	return b.Key(s.unit)
}
