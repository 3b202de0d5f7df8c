package gopkg

// goHead begins the Go file: the package's name and the statement.
const goHead = `// Package %[1]s computes
//
//	%[2]s
//
// by a C function that Distaff made of it. It needs cgo and a C compiler with
// OpenMP; nothing of Distaff.
package %[1]s

/*
#cgo CFLAGS: -std=gnu99 -O3 -fopenmp
#cgo LDFLAGS: -fopenmp
#include <stdlib.h>
#include "call.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Value is a value of a tensor.
type Value interface {
	float64 | float32 | int64 | int32 | complex128 | complex64
}

// Tensor is a coordinate tree: a Level for each storage level, outermost first,
// and the values at the positions of the last one.
type Tensor[T Value] struct {
	Levels []Level
	Vals   []T
}

// Level is one storage level. A dense level has a Size, and an Offset where its
// coordinates do not begin at 0. The others have coordinates Crd, and a
// compressed one Pos: the children of position p are at Pos[p] to Pos[p+1].
// Numbers are in 32 bits or in 64, as the leaf was compiled for.
type Level struct {
	Size, Offset int64
	Pos32, Crd32 []int32
	Pos64, Crd64 []int64
}

`

// goRest is the part of the Go file that is the same for all statements.
const goRest = `
// want is what the leaf expects of a level: the bytes of a pos and a crd element
// (0: none), and a result's size.
type want struct {
	pos, crd uint8
	size     int64
}

// call is one call: C memory for its structures, and pins of Go memory.
type call struct {
	c    *C.LEAF_call
	pins runtime.Pinner
}

func newCall(args, bounds, threads int) *call {
	return &call{c: C.LEAF_call_new(C.int(args), C.int(bounds), C.int(max(threads, 1)))}
}

func (c *call) free() {
	c.pins.Unpin()
	C.LEAF_call_free(c.c)
}

func (c *call) bounds(sizes ...int64) {
	for k, n := range sizes {
		C.LEAF_bound(c.c, C.int(k), C.int64_t(n))
	}
}

func set[T any](c *call, a *C.dst_array, s []T) {
	a.len, a.first = C.int64_t(len(s)), 0
	if len(s) > 0 {
		c.pins.Pin(unsafe.SliceData(s))
		a.ptr = unsafe.Pointer(unsafe.SliceData(s))
	}
}

// ints sets an array of numbers from the slice that has the wanted width.
func ints(c *call, a *C.dst_array, width uint8, narrow []int32, wide []int64) bool {
	switch {
	case width == 4 && wide == nil:
		set(c, a, narrow)
	case width == 8 && narrow == nil:
		set(c, a, wide)
	default:
		return width == 0
	}
	return true
}

func operand[T Value](c *call, arg int, name string, levels []want, t Tensor[T]) error {
	if len(t.Levels) != len(levels) {
		return fmt.Errorf("%s: got %d levels, want %d", name, len(t.Levels), len(levels))
	}
	ct := C.LEAF_tensor(c.c, C.int(arg), C.int(len(levels)))
	cl := unsafe.Slice(ct.levels, len(levels))
	at := int64(1) // positions of the level above
	for l, w := range levels {
		have := t.Levels[l]
		cl[l].size, cl[l].offset = C.int64_t(have.Size), C.int64_t(have.Offset)
		if !ints(c, &cl[l].pos, w.pos, have.Pos32, have.Pos64) || !ints(c, &cl[l].crd, w.crd, have.Crd32, have.Crd64) {
			return fmt.Errorf("%s: level %d: want pos of %d bits and crd of %d", name, l, 8*w.pos, 8*w.crd)
		}
		var err error
		if at, err = have.positions(w, at); err != nil {
			return fmt.Errorf("%s: level %d: %w", name, l, err)
		}
	}
	if int64(len(t.Vals)) < at {
		return fmt.Errorf("%s: got %d values, want %d", name, len(t.Vals), at)
	}
	set(c, &ct.vals, t.Vals)
	return nil
}

// positions is how many positions the level has below those of the one above.
// It refuses arrays that are too short for that; what is in them is the caller's word.
func (l *Level) positions(w want, above int64) (int64, error) {
	n := above
	switch pos := len(l.Pos32) + len(l.Pos64); {
	case w.crd == 0: // every coordinate has a position
		return above * max(l.Size, 0), nil
	case w.pos == 0: // each position above has one
	case int64(pos) <= above:
		return 0, fmt.Errorf("got a pos of %d, want %d", pos, above+1)
	case l.Pos32 != nil:
		n = int64(l.Pos32[above])
	default:
		n = l.Pos64[above]
	}
	if crd := int64(len(l.Crd32) + len(l.Crd64)); crd < n {
		return 0, fmt.Errorf("got %d coordinates, want %d", crd, n)
	}
	return n, nil
}

// newResult readies argument 0. Dense values are the caller's memory.
func newResult[T Value](c *call, levels []want, dense bool) Tensor[T] {
	ct := C.LEAF_tensor(c.c, 0, C.int(len(levels)))
	cl := unsafe.Slice(ct.levels, len(levels))
	t := Tensor[T]{Levels: make([]Level, len(levels))}
	n := int64(1)
	for l, w := range levels {
		if w.crd == 0 {
			t.Levels[l].Size = w.size
			cl[l].size = C.int64_t(w.size)
			n *= w.size
			continue
		}
		if w.pos == 4 {
			t.Levels[l].Pos32 = []int32{}
		} else {
			t.Levels[l].Pos64 = []int64{}
		}
		if w.crd == 4 {
			t.Levels[l].Crd32 = []int32{}
		} else {
			t.Levels[l].Crd64 = []int64{}
		}
	}
	if dense {
		t.Vals = make([]T, n)
		set(c, &ct.vals, t.Vals)
	}
	return t
}

// share gives the result the arrays of an operand's levels down to deep, its last
// one that is not dense, and allocates values below them.
func share[T Value](c *call, t *Tensor[T], levels []Level, deep int) {
	ct := C.LEAF_tensor_of(c.c, 0)
	cl := unsafe.Slice(ct.levels, len(t.Levels))
	for l, have := range levels[:deep+1] {
		t.Levels[l] = have
		cl[l].size, cl[l].offset = C.int64_t(have.Size), C.int64_t(have.Offset)
		if have.Pos32 != nil {
			set(c, &cl[l].pos, have.Pos32)
		} else {
			set(c, &cl[l].pos, have.Pos64)
		}
		if have.Crd32 != nil {
			set(c, &cl[l].crd, have.Crd32)
		} else {
			set(c, &cl[l].crd, have.Crd64)
		}
	}
	n := int64(len(levels[deep].Crd32) + len(levels[deep].Crd64))
	for _, below := range t.Levels[deep+1:] {
		n *= below.Size
	}
	t.Vals = make([]T, n)
	set(c, &ct.vals, t.Vals)
}

// run calls the leaf.
func (c *call) run() error {
	runtime.LockOSThread() // OpenMP keeps its threads for each calling thread
	defer runtime.UnlockOSThread()
	switch rc := C.LEAF_run(c.c); rc {
	case 0:
		return nil
	case 1:
		return errors.New("no memory for a result or workspace")
	case 2:
		return errors.New("integer division by zero")
	default:
		return fmt.Errorf("the leaf failed with code %d", int(rc))
	}
}

// copied is what the leaf published, in Go's memory; old is what the array was.
func copied[T any](a *C.dst_array, old []T) []T {
	if a.ptr == nil || unsafe.Pointer(unsafe.SliceData(old)) == a.ptr {
		return old
	}
	out := append([]T{}, unsafe.Slice((*T)(a.ptr), int64(a.len))...)
	C.free(a.ptr)
	return out
}

func published[T Value](c *call, t *Tensor[T]) {
	ct := C.LEAF_tensor_of(c.c, 0)
	cl := unsafe.Slice(ct.levels, len(t.Levels))
	for l := range t.Levels {
		lev := &t.Levels[l]
		if lev.Pos32 != nil {
			lev.Pos32 = copied(&cl[l].pos, lev.Pos32)
		} else if lev.Pos64 != nil {
			lev.Pos64 = copied(&cl[l].pos, lev.Pos64)
		}
		if lev.Crd32 != nil {
			lev.Crd32 = copied(&cl[l].crd, lev.Crd32)
		} else if lev.Crd64 != nil {
			lev.Crd64 = copied(&cl[l].crd, lev.Crd64)
		}
	}
	t.Vals = copied(&ct.vals, t.Vals)
}
`

// callHeader and callSource are the C side of a call. LEAF is the leaf's symbol.
const callHeader = `/* A call of the leaf, as the Go side makes it. */
#ifndef LEAF_CALL_H
#define LEAF_CALL_H

#include <stdint.h>

typedef struct {
    void *ptr;
    int64_t len;
    int64_t first;
} dst_array;

typedef struct {
    int64_t size, offset;
    dst_array pos, crd;
} dst_level;

typedef struct {
    int32_t order;
    int32_t nlevels;
    dst_level *levels;
    dst_array vals;
} dst_tensor;

typedef struct dst_env {
    int32_t threads;
    void *(*alloc)(struct dst_env *, int64_t bytes, int32_t zero);
    void *(*grow)(struct dst_env *, void *, int64_t old_bytes, int64_t new_bytes);
    void (*release)(struct dst_env *, void *, int64_t bytes);
    int32_t fail_ncoord;
    int64_t fail_coord[16];
} dst_env;

typedef struct {
    int nargs;
    dst_tensor **t;
    int64_t (*bounds)[2];
    dst_env env;
} LEAF_call;

LEAF_call *LEAF_call_new(int args, int bounds, int threads);
void LEAF_call_free(LEAF_call *);
void LEAF_bound(LEAF_call *, int k, int64_t size);
dst_tensor *LEAF_tensor(LEAF_call *, int arg, int levels);
dst_tensor *LEAF_tensor_of(LEAF_call *, int arg);
int LEAF_run(LEAF_call *);

#endif
`

const callSource = `#include "call.h"
#include <stdlib.h>

int LEAF(dst_tensor **t, const int64_t (*bounds)[2], dst_env *env);

static void *call_alloc(dst_env *env, int64_t bytes, int32_t zero) {
    (void)env;
    if (bytes < 0 || bytes == INT64_MAX)
        return 0;
    return zero ? calloc(1, bytes + 1) : malloc(bytes + 1);
}

static void *call_grow(dst_env *env, void *p, int64_t old_bytes, int64_t new_bytes) {
    (void)env, (void)old_bytes;
    return new_bytes < 0 || new_bytes == INT64_MAX ? 0 : realloc(p, new_bytes + 1);
}

static void call_release(dst_env *env, void *p, int64_t bytes) {
    (void)env, (void)bytes;
    free(p);
}

LEAF_call *LEAF_call_new(int args, int bounds, int threads) {
    LEAF_call *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->nargs = args;
    c->t = calloc(args, sizeof *c->t);
    c->bounds = calloc(bounds + 1, sizeof *c->bounds);
    if (!c->t || !c->bounds)
        abort();
    c->env.threads = threads;
    c->env.alloc = call_alloc;
    c->env.grow = call_grow;
    c->env.release = call_release;
    return c;
}

void LEAF_call_free(LEAF_call *c) {
    for (int k = 0; k < c->nargs; k++) {
        if (c->t[k])
            free(c->t[k]->levels);
        free(c->t[k]);
    }
    free(c->t);
    free(c->bounds);
    free(c);
}

void LEAF_bound(LEAF_call *c, int k, int64_t size) { c->bounds[k][1] = size; }

dst_tensor *LEAF_tensor(LEAF_call *c, int arg, int levels) {
    dst_tensor *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    t->order = t->nlevels = levels;
    t->levels = calloc(levels + 1, sizeof *t->levels);
    if (!t->levels)
        abort();
    return c->t[arg] = t;
}

dst_tensor *LEAF_tensor_of(LEAF_call *c, int arg) { return c->t[arg]; }

int LEAF_run(LEAF_call *c) { return LEAF(c->t, (const int64_t(*)[2])c->bounds, &c->env); }
`
