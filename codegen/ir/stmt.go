package ir

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ForKind says how the iterations of a loop run.
type ForKind uint8

const (
	Serial   ForKind = iota
	Parallel         // on OpenMP threads; iterations write disjoint memory or use Atomic stores
	Vector           // in vector lanes (omp simd)
	Unrolled         // unrolled fully, or by Factor

	// Blocks, Warps and Lanes are loops on a GPU; package simt turns them into a Launch. Blocks is
	// not inside another GPU loop, Warps is inside Blocks, and Lanes is inside Blocks or Warps.
	// Their iterations write disjoint memory or use Atomic stores. Reduce lists the scalars that
	// they sum.
	Blocks // an iteration is run by a block of threads
	Warps  // iteration number n, from 0, is run by warp n mod Width of the block
	// Iteration n (from 0) is run by thread n mod Width: a thread of the warp if the loop is inside
	// Warps, where Width is 32, and otherwise a thread of the block.
	Lanes
)

// OnGPU reports whether k is Blocks, Warps or Lanes.
func (k ForKind) OnGPU() bool { return k >= Blocks && k <= Lanes }

type (
	Block   struct{ List []Stmt }
	Comment struct{ Text string }
	// Declare introduces V with the value Init. The scope of V is the rest of the enclosing block.
	Declare struct {
		V    *Var
		Init Expr
	}
	// Assign sets V to X, or adds X to V if Accumulate is set.
	Assign struct {
		V          *Var
		Accumulate bool
		X          Expr
	}
	// Store sets A[Index] to X, or adds X to it if Accumulate is set. The addition is atomic if
	// Atomic is set. An Int64 may be stored to an Int32 array; the lowering guarantees that it
	// fits.
	Store struct {
		A          *Array
		Index      Expr
		Accumulate bool
		Atomic     bool
		X          Expr
	}
	// For runs Body with V from Lo while V < Hi, in steps of Step, a positive constant. Lo and Hi
	// are evaluated once. A Parallel loop inside a Parallel loop runs serially.
	For struct {
		V      *Var
		Lo, Hi Expr
		Step   int64
		Kind   ForKind
		// Factor is the unroll factor of an Unrolled loop; 0 unrolls it fully.
		Factor int64
		// Jam is advice for an Unrolled loop: its iterations write disjoint memory, so the
		// statements of Factor iterations may be interleaved.
		Jam bool
		// Dynamic and Chunk are the OpenMP schedule of a Parallel loop: dynamic or static, and the
		// iterations per chunk. If Chunk is 0, OpenMP chooses.
		Dynamic bool
		Chunk   int64
		// Reduce lists scalars that are summed over the iterations of a Vector or GPU loop, or of a
		// Parallel loop if the schedule says ParallelReduction.
		Reduce []*Var
		// Nontemporal is advice for a Vector loop without Reduce. The loop stores every value once
		// and the data is too large to stay in a cache until it is read, so that the stores should
		// bypass the caches.
		Nontemporal bool
		// Width is the number of warps or threads among which a Warps or Lanes loop is divided.
		Width int64
		Body  *Block
	}
	While struct {
		Cond Expr
		Body *Block
	}
	If struct {
		Cond Expr
		Then *Block
		Else *Block // nil if there is none
	}
	// Ordered occurs once in the body of a Parallel loop, not inside another statement. The
	// iterations run it one at a time, in their order. If an iteration fails, later iterations do
	// not run their Ordered.
	Ordered struct{ Body *Block }
	// Fail ends the leaf with an error. The message shows the coordinates Coord. In a Launch, Fail
	// ends only its thread; when all threads have ended, the leaf returns one of their errors.
	Fail struct {
		Code  FailCode
		Coord []Expr
	}
)

func (s *Block) row(r *Row) {
	r.Traits = OnHost | OnThread
	r.add("%", Operand{at: s})
}

// row sets only the traits of a comment, because a comment does not have operands. The printer and
// the parser handle the text of a comment themselves.
func (s *Comment) row(r *Row) { r.Traits = OnHost | OnThread }

func (s *Declare) row(r *Row) {
	r.Traits = Pure | OnHost | OnThread
	r.add("var % = %", declares(&s.V), value(&s.Init))
}

func (s *Assign) row(r *Row) {
	r.Traits = Pure | OnHost | OnThread
	r.add("% % %", sets(&s.V), word(&s.Accumulate, "+=|="), value(&s.X))
}

func (s *Store) row(r *Row) {
	r.Traits = OnHost | OnThread
	a := stores(&s.A)
	if s.Accumulate {
		a.Role = Updates
	}
	r.add("%%[%] % %", word(&s.Atomic, "atomic "), a, num(&s.Index, "index"),
		word(&s.Accumulate, "+=|="), value(&s.X))
}

func (s *For) row(r *Row) {
	r.Traits = OnHost | OnThread
	r.add("for % in % : %", counter(&s.V), num(&s.Lo, "start"), num(&s.Hi, "end"))
	if r.reader != nil || r.writer != nil {
		s.clauses(r)
	}
	if r.hasNext(len(s.Reduce) > 0, " reduce") {
		r.add("(")
		for k := 0; r.hasNext(k < len(s.Reduce), sep(k)); k++ {
			r.add("%", Operand{at: at(&s.Reduce, k), Role: Sums})
		}
		r.add(")")
	}
	r.add(" %", inside(&s.Body))
}

// clauses adds the operands to r that say how the iterations run.
func (s *For) clauses(r *Row) {
	if r.reader != nil {
		s.Step = 1
	}
	r.add("%", above(&s.Step, 1, " step "))
	for k := Parallel; k <= Lanes; k++ {
		if r.hasNext(s.Kind == k, " "+k.String()) && r.reader != nil {
			s.Kind = k
			break
		}
	}
	switch s.Kind {
	case Parallel:
		if r.hasNext(s.Dynamic || s.Chunk != 0, "(") {
			r.add("%%)", word(&s.Dynamic, "dynamic|static"), above(&s.Chunk, 0, ", "))
		}
	case Vector:
		r.add("%", word(&s.Nontemporal, " nontemporal"))
	case Unrolled:
		if r.hasNext(s.Factor != 0, "(") {
			r.add("%)", constant(&s.Factor))
		}
		r.add("%", word(&s.Jam, " jam"))
	case Warps, Lanes:
		r.add("(%)", constant(&s.Width))
	}
}

func (s *While) row(r *Row) {
	r.Traits = OnHost | OnThread
	r.add("while % %", cond(&s.Cond), inside(&s.Body))
}

func (s *If) row(r *Row) {
	r.Traits = OnHost | OnThread
	r.add("if % %%", cond(&s.Cond), inside(&s.Then), orElse(&s.Else))
}

func (s *Ordered) row(r *Row) { r.add("ordered %", inside(&s.Body)) }

func (s *Fail) row(r *Row) {
	r.Traits = Ends | OnHost | OnThread
	r.add("fail %(", Operand{at: &s.Code})
	for k := 0; r.hasNext(k < len(s.Coord), sep(k)); k++ {
		r.add("%", num(at(&s.Coord, k), "coordinate"))
	}
	r.add(")")
}

func (s *Block) clone() Stmt   { return &Block{List: slices.Clone(s.List)} }
func (s *Comment) clone() Stmt { c := *s; return &c }
func (s *Declare) clone() Stmt { c := *s; return &c }
func (s *Assign) clone() Stmt  { c := *s; return &c }
func (s *Store) clone() Stmt   { c := *s; return &c }
func (s *For) clone() Stmt     { c := *s; c.Reduce = slices.Clone(s.Reduce); return &c }
func (s *While) clone() Stmt   { c := *s; return &c }
func (s *If) clone() Stmt      { c := *s; return &c }
func (s *Ordered) clone() Stmt { c := *s; return &c }
func (s *Fail) clone() Stmt    { c := *s; c.Coord = slices.Clone(s.Coord); return &c }

func (s *Block) check(v *verifier) error { return v.block(s) }

func (s *Declare) check(v *verifier) error {
	if s.Init.Type() != s.V.Typ {
		return fmt.Errorf("variable %s has the type %s, but its value has the type %s; want equal "+
			"types", s.V.Name, s.V.Typ, s.Init.Type())
	}
	return v.introduce(s.V, local)
}

func (s *Assign) check(v *verifier) error {
	if s.Accumulate && !s.V.Typ.IsValue() {
		return fmt.Errorf("%s is of type %s, and cannot be added to", s.V.Name, s.V.Typ)
	}
	return v.assign(s.V, s.X.Type(), s.Accumulate)
}

func (s *Store) check(*verifier) error {
	if s.Accumulate && !s.A.Elem.IsValue() {
		return fmt.Errorf("%s holds %s, and cannot be added to", s.A.Name, s.A.Elem)
	}
	return fits(s.A, s.X)
}

func (s *For) check(v *verifier) error {
	if err := s.checkKind(v); err != nil {
		return err
	}
	for _, x := range s.Reduce {
		if k, ok := v.visible[x]; !ok || k == fixed || !x.Typ.IsValue() {
			return fmt.Errorf("a loop cannot reduce %s; want a number that is declared outside of the "+
				"loop", x.Name)
		}
	}
	if err := v.nested(s); err != nil {
		return err
	}
	l := &verifyLoop{kind: s.Kind, reduce: s.Reduce}
	if s.Kind == Parallel && s.Dynamic && s.Chunk == 1 && s.Body != nil {
		l.ordered = OrderedOf(s)
	}
	return v.inLoop(l, s.Body, s.V)
}

// checkKind checks the fields of a loop that say how its iterations run.
func (s *For) checkKind(v *verifier) error {
	switch {
	case v.launched && s.Kind != Serial && s.Kind != Unrolled:
		return fmt.Errorf("a launch must not contain a %s loop", s.Kind)
	case s.Step < 1 || s.Factor < 0 || s.Chunk < 0 || s.Kind > Lanes:
		return fmt.Errorf(
			"step %d, factor %d, chunk %d, kind %d: want a step of at least 1 and none below 0", s.Step,
			s.Factor, s.Chunk, s.Kind)
	case s.Factor != 0 && s.Kind != Unrolled:
		return fmt.Errorf("got the factor %d, which only an unrolled loop can have", s.Factor)
	case s.Jam && (s.Kind != Unrolled || s.Factor == 0):
		return errors.New("only the iterations of a loop with an unroll factor can be interleaved")
	case s.Nontemporal && (s.Kind != Vector || len(s.Reduce) > 0):
		return fmt.Errorf("got a nontemporal %s loop, want a vector loop that has no reduction", s.Kind)
	case s.Kind != Warps && s.Kind != Lanes && s.Width != 0:
		return fmt.Errorf("got the width %d for a %s loop; only loops over warps and lanes have a "+
			"width", s.Width, s.Kind)
	}
	return nil
}

func (s *While) check(v *verifier) error { return v.inLoop(&verifyLoop{kind: Serial}, s.Body) }

// check allows both branches to publish a slot, because only one of them runs.
func (s *If) check(v *verifier) error {
	before := maps.Clone(v.slots)
	if err := v.block(s.Then); err != nil || s.Else == nil {
		return err
	}
	then := v.slots
	v.slots = before
	if err := v.block(s.Else); err != nil {
		return err
	}
	maps.Copy(v.slots, then)
	return nil
}

func (s *Ordered) check(v *verifier) error {
	if n := len(v.loops); n == 0 || v.loops[n-1].ordered != s {
		return errors.New(
			"an ordered section that is not the only one in the body of a parallel(dynamic, 1) loop")
	}
	return v.block(s.Body)
}

// MaxFailCoord is the largest number of coordinates in a Fail.
const MaxFailCoord = 16

func (s *Fail) check(*verifier) error {
	if s.Code <= OK || s.Code > FailPattern {
		return fmt.Errorf("no such failure: %d", int(s.Code))
	}
	if len(s.Coord) > MaxFailCoord {
		return fmt.Errorf("got %d coordinates, want at most %d", len(s.Coord), MaxFailCoord)
	}
	return nil
}
