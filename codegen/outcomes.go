package codegen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/cin"
	"distaff/codegen/ir"
	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// This file has texts of the passes' outcomes, and verifiers. Others are in passes.go, in
// strategies.go and in other packages.

// verifyNormal checks that each variable of a term is on the left side or summed.
func verifyNormal(n *notation.Normal) error {
	for _, t := range n.Terms {
		for _, v := range t.FreeVars() {
			if !slices.Contains(n.LHS.Vars, v) && !slices.Contains(t.Sum, v) {
				return fmt.Errorf("%s must sum %s", t, v)
			}
		}
	}
	return nil
}

// verifyTypes checks that a statement can compute in type t.
func verifyTypes(t tensor.Type) error {
	if t == tensor.None {
		return fmt.Errorf("the statement computes in %v", t)
	}
	return nil
}

func (c *compilation) resultText() string {
	r := c.unit.Result
	how := "its own"
	switch {
	case r.Format.AllDense():
		how = "none"
	case r.FixedPattern:
		how = "given"
	case r.Shares >= 0:
		how = "those of " + c.ops[r.Shares].Name
	}
	return fmt.Sprintf("format %s, level arrays: %s, bytes of positions %v, of coordinates %v\n",
		r.Format, how, r.PosWidth, r.CrdWidth)
}

// verifyResult checks that the result has only levels that leaves can make, and that compressed
// levels have widths.
func verifyResult(r Result) error {
	for l, k := range r.Format.Levels {
		switch {
		case !k.IsDenseOrCompressed():
			return fmt.Errorf("level %d of the result has the kind %v, want dense or compressed", l, k)
		case k == tensor.Compressed && (r.PosWidth[l] == 0 || r.CrdWidth[l] == 0):
			return fmt.Errorf("level %d of the result needs the widths of its positions and coordinates",
				l)
		}
	}
	return nil
}

func (c *compilation) orderText() string {
	return strings.Join(c.unit.Order, " ") + "\n" + strings.Join(append(c.unit.Notes, ""), "\n")
}

func (c *compilation) verifyOrder() error {
	return c.uses.VerifyOrder(c.unit.Order, c.stmt.normal, c.unit.Result.Format)
}

func (c *compilation) operandsText() string {
	var b strings.Builder
	for k, a := range c.unit.Args {
		fmt.Fprintf(&b, "%s: %s %v", c.ops[k].Name, a.Format, c.ops[k].Type)
		if a.Convert {
			b.WriteString(", converted")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// verifyOperands checks that operands have distinct names, and that every use has an operand of its
// format.
func (c *compilation) verifyOperands() error {
	seen := map[string]bool{}
	for _, o := range c.ops {
		if seen[o.Name] {
			return fmt.Errorf("two operands are named %s; want different names", o.Name)
		}
		seen[o.Name] = true
	}
	for _, u := range c.uses.List {
		if f, ok := c.formatOf(u.Name); !ok || !f.Equal(u.Format) {
			return fmt.Errorf("the statement reads %s in the format %s, but the operand has another "+
				"format",
				u.Tensor, u.Format)
		}
	}
	return nil
}

// verifyLaunches checks that the leaf is well formed. A GPU's leaf may only have serial and
// unrolled loops, because all others have become launches.
func (c *compilation) verifyLaunches() error {
	var err error
	ir.Walk(c.unit.Func.Body, func(s ir.Stmt) {
		if s, ok := s.(*ir.For); ok && c.request.Target.Kind == CUDA && s.Kind != ir.Serial &&
			s.Kind != ir.Unrolled {
			err = fmt.Errorf(
				"the loop %s is still of kind %s, want one that a GPU can run", s.V.Name, s.Kind)
		}
	})
	return cmp.Or(err, c.verifyIR())
}

// verifyStrategy returns an error if the strategy does not fit the statement. Tiles and choices for
// loops must belong to statements of the nest, and a tile must have at least one value. If the size
// of a variable becomes a constant in the leaf, the constant must be the variable's size. If there
// is no schedule, the variable must also be in Tensors.Exact, so that every call passes its whole
// range.
func (c *compilation) verifyStrategy() error {
	statements := map[cin.Stmt]bool{}
	cin.Walk(c.strategy.Stmt, func(s cin.Stmt) { statements[s] = true })
	for s, width := range c.strategy.Tiles {
		if width <= 0 || !statements[s] {
			return fmt.Errorf("got %d values in a tile of the loop %s, want at least 1", width,
				cin.String(s))
		}
	}
	for l := range c.strategy.Loops {
		if !statements[l] {
			return fmt.Errorf(
				"the strategy has a choice for a loop over %s that is not in the statement", l.Var)
		}
	}
	for v, n := range c.strategy.Trips {
		if n != c.stmt.size(v) ||
			c.request.Ask.Schedule == nil && !slices.Contains(c.request.Tensors.Exact, v) {
			return fmt.Errorf(
				"%s = %d must not be compiled in, because its range may differ in another call",
				v, n)
		}
	}
	return nil
}

// verifyInPlace returns an error if the leaf is not well formed. If Result.InPlace is the number of
// an argument, the values of this argument are in the memory of the result. The leaf must then have
// no separate parameter for these values.
func (c *compilation) verifyInPlace() error {
	if k := c.unit.Result.InPlace; k > 0 {
		for _, p := range c.unit.Func.Params {
			if p.Slot.Arg == k && p.Slot.Field == ir.Vals {
				return fmt.Errorf("argument %d must share the memory of the result, but the leaf has a "+
					"separate "+
					"parameter for its values", k)
			}
		}
	}
	return c.verifyIR()
}

func (c *compilation) cinText() string  { return cin.Pretty(c.unit.CIN) }
func (c *compilation) irText() string   { return ir.Print(c.unit.Func) }
func (c *compilation) verifyCIN() error { return cin.Verify(c.unit.CIN) }
func (c *compilation) verifyIR() error  { return ir.Verify(c.unit.Func) }
