package ir

import (
	"distaff/io/tensor"
	"errors"
	"fmt"
)

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
	if s.Kind != Warps && s.Kind != Lanes && s.Width != 0 {
		return fmt.Errorf("width %d of a %s loop: want none but of warps and lanes", s.Width, s.Kind)
	}
	if s.Kind == Parallel {
		for _, outer := range v.loops {
			if outer.kind == Vector || outer.kind.OnGPU() {
				return fmt.Errorf("a parallel loop in a %s", outer)
			}
		}
	}
	if !s.Kind.OnGPU() {
		return nil
	}
	unit := Serial // the kind of the innermost GPU loop around s
	for _, outer := range v.loops {
		if outer.kind == Parallel || outer.kind == Vector {
			return fmt.Errorf("a %s loop in a %s", s.Kind, outer)
		}
		if outer.kind.OnGPU() {
			unit = outer.kind
		}
	}
	widest := int64(MaxThreads)
	switch {
	case s.Kind == Blocks && unit == Serial:
		if len(v.kernels) > 0 {
			return errors.New("a blocks loop in a leaf with a launch")
		}
		v.units = true
		return nil
	case s.Kind == Warps && unit == Blocks:
		widest /= WarpSize
	case s.Kind == Lanes && unit == Blocks:
	case s.Kind == Lanes && unit == Warps:
		if s.Width != WarpSize {
			return fmt.Errorf("%d lanes in a warp, want %d", s.Width, WarpSize)
		}
	case unit == Serial:
		return fmt.Errorf("a %s loop outside of a blocks loop", s.Kind)
	default:
		return fmt.Errorf("a %s loop in a %s loop", s.Kind, unit)
	}
	if s.Width < 1 || s.Width > widest {
		return fmt.Errorf("a %s loop of width %d, want 1 to %d", s.Kind, s.Width, widest)
	}
	return nil
}

// inLaunch checks that s is allowed at its place: outside a Launch, or inside the body of one.
func (v *verifier) inLaunch(s Stmt) error {
	in := v.launched
	switch s := s.(type) {
	case *Shared, *Barrier, *Shuffle:
		if !in {
			return errors.New("it stands in no launch")
		}
	case *Block, *Comment, *Declare, *Assign, *Store, *While, *If, *Prefetch, *Local, *Fail, nil:
	case *For:
		if in && s.Kind != Serial && s.Kind != Unrolled {
			return fmt.Errorf("a %s loop in a launch", s.Kind)
		}
	default:
		if in {
			return errors.New("it cannot stand in a launch")
		}
	}
	return nil
}

// gpu checks the GPU statements.
func (v *verifier) gpu(s Stmt) error {
	switch s := s.(type) {
	case *Launch:
		return v.launch(s)
	case *Shared:
		return v.shared(s)
	case *Shuffle:
		if s.Mask < 1 || s.Mask >= WarpSize {
			return fmt.Errorf("a shuffle by mask %d, want 1 to %d", s.Mask, WarpSize-1)
		}
		if s.V == nil {
			return errors.New("a nil variable")
		}
		return v.assign(&Assign{V: s.V, X: s.X})
	case *Scan:
		if len(v.loops) > 0 {
			return errors.New("scan in a loop")
		}
		if err := firstError(want(tensor.Int64, s.Lo, "start"), want(tensor.Int64, s.Hi, "end"),
			v.stored(s.A)); err != nil {
			return err
		}
		if !s.A.Elem.IsInt() {
			return fmt.Errorf("%s holds %s, and only integers are scanned", s.A.Name, s.A.Elem)
		}
	}
	return nil
}

func (v *verifier) launch(s *Launch) error {
	if err := want(tensor.Int64, s.Grid, "grid"); err != nil {
		return err
	}
	if s.Threads < WarpSize || s.Threads > MaxThreads || s.Threads%WarpSize != 0 {
		return fmt.Errorf("a launch of %d threads a block, want a multiple of %d up to %d", s.Threads,
			WarpSize, MaxThreads)
	}
	switch {
	case v.units:
		return errors.New("a launch in a leaf with a blocks loop")
	case s.Name == "" || v.kernels[s.Name]:
		return fmt.Errorf("the name %q of a launch is empty or another's", s.Name)
	case s.Block == nil || s.Thread == nil || s.Block.Typ != tensor.Int64 ||
		s.Thread.Typ != tensor.Int64:
		return errors.New("the numbers of blocks and threads are no int64 variables")
	}
	for _, outer := range v.loops {
		if outer.guarded() {
			return fmt.Errorf("a launch in a %s", outer)
		}
	}
	v.kernels[s.Name] = true
	if err := firstErrorOf(
		func() error { return v.introduce(s.Block, fixed) },
		func() error { return v.introduce(s.Thread, fixed) }); err != nil {
		return err
	}
	l := &verifyLoop{launch: true}
	v.launched, v.sharedBytes = true, 0
	err := v.inLoop(l, s.Body, s.Block, s.Thread)
	v.launched = false
	delete(v.visible, s.Block)
	delete(v.visible, s.Thread)
	return err
}

func (v *verifier) shared(s *Shared) error {
	if s.A == nil {
		return errors.New("a nil array")
	}
	if _, known := v.arrays[s.A]; known {
		return fmt.Errorf("%s is made twice", s.A.Name)
	}
	if s.Len < 1 || s.Len > MaxShared {
		return fmt.Errorf("a shared array of %d elements, want at least 1 and at most %d bytes", s.Len,
			MaxShared)
	}
	if v.sharedBytes += s.Len * s.A.Elem.Size(); v.sharedBytes > MaxShared {
		return fmt.Errorf("shared arrays of %d bytes, want at most %d", v.sharedBytes, MaxShared)
	}
	if err := v.make(s.A); err != nil {
		return err
	}
	v.arrays[s.A] = param // not the leaf's own
	return nil
}
