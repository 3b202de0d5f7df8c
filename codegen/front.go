package codegen

import (
	"slices"
	"strings"

	"distaff/codegen/analysis"
	"distaff/codegen/contract"
	"distaff/codegen/lower/tree"
	"distaff/codegen/nest"
	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/codegen/schedule"
	"distaff/io/tensor"
)

// normalize brings the statement into normal form.
func (c *compilation) normalize() error {
	c.stmt = newStatement(&c.request)
	c.unit.Vars = c.stmt.normal.Vars
	return nil
}

// types determines the type to compute in, unless the request gives it.
func (c *compilation) types() (err error) {
	s, given := &c.request.Statement, &c.request.Tensors
	if c.unit.Compute = s.ComputeType; s.ComputeType != tensor.None {
		return nil
	}
	lhs, operands := s.Stmt.LHS.Name, map[string]tensor.Type{}
	for name, t := range given.All {
		operands[name] = t.Type
	}
	delete(operands, lhs)
	if given.Old != nil {
		operands[lhs] = given.Old.Type
	}
	c.unit.Compute, _, err = notation.InferTypes(s.Stmt, operands, c.stmt.left().Type)
	return err
}

// result plans the leaf's result.
func (c *compilation) result() error {
	c.planned = c.stmt.result()
	c.unit.Result = c.planned
	return nil
}

// collect finds the uses of all tensors in the statement. If the statement is a += and the caller
// passes the old value of the result, collect first adds a term for this value.
func (c *compilation) collect() error {
	n, before := c.stmt.normal, c.request.Tensors.Old
	if n.Accumulate && before != nil {
		old := &notation.Access{Name: n.LHS.Name, Vars: n.LHS.Vars, At: n.LHS.At, VarAt: n.LHS.VarAt}
		n.Terms = append([]*notation.Term{{Factors: []notation.Factor{old}}}, n.Terms...)
	}
	c.uses = operand.Collect(n, c.stmt.tensor, before)
	return nil
}

// order chooses the order of the loops. It also chooses the operands that must be converted to
// another format, because their levels do not fit this order.
func (c *compilation) order() error {
	u := c.unit
	u.Order, u.Notes = c.uses.Fit(c.stmt.normal, u.Result.Format, c.stmt.size,
		c.request.Ask.ConvertBySize)
	return nil
}

// gemms says which loops may become products of dense matrices. It returns nil in four cases: the
// leaf runs on a GPU without a schedule, an earlier run of the passes found that loops must not
// become products, storing a sum may round it, or the type to compute in is neither floating-point
// nor complex.
func (c *compilation) gemms() *nest.Gemms {
	t := c.unit.Compute
	if c.request.Target.Kind != CPU && c.request.Ask.Schedule == nil || c.loopsAlone ||
		c.roundsSums() || !t.IsFloat() && !t.IsComplex() {
		return nil
	}
	g := &nest.Gemms{Work: c.request.Target.GemmWork, GPU: c.batches()}
	if c.request.Ask.Schedule != nil {
		g.Vars = append([][]string{}, schedule.Gemms(c.request.Ask.Schedule)...)
	}
	return g
}

// batches reports whether a library may compute several products of matrices in one call.
func (c *compilation) batches() bool { return c.request.Target.Kind == CUDA || c.forGPU }

// roundsSums reports whether storing a sum in the result may round it, because the type of the
// result is not the type of sums.
func (c *compilation) roundsSums() bool { return c.stmt.left().Type != c.unit.Compute }

// network chooses a plan for the product of each term. A plan says in which steps the product is
// contracted. network then uses the order of the loops that contract.Choose returns.
func (c *compilation) network() (err error) {
	u, ask := c.unit, c.request.Ask
	c.contractions, err = contract.Choose(contract.Problem{
		Normal: c.stmt.normal, Uses: c.uses, Result: u.Result.Format, Compute: u.Compute,
		Names: c.request.Statement.Names, Size: c.stmt.size, Network: ask.Network,
		MaxOrder: ask.IntermediateOrder, BySize: ask.ConvertBySize, Schedule: ask.Schedule,
		Precomputes: slices.ContainsFunc(u.Request.Ask.Schedule,
			func(s string) bool { return strings.Contains(s, "precompute") }),
		GPU: c.request.Target.Kind == CUDA, Gemm: c.gemms().Cost(),
	}, u.Order, u.Notes)
	if err == nil {
		u.Order, u.Notes = c.contractions.Order, c.contractions.Notes
	}
	return err
}

// layouts chooses the dense operands that the leaf reads from copies with another order of levels.
// If the request has a schedule, the schedule's layout commands name these operands. On a GPU
// without a schedule, layouts chooses none.
func (c *compilation) layouts() error {
	u, ask := c.unit, &c.request.Ask
	by := operand.Copier{Uses: c.uses, InPlace: c.request.Tensors.InPlace,
		Names: c.request.Statement.Names, Notes: u.Notes}
	defer func() { u.Notes = by.Notes }()
	if ask.Schedule != nil {
		list, err := c.parsed()
		if err != nil {
			return nil // mistakes in other commands are reported when those are applied
		}
		return by.Follow(list)
	}
	c.copies = nil
	if c.request.Target.Kind == CPU && !ask.AsStored && c.contractions.OneNest() {
		c.copies = by.Choose(u.Order, c.stmt.size,
			func(u *operand.Use) float64 { return ask.readers(u.Vars) })
	}
	return nil
}

// parsed returns the request's scheduling commands that apply to the request's terms.
func (c *compilation) parsed() ([]*schedule.Command, error) {
	list, err := schedule.Parse(c.request.Ask.Schedule)
	return schedule.Part(list, c.request.Statement.InOtherTerms), err
}

// operands makes the leaf's arguments: the result, and one argument for each format of each tensor.
func (c *compilation) operands() error {
	u := c.unit
	lhs := c.request.Statement.Stmt.LHS.Name
	c.ops = []tree.Argument{
		{Name: lhs, Format: u.Result.Format, Type: c.stmt.left().Type, PosWidth: u.Result.PosWidth,
			CrdWidth: u.Result.CrdWidth}}
	c.stats = []analysis.Tensor{{}}
	u.Args = []Arg{{Tensor: lhs, Format: u.Result.Format}}
	names := map[string]bool{lhs: true}
	for _, s := range c.uses.List {
		k := slices.IndexFunc(u.Args[1:], func(a Arg) bool {
			return a.Tensor == s.Tensor && a.Old == s.Old && a.Format.Equal(s.Format)
		})
		if k >= 0 {
			s.Name = c.ops[k+1].Name
			continue
		}
		s.Name = s.Tensor
		for names[s.Name] {
			s.Name += "'"
		}
		names[s.Name] = true
		op := tree.Argument{Name: s.Name, Number: len(u.Args), Format: s.Format, Type: s.Given.Type,
			Rows: s.Format.AllDense() && c.request.Target.Kind == CPU &&
				s.Tensor != c.request.Tensors.InPlace}
		op.PosWidth, op.CrdWidth = s.Widths()
		op.Pick = c.pickOf(s)
		stats := analysis.Tensor{NNZ: s.Given.NNZ}
		if !s.Convert {
			stats.Counts, stats.Longest = s.Given.Counts, s.Given.Longest
		}
		c.stats = append(c.stats, stats)
		c.ops = append(c.ops, op)
		u.Args = append(u.Args, Arg{Tensor: s.Tensor, Name: s.Name, Format: s.Format, Convert: s.Convert,
			Old: s.Old, PosWidth: op.PosWidth, CrdWidth: op.CrdWidth})
	}
	c.args = u.Args
	return nil
}

// pickOf returns how to compute the coordinates of a tensor that is a pick, or nil if s is another
// tensor or is read in another format.
func (c *compilation) pickOf(s *operand.Use) *tree.Pick {
	accesses := c.stmt.normal.Accesses()
	k := slices.IndexFunc(accesses, func(a *notation.Access) bool {
		return a.Name == s.Tensor && a.IsPick()
	})
	f := s.Format
	if k < 0 || !slices.IsSorted(f.Order) || f.TrailingDense() > 0 ||
		slices.ContainsFunc(f.Levels[:len(f.Levels)-1],
			func(k tensor.Kind) bool { return k != tensor.Dense }) {
		return nil
	}
	made, last := accesses[k].Made, s.Vars[len(s.Vars)-1]
	ask := &c.request.Ask
	cut := slices.Contains(ask.Parts, last) ||
		slices.ContainsFunc(ask.Cuts, func(x Cut) bool { return slices.Contains(x.Vars, last) })
	return &tree.Pick{Coef: made.Coef, First: made.Const, Partial: made.Outside || cut}
}
