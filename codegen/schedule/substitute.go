package schedule

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"distaff/codegen/choice"
	"distaff/codegen/cin"
	"distaff/codegen/diag"
	"distaff/io/tensor"
)

// checkKernel refuses a kernel that is neither a library's matrix product nor a C function.
func (c *Command) checkKernel() error {
	k := c.Args[1]
	if _, _, _, ok := c.Function(); ok || slices.Contains(choice.Libraries, k.Text) {
		return nil
	}
	return k.errorf(Refused, "substitute: got %s, want %s, or a C function as in \"file.c:name\"%s",
		k.Text, strings.Join(choice.Libraries, ", "), diag.DidYouMean(k.Text, choice.Libraries))
}

// checkTarget refuses a kernel that does not run on the schedule's target.
func checkTarget(s *state, kernel string) error {
	switch {
	case s.problem.GPU || kernel == choice.BLAS:
		return nil
	case kernel == choice.CuBLAS:
		return s.refuse(1, "got cublas, which runs on a GPU; write gemm, or add --target=cuda")
	}
	return s.refuse(1, "got %s, which runs on a GPU; add --target=cuda", kernel)
}

// substitute makes a library or a user's C function run the named loops. The loops must be directly
// nested and be the innermost loops of their nest.
func substitute(s *state) error {
	vars := []string{}
	for _, a := range s.cmd.Args[0].List {
		if err := s.hasLoop(a); err != nil {
			return err
		}
		if slices.Contains(vars, a.Text) {
			return a.errorf(Refused, "substitute: got %s twice, want each variable once", a.Text)
		}
		vars = append(vars, a.Text)
	}
	if _, name, _, ok := s.cmd.Function(); ok {
		if s.problem.GPU {
			return s.refuse(1,
				"got a C function, which runs on a CPU; with --target=cuda, want gemm, "+
					"cublas or cusparse for products of matrices")
		}
		return callFunction(s, vars, name)
	}
	kernel := s.cmd.Args[1].Text
	if err := checkTarget(s, kernel); err != nil {
		return err
	}
	if kernel == choice.CuSPARSE {
		return spmm(s, vars)
	}
	return gemm(s, vars, kernel)
}

// orderSubstitute tells the strategy that a library or function (by) runs the loops over vars.
func orderSubstitute(s *state, vars []string, by string) error {
	return s.order(choice.Order{Choice: choice.Substitute, Name: strings.Join(vars, ","),
		Word: by})
}

// spmm makes cuSPARSE run the loops over vars. Whether they are a product with a sparse matrix is
// checked when they are lowered.
func spmm(s *state, vars []string) error {
	switch {
	case len(vars) != 2 && len(vars) != 3:
		return s.refuse(0,
			"cusparse must get either two loops, over the rows and columns of a sparse "+
				"matrix, or a third loop too, over the columns of a dense matrix; got %s",
			s.cmd.Args[0].Text)
	case !s.problem.Compute.IsFloat() && !s.problem.Compute.IsComplex():
		return s.refuse(1,
			"cusparse multiplies floats and complex numbers only, but the statement computes "+
				"in %s",
			s.problem.Compute)
	}
	return called(s, vars, choice.CuSPARSE, choice.CuSPARSE)
}

// callFunction replaces the loops over vars with a call of the C function fn.
func callFunction(s *state, vars []string, fn string) error {
	if len(vars) == 0 {
		return s.refuse(0, "got %s, want the loops that the function runs, in braces",
			s.cmd.Args[0].Text)
	}
	return called(s, vars, fn, s.cmd.Args[1].Text)
}

// called makes a library or a function run the loops over vars. spelling is its name in the
// command, and fn is its name in messages. called returns an error if another command already says
// how one of the loops runs.
func called(s *state, vars []string, fn, spelling string) error {
	for _, v := range vars {
		for _, f := range cin.Loops(s.body, v) {
			if err := refuseScheduled(s, f, fn); err != nil {
				return err
			}
		}
	}
	return orderSubstitute(s, vars, spelling)
}

// refuseScheduled refuses to let a library or function (by) run f if another command already says
// how f runs.
func refuseScheduled(s *state, f *cin.Forall, by string) error {
	switch {
	case f.Unit != cin.Serial:
		return s.refuse(0, "the loop over %s already runs on %s, so %s cannot replace it",
			f.Var, f.Unit, by)
	case f.Unroll != 0 || f.Gallop:
		return s.refuse(0, "the loop over %s is unrolled or has a mergeby, so %s cannot replace it",
			f.Var, by)
	}
	return nil
}

// gemm replaces loops with one matrix product, in each nest of these loops. If some of the nests
// read sparse tensors along the loops, gemm leaves those as they are. It reorders them as lowering
// expects: first the loops that sum, then the loops over the result, in its storage order.
func gemm(s *state, vars []string, library string) error {
	switch {
	case len(vars) < 3:
		return s.refuse(0,
			"gemm must get three loops or more, over the rows and columns of the result and "+
				"over the summed variables; got %s", s.cmd.Args[0].Text)
	case !s.problem.Compute.IsFloat() && !s.problem.Compute.IsComplex():
		return s.refuse(1,
			"gemm multiplies floats and complex numbers only, but the statement computes in %s",
			s.problem.Compute)
	}
	var refused, skipped error
	products := map[*cin.Assign]int{}
	body := cin.Descend(s.body, func(t cin.Stmt) (cin.Stmt, bool) {
		f, ok := t.(*cin.Forall)
		if !ok || !slices.Contains(vars, f.Var) {
			return nil, false
		}
		chain, rest := nested(f)
		a, sum := rest.(*cin.Assign)
		if !sum || len(chain) != len(vars) ||
			slices.ContainsFunc(chain, func(f *cin.Forall) bool { return !slices.Contains(vars, f.Var) }) {
			return nil, false
		}
		order, err := productOrder(s, chain, a)
		var sparse *sparseFactor
		switch {
		case errors.As(err, &sparse):
			skipped = sparse.refusal
			return t, true
		case err != nil:
			refused = err
			return t, true
		}
		out, _ := permuted(chain, order, rest)
		products[a] = len(vars)
		return out, true
	})
	if refused != nil {
		return refused
	}
	if len(products) == 0 && skipped != nil {
		return skipped
	}
	s.body = body
	if err := orderSubstitute(s, vars, library); err != nil {
		return err
	}
	maps.Copy(s.products, products)
	return nil
}

// productOrder returns the order of the loops around a matrix product. It refuses assignments that
// are not a matrix product.
func productOrder(s *state, chain []*cin.Forall, a *cin.Assign) ([]string, error) {
	var order, result []string
	for _, f := range chain {
		if err := refuseScheduled(s, f, "gemm"); err != nil {
			return nil, err
		}
		if reads(s, a.LHS, f.Var) {
			result = append(result, f.Var)
		} else {
			order = append(order, f.Var)
		}
	}
	if len(order) == 0 || len(result) < 2 || !a.Accumulate {
		return nil,
			s.refuse(0,
				"gemm must get loops over two or more variables of the result and at least "+
					"one loop that sums; the loops over the result %s are %s",
				a.LHS.Key(), joinNames(result))
	}
	if err := checkMatrices(s, a, order, result); err != nil {
		return nil, err
	}
	f := s.formatOf(a.LHS)
	at := func(v string) int {
		return slices.IndexFunc(f.Order,
			func(mode int) bool { return slices.Contains(s.g.RootsOf(v), a.LHS.Vars[mode]) })
	}
	slices.SortStableFunc(result, func(u, v string) int { return at(u) - at(v) })
	return append(order, result...), nil
}

// reads reports whether the place that an access reads depends on the loop over v.
func reads(s *state, a *cin.Access, v string) bool {
	return slices.ContainsFunc(s.g.RootsOf(v), func(r string) bool { return slices.Contains(a.Vars, r) })
}

// checkMatrices refuses an assignment that is not a product of two matrices. Each loop over the
// result must index exactly one of two factors, each loop that sums must index both, and the loops
// must not index any other factor.
func checkMatrices(s *state, a *cin.Assign, sums, result []string) error {
	factors, ok := factorsOf(a.RHS, nil)
	if !ok {
		return s.refuse(-1,
			"gemm adds products of two matrices, but these loops also add other terms")
	}
	of := map[string]int{} // the number of factors that each loop indexes
	read := 0
	for _, x := range append(factors, a.LHS) {
		var along []string
		for _, v := range slices.Concat(sums, result) {
			if reads(s, x, v) {
				along = append(along, v)
			}
		}
		if err := checkDense(s, x, along); err != nil {
			return err
		}
		if x == a.LHS || len(along) == 0 {
			continue
		}
		read++
		for _, v := range along {
			of[v]++
		}
		if !slices.Contains(along, sums[0]) ||
			!slices.ContainsFunc(along, func(v string) bool { return slices.Contains(result, v) }) {
			return s.refuse(-1,
				"gemm needs each factor over a summed variable and a variable of the result, "+
					"but %s is over %s", x.Key(), joinNames(along))
		}
	}
	if read != 2 {
		return s.refuse(-1,
			"gemm multiplies two matrices, but %s has %s over the variables of the loops",
			a.LHS.Key(), plural(read, "factor"))
	}
	for _, v := range sums {
		if of[v] != 2 {
			return s.refuse(-1,
				"gemm sums only over variables of both factors, but only one factor has %s", v)
		}
	}
	for _, v := range result {
		if of[v] != 1 && !(of[v] == 2 && s.problem.Batches) {
			return s.refuse(-1,
				"gemm needs each variable of the result in exactly one factor, but %s is in %s",
				v, plural(of[v], "factor"))
		}
	}
	return nil
}

// sparseFactor is the error of a nest that reads a sparse tensor.
type sparseFactor struct{ refusal error }

func (e *sparseFactor) Error() string { return e.refusal.Error() }

// checkDense refuses a tensor that stores one of the variables in a level that is not dense.
func checkDense(s *state, x *cin.Access, vars []string) error {
	if !s.tensor(x.Name) {
		return nil
	}
	f := s.problem.Formats[x.Name]
	for l, mode := range f.Order {
		for _, v := range vars {
			if f.Levels[l] != tensor.Dense && slices.Contains(s.g.RootsOf(v), x.Vars[mode]) {
				return &sparseFactor{s.refuse(-1,
					"gemm multiplies dense matrices, but %s (its format is %s) stores %s in a "+
						"level that is not dense", x.Key(), f, x.Vars[mode])}
			}
		}
	}
	return nil
}

// factorsOf appends the accesses in a product to the list. It returns false if x is not a product
// of accesses and numbers.
func factorsOf(x cin.Expr, to []*cin.Access) ([]*cin.Access, bool) {
	switch x := x.(type) {
	case *cin.Access:
		return append(to, x), true
	case *cin.Lit:
		return to, true
	case *cin.Neg:
		return factorsOf(x.X, to)
	case *cin.Binary:
		if x.Op == '*' {
			to, ok := factorsOf(x.X, to)
			if !ok {
				return nil, false
			}
			return factorsOf(x.Y, to)
		}
	}
	return nil, false
}

// joinNames joins names for use in a sentence.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none of them"
	}
	return strings.Join(names, " and ")
}

// Gemms returns the loop variables of each matrix product in a schedule, in the order of the
// command.
func Gemms(texts []string) (out [][]string) {
	list, err := Parse(texts)
	if err != nil {
		return nil
	}
	for _, c := range list {
		if c.Name != "substitute" || c.Check() != nil ||
			!slices.Contains([]string{choice.BLAS, choice.CuBLAS}, c.Args[1].Text) {
			continue
		}
		var vars []string
		for _, a := range c.Args[0].List {
			vars = append(vars, a.Text)
		}
		out = append(out, vars)
	}
	return out
}
