package tcs

import "slices"

// Validate checks the arrays, and loads them first if they are not yet in memory. The elements of a
// pos array must not decrease, and the last element must be the number of coordinates. Coordinates
// must be in the box and sorted as the kind of their level requires. Nothing may be stored below a
// padded position. If Validate finds a fault, it returns an *Error (exit code 3) that describes one
// fault.
//
// Validate does nothing if the tensor already passed the check, or is trusted. For a view it checks
// only the view's elements, and coordinates may be outside the box.
func (t *Tensor) Validate() error {
	if t.validated.Load() {
		return nil
	}
	return t.Check()
}

// Check makes the same checks as Validate, even if the tensor is trusted or already passed them.
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

// ValidateGiven is like Validate, for a tensor whose fields a program may have changed since the
// last check. It checks the tensor again if a level or a level array was replaced. It does not
// notice that the value array was replaced, that the contents of an array changed, or that a view
// of a valid tensor changed.
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
