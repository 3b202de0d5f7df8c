package tcs

import "slices"

// Validate checks the arrays, and loads them first if needed. Positions must increase up to the
// number of coordinates. Coordinates must be in the box and sorted as the kind of their level
// requires. Nothing may be stored below padded slots. For the first fault Validate returns an
// *Error (exit code 3) with its place. It does not read a tensor that passed before again. For
// a view it checks the arrays that the view shows.
func (t *Tensor) Validate() error {
	if t.validated.Load() {
		return nil
	}
	return t.Check()
}

// Check is Validate without the shortcut for tensors that passed before or are trusted.
func (t *Tensor) Check() error {
	if err := t.Load(nil); err != nil {
		return err
	}
	if err := t.Guarded(func() error { return newChecker(t).all() }); err != nil {
		return err
	}
	t.Trust()
	return nil
}

// ValidateGiven is Validate for a tensor whose fields a program may set: it checks again if the
// arrays are not the arrays that passed. It does not notice values that were written into the
// same arrays.
func (t *Tensor) ValidateGiven() error {
	if p := t.passed.Load(); t.validated.Load() && (p == nil || slices.Equal(*p, t.Levels)) {
		return nil
	}
	return t.Check()
}

// Trust marks the tensor as valid without checking it (--trust-input).
func (t *Tensor) Trust() {
	levels := slices.Clone(t.Levels)
	t.passed.Store(&levels)
	t.validated.Store(true)
}
