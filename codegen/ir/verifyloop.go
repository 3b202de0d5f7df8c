package ir

import (
	"errors"
	"fmt"
)

// verifyLoop is a loop or a Launch around the current statement.
type verifyLoop struct {
	kind    ForKind
	launch  bool
	ordered *Ordered // the loop's Ordered, if it is at an allowed place
	reduce  []*Var
	outer   *verifyLoop // the loop around it
}

// within reports whether l is the same loop as ancestor or is inside that loop.
func (l *verifyLoop) within(ancestor *verifyLoop) bool {
	for ; l != nil; l = l.outer {
		if l == ancestor {
			return true
		}
	}
	return false
}

func (l *verifyLoop) guarded() bool {
	return l.launch || l.kind == Parallel || l.kind == Vector || l.kind.OnGPU()
}

// String returns the loop's name in errors.
func (l *verifyLoop) String() string {
	if l.launch {
		return "launch"
	}
	return l.kind.String() + " loop"
}

// innermost returns the innermost loop around the current statement, or nil.
func (v *verifier) innermost() *verifyLoop {
	if n := len(v.loops); n > 0 {
		return v.loops[n-1]
	}
	return nil
}

// inLoop verifies the body of a loop or a Launch. own are the variables that the loop or the Launch
// itself declares.
func (v *verifier) inLoop(l *verifyLoop, b *Block, own ...*Var) error {
	for _, x := range own {
		if err := v.introduce(x, fixed); err != nil {
			return err
		}
	}
	l.outer = v.innermost()
	for _, x := range own {
		v.home[x] = l
	}
	v.loops = append(v.loops, l)
	err := v.block(b)
	v.loops = v.loops[:len(v.loops)-1]
	for _, x := range own {
		delete(v.visible, x)
	}
	return err
}

// The rules of GPU loops and statements:
//
//   - Blocks, Warps and Lanes nest as their comments say, and not inside a Parallel or Vector loop.
//     A Warps loop has at most 32 warps. A Lanes loop has 32 threads inside Warps, and at most
//     MaxThreads directly inside Blocks. They contain no Parallel loop, Ordered or Scan.
//   - A leaf does not have both Blocks loops and Launches.
//   - A Launch has a unique name and between WarpSize and MaxThreads threads, a multiple of
//     WarpSize. The comment of Launch says which statements it may contain.
//   - Shared, Barrier and Shuffle are inside a Launch. The mask of a Shuffle is below WarpSize. The
//     Shared arrays of a block occupy at most MaxShared bytes.
//   - Scan has an array of integers and is not inside a loop.

// nested checks the kind of a loop against the kinds of the loops around it.
func (v *verifier) nested(s *For) error {
	if s.Kind == Parallel {
		for _, outer := range v.loops {
			if outer.kind == Vector || outer.kind.OnGPU() {
				return fmt.Errorf("a %s must not contain a parallel loop", outer)
			}
		}
	}
	if !s.Kind.OnGPU() {
		return nil
	}
	unit := Serial // the kind of the innermost GPU loop around s
	for _, outer := range v.loops {
		if outer.kind == Parallel || outer.kind == Vector {
			return fmt.Errorf("a %[2]s must not contain a %[1]s loop", s.Kind, outer)
		}
		if outer.kind.OnGPU() {
			unit = outer.kind
		}
	}
	widest := int64(MaxThreads)
	switch {
	case s.Kind == Blocks && unit == Serial:
		if len(v.kernels) > 0 {
			return errors.New("a leaf with a launch must not contain a blocks loop")
		}
		v.units = true
		return nil
	case s.Kind == Warps && unit == Blocks:
		widest /= WarpSize
	case s.Kind == Lanes && unit == Blocks:
	case s.Kind == Lanes && unit == Warps:
		if s.Width != WarpSize {
			return fmt.Errorf("a lanes loop has the width %d, want %d: the lanes of a warp", s.Width,
				WarpSize)
		}
	case unit == Serial:
		return fmt.Errorf("a %s loop must be within a blocks loop", s.Kind)
	default:
		return fmt.Errorf("a %[2]s loop must not contain a %[1]s loop", s.Kind, unit)
	}
	if s.Width < 1 || s.Width > widest {
		return fmt.Errorf("a %s loop of width %d, want 1 to %d", s.Kind, s.Width, widest)
	}
	return nil
}
