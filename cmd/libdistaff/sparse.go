package libdistaff

import (
	"slices"
	"strings"

	"distaff/codegen/notation"
	"distaff/io/tensor"
)

// resultFormat returns the format of a result for which the caller gave none. The result is sparse
// if it has two modes or more, and every term of the statement is absent wherever some sparse
// operands are: each variable of the left side then is the variable of a compressed level of a
// factor of the term. A vector is sparse only if all operands with modes are sparse vectors.
func resultFormat(s *notation.Stmt, operands []layout) string {
	order := len(s.LHS.Vars)
	dense := strings.Repeat("d", order)
	if order == 0 || s.Accumulate {
		return dense
	}
	if order == 1 && slices.ContainsFunc(operands, func(l layout) bool {
		return len(l.dims) > 1 || len(l.dims) == 1 && l.format.AllDense()
	}) {
		return dense
	}
	if len(operands) == 0 || s.RHS == nil {
		return dense
	}
	for _, t := range notation.Normalize(s).Terms {
		covered := map[string]bool{}
		for _, f := range t.Factors {
			a, ok := f.(*notation.Access)
			if !ok {
				continue
			}
			for _, l := range operands {
				if l.name != a.Name || len(l.dims) != len(a.Vars) {
					continue
				}
				for k, kind := range l.format.Levels {
					if kind != tensor.Dense || isAbove(l.format, k) {
						covered[a.Vars[l.format.Order[k]]] = true
					}
				}
			}
		}
		for _, v := range s.LHS.Vars {
			if !covered[v] {
				return dense
			}
		}
	}
	switch order {
	case 1:
		return "s"
	case 2:
		return "ds"
	}
	return strings.Repeat("s", order)
}

// isAbove reports whether a compressed level follows level k. The rows of a dense level above a
// compressed one may be empty, so that such a level is sparse too.
func isAbove(f tensor.Format, k int) bool {
	return slices.ContainsFunc(f.Levels[k+1:],
		func(kind tensor.Kind) bool { return kind != tensor.Dense })
}
