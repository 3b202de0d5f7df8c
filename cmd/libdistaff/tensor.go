package libdistaff

/*
#include <stdlib.h>
#include <string.h>
#include "bridge.h"
*/
import "C"

import (
	"runtime/cgo"
	"strings"
	"unsafe"

	"distaff/codegen/notation"
	"distaff/io/memory"
	"distaff/io/tcs"
	"distaff/io/tensor"
	"distaff/spmd/fault"
)

// layout is the layout of an operand: what a prepared statement depends on.
type layout struct {
	name   string
	typ    tensor.Type
	format tensor.Format
	dims   []int64
	widths [][2]uint8 // of Pos and Crd of each level; 0 for arrays that the kind does not have
}

// layoutOf reads the layout of t. name is the operand's name, for errors.
func layoutOf(name string, t *C.distaff_tensor) (layout, error) {
	l := layout{name: name}
	typ := text(t._type)
	var ok bool
	if l.typ, ok = tensor.ParseType(typ); !ok || l.typ.String() != typ {
		return l, fault.Dataf("%s: got values of type %s, want one of %s", name,
			tensor.Printable(typ), strings.Join(typeNames(), ", "))
	}
	n := int(t.order)
	if n < 0 || n > tcs.MaxOrder || n > 0 && (t.sizes == nil || t.levels == nil) {
		return l, fault.Dataf("%s: got %d modes, want 0 to %d with sizes and levels", name, n,
			tcs.MaxOrder)
	}
	var err error
	if _, l.format, err = notation.ParseFormatFlag(name + ":" + text(t.format)); err != nil {
		return l, err
	}
	if l.format.NumModes() != n {
		return l, fault.Dataf("%s: got the format %s for %s", name, l.format,
			tensor.Count(int64(n), "mode"))
	}
	for _, d := range unsafe.Slice(t.sizes, n) {
		l.dims = append(l.dims, int64(d))
	}
	for k, v := range unsafe.Slice(t.levels, n) {
		w := [2]uint8{uint8(v.pos_width), uint8(v.crd_width)}
		if !l.format.Levels[k].HasPos() {
			w[0] = 0
		}
		if !l.format.Levels[k].HasCrd() {
			w[1] = 0
		}
		l.widths = append(l.widths, w)
	}
	return l, nil
}

// typeNames lists the types of values.
func typeNames() (names []string) {
	for _, t := range tensor.ValueTypes {
		names = append(names, t.String())
	}
	return names
}

// text returns a copy of a C string, or "" for NULL.
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}

// cLayouts returns the layouts in C memory, and a function that frees it. given has the texts of the
// types and formats as the caller wrote them.
func cLayouts(list []layout, given []C.distaff_tensor) (c *C.distaff_layout, free func()) {
	var all []unsafe.Pointer
	alloc := func(bytes int) unsafe.Pointer {
		p := C.calloc(1, C.size_t(bytes+8))
		all = append(all, p)
		return p
	}
	copied := func(s string) *C.char {
		p := C.CString(s)
		all = append(all, unsafe.Pointer(p))
		return p
	}
	c = (*C.distaff_layout)(alloc(int(unsafe.Sizeof(*c)) * len(list)))
	for k, l := range list {
		n := len(l.dims)
		x := &unsafe.Slice(c, len(list))[k]
		kinds := make([]byte, n)
		modes, sizes := (*C.int32_t)(alloc(4*n)), (*C.int64_t)(alloc(8*n))
		widths := (*[2]C.int32_t)(alloc(8 * n))
		for v, kind := range l.format.Levels {
			kinds[v] = byte(kind)
			unsafe.Slice(modes, n)[v] = C.int32_t(l.format.Order[v])
			unsafe.Slice(widths, n)[v] = [2]C.int32_t{C.int32_t(l.widths[v][0]),
				C.int32_t(l.widths[v][1])}
		}
		for m, d := range l.dims {
			unsafe.Slice(sizes, n)[m] = C.int64_t(d)
		}
		x._type, x.format = copied(text(given[k]._type)), copied(text(given[k].format))
		x.kinds, x.order, x.value_bytes = copied(string(kinds)), C.int32_t(n), C.int32_t(l.typ.Size())
		x.modes, x.sizes, x.widths = modes, sizes, widths
	}
	return c, func() {
		for _, p := range all {
			C.free(p)
		}
	}
}

// new returns a tensor of the layout without arrays.
func (l *layout) new() *tcs.Tensor {
	t := &tcs.Tensor{Header: tcs.Header{Dims: l.dims, Type: l.typ}}
	for k, m := range l.format.Order {
		t.Levels = append(t.Levels, tcs.Level{Kind: l.format.Levels[k], Mode: m, Size: l.dims[m],
			Pos: tcs.Array{Width: l.widths[k][0]}, Crd: tcs.Array{Width: l.widths[k][1]}})
	}
	t.Vals.Width = uint8(l.typ.Size())
	return t
}

// fill gives t the arrays of c, which has the layout.
func (l *layout) fill(t *tcs.Tensor, c *C.distaff_tensor) {
	t.Vals.Ptr, t.Vals.Len = c.vals, int64(c.nvals)
	levels := unsafe.Slice(c.levels, len(t.Levels))
	for k := range t.Levels {
		v, lev := &levels[k], &t.Levels[k]
		if lev.Pos.Width > 0 {
			lev.Pos.Ptr, lev.Pos.Len = v.pos, int64(v.npos)
		}
		if lev.Crd.Width > 0 {
			lev.Crd.Ptr, lev.Crd.Len = v.crd, int64(v.ncrd)
		}
	}
}

// check checks the arrays of c, which has the layout, and says what is wrong.
func (l *layout) check(c *C.distaff_tensor) error {
	t := l.new()
	l.fill(t, c)
	return memory.Check(t, l.name, c.trusted != 0)
}

// made is a tensor of the library that a C program has.
type made struct {
	t             *tcs.Tensor
	strings, data unsafe.Pointer
}

// own gives t a copy of each array that is memory of the caller. A result that has the pattern of
// an operand shares the operand's positions and coordinates.
func own(t *tcs.Tensor) {
	one := func(a *tcs.Array) {
		if a.Len == 0 || t.Holds(*a) {
			return
		}
		n := C.size_t(a.Len * int64(a.Width))
		p := C.malloc(n)
		if p == nil {
			panic("no memory for the positions and coordinates of a result")
		}
		C.memcpy(p, a.Ptr, n)
		t.Own(tcs.Foreign(p, int64(n), func() error { C.free(p); return nil }))
		a.Ptr = p
	}
	for l := range t.Levels {
		one(&t.Levels[l].Pos)
		one(&t.Levels[l].Crd)
	}
	one(&t.Vals)
}

// give fills c with a tensor, which c owns from then on.
func give(c *C.distaff_tensor, t *tcs.Tensor) {
	own(t)
	n := len(t.Levels)
	m := &made{t: t}
	typ, format := t.Header.Type.String(), t.Format().String()
	m.strings = unsafe.Pointer(C.CString(typ + "\x00" + format))
	levels := unsafe.Sizeof(C.distaff_level{}) * uintptr(n)
	m.data = C.calloc(1, C.size_t(levels+8*uintptr(n)+8))
	c._type = (*C.char)(m.strings)
	c.format = (*C.char)(unsafe.Add(m.strings, len(typ)+1))
	c.order, c.trusted = C.int32_t(n), 1
	c.levels = (*C.distaff_level)(m.data)
	c.sizes = (*C.int64_t)(unsafe.Add(m.data, levels))
	for k, d := range t.Header.Dims {
		unsafe.Slice(c.sizes, n)[k] = C.int64_t(d)
	}
	for k, v := range unsafe.Slice(c.levels, n) {
		lev := &t.Levels[k]
		v.pos, v.npos, v.pos_width = lev.Pos.Ptr, C.int64_t(lev.Pos.Len), C.int32_t(lev.Pos.Width)
		v.crd, v.ncrd, v.crd_width = lev.Crd.Ptr, C.int64_t(lev.Crd.Len), C.int32_t(lev.Crd.Width)
		unsafe.Slice(c.levels, n)[k] = v
	}
	c.vals, c.nvals = t.Vals.Ptr, C.int64_t(t.Vals.Len)
	h := C.malloc(C.size_t(unsafe.Sizeof(uintptr(0))))
	*(*uintptr)(h) = uintptr(cgo.NewHandle(m))
	c.memory = h
}

//export goRelease
func goRelease(c *C.distaff_tensor) {
	h := cgo.Handle(*(*uintptr)(c.memory))
	m := h.Value().(*made)
	h.Delete()
	C.free(c.memory)
	C.free(m.strings)
	C.free(m.data)
	m.t.Close()
	*c = C.distaff_tensor{}
}
