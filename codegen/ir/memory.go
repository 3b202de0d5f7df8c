package ir

import (
	"errors"
	"fmt"

	"distaff/io/tensor"
)

// Statements that make, resize, free and hand over arrays and tables, and Prefetch.
type (
	// Alloc makes A a new array of Len elements, set to zero if Zero is set. The leaf owns it until
	// Free, Keep or Publish. If memory runs out, the leaf returns FailMemory.
	Alloc struct {
		A    *Array
		Len  Expr
		Zero bool
	}
	// Local makes A an array of Len elements for the rest of the enclosing block. Len is small
	// enough for registers or the stack. The elements are zero, or undefined until they are stored
	// if Undefined is set. The leaf cannot grow, free or publish A.
	Local struct {
		A         *Array
		Len       int64
		Undefined bool
	}
	// Shared makes A an array of Len elements that the threads of a block share, for the rest of
	// the enclosing block. Elements are undefined until they are stored. It is only used in a
	// Launch.
	Shared struct {
		A   *Array
		Len int64
	}
	// Grow makes A, which Alloc made, hold at least Need elements. Cap is A's capacity in elements:
	// if Need exceeds Cap, then A is reallocated and Cap becomes max(Need, 2*Cap). Old elements are
	// kept and new elements are undefined.
	Grow struct {
		A    *Array
		Cap  *Var
		Need Expr
	}
	Free struct{ A *Array }
	// Publish hands A, with Len elements, over to the caller as the array Slot of the result. The
	// caller owns it from then on.
	Publish struct {
		Slot Slot
		A    *Array
		Len  Expr
	}
	// Prefetch is advice that A[Index] will soon be read, or Len elements from Index on if Len
	// exceeds 1. They are brought into the first-level cache, or into the second-level cache if Far
	// is set. Index need not be in bounds.
	Prefetch struct {
		A     *Array
		Index Expr
		Len   int64
		Far   bool
	}
	// AllocTable makes T a new table of Len empty entries.
	AllocTable struct {
		T   *Table
		Len Expr
	}
	// Keep moves A, which Alloc made, into T[Index], which must be empty. An iteration of a
	// Parallel loop hands over the array that it made in this way. A must not be used afterwards.
	Keep struct {
		T     *Table
		Index Expr
		A     *Array
	}
	// Take moves the array T[Index] into A. The leaf then owns A as if Alloc had made it. A is
	// visible in the rest of the enclosing block.
	Take struct {
		A     *Array
		T     *Table
		Index Expr
	}
	// FreeTable frees T and the arrays that are still in the table.
	FreeTable struct{ T *Table }
)

func (s *Alloc) row(r *Row) {
	r.Traits = Allocates | OnHost
	r.add("alloc %[%]%", makes(&s.A), num(&s.Len, "length"), word(&s.Zero, " zero"))
}

func (s *Local) row(r *Row) {
	r.Traits = OnHost | OnThread
	r.add("local %[%]%", Operand{at: &s.A, Role: MakesLocal}, constant(&s.Len),
		word(&s.Undefined, " undefined"))
}

func (s *Shared) row(r *Row) {
	r.Traits = OnThread | OnlyThread
	r.add("shared %[%]", Operand{at: &s.A, Role: MakesShared}, constant(&s.Len))
}

func (s *Grow) row(r *Row) {
	r.Traits = Allocates
	r.add("grow %, %, %", owns(&s.A), sets(&s.Cap).of(tensor.Int64), num(&s.Need, "need"))
}

func (s *Free) row(r *Row) {
	r.Traits = Frees | OnHost
	r.add("free %", owns(&s.A))
}

func (s *Publish) row(r *Row) {
	r.Traits = OnHost
	r.add("publish % = %, %", Operand{at: &s.Slot}, owns(&s.A), num(&s.Len, "length"))
}

func (s *Prefetch) row(r *Row) {
	r.Traits = Pure | OnHost | OnThread
	r.add("prefetch %[%]%%", hints(&s.A), num(&s.Index, "index"), above(&s.Len, 1, ", "),
		word(&s.Far, " far"))
}

func (s *AllocTable) row(r *Row) {
	r.Traits = Allocates
	r.add("alloctable %[%]", table(&s.T, Makes), num(&s.Len, "length"))
}

func (s *Keep) row(r *Row) {
	r.add("keep %[%] = %", table(&s.T, Loads), num(&s.Index, "index"), owns(&s.A))
}

func (s *Take) row(r *Row) {
	r.add("take % = %[%]", makes(&s.A), table(&s.T, Loads), num(&s.Index, "index"))
}

func (s *FreeTable) row(r *Row) {
	r.Traits = Frees
	r.add("freetable %", table(&s.T, Owns))
}

func (s *Alloc) clone() Stmt      { c := *s; return &c }
func (s *Local) clone() Stmt      { c := *s; return &c }
func (s *Shared) clone() Stmt     { c := *s; return &c }
func (s *Grow) clone() Stmt       { c := *s; return &c }
func (s *Free) clone() Stmt       { c := *s; return &c }
func (s *Publish) clone() Stmt    { c := *s; return &c }
func (s *Prefetch) clone() Stmt   { c := *s; return &c }
func (s *AllocTable) clone() Stmt { c := *s; return &c }
func (s *Keep) clone() Stmt       { c := *s; return &c }
func (s *Take) clone() Stmt       { c := *s; return &c }
func (s *FreeTable) clone() Stmt  { c := *s; return &c }

// MaxLocal is the largest number of elements of a Local array.
const MaxLocal = 1 << 14

func (s *Local) check(v *verifier) error {
	if s.Len < 1 || s.Len > MaxLocal {
		return fmt.Errorf("a local array has %d elements, want 1 to %d", s.Len, MaxLocal)
	}
	return nil
}

func (s *Shared) check(v *verifier) error {
	if s.Len < 1 || s.Len > MaxShared {
		return fmt.Errorf("a shared array has %d elements, want 1 to %d", s.Len, MaxShared)
	}
	if v.sharedBytes += s.Len * s.A.Elem.Size(); v.sharedBytes > MaxShared {
		return fmt.Errorf("the shared arrays of a GPU block have %d bytes together, want at most %d",
			v.sharedBytes, MaxShared)
	}
	return nil
}

func (s *Publish) check(v *verifier) error {
	if !s.Slot.Field.IsArray() || s.Slot.Field == Rows || s.Slot.Arg < 0 || s.Slot.Level < 0 {
		return fmt.Errorf("slot %s is no array", s.Slot)
	}
	if len(v.loops) > 0 {
		return errors.New("publish in a loop")
	}
	if v.slots[s.Slot] {
		return fmt.Errorf("slot %s is published twice", s.Slot)
	}
	v.slots[s.Slot] = true
	return v.slotElem(s.Slot, s.A)
}

func (s *Keep) check(*verifier) error { return s.T.holds(s.A) }
func (s *Take) check(*verifier) error { return s.T.holds(s.A) }

// holds returns an error if a cannot be in the table because of its type.
func (t *Table) holds(a *Array) error {
	if a.Elem != t.Elem {
		return fmt.Errorf("table %s holds arrays of %s, but array %s holds %s; want equal types",
			t.Name, t.Elem,
			a.Name, a.Elem)
	}
	return nil
}
