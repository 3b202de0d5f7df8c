package plan

import (
	"fmt"
	"slices"
	"strings"

	"distaff/codegen/diag"
	"distaff/codegen/notation"
	"distaff/codegen/place"
	"distaff/codegen/schedule"
)

// Grid computes the machine for the statement, which must be a product of dense matrices.
func (g *Given) Grid() (*place.Machine, error) {
	x, why := g.product()
	if why != "" {
		return nil, diag.Errorf("machine",
			"the grid of COSMA needs a product of two dense matrices, as in A(i,j) = B(i,k) * "+
				"C(k,j), but %s", why)
	}
	memory := int64(0)
	if g.Limit > 0 {
		memory = max(g.Limit/max(g.ValueBytes, 1), 1)
	}
	m, err := place.Cosma(g.Sizes[x.i], g.Sizes[x.j], g.Sizes[x.k], int64(g.Ranks), memory)
	if err == nil {
		m.Name = g.Machine.Name
	}
	return m, err
}

// compute replaces the machine "cosma" by a grid of ranks that it computes. The statement must be a
// product of two dense matrices, and the grid suits this product. If the user gave no schedule,
// compute also sets the schedule of COSMA. It does nothing if the user gave another machine, or
// none.
func (g *Given) compute() error {
	if g.Machine == nil || !g.Machine.OfProduct {
		return nil
	}
	m, err := g.Grid()
	if err != nil {
		return err
	}
	g.Machine = m
	x, _ := g.product()
	list, err := schedule.Parse(g.Schedule)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		g.Schedule = g.cosma(x)
	case !slices.ContainsFunc(list, (*schedule.Command).Distributes):
		return list[0].Refuse(fmt.Sprintf(
			"the grid of COSMA needs either distribute({%s,%s,%s},...,%s) in the schedule, or "+
				"no schedule",
			g.source(x.i), g.source(x.j), g.source(x.k), m.Name))
	}
	return nil
}

// matrices is a product of two matrices. left has the variables i and k, and right has k and j,
// each in any order. The variables are named as in the normal form.
type matrices struct{ i, j, k, left, right string }

// product returns the statement as a product of two dense matrices. If the statement has another
// form, reason says which condition fails. Otherwise reason is "".
func (g *Given) product() (x matrices, reason string) {
	n := g.Norm
	if len(n.LHS.Vars) != 2 || n.LHS.Vars[0] == n.LHS.Vars[1] {
		return x, n.LHS.Name + " is not a matrix"
	}
	if n.Accumulate || len(n.Terms) != 1 || len(n.Terms[0].Sum) != 1 || len(n.Terms[0].Factors) != 2 {
		return x, "the right side is not a product of two tensors that is summed over one variable"
	}
	x.i, x.j, x.k = n.LHS.Vars[0], n.LHS.Vars[1], n.Terms[0].Sum[0]
	for _, f := range n.Terms[0].Factors {
		a, ok := f.(*notation.Access)
		switch {
		case ok && sameVars(a.Vars, x.i, x.k) && x.left == "":
			x.left = a.Name
		case ok && sameVars(a.Vars, x.k, x.j) && x.right == "":
			x.right = a.Name
		default:
			return x, "a factor is not a matrix over the summed variable and a variable of the result"
		}
	}
	for _, name := range []string{n.LHS.Name, x.left, x.right} {
		if !g.Format(name).AllDense() {
			return x, name + " has levels that are not dense"
		}
	}
	return x, ""
}

func sameVars(vars []string, a, b string) bool {
	return len(vars) == 2 && slices.Contains(vars, a) && slices.Contains(vars, b)
}

// cosma returns the schedule of COSMA for the machine g.Machine. The schedule distributes all three
// variables of the product over the machine. If g.Machine.Steps is more than 1, each rank divides
// its range of the summation variable x.k into this number of steps.
func (g *Given) cosma(x matrices) []string {
	taken := append(slices.Clone(g.Names), g.Norm.Vars...)
	fresh := func(v, end string) string {
		name := v + end
		for slices.Contains(taken, name) {
			name += "_"
		}
		taken = append(taken, name)
		return name
	}
	var vars, outer, inner []string
	for _, v := range []string{x.i, x.j, x.k} {
		v = g.source(v)
		vars, outer, inner = append(vars, v), append(outer, fresh(v, "o")), append(inner, fresh(v, "i"))
	}
	list := func(names []string) string { return "{" + strings.Join(names, ",") + "}" }
	out := []string{fmt.Sprintf("distribute(%s,%s,%s,%s)", list(vars), list(outer), list(inner),
		g.Machine.Name)}
	at := outer[2]
	if g.Machine.Steps > 1 {
		step, rest := fresh(vars[2], "s"), fresh(vars[2], "r")
		out = append(out, fmt.Sprintf("divide(%s,%s,%s,%s.steps)", inner[2], step, rest, g.Machine.Name),
			fmt.Sprintf("reorder(%s,%s,%s,%s)", step, inner[0], inner[1], rest))
		at = step
	}
	return append(out, fmt.Sprintf("communicate(%s,%s)", list([]string{x.left, x.right}), at),
		fmt.Sprintf("communicate(%s,%s)", g.Norm.LHS.Name, outer[2]))
}
