package codegen

import (
	"math"

	"distaff/codegen/notation"
	"distaff/codegen/operand"
	"distaff/io/tensor"
)

// statement is a statement in normal form, with its tensors.
type statement struct {
	normal  *notation.Normal
	tensors *Tensors
}

// newStatement brings the request's statement into normal form (notation.Normal). If the request
// already contains a statement in normal form, it uses a copy of that statement.
func newStatement(r *Request) statement {
	if r.Statement.Normal != nil {
		normal := *r.Statement.Normal
		return statement{&normal, &r.Tensors}
	}
	return statement{notation.Normalize(r.Statement.Stmt), &r.Tensors}
}

// size returns the size of a variable.
func (s statement) size(v string) int64 {
	if n, ok := s.tensors.Sizes[v]; ok {
		return n
	}
	if source, ok := s.normal.Source[v]; ok {
		if n, ok := s.tensors.Sizes[source]; ok {
			return n
		}
	}
	panic("BUG: codegen: no size for variable " + v)
}

// sizes returns the sizes of the statement's variables.
func (s statement) sizes() map[string]int64 {
	sizes := map[string]int64{}
	for _, v := range s.normal.Vars {
		sizes[v] = s.size(v)
	}
	return sizes
}

// tensor returns the request's description of the named tensor (Tensors.All). For the tensor on the
// left side, this is the description of the result, not of the old value that += reads. tensor
// panics if there is no description.
func (s statement) tensor(name string) Tensor {
	t, ok := s.tensors.All[name]
	if !ok {
		panic("BUG: codegen: no tensor " + name)
	}
	return t
}

// left returns what the request says about the result.
func (s statement) left() Tensor { return s.tensor(s.normal.LHS.Name) }

// taken returns the names that a temporary may not have: the names of all tensors and variables.
func (s statement) taken() map[string]bool {
	taken := map[string]bool{}
	for name := range s.tensors.All {
		taken[name] = true
	}
	for _, v := range s.normal.Vars {
		taken[v] = true
	}
	return taken
}

// Widths returns the widths in bytes that Compile would choose for the elements of the result's pos
// and crd arrays, by level. It assumes that the result does not share these arrays with an operand.
// The request may be a whole statement, even if several leaves will compute its terms.
func Widths(r Request) (pos, crd []uint8) {
	p := newStatement(&r).result()
	return p.PosWidth, p.CrdWidth
}

// result plans the leaf's result. If the request wants a level that is neither dense nor
// compressed, the leaf makes it as a compressed level, and the caller repacks the result.
func (s statement) result() Result {
	t := s.left()
	r := Result{Shares: -1, Format: t.Format.DenseOrCompressed()}
	r.Repack = !r.Format.Equal(t.Format)
	r.PosWidth, r.CrdWidth = s.widths(r.Format)
	return r
}

// widths returns the widths in bytes of the elements of the result's pos and crd arrays, by level.
// If the request has widths, widths returns them. Otherwise it chooses the smallest safe widths.
//
// A width of 4 bytes is safe only if no call of the leaf can produce a larger position or
// coordinate, because leaves do not check this. A coordinate is less than the size of its variable.
// An element of a pos array is at most the number of positions of its level. This number has two
// bounds. One is the product of the sizes of the variables of this level and the levels above,
// because each position has a different combination of their coordinates. The other is the number
// of coordinates that the terms may assign (see entries).
func (s statement) widths(f tensor.Format) (pos, crd []uint8) {
	if t := s.left(); t.PosWidth != nil {
		return t.PosWidth, t.CrdWidth
	}
	pos, crd = make([]uint8, len(f.Levels)), make([]uint8, len(f.Levels))
	entries := s.entries()
	dims := 1.0
	for l, mode := range f.Order {
		size := s.size(s.normal.LHS.Vars[mode])
		dims *= float64(size)
		if f.Levels[l].CanLocate() {
			continue
		}
		crd[l], pos[l] = operand.Width(float64(size)), operand.Width(min(dims, entries))
	}
	return pos, crd
}

// entries returns an upper bound of the number of coordinates in the result's compressed levels.
func (s statement) entries() float64 {
	total := operand.Entries(s.normal, operand.Counting[float64]{
		Stored: func(tensor string) float64 { return known(s.tensor(tensor).NNZ) },
		Size:   func(v string) float64 { return float64(s.size(v)) },
		Times:  func(x, y float64) float64 { return x * y },
		Plus:   func(x, y float64) float64 { return x + y },
		Least:  func(x, y float64) float64 { return min(x, y) },
		Any:    math.Inf(1),
	})
	if s.normal.Accumulate && s.tensors.Old != nil {
		total += known(s.tensors.Old.NNZ)
	}
	return total
}

func known(nnz int64) float64 {
	if nnz < 0 {
		return math.Inf(1)
	}
	return float64(nnz)
}
