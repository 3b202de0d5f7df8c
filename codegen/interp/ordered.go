package interp

import (
	"slices"

	"distaff/codegen/ir"
)

// parts compiles the body of a loop with an ordered section in three parts: the statements before
// the ordered section, the section itself, and the statements after it.
func (c *compiler) parts(s *ir.For) (parts [3]stmtFn) {
	at := slices.Index(s.Body.List, ir.Stmt(ir.OrderedOf(s)))
	for k, list := range [3][]ir.Stmt{s.Body.List[:at], s.Body.List[at : at+1], s.Body.List[at+1:]} {
		parts[k] = c.block(&ir.Block{List: list})
	}
	return parts
}

// own lists the frame indices of the variables, arrays and tables that the body of a loop or a
// Launch declares. Their values differ between iterations or threads.
type own struct{ ints, floats, complexs, arrays, tables []int }

// ownOf returns the variables, arrays and tables that b declares.
func (c *compiler) ownOf(b *ir.Block) (o own) {
	variable := func(v *ir.Var) {
		k := c.variable(v)
		switch {
		case v.Typ.IsFloat():
			o.floats = append(o.floats, k)
		case v.Typ.IsComplex():
			o.complexs = append(o.complexs, k)
		default:
			o.ints = append(o.ints, k)
		}
	}
	ir.WalkRows(b, func(_ ir.Stmt, r *ir.Row) {
		for v, role := range r.Vars() {
			if role == ir.Declares {
				variable(v)
			}
		}
		for a, role := range r.Arrays() {
			if role.Makes() {
				o.arrays = append(o.arrays, c.array(a))
			}
		}
		for t, role := range r.Tables() {
			if role.Makes() {
				o.tables = append(o.tables, c.table(t))
			}
		}
	})
	return o
}

// held stores the values of one iteration's own variables while another iteration runs.
type held struct {
	ints     []int64
	floats   []float64
	complexs []complex128
	arrays   []*memory
	tables   []*table
}

func (o *own) save(fr *frame) *held {
	return &held{pick(fr.ints, o.ints), pick(fr.floats, o.floats), pick(fr.complexs, o.complexs),
		pick(fr.arrays, o.arrays), pick(fr.tables, o.tables)}
}

func (o *own) restore(fr *frame, h *held) {
	put(fr.ints, o.ints, h.ints)
	put(fr.floats, o.floats, h.floats)
	put(fr.complexs, o.complexs, h.complexs)
	put(fr.arrays, o.arrays, h.arrays)
	put(fr.tables, o.tables, h.tables)
}

func pick[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for k, i := range at {
		out[k] = all[i]
	}
	return out
}

func put[T any](all []T, at []int, values []T) {
	for k, i := range at {
		all[i] = values[k]
	}
}

// ordered returns the closure of a loop with an ordered section. An iteration has three parts,
// which run one after another: before, in and after the ordered section. The ordered sections run
// in the order of the iterations. The other parts run in a random order: the first part of an
// iteration may run before the ordered section of an earlier iteration, and the last part after the
// ordered section of a later one. d is the number of the loop's track, which is used to find races
// between iterations.
func ordered(v int, lo, hi intFn, step int64, d int, parts [3]stmtFn, o own) stmtFn {
	return func(fr *frame) {
		first := lo(fr)
		n := fr.enter(v, first, hi(fr), step, d, ir.Parallel)
		start := o.save(fr)
		iters := make([]*held, n) // nil if not begun
		run := func(part, k int) {
			if iters[k] == nil {
				iters[k] = start
				fr.step()
			}
			o.restore(fr, iters[k])
			fr.tracks[d].iter = int32(k) + 1
			fr.ints[v] = first + int64(k)*step
			parts[part](fr)
			iters[k] = o.save(fr)
		}
		begin, next := fr.rng.Perm(n), 0
		var end []int
		for range 3 * n {
			waits := next < n && iters[next] != nil
			choice := fr.rng.IntN(3)
			switch {
			case waits && (choice == 0 || len(begin)+len(end) == 0):
				run(1, next)
				end = append(end, next)
				next++
			case len(begin) > 0 && (choice == 1 || len(end) == 0):
				run(0, begin[0])
				begin = begin[1:]
			default:
				k := fr.rng.IntN(len(end))
				run(2, end[k])
				end = slices.Delete(end, k, k+1)
			}
		}
		o.restore(fr, start)
		fr.inLoops = fr.inLoops[:len(fr.inLoops)-1]
	}
}
