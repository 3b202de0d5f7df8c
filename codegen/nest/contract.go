package nest

import (
	"slices"

	"distaff/codegen/cin"
	"distaff/codegen/network"
)

// hoistedSum is a sum that is computed outside its term and stored in a temporary. The temporary
// replaces the sum as a factor of the term; the field at is the access to the temporary. body has
// the terms of the sum. The field order lists all variables, in the order of the sum's loops. The
// sum's loops are placed where the consumer's loop over order[k] would begin.
type hoistedSum struct {
	k     int
	order []string
	at    *cin.Access
	body  []*term
}

// Contract replaces term k by a term that reads the intermediates of a plan. factors has, for each
// factor of the plan, its number among the term's factors. all lists the variables of the
// statement.
func (n *Nest) Contract(k int, plan *network.Plan, factors []int, all []string) {
	m := &contractor{nest: n, plan: plan, factors: factors, term: n.terms[k], all: all,
		made: map[*network.Contraction]*hoistedSum{}}
	n.terms[k] = m.root()
}

// contractor rewrites a term according to a plan. Each intermediate of the plan becomes a
// temporary that is computed outside the term.
type contractor struct {
	nest    *Nest
	plan    *network.Plan
	factors []int
	term    *term
	all     []string
	made    map[*network.Contraction]*hoistedSum
}

// root returns the term that reads the plan's intermediates. The term also has the original factors
// that are not part of the contraction problem.
func (m *contractor) root() *term {
	out := m.product(m.plan.Root, m.nest.in.Order)
	out.neg = m.term.neg
	for k, f := range m.term.factors {
		if !slices.Contains(m.factors, k) {
			out.factors = append(out.factors, f)
		}
	}
	return out
}

// product returns the term for contraction x. The term's loops are nested in the given order.
func (m *contractor) product(x *network.Contraction, order []string) *term {
	out := &term{gemm: x.Gemm}
	k := 0 // the number of variables of order that are bound
	for _, v := range x.Loops[:x.Shared] {
		k = max(k, slices.Index(order, v)+1)
	}
	for _, s := range x.Steps {
		if s.Part == nil {
			k = slices.Index(order, s.Var) + 1
			continue
		}
		s.Part.Name = m.nest.fresh(s.Part.Letter())
		p := &hoistedSum{k: k, order: s.Part.CompleteOrder(order[:k], m.all),
			at: &cin.Access{Name: s.Part.Name, Vars: s.Part.Vars}}
		m.made[s.Part] = p
		p.body = []*term{m.product(s.Part, p.order)}
		out.parts = append(out.parts, p)
	}
	summed := func(v string) bool { return !slices.Contains(m.nest.target.lhs.Vars, v) }
	if x != m.plan.Root {
		summed = func(v string) bool {
			return !slices.Contains(x.Vars, v) && !slices.Contains(x.Loops[:x.Shared], v)
		}
	}
	for _, v := range x.Loops {
		if summed(v) {
			out.sums = append(out.sums, v)
		}
	}
	for _, f := range x.Factors {
		out.factors = append(out.factors, m.term.factors[m.factors[f]])
	}
	for _, y := range x.Items {
		out.factors = append(out.factors, m.made[y].at)
	}
	return out
}
