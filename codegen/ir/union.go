package ir

import (
	"fmt"
	"slices"

	"distaff/io/tensor"
)

// Union adds several sparse segments. It appends to Crd and Vals, from N on, each coordinate that
// is in at least one segment, in ascending order, with the sum of its values. Values are added in
// the order of the segments. N becomes the position after the last element.
//
// The coordinates of a segment ascend strictly. All coordinates are Int32, and all values have the
// same float type. Crd and Vals have room for the coordinates of all segments. No array may be both
// read and written, with one exception: the first segment may be in Crd and Vals. It must then
// start at position N+L or later, and L is the total length of the other segments.
type Union struct {
	Crd, Vals *Array
	N         *Var
	Of        []Segment // two to MostSegments segments
}

// MostSegments is the largest number of segments in a Union.
const MostSegments = 3

// Segment has the coordinates Crd[Lo:Hi] and the values Vals[Lo:Hi] multiplied by Factor.
type Segment struct {
	Crd, Vals      *Array
	Lo, Hi, Factor Expr
}

func (s *Union) row(r *Row) {
	r.add("union %, %, % = ", stores(&s.Crd).of(tensor.Int32), stores(&s.Vals),
		sets(&s.N).of(tensor.Int64))
	for k := 0; k == 0 || r.hasNext(k < len(s.Of), ", "); k++ {
		g := at(&s.Of, k)
		r.add("(%[% : %], %, %)", loads(&g.Crd).of(tensor.Int32), num(&g.Lo, "start"), num(&g.Hi, "end"),
			loads(&g.Vals), value(&g.Factor))
	}
}

func (s *Union) clone() Stmt { c := *s; c.Of = slices.Clone(s.Of); return &c }

func (s *Union) check(*verifier) error {
	t := s.Vals.Elem
	if !t.IsFloat() {
		return fmt.Errorf("a union of tensors has values of type %s, want float32 or float64", t)
	}
	if len(s.Of) < 2 || len(s.Of) > MostSegments {
		return fmt.Errorf("a union of %d segments", len(s.Of))
	}
	for k, g := range s.Of {
		switch own := g.Crd == s.Crd && g.Vals == s.Vals; {
		case g.Vals.Elem != t || g.Factor.Type() != t:
			return fmt.Errorf("a union of %s has a segment of %s with a factor of %s; want equal types",
				t, g.Vals.Elem,
				g.Factor.Type())
		case !(own && k == 0) && (g.Crd == s.Crd || g.Vals == s.Vals):
			return fmt.Errorf("a union must not write to %s, because it also reads this array",
				g.Crd.Name)
		}
	}
	return nil
}
