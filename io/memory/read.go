package memory

import (
	"unsafe"

	"distaff/io/tcs"
	"distaff/io/tensor"
)

// Values returns the values of t, in storage order, as a slice over t's memory. The slice may be
// read until t is closed. Between runs it may also be changed, unless t was opened from a file. If
// the file is mapped, a write ends the process. V must be the type of the tensor's values.
func Values[V Value](t *tcs.Tensor) ([]V, error) {
	const of = "Values"
	if t == nil {
		return nil, fault("%s: the tensor is nil", of)
	}
	if want := tensor.TypeOf[V](); t.Header.Type != want {
		return nil, fault(
			"%s: the tensor has values of type %v, but the type asked for is %v",
			of, t.Header.Type, want)
	}
	return slice[V](of, "its values", t, t.Vals)
}

// Pos returns the positions of a compressed level of t as a slice over t's memory. The slice may be
// read, but not changed, until t is closed. The size of I must equal the array's width,
// t.Levels[level].Pos.Width bytes.
func Pos[I Index](t *tcs.Tensor, level int) ([]I, error) {
	return integers[I]("Pos", t, level, func(l *tcs.Level) (tcs.Array, bool) {
		return l.Pos, l.Kind.HasPos()
	})
}

// Crd returns the coordinates of a level of t that is not dense, as a slice over t's memory. The
// slice may be read, but not changed, until t is closed. The size of I must equal the array's
// width, t.Levels[level].Crd.Width bytes.
func Crd[I Index](t *tcs.Tensor, level int) ([]I, error) {
	return integers[I]("Crd", t, level, func(l *tcs.Level) (tcs.Array, bool) {
		return l.Crd, l.Kind.HasCrd()
	})
}

func integers[I Index](caller string, t *tcs.Tensor, level int,
	array func(*tcs.Level) (tcs.Array, bool)) ([]I, error) {
	if t == nil {
		return nil, fault("%s: the tensor is nil", caller)
	}
	if level < 0 || level >= len(t.Levels) {
		return nil, fault("%s: got level %d, want one of the tensor's %s, counted from 0", caller,
			level, tensor.Count(len(t.Levels), "level"))
	}
	a, has := array(&t.Levels[level])
	noun := map[string]string{"Pos": "positions", "Crd": "coordinates"}[caller]
	if !has {
		return nil, fault("%s: level %d is of kind %c, which stores no %s; the format is %s", caller,
			level, t.Levels[level].Kind, noun, t.Format().String())
	}
	if size := unsafe.Sizeof(I(0)); size != uintptr(a.Width) {
		return nil, fault(
			"%s: level %d has %s of %d bits, but the type asked for has %d",
			caller, level, noun, 8*int(a.Width), 8*size)
	}
	return slice[I](caller, "its "+noun, t, a)
}

// slice returns the array a of tensor t as a slice over the same memory. If the array has no
// elements, slice returns nil. It returns an error if the array's elements do not have the size of
// T, if the tensor is closed, or if its file must be decompressed first. In errors, caller is the
// name of the calling function, and noun is the name of the array.
func slice[T any](caller, noun string, t *tcs.Tensor, a tcs.Array) ([]T, error) {
	var z T
	size := unsafe.Sizeof(z)
	switch {
	case a.Len == 0:
		return nil, nil
	case a.Len < 0 || uintptr(a.Width) != size:
		return nil, fault("%s: the tensor is malformed: its %s are %d of %s each", caller, noun,
			a.Len, tensor.Count(int(a.Width), "byte"))
	case a.Ptr == nil && t.Compressed():
		return nil, fault("%s: %s are still in the compressed file %s; call Load first",
			caller, noun, tensor.Printable(t.File()))
	case a.Ptr == nil:
		return nil, fault("%s: the tensor is closed", caller)
	}
	return tcs.Slice[T](a), nil
}
