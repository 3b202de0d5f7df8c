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

// Check makes the same check as Validate, but always. It also checks a tensor that is trusted or
// that already passed.
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

// ValidateGiven is like Validate, but for a tensor whose fields a program may set. If the program
// has changed a level or replaced its arrays since the last check, ValidateGiven checks the tensor
// again. It does not notice a new array of values, nor new values in the same arrays, nor a change
// of a view of a valid tensor.
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
