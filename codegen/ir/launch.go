package ir

import (
	"errors"
	"fmt"

	"distaff/io/tensor"
)

// WarpSize is the number of threads of a GPU warp.
const WarpSize = 32

// MaxThreads is the largest number of threads of a GPU block.
const MaxThreads = 1024

// MaxShared is the most bytes that the Shared arrays of a GPU block may occupy together.
const MaxShared = 48 << 10

type (
	// Launch runs a kernel on a GPU: Grid blocks of Threads threads each, a multiple of WarpSize.
	// Every thread runs Body with its own Block and Thread (Int64), its numbers from 0. Statements
	// after the Launch see the values that all threads stored. Body may read all variables and
	// arrays of the leaf, and store to arrays; it does not assign to variables declared outside.
	// Body contains no Launch, no For loops except Serial and Unrolled, and no statements about
	// whole arrays except Local and Shared.
	Launch struct {
		Name          string // the kernel's name, unique in the leaf
		Grid          Expr
		Threads       int64
		Block, Thread *Var
		Body          *Block
	}
	// Barrier waits until all threads of the block reach it, or all threads of the warp if Warp is
	// set. Each then sees the values that the others stored before. Every thread that has not
	// failed must reach the same barriers. It is only used in a Launch.
	Barrier struct{ Warp bool }
	// Shuffle exchanges values within a warp: it sets V to the X of the thread whose number in the
	// warp is this thread's number XOR Mask. All threads of the warp that have not failed must
	// reach it. It is only used in a Launch.
	Shuffle struct {
		V    *Var
		X    Expr
		Mask int64
	}
	// Fetch changes an integer atomically, and sets the Int64 V to its value before the change. If
	// Claim is set, A[Index] becomes X if it was 0. Otherwise X is added to A[Index]. X is an Int64,
	// even if A holds Int32.
	Fetch struct {
		V        *Var
		A        *Array
		Index, X Expr
		Claim    bool
	}
)

func (s *Launch) row(r *Row) {
	r.Traits = OnHost
	r.add("launch %[%, %] %, % %", label(&s.Name), num(&s.Grid, "grid"), constant(&s.Threads),
		counter(&s.Block), counter(&s.Thread), inside(&s.Body))
}

func (s *Barrier) row(r *Row) {
	r.Traits = OnThread | OnlyThread | Waits
	r.add("barrier%", word(&s.Warp, " warp"))
}

func (s *Shuffle) row(r *Row) {
	r.Traits = Pure | OnThread | OnlyThread | Waits
	r.add("shuffle % = %, %", sets(&s.V), value(&s.X), constant(&s.Mask))
}

func (s *Fetch) row(r *Row) {
	r.Traits = OnThread
	r.add("fetch % = %[%] % %", sets(&s.V).of(tensor.Int64), updates(&s.A), num(&s.Index, "index"),
		word(&s.Claim, "claim|+="), num(&s.X, "operand"))
}

func (s *Launch) clone() Stmt  { c := *s; return &c }
func (s *Barrier) clone() Stmt { c := *s; return &c }
func (s *Shuffle) clone() Stmt { c := *s; return &c }
func (s *Fetch) clone() Stmt   { c := *s; return &c }

func (s *Launch) check(v *verifier) error {
	if s.Threads < WarpSize || s.Threads > MaxThreads || s.Threads%WarpSize != 0 {
		return fmt.Errorf("a launch has %d threads in each block, want a multiple of %d up to %d",
			s.Threads,
			WarpSize, MaxThreads)
	}
	switch {
	case v.units:
		return errors.New("a leaf with a blocks loop must not contain a launch")
	case s.Name == "" || v.kernels[s.Name]:
		return fmt.Errorf("got the name %q for a launch, want a name that no other launch has", s.Name)
	}
	for _, outer := range v.loops {
		if outer.guarded() {
			return fmt.Errorf("a launch in a %s", outer)
		}
	}
	v.kernels[s.Name] = true
	v.launched, v.sharedBytes = true, 0
	err := v.inLoop(&verifyLoop{launch: true}, s.Body, s.Block, s.Thread)
	v.launched = false
	return err
}

func (s *Fetch) check(*verifier) error {
	if !s.A.Elem.IsInt() {
		return fmt.Errorf("%s holds %s, want integers", s.A.Name, s.A.Elem)
	}
	return nil
}

func (s *Shuffle) check(v *verifier) error {
	if s.Mask < 1 || s.Mask >= WarpSize {
		return fmt.Errorf("a shuffle has the mask %d, want 1 to %d", s.Mask, WarpSize-1)
	}
	return v.assign(s.V, s.X.Type(), false)
}
