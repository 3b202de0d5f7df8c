package libdistaff

/*
#include <string.h>
#include "bridge.h"
*/
import "C"

import (
	"errors"
	"io/fs"
	"unsafe"

	"distaff/codegen/diag"
	"distaff/io/tcs"
	"distaff/kernels"
)

// interrupted is the error of a call that the caller interrupted. ticket names its run, if the run
// has not ended.
type interrupted struct{ ticket int64 }

func (*interrupted) Error() string { return "interrupted" }

// layoutError is the error of an operand whose layout is not the one of the prepared statement.
type layoutError struct{ name string }

func (e *layoutError) Error() string {
	return e.name + ": the tensor has another layout (type, format, sizes or widths of integers) " +
		"than the tensor that the statement was prepared for"
}

// code returns the code of an error in distaff.h.
func code(err error) C.int32_t {
	var coded interface{ ExitCode() int }
	var path *fs.PathError
	var memory *tcs.MemoryError
	var stop *interrupted
	var other *layoutError
	switch {
	case err == nil:
		return C.DISTAFF_OK
	case errors.As(err, &stop):
		return C.DISTAFF_INTERRUPTED
	case errors.As(err, &other):
		return C.DISTAFF_LAYOUT
	case errors.As(err, &memory):
		return C.DISTAFF_MEMORY
	case errors.As(err, &path):
		return C.DISTAFF_FILE
	case errors.Is(err, kernels.ErrNoCompiler):
		return C.DISTAFF_ERROR
	case errors.As(err, &coded):
		switch coded.ExitCode() {
		case diag.ExitCommand:
			return C.DISTAFF_STATEMENT
		case diag.ExitData, diag.ExitDiffer:
			return C.DISTAFF_DATA
		case diag.ExitMemory:
			return C.DISTAFF_MEMORY
		}
	}
	return C.DISTAFF_ERROR
}

// fail fills e, which may be nil, with an error, and returns the error's code.
func fail(e *C.distaff_error, err error) C.int32_t {
	if e == nil {
		return code(err)
	}
	e.code, e.offset, e.length, e.ticket = code(err), -1, 0, 0
	var d *diag.Error
	if errors.As(err, &d) && d.Src != "" {
		e.offset, e.length = C.int64_t(d.Pos), C.int64_t(d.End-d.Pos)
	}
	var stop *interrupted
	if errors.As(err, &stop) {
		e.ticket = C.int64_t(stop.ticket)
	}
	put(unsafe.Slice((*byte)(unsafe.Pointer(&e.message)), len(e.message)), err.Error())
	return e.code
}

// put stores the text s and a zero byte in the memory to. It cuts off a text that is too long.
func put(to []byte, s string) {
	n := copy(to[:len(to)-1], s)
	for n < len(s) && n > 0 && s[n]&0xc0 == 0x80 { // not in the middle of a character
		n--
	}
	to[n] = 0
}

// protect runs f, and returns a panic of f as an error: a panic must not reach the caller's frames.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return f()
}
