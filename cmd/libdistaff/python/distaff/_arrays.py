"""Arrays of Python as operands, and results as arrays."""

import ctypes
import functools
import itertools
import warnings
from ctypes import c_char, c_int64

import numpy as np

from ._lib import CError, CLevel, CTensor, environment, failure, lib

TYPES = frozenset(lib.types().decode().split())
# The type that holds the values of a dtype that the library lacks.
_WIDER = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32",
          "uint32": "int64", "uint64": "int64", "float16": "float32"}
_INDEX = (np.dtype(np.int32), np.dtype(np.int64))


def stored_dtype(dtype, name):
    """Return the dtype in which values of a dtype are stored."""
    if dtype.name in TYPES:
        return dtype if dtype.isnative else dtype.newbyteorder("=")
    if dtype.name in _WIDER:
        return np.dtype(_WIDER[dtype.name])
    raise TypeError(f"{name}: got values of type {dtype}, want one of {', '.join(sorted(TYPES))}")


class Operand:
    """A tensor over arrays: vals, and for each level pos and crd, or None where there is none.

    get returns the arrays of an object that has the layout, in the order vals, pos, crd, pos, ...,
    or None if it has another layout. kind names what a result becomes that is like this operand.
    given is the object; copied says that the arrays are not those of the object."""

    def __init__(self, vals, format="", levels=(), shape=(), get=None, kind="numpy", copied=False):
        self.vals, self.format, self.levels, self.shape = vals, format, levels, tuple(shape)
        self.get, self.kind, self.copied = get, kind, copied

    def arrays(self):
        """List the arrays: values, then positions and coordinates of each level."""
        return [self.vals] + [a for level in self.levels for a in level if a is not None]

    @property
    def key(self):
        return (self.vals.dtype.name, self.format, self.shape, self.kind,
                tuple(a.dtype.itemsize for a in self.arrays()[1:]))

    def struct(self):
        """Return the tensor's structure, and the memory that it points to."""
        n = len(self.shape)
        for a in self.arrays() if self.levels else ():
            if not a.flags.c_contiguous or not a.flags.aligned or not a.dtype.isnative:
                raise ValueError("BUG: an array of a sparse operand is not contiguous")
        levels = (CLevel * max(n, 1))()
        for c, (pos, crd) in zip(levels, self.levels or [(None, None)] * n):
            if pos is not None:
                c.pos, c.npos, c.pos_width = pos.ctypes.data, pos.size, pos.itemsize
            if crd is not None:
                c.crd, c.ncrd, c.crd_width = crd.ctypes.data, crd.size, crd.itemsize
        sizes = (c_int64 * max(n, 1))(*self.shape)
        return CTensor(self.vals.dtype.name.encode(), self.format.encode(), n, 0, sizes, levels,
                       self.vals.ctypes.data, self.vals.size)


def _aligned(a):
    return a if a.flags.aligned else a.copy()


def dense(x, name):
    """Return the operand of a NumPy array."""
    dtype = stored_dtype(x.dtype, name)
    copied = x.dtype is not dtype or not x.flags.aligned
    if copied:
        x = x.astype(dtype, order="K", copy=True)
    order = _mode_order(x)
    if order is None:
        x, copied = np.ascontiguousarray(x), True
        order = list(range(x.ndim))
    format = "d" * x.ndim
    if order != sorted(order):
        format += ":" + ",".join(map(str, order))
    get = None if copied else _as_is
    return Operand(x, format, shape=x.shape, get=get, copied=copied)


def _as_is(x):
    return (x,)


def _mode_order(x):
    """Return the modes of an array in the order of their strides if its memory is contiguous in
    this order, else None."""
    if x.flags.c_contiguous:
        return list(range(x.ndim))
    order = sorted(range(x.ndim), key=lambda m: (-x.strides[m], x.shape[m] == 1, m))
    return order if x.transpose(order).flags.c_contiguous else None


def _scalar(x, others):
    """Return a number as an array. A number of Python takes the type of the operands, as in NumPy,
    if that type holds its kind."""
    kind = {bool: "i", int: "i", float: "f", complex: "c"}[type(x)]
    rank = "biufc".index
    types = [o.vals.dtype for o in others]
    dtype = np.result_type(*types) if types else None
    if dtype is None or rank(dtype.kind) < rank(kind):
        wide = {"i": np.int64, "f": np.float64, "c": np.complex128}[kind]
        dtype = np.dtype(wide)
        if kind == "c" and types and np.result_type(*types) == np.float32:
            dtype = np.dtype(np.complex64)
    return np.array(x, dtype)


def _vector(a, name, what, kinds="iu"):
    """Return a, which must be an array of one dimension; kinds has the kinds of its values."""
    if not isinstance(a, np.ndarray) or a.ndim != 1 or kinds and a.dtype.kind not in kinds:
        of = f"{a.dtype} with {a.ndim} dimensions" if isinstance(a, np.ndarray) else type(a).__name__
        raise TypeError(f"{name}: got {of} for the {what}, want an array of one dimension"
                        + (" of integers" if kinds else ""))
    return a


def _index(a, name):
    a = _vector(a, name, "positions or coordinates")
    if a.dtype not in _INDEX:
        a = a.astype(np.int64)
    return _aligned(np.ascontiguousarray(a))


def _values(a, name):
    a = _vector(a, name, "values", "")
    return _aligned(np.ascontiguousarray(a.astype(stored_dtype(a.dtype, name), copy=False)))


def _csr(x, name):
    cls, shape, order = type(x), x.shape, ":1,0" if x.format == "csc" else ""

    def get(y):
        return (y.data, y.indptr, y.indices) if type(y) is cls and y.shape == shape else None

    vals = _values(x.data, name)
    pos, crd = _index(x.indptr, name), _index(x.indices, name)
    used = int(pos[-1]) if pos.size else 0
    if 0 <= used < min(crd.size, vals.size):
        crd, vals = crd[:used], vals[:used]
    as_is = vals is x.data and pos is x.indptr and crd is x.indices
    return Operand(vals, "ds" + order, [(None, None), (pos, crd)], shape, get if as_is else None,
                   kind="array" if _is_sparray(x) else "matrix", copied=not as_is)


def _is_sparray(x):
    return "_array" in type(x).__name__


def _list(coords, vals, shape, name, kind, get):
    """Return the operand of a list of entries: coords has the coordinates of each mode."""
    data = vals
    vals = _values(vals, name)
    lists = [_index(c, name) for c in coords]
    n = len(shape)
    as_is = vals is data and all(a is b or a.base is not None and a.ctypes.data == b.ctypes.data
                                 for a, b in zip(lists, coords))
    format = "s" if n == 1 else "u" + "c" * (n - 2) + "q"
    levels = [(np.array([0, vals.size], np.int64), lists[0])] + [(None, c) for c in lists[1:]]
    return Operand(vals, format, levels, shape, get if as_is else None, kind, not as_is)


def _scipy_coo(x, name):
    cls, shape = type(x), x.shape
    coords = getattr(x, "coords", None)
    if coords is None:
        coords = (x.row, x.col)

        def get(y):
            return (y.data, y.row, y.col) if type(y) is cls and y.shape == shape else None
    else:
        def get(y):
            return (y.data,) + tuple(y.coords) if type(y) is cls and y.shape == shape else None
    return _list(coords, x.data, shape, name, "array" if _is_sparray(x) else "matrix", get)


def _scipy(x, name):
    if x.format in ("csr", "csc") and x.ndim == 2:
        return _csr(x, name)
    if x.format == "coo":
        return _scipy_coo(x, name)
    o = _csr(x.tocsr(), name)
    o.get, o.copied = None, True
    return o


def _pydata(x, name):
    if x.fill_value != 0:
        raise ValueError(f"{name}: got the fill value {x.fill_value}, want 0")
    if type(x).__name__ == "DOK":
        x = x.to_coo()
    if type(x).__name__ == "GCXS":
        if x.ndim != 2 or len(x.compressed_axes) != 1:
            x = x.tocoo()
        else:
            order = ":1,0" if x.compressed_axes[0] == 1 else ""
            return Operand(_values(x.data, name), "ds" + order, [(None, None), (_index(x.indptr, name), _index(x.indices, name))],
                           x.shape, kind="gcxs")
    cls, shape = type(x), x.shape

    def get(y):
        return (y.data, *y.coords) if type(y) is cls and y.shape == shape and y.fill_value == 0 else None

    if x.ndim == 0:
        return dense(np.asarray(x.todense()), name)
    return _list(tuple(x.coords), x.data, shape, name, "coo", get)


def operand(name, x, others=()):
    """Return an object of Python as an operand."""
    t = type(x)
    if t is np.ndarray:
        return dense(x, name)
    if t in (bool, int, float, complex):
        try:
            return dense(_scalar(x, others), name)
        except OverflowError:
            raise ValueError(f"{name}: got the number {x}, which needs more than 64 bits") from None
    if isinstance(x, Sparse):
        return x._operand()
    if hasattr(x, "_distaff_operand"):
        return x._distaff_operand(name)
    if isinstance(x, (np.ndarray, np.generic)):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{name}: got a masked array, which has no counterpart")
        return dense(np.asarray(x), name)
    module = t.__module__.partition(".")[0]
    if module == "scipy" and hasattr(x, "format"):
        return _scipy(x, name)
    if module == "sparse" and hasattr(x, "fill_value"):
        return _pydata(x, name)
    if module == "torch" and str(getattr(x, "layout", "")) == "torch.sparse_csr":
        levels = [(None, None), (_index(x.crow_indices().numpy(), name), _index(x.col_indices().numpy(), name))]
        return Operand(_values(x.values().numpy(), name), "ds", levels, tuple(x.shape), kind="array")
    if hasattr(x, "__dlpack__"):
        try:
            o = dense(np.from_dlpack(x), name)
        except (TypeError, RuntimeError, BufferError, ValueError) as e:
            raise TypeError(f"{name}: got a {t.__name__} that NumPy cannot read: {e}") from e
        o.get = None
        return o
    if isinstance(x, (list, tuple)):
        try:
            return dense(np.array(x), name)
        except ValueError as e:
            raise ValueError(f"{name}: {e}") from None
    raise TypeError(f"{name}: got a {t.__name__}, want a number, or an array of NumPy, SciPy, "
                    "pydata/sparse, or DLPack")


_told = False


def in_order(o, name):
    """Return a sparse operand with sorted, distinct coordinates. The first call warns."""
    global _told
    if all(pos is None and crd is None for pos, crd in o.levels):
        return o
    letters, _, order = o.format.partition(":")
    check_ranges(o, name)
    if letters == "ds":
        pos, crd = o.levels[1]
        rows = np.repeat(np.arange(pos.size - 1), np.diff(pos))
        coords = (rows, crd) if not order else (crd, rows)
    elif set(letters) <= set("ucqs"):
        coords = [crd for _, crd in o.levels]
    else:
        return o
    n = len(o.shape)
    lists = [_index(np.asarray(c), name) for c in coords]
    widths = {c.dtype for c in lists}
    if len(widths) > 1:
        lists = [c.astype(np.int64) for c in lists]
    u = Operand(o.vals, "u" + "c" * (n - 1),
                [(np.array([0, o.vals.size], np.int64), lists[0])] + [(None, c) for c in lists[1:]],
                o.shape)
    made = converted(u, o.format if letters == "ds" or n == 1 else "u" + "c" * (n - 2) + "q")
    if not _told:
        _told = True
        warnings.warn(f"{name}: its coordinates are unsorted or repeated, so they are put in order in "
                      "each call; sum_duplicates() of SciPy does that once", stacklevel=5)
    r = made._operand()
    r.kind, r.copied = o.kind, True
    r.keep = made
    return r


def check_ranges(o, name):
    """Raise ValueError if positions or coordinates are out of range."""
    letters, _, order = o.format.partition(":")
    modes = [int(m) for m in order.split(",")] if order else range(len(letters))
    for m, (pos, crd) in zip(modes, o.levels):
        if pos is not None and (pos.ndim != 1 or pos.size < 1 or pos[0] != 0 or
                                (np.diff(pos) < 0).any() or pos[-1] != crd.size):
            raise ValueError(f"{name}: the positions (indptr) must begin with 0, not decrease, and end "
                             f"with {crd.size}, the number of coordinates")
        if crd is not None and crd.size != o.vals.size and letters not in ("ss", "sss"):
            raise ValueError(f"{name}: got {crd.size} coordinates for {o.vals.size} values")
        if crd is not None and crd.size and (crd.min() < 0 or crd.max() >= o.shape[m]):
            bad = int(np.flatnonzero((crd < 0) | (crd >= o.shape[m]))[0])
            raise ValueError(f"{name}: coordinate {bad} of mode {m} is {crd[bad]}, want 0 or more and "
                             f"less than {o.shape[m]}")
    if letters == "ds" and o.levels[1][0].size != o.shape[modes[0]] + 1:
        raise ValueError(f"{name}: got {o.levels[1][0].size} positions (indptr), want "
                         f"{o.shape[modes[0]] + 1}")


class _Owner:
    """A tensor that the library made; it is released with this object."""

    def __init__(self, c):
        self.c = c

    def __del__(self):
        if lib is not None:
            lib.release(ctypes.byref(self.c))


def _view(owner, address, count, dtype):
    """Return an array over memory of a tensor of the library."""
    dtype = np.dtype(dtype)
    if count == 0:
        return np.empty(0, dtype)
    buffer = (c_char * (count * dtype.itemsize)).from_address(address)
    buffer._owner = owner
    return np.frombuffer(buffer, dtype)


def taken(c):
    """Return the tensor that the library stored in a structure, as a Sparse or an ndarray."""
    mine = CTensor()
    size = ctypes.sizeof(CTensor)
    ctypes.memmove(ctypes.byref(mine), ctypes.byref(c), size)
    ctypes.memset(ctypes.byref(c), 0, size)
    owner = _Owner(mine)
    n = mine.order
    shape = tuple(mine.sizes[m] for m in range(n))
    format = mine.format.decode()
    vals = _view(owner, mine.vals, mine.nvals, mine.type.decode())
    if "s" not in format and "u" not in format:
        letters, _, order = format.partition(":")
        modes = [int(m) for m in order.split(",")] if order else list(range(n))
        return vals.reshape([shape[m] for m in modes]).transpose(np.argsort(modes)) if n else vals.reshape(())
    levels = []
    for v in itertools.islice(mine.levels, n):
        levels.append(tuple(_view(owner, a, k, f"int{8 * w}") if w else None
                            for a, k, w in ((v.pos, v.npos, v.pos_width), (v.crd, v.ncrd, v.crd_width))))
    return Sparse(shape, format, levels, vals)


class Sparse:
    """A tensor in any format of Distaff.

    shape, dtype and nnz are as in NumPy and SciPy. format has the letters of the levels, as in
    "ds", and levels the arrays of each level: positions and coordinates, or None. data has the
    values. ``coords()`` returns the coordinates of all entries.

    >>> import numpy as np, distaff
    >>> t = distaff.sparse(np.array([[0, 2.0], [3, 0]]))
    >>> t
    <distaff.Sparse: 2x2, ds, float64, 2 entries>
    >>> t.todense()
    array([[0., 2.],
           [3., 0.]])
    """

    def __init__(self, shape, format, levels, data):
        name = "Sparse"
        if len(levels) != len(shape):
            raise ValueError(f"{name}: got {len(levels)} levels for {len(shape)} modes")
        self.shape, self.format = tuple(int(n) for n in shape), format
        self.levels = [tuple(a if a is None else _index(a, name) for a in level) for level in levels]
        self.data = _values(data, name)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return self.data.dtype

    @property
    def nnz(self):
        return self.data.size

    def __repr__(self):
        sizes = "x".join(map(str, self.shape))
        entries = "1 entry" if self.nnz == 1 else f"{self.nnz} entries"
        return f"<distaff.Sparse: {sizes}, {self.format}, {self.dtype}, {entries}>"

    def _repr_html_(self):
        from ._show import html
        return html(self)

    def _operand(self):
        o = Operand(self.data, self.format, self.levels, self.shape, kind="sparse")
        return o

    def asformat(self, format):
        """Return the tensor in another format."""
        return self if format == self.format else converted(self._operand(), format)

    def coords(self):
        """Return the coordinates of all entries: an array of ndim rows."""
        n = self.ndim
        t = self.asformat("s" if n == 1 else "u" + "c" * (n - 2) + "q")
        return np.array([crd for _, crd in t.levels])

    def todense(self):
        """Return a NumPy array."""
        return converted(self._operand(), "d" * self.ndim)

    def toscipy(self):
        """Return a SciPy array: CSR, CSC, or COO for other numbers of modes."""
        return shaped(self, "array")


def converted(o, format):
    """Return an operand in another format, as a Sparse or an ndarray."""
    c, e, out = o.struct(), CError(), CTensor()
    if lib.convert(environment().handle, ctypes.byref(c), format.encode(), ctypes.byref(out),
                   ctypes.byref(e)):
        raise failure(e, o)
    return taken(out)


def sparse(x, format=None):
    """Return an array as a Sparse in a format: by default "s", "ds", or "s" for each mode.

    >>> import distaff
    >>> distaff.sparse([[0, 1], [0, 0]], "ss").levels[1]
    (array([0, 1], dtype=int32), array([1], dtype=int32))
    """
    o = operand("the array", x)
    n = len(o.shape)
    if n == 0:
        raise ValueError("the array: got a number, want at least one mode")
    if o.levels:
        o = in_order(o, "the array") if not isinstance(x, Sparse) else o
        made = converted(o, format or {1: "s", 2: "ds"}.get(n, "s" * n))
    else:
        coords = np.nonzero(x if isinstance(x, np.ndarray) else o.vals)
        vals = np.asarray(x)[coords].astype(o.vals.dtype) if not o.copied else o.vals[coords]
        u = _list(coords, vals, o.shape, "the array", "sparse", None)
        made = converted(u, format or {1: "s", 2: "ds"}.get(n, "s" * n))
    if isinstance(made, np.ndarray):
        raise ValueError(f"got the format {format}, want one with a compressed level")
    return made


@functools.lru_cache(maxsize=128)
def _attributes(cls, shape):
    """Return the attributes of a SciPy matrix of a shape, besides its arrays: its constructor takes
    longer than many products."""
    return {k: v for k, v in cls(shape).__dict__.items() if k not in ("data", "indices", "indptr")
            and not k.startswith("_has_") and not k.startswith("has_")}


def shaped(t, kind):
    """Return a result as what kind names: "matrix", "array" (of SciPy), "coo", "gcxs" or "sparse"."""
    if kind in ("matrix", "array") and t.ndim == 2:
        import scipy.sparse as sp
        letters, _, order = t.format.partition(":")
        if letters != "ds":
            t = t.asformat("ds")
            order = ""
        name = ("csc" if order == "1,0" else "csr") + ("_array" if kind == "array" else "_matrix")
        cls = getattr(sp, name, None) or getattr(sp, name.replace("array", "matrix"))
        pos, crd = t.levels[1]
        if pos.dtype != crd.dtype:
            wide = np.int64 if max(pos.itemsize, crd.itemsize) == 8 and \
                max(t.nnz, *t.shape) > np.iinfo(np.int32).max else np.int32
            pos, crd = pos.astype(wide), crd.astype(wide)
        m = cls.__new__(cls)
        m.__dict__.update(_attributes(cls, t.shape))
        m.data, m.indices, m.indptr = t.data, crd, pos
        m.has_sorted_indices = m.has_canonical_format = True
        return m
    if kind in ("matrix", "array", "coo"):
        list_ = t.asformat("s" if t.ndim == 1 else "u" + "c" * (t.ndim - 2) + "q")
        coords = [crd for _, crd in list_.levels]
        if kind == "coo":
            import sparse as pydata
            return pydata.COO(np.array(coords), list_.data, shape=t.shape, has_duplicates=False, sorted=True)
        import scipy.sparse as sp
        try:
            m = sp.coo_array((list_.data, tuple(coords)), shape=t.shape)
        except (AttributeError, TypeError, ValueError):  # of SciPy before 1.15
            return t
        m.has_canonical_format = True
        return m
    if kind == "gcxs":
        import sparse as pydata
        return pydata.GCXS.from_coo(shaped(t, "coo"))
    return t
