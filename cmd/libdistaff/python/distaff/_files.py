"""Files, and programs of several statements."""

import ctypes
import os
from ctypes import byref, c_char_p

import numpy as np

from . import _lib
from ._arrays import Sparse, in_order, operand, shaped, taken
from ._lib import CError, CTensor, GIVEN, TEXT, failure, lib
from ._statement import result_kind


def read(path, format=None, dtype=None):
    """Read a tensor from a file: .tcs, .tns, .mtx, .npy, .npz and the other formats of Distaff.

    The result is an ndarray if the file is dense, and otherwise a Sparse in the file's own format,
    or in the given one.

    >>> import numpy as np, distaff, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "A.tns")
    >>> distaff.write(path, distaff.sparse(np.eye(3)))
    >>> distaff.read(path)
    <distaff.Sparse: 3x3, ds, float64, 3 entries>
    """
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    _lib.check_process()
    e, out = CError(), CTensor()
    if lib.read(_lib.environment().handle, os.fsencode(path), format and format.encode(),
                np.dtype(dtype).name.encode() if dtype is not None else None, byref(out), byref(e)):
        raise failure(e)
    return taken(out)


def write(path, x):
    """Write an array to a file, in the format of the path's extension."""
    _lib.check_process()
    o = operand("the array", x)
    if not isinstance(x, Sparse):
        o = in_order(o, "the array") if _unsorted(o) else o
    e, c = CError(), o.struct()
    if lib.write(_lib.environment().handle, os.fsencode(os.fspath(path)), byref(c), byref(e)):
        raise failure(e, o)


def _unsorted(o):
    return bool(o.levels)


class Program:
    """Several statements over tensors that stay in memory: a job file. program() makes it."""

    def __init__(self, text, name="<program>"):
        self.text, self.name = text, name

    def __call__(self, /, params=None, **tensors):
        """Run the program. tensors replace the inputs of the file's tensors, and params its
        params. The result has the tensors that statements assign, by name, and the lines that the
        program prints as its attribute printed."""
        _lib.check_process()
        list_ = [operand(name, x) for name, x in tensors.items()]
        list_ = [in_order(o, name) if o.levels and not isinstance(x, Sparse) else o
                 for o, (name, x) in zip(list_, tensors.items())]
        n = len(list_)
        names = (c_char_p * max(n, 1))(*(name.encode() for name in tensors))
        memory = [o.struct() for o in list_]
        structs = (CTensor * max(n, 1))(*memory)
        words = [f"{k}={v}".encode() for k, v in (params or {}).items()]
        kind = result_kind(list_)
        results = Results()

        @GIVEN
        def given(_, name, tensor):
            t = taken(tensor[0])
            if isinstance(t, Sparse):
                t = shaped(t, kind)
            elif t.ndim == 0:
                t = t[()]
            else:
                t = t.copy()
            results[name.decode()] = t

        @TEXT
        def say(_, line):
            results.printed.append(line.decode("utf-8", "replace"))

        e = CError()
        if lib.job(_lib.environment().handle, self.name.encode(), self.text.encode(), len(words),
                   (c_char_p * max(len(words), 1))(*words), n, names, structs, given, say, None,
                   byref(e)):
            raise failure(e, self, list_, memory, structs, names, given, say)
        return results


class Results(dict):
    """The results of a program, by name; printed has the lines that it printed."""

    def __init__(self):
        super().__init__()
        self.printed = []

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def program(text, name="<program>"):
    """Return a function that runs a job file, given as text.

    >>> import numpy as np, distaff
    >>> power = distaff.program('''
    ... tensor A(n, n): dd
    ... tensor x(n): d
    ... x(i) = 1
    ... repeat 20 {
    ...   y(i) = A(i,j) * x(j)
    ...   total = y(i)
    ...   x(i) = y(i) / total
    ... }
    ... print total
    ... ''')
    >>> r = power(A=np.array([[2.0, 0], [0, 1]]))
    >>> round(float(r.total), 3)
    2.0
    """
    return Program(text, name)
