"""Statements: compiled once for each layout of their operands, and called on arrays."""

import ctypes
import threading
import weakref
from collections import OrderedDict
from ctypes import POINTER, byref, c_char_p, c_int64, c_void_p

import numpy as np

from . import _lib
from ._arrays import Sparse, in_order, operand, shaped, stored_dtype, taken
from ._lib import CArray, CCall, CCopy, CError, CTensor, DATA, failure, lib

_fields = _lib.has_numpy_fields()
# The indices of an operand with more of them are checked when the operand is first seen, and not
# in each call.
_CHECKED_EACH_TIME = 1 << 16
_KEPT_LAYOUTS = 64
_miss = object()


class _Call:
    """The structures of one call. Only one thread uses it at a time."""

    def __init__(self, prepared, operands):
        n = len(operands)
        self.error = CError()
        self.result = CTensor()
        self.operands = (CTensor * max(n, 1))()
        self.memory = [o.struct() for o in operands]
        self.own = []  # the positions of lists of entries
        arrays, copies = [], []
        for k, (o, c) in enumerate(zip(operands, self.memory)):
            self.operands[k] = c
            base = ctypes.addressof(self.operands[k])
            arrays.append(_array(o.vals, base + CTensor.vals.offset, base + CTensor.nvals.offset,
                                 not o.levels))
            for l, (pos, crd) in enumerate(o.levels):
                at = ctypes.addressof(c.levels[l])
                of = type(c.levels[l])
                if pos is not None and o.format[0] in "us" and l == 0 and o.format.strip("ucqs") == "" \
                        and pos.size == 2 and o.get is not None:
                    mine = np.array([0, crd.size], pos.dtype)
                    self.own.append(mine)
                    c.levels[l].pos = mine.ctypes.data
                    copies.append((at + of.ncrd.offset, mine.ctypes.data + mine.itemsize))
                elif pos is not None:
                    arrays.append(_array(pos, at + of.pos.offset, at + of.npos.offset))
                if crd is not None:
                    arrays.append(_array(crd, at + of.crd.offset, at + of.ncrd.offset))
        self.dense = prepared.dense
        if self.dense:
            like = np.empty(prepared.shape, prepared.dtype)
            base = ctypes.addressof(self.result)
            arrays.append(_array(like, base + CTensor.vals.offset, base + CTensor.nvals.offset, True))
            arrays[-1][0].writes = 1
        self.keep = arrays
        self.carrays = (CArray * len(arrays))(*(a for a, _ in arrays))
        self.copies = (CCopy * max(len(copies), 1))(*(CCopy(a, b) for a, b in copies))
        self.call = CCall(prepared.handle, len(arrays), self.carrays, len(copies), self.copies,
                          self.operands, ctypes.pointer(self.result), ctypes.pointer(self.error))
        self.address = ctypes.addressof(self.call)
        words = memoryview(self.carrays).cast("B").cast("q")
        self.ids = words[::ctypes.sizeof(CArray) // 8] if len(arrays) else words
        self.seen = [None] * n  # weak references to the indices that were checked


def _array(a, data, count, fixed=False):
    """Return the CArray for arrays like a, and the memory that it points to."""
    c = CArray(object=0, type=id(np.ndarray), descr=id(a.dtype), nd=a.ndim, bytes=a.itemsize,
               data=data, count=count)
    keep = a.dtype
    if fixed:
        sizes, strides = (c_int64 * max(a.ndim, 1))(*a.shape), (c_int64 * max(a.ndim, 1))(*a.strides)
        c.sizes, c.strides = ctypes.addressof(sizes), ctypes.addressof(strides)
        keep = (keep, sizes, strides)
    return c, keep


class _Prepared:
    """A statement that is compiled for operands of given layouts."""

    def __init__(self, statement, names, operands):
        self.names = names
        self.handle = None
        env = _lib.environment()
        self.env = env
        n = len(operands)
        memory = [o.struct() for o in operands]
        tensors = (CTensor * max(n, 1))(*memory)
        cnames = (c_char_p * max(n, 1))(*(name.encode() for name in names))
        sizes = None
        if statement.shape is not None:
            sizes = (c_int64 * max(len(statement.shape), 1))(*(-1 if d is None else d
                                                               for d in statement.shape))
        e = CError()
        format = statement.format or _format(statement.text, operands)
        self.handle = lib.prepare(env.handle, statement.text.encode(), format and format.encode(),
                                  sizes, n, cnames, tensors, byref(e))
        if not self.handle:
            raise failure(e, operands, tensors, memory, cnames, sizes)
        r = CTensor()
        lib.result(self.handle, byref(r))
        self.shape = tuple(r.sizes[m] for m in range(r.order))
        self.dtype = np.dtype(r.type.decode())
        self.format = r.format.decode()
        self.dense = self.format.strip("d") == ""
        self.scalar = r.order == 0
        self.kind = result_kind(operands)
        self.getters = [o.get for o in operands]
        self.fast = _fields and all(self.getters)
        self.sparse = [k for k, o in enumerate(operands) if o.levels]
        self.pool = []
        self.operands = operands if not any(o.levels for o in operands) else [_like(o) for o in operands]

    def __del__(self):
        if getattr(self, "handle", None) and lib is not None:
            lib.free(self.handle)

    def call(self):
        try:
            return self.pool.pop()
        except IndexError:
            return _Call(self, self.operands)

    def quick(self, operands, out):
        """Run the statement on objects if they have the layouts of the prepared operands, else
        return _miss."""
        if tuple(operands) != self.names:
            return _miss
        arrays = [get(x) for get, x in zip(self.getters, operands.values())]
        if None in arrays:
            return _miss
        call = self.call()
        ids = call.ids
        k = 0
        for a in arrays:
            for x in a:
                ids[k] = id(x)
                k += 1
        if self.dense:
            if out is None:
                out = np.empty(self.shape, self.dtype)
            ids[k] = id(out)
        elif out is not None:
            return _miss
        for k in self.sparse:
            a = arrays[k]
            if a[-1].size > _CHECKED_EACH_TIME:
                self.trust(call, k, a)
            else:
                call.operands[k].trusted = 0
        code = _run(call.address)
        if code:
            if code == -1:
                self.pool.append(call)
                return _miss
            if code == DATA:
                return _miss
            raise failure(call.error, call, arrays, out, self)
        if not self.dense:
            out = taken(call.result)
        elif self.scalar:
            out = out[()]
        self.pool.append(call)
        if not self.dense:
            return shaped(out, self.kind)
        return out

    def trust(self, call, k, arrays):
        """Let the call check the indices of a large operand only if it has not seen the arrays."""
        seen = call.seen[k]
        if seen is not None and all(ref() is a for ref, a in zip(seen, arrays[1:])):
            call.operands[k].trusted = 1
            return
        call.operands[k].trusted = 0
        call.seen[k] = [weakref.ref(a) for a in arrays[1:]]

    def run(self, operands, out):
        """Run the statement on Operands."""
        e, r = CError(), CTensor()
        memory = [o.struct() for o in operands]
        tensors = (CTensor * max(len(operands), 1))(*memory)
        if self.dense:
            if out is None:
                out = np.empty(self.shape, self.dtype)
            elif not isinstance(out, np.ndarray) or out.shape != self.shape or \
                    out.dtype != self.dtype or not out.flags.c_contiguous or not out.flags.writeable:
                raise ValueError(f"out: want a writable, contiguous array of {self.dtype} and shape "
                                 f"{self.shape}")
            r.vals, r.nvals = out.ctypes.data, out.size
        elif out is not None:
            raise ValueError("out: the result is sparse; give format='" + "d" * len(self.shape) + "'")
        if lib.run(self.handle, tensors, byref(r), byref(e)):
            raise failure(e, operands, memory, tensors, out, r, self)
        if not self.dense:
            return shaped(taken(r), self.kind)
        return out[()] if self.scalar else out


def _run(address):
    return lib.numpy_run(address)


_run = lib.numpy_run


def _like(o):
    """Return an operand of the layout of o that does not keep its arrays."""
    from ._arrays import Operand
    levels = [tuple(a if a is None else np.zeros(2, a.dtype) if k == 0 else np.zeros(0, a.dtype)
                    for k, a in enumerate(level)) for level in o.levels]
    return Operand(np.zeros(0, o.vals.dtype) if o.levels else o.vals, o.format, levels, o.shape,
                   o.get, o.kind)


def result_kind(operands):
    """Return what a sparse result becomes: like the operands."""
    kinds = [o.kind for o in operands if o.levels]
    for kind in ("sparse", "array", "matrix", "coo", "gcxs"):
        if kind in kinds:
            return kind
    return "array" if kinds else "sparse"


def _format(text, operands):
    return None


class Statement:
    """A statement in tensor index notation. compile() makes it.

    A call takes the operands by name and returns the result. The first call for operands of new
    types, shapes and formats compiles; a later call does not.
    """

    def __init__(self, text, format=None, shape=None):
        self.text, self.format, self.shape = text, format, shape
        self._prepared = OrderedDict()
        self._last = None
        self._lock = threading.Lock()

    def __repr__(self):
        return f"distaff.compile({self.text!r})"

    def __call__(self, *, out=None, **operands):
        p = self._last
        if p is not None and p.fast:
            r = p.quick(operands, out)
            if r is not _miss:
                return r
        return self._call(operands, out)

    def _call(self, operands, out):
        _lib.check_process()
        names = tuple(operands)
        list_ = self._operands(operands)
        key = (names, tuple(o.key for o in list_), id(_lib._environment))
        with self._lock:
            p = self._prepared.get(key)
        try:
            if p is None:
                p = self._prepare(key, names, list_)
            r = p.run(list_, out)
        except ValueError as e:
            if isinstance(e, _lib.StatementError) or not any(o.levels for o in list_):
                raise
            sorted_ = [in_order(o, name) if not isinstance(x, Sparse) else o
                       for o, (name, x) in zip(list_, operands.items())]
            if all(a is b for a, b in zip(sorted_, list_)):
                raise
            key = (names, tuple(o.key for o in sorted_), id(_lib._environment))
            with self._lock:
                p = self._prepared.get(key)
            if p is None:
                p = self._prepare(key, names, sorted_)
            r = p.run(sorted_, out)
        self._last = p
        return r

    def _operands(self, operands):
        """Return the operands; numbers come last, because they take the type of the others."""
        numbers = {name for name, x in operands.items() if type(x) in (bool, int, float, complex)}
        found = {name: operand(name, x) for name, x in operands.items() if name not in numbers}
        others = list(found.values())
        for name in numbers:
            found[name] = operand(name, operands[name], others)
        return [found[name] for name in operands]

    def _prepare(self, key, names, operands):
        p = _Prepared(self, names, operands)
        with self._lock:
            self._prepared[key] = p
            while len(self._prepared) > _KEPT_LAYOUTS:
                self._prepared.popitem(last=False)
        return p

    def plan(self, **operands):
        """Return the plan of a run: the loops, the work and the memory, as text."""
        from ._show import plan
        return plan(self.text, **operands)


_statements = OrderedDict()
_KEPT_STATEMENTS = 512


def compile(text, format=None, shape=None):
    """Return a function that computes a statement in tensor index notation.

    text is the statement, such as ``y(i) = A(i,j) * x(j)``: an index that only the right side has
    is summed. format is how the result is stored ("dd", "ds", ...); by default it is dense, or
    sparse where the operands make it sparse. shape gives sizes of the result that do not follow
    from the operands, and None for the others.

    >>> import numpy as np, scipy.sparse, distaff
    >>> A = scipy.sparse.csr_matrix(np.array([[2.0, 0, 1], [0, 3, 0]]))
    >>> multiply = distaff.compile("y(i) = A(i,j) * x(j)")
    >>> multiply(A=A, x=np.array([1.0, 10, 100]))
    array([102.,  30.])

    A result is a SciPy matrix if the operands that make it sparse are:

    >>> distaff.compile("B(i,j) = A(i,j) * x(j)")(A=A, x=np.array([1.0, 10, 100])).toarray()
    array([[  2.,   0., 100.],
           [  0.,  30.,   0.]])

    A mistake is a ValueError with the place:

    >>> multiply(A=A)
    Traceback (most recent call last):
    ...
    distaff._lib.StatementError: the statement reads x, which is not among the operands
        y(i) = A(i,j) * x(j)
                        ^^^^
    """
    if not isinstance(text, str):
        raise TypeError(f"got a {type(text).__name__} for a statement, want a str")
    key = (text, format, None if shape is None else tuple(shape))
    s = _statements.get(key)
    if s is None:
        s = Statement(text, format, key[2])
        _statements[key] = s
        while len(_statements) > _KEPT_STATEMENTS:
            try:
                _statements.popitem(last=False)
            except KeyError:
                break
    return s


def _after_fork():
    global _run

    def refuse(_):
        _lib.check_process()

    _run = refuse


import os  # noqa: E402

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
