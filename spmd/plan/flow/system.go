package flow

import (
	"slices"

	"distaff/codegen/place"
)

// equation requires that the sum of the values of some loops, modulo n, is a given number. This
// number, the right side, is not stored in the equation (see digits). If a loop occurs twice in
// loops, its value is added twice.
type equation struct {
	loops []int
	n     int64
}

// equations returns the equations that the values of the loops satisfy at a point with given chunk
// numbers. chunks holds indices in n.Chunks. A chunk number consists of mixed-radix digits, and
// each digit gives one equation: the sum of the values of some loops, modulo the digit's radix, is
// the digit. The equations are in the order of chunks, and for one chunk in the order of its
// digits. They do not contain the values of the digits (see the function digits).
func equations(n *place.Nest, chunks []int) []equation {
	var eqs []equation
	for _, c := range chunks {
		for _, d := range n.Chunks[c].Digits {
			eqs = append(eqs, equation{append([]int{d.Loop}, d.Plus...), d.N})
		}
	}
	return eqs
}

// digits splits each chunk number into mixed-radix digits. It stores the digits in right. They are
// the right sides of the equations that the function equations returns for the same chunks.
// numbers[k] is the chunk number for n.Chunks[chunks[k]].
func digits(n *place.Nest, chunks []int, numbers, right []int64) {
	end := 0
	for k, c := range chunks {
		list, left := n.Chunks[c].Digits, numbers[k]
		for i := len(list) - 1; i >= 0; i-- {
			right[end+i] = left % list[i].N
			left /= list[i].N
		}
		end += len(list)
	}
}

// system solves equations for the values of some loops by a search. Each step of the search finds
// the value of one loop. The order of the steps also determines the order of the solutions.
type system struct {
	extents []int64
	eqs     []equation
	given   []int // equations without a loop to find
	steps   []step
}

// step finds the values of one loop.
type step struct {
	loop   int
	by     int   // the equation that determines the value; -1 if all values are tried
	others []int // the other loops of this equation
	checks []int // further equations whose last unknown loop is this one
}

// newSystem returns the system that finds the values of the loops in the list unknowns. Step k of
// the search finds the value of loop unknowns[k]. known[i] says that the value of loop i is given
// before the search starts. An equation is ignored if it contains a loop that is neither in
// unknowns nor known.
func newSystem(extents []int64, eqs []equation, known []bool, unknowns []int) *system {
	s := &system{extents: extents, eqs: eqs, steps: make([]step, len(unknowns))}
	for p, l := range unknowns {
		s.steps[p] = step{loop: l, by: -1}
	}
	for e, eq := range eqs {
		last, whole := -1, true
		for _, l := range eq.loops {
			p := slices.Index(unknowns, l)
			last = max(last, p)
			whole = whole && (p >= 0 || known[l])
		}
		switch {
		case !whole:
		case last < 0:
			s.given = append(s.given, e)
		default:
			s.steps[last].add(e, eq)
		}
	}
	return s
}

// add makes the step use equation eq, whose index is e. The step's loop is the last unknown loop of
// eq. The step computes the loop's value from eq if two conditions hold: the step has no other
// equation that determines the value, and the loop occurs in eq once. Otherwise the step checks
// whether a value satisfies eq.
func (st *step) add(e int, eq equation) {
	others := slices.DeleteFunc(slices.Clone(eq.loops), func(l int) bool { return l == st.loop })
	if st.by < 0 && len(others) == len(eq.loops)-1 {
		st.by, st.others = e, others
		return
	}
	st.checks = append(st.checks, e)
}

// determinedFirst returns the loops in the list unknowns in an order that shortens the search for
// solutions. The next loop is the first one whose value an equation determines from the loops
// before. If there is none, it is the first loop that is left. known[i] says that the value of loop
// i is given.
func determinedFirst(eqs []equation, known []bool, unknowns []int) []int {
	known, left := slices.Clone(known), slices.Clone(unknowns)
	order := make([]int, 0, len(unknowns))
	for len(left) > 0 {
		k := max(0, slices.IndexFunc(left, func(l int) bool {
			return slices.ContainsFunc(eqs, func(e equation) bool { return e.determines(l, known) })
		}))
		order, known[left[k]] = append(order, left[k]), true
		left = slices.Delete(left, k, k+1)
	}
	return order
}

// determines reports whether the equation can be solved for the value of a loop. known[i] says that
// the value of loop i is given. All other loops of the equation must be known, and the loop must
// occur once.
func (e *equation) determines(loop int, known []bool) bool {
	times := 0
	for _, l := range e.loops {
		if l == loop {
			times++
		} else if !known[l] {
			return false
		}
	}
	return times == 1
}

// each calls yield for each solution of the equations, after it has stored the values of the
// system's loops in point. The values of known loops must be in point already. right holds the
// right sides of the equations. Solutions come in lexicographic order of the loops' values, where
// the loops have the order of the system's steps. If yield returns false, each stops and returns
// false.
func (s *system) each(point, right []int64, yield func() bool) bool {
	if !s.areSatisfied(s.given, point, right) {
		return true
	}
	return s.from(0, point, right, yield)
}

func (s *system) from(p int, point, right []int64, yield func() bool) bool {
	if p == len(s.steps) {
		return yield()
	}
	st := &s.steps[p]
	v, next := int64(0), int64(1)
	if st.by >= 0 {
		next = s.eqs[st.by].n
		if v = right[st.by]; len(st.others) > 0 {
			for _, l := range st.others {
				v -= point[l]
			}
			if v %= next; v < 0 {
				v += next
			}
		}
	}
	for ; v < s.extents[st.loop]; v += next {
		point[st.loop] = v
		if s.areSatisfied(st.checks, point, right) && !s.from(p+1, point, right, yield) {
			return false
		}
	}
	return true
}

// areSatisfied reports whether the equations of list hold at a point.
func (s *system) areSatisfied(list []int, point, right []int64) bool {
	for _, e := range list {
		sum := int64(0)
		for _, l := range s.eqs[e].loops {
			sum += point[l]
		}
		if sum %= s.eqs[e].n; sum != right[e] {
			return false
		}
	}
	return true
}
