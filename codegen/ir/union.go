package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
)

// Union adds several sparse segments. It appends to Crd and Vals, from N on, each coordinate that
// is in at least one segment, in ascending order, with the sum of its values. Values are added in
// the order of the segments. N becomes the position after the last element.
//
// The coordinates of a segment ascend strictly. All coordinates are Int32, and all values have the
// same float type. Crd and Vals have room for the coordinates of all segments. The first segment
// may be in Crd and Vals itself if it starts at least the total length of the other segments after
// N. Otherwise no array is both read and written.
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

func (*Union) stmt() {}

// String returns the text of the statement.
func (s *Union) String() string {
	text, before := fmt.Sprintf("union %s, %s, %s", name(s.Crd.Name), name(s.Vals.Name),
		name(s.N.Name)), " = "
	for _, g := range s.Of {
		text += before + g.String()
		before = ", "
	}
	return text
}

func (g Segment) String() string {
	return fmt.Sprintf("(%s[%s : %s], %s, %s)", name(g.Crd.Name), expr(g.Lo, 0), expr(g.Hi, 0),
		name(g.Vals.Name), expr(g.Factor, 0))
}

// exprs returns all expressions of the statement.
func (s *Union) exprs() (list []Expr) {
	for _, g := range s.Of {
		list = append(list, g.Lo, g.Hi, g.Factor)
	}
	return list
}

// Arrays returns the arrays that the statement uses, the two that it writes first.
func (s *Union) Arrays() []*Array {
	list := []*Array{s.Crd, s.Vals}
	for _, g := range s.Of {
		list = append(list, g.Crd, g.Vals)
	}
	return list
}

// mapped returns a copy of s with fn applied to each of its expressions.
func (s *Union) mapped(fn func(Expr) Expr) *Union {
	t := *s
	t.Of = nil
	for _, g := range s.Of {
		t.Of = append(t.Of, Segment{Crd: g.Crd, Vals: g.Vals, Lo: fn(g.Lo), Hi: fn(g.Hi),
			Factor: fn(g.Factor)})
	}
	return &t
}

// union reads the rest of a union after the word union.
func (p *parser) union() Stmt {
	s := &Union{Crd: p.oldArray()}
	p.expect(",")
	s.Vals = p.oldArray()
	p.expect(",")
	s.N = p.oldVar()
	p.expect("=")
	s.Of = append(s.Of, p.segment())
	for p.accept(",") {
		s.Of = append(s.Of, p.segment())
	}
	return s
}

func (p *parser) segment() (g Segment) {
	p.expect("(")
	g.Crd = p.oldArray()
	g.Lo, g.Hi = p.span()
	p.expect(",")
	g.Vals = p.oldArray()
	p.expect(",")
	g.Factor = p.expr()
	p.expect(")")
	return g
}

func (v *verifier) union(s *Union) error {
	if s.N == nil {
		return errors.New("a nil variable")
	}
	if s.Vals == nil || !s.Vals.Elem.IsFloat() {
		return errors.New("a union of values that are no floats")
	}
	if len(s.Of) < 2 || len(s.Of) > MostSegments {
		return fmt.Errorf("a union of %d segments", len(s.Of))
	}
	t := s.Vals.Elem
	err := firstError(v.holds(s.Crd, tensor.Int32), v.holds(s.Vals, t),
		v.assign(&Assign{V: s.N, X: Int(0)}))
	for k, g := range s.Of {
		if g.Crd == nil || g.Vals == nil {
			return errors.New("a nil array")
		}
		err = firstError(err, v.known(g.Crd), v.known(g.Vals), want(tensor.Int64, g.Lo, "start"),
			want(tensor.Int64, g.Hi, "end"), want(t, g.Factor, "factor"))
		switch own := g.Crd == s.Crd && g.Vals == s.Vals; {
		case err != nil:
			return err
		case g.Crd.Elem != tensor.Int32 || g.Vals.Elem != t:
			return fmt.Errorf("a union of %s and %s with segments of %s and %s", s.Crd.Elem, t, g.Crd.Elem,
				g.Vals.Elem)
		case !(own && k == 0) && (g.Crd == s.Crd || g.Vals == s.Vals):
			return fmt.Errorf("a union reads what it writes to: %s", s)
		}
	}
	return err
}
