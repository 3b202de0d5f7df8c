"""The shared library, its structures (distaff.h), and errors."""

import ctypes
import os
import sys
import threading
from ctypes import POINTER, Structure, c_char, c_char_p, c_int32, c_int64, c_size_t, c_void_p

import numpy as np

API = 1
OK, ERROR, STATEMENT, DATA, MEMORY, INTERRUPTED, LAYOUT, FILE = 0, 1, 2, 3, 5, 6, 7, 8


class CError(Structure):
    _fields_ = [("code", c_int32), ("offset", c_int64), ("length", c_int64), ("ticket", c_int64),
                ("message", c_char * 4096)]


class CLevel(Structure):
    _fields_ = [("pos", c_void_p), ("crd", c_void_p), ("npos", c_int64), ("ncrd", c_int64),
                ("pos_width", c_int32), ("crd_width", c_int32)]


class CTensor(Structure):
    _fields_ = [("type", c_char_p), ("format", c_char_p), ("order", c_int32), ("trusted", c_int32),
                ("sizes", POINTER(c_int64)), ("levels", POINTER(CLevel)), ("vals", c_void_p),
                ("nvals", c_int64), ("memory", c_void_p)]


INTERRUPT = ctypes.CFUNCTYPE(c_int32, c_void_p)
TEXT = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)
GIVEN = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, POINTER(CTensor))


class COptions(Structure):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("ranks", c_int32),
                ("memory_limit", c_int64), ("target", c_char_p), ("tmp", c_char_p),
                ("interrupted", INTERRUPT), ("progress", TEXT), ("note", TEXT), ("user", c_void_p)]


class CArray(Structure):
    _fields_ = [("object", c_void_p), ("type", c_void_p), ("descr", c_void_p), ("nd", c_int64),
                ("bytes", c_int64), ("writes", c_int64), ("sizes", c_void_p), ("strides", c_void_p),
                ("data", c_void_p), ("count", c_void_p)]


class CCopy(Structure):
    _fields_ = [("source", c_void_p), ("to", c_void_p)]


class CCall(Structure):
    _fields_ = [("statement", c_void_p), ("narrays", c_int64), ("arrays", POINTER(CArray)),
                ("ncopies", c_int64), ("copies", POINTER(CCopy)), ("operands", POINTER(CTensor)),
                ("result", POINTER(CTensor)), ("error", POINTER(CError))]


_PROTOTYPES = {
    "version": (c_char_p, []), "types": (c_char_p, []), "api": (c_int32, []),
    "open": (c_void_p, [POINTER(COptions), POINTER(CError)]), "close": (None, [c_void_p]),
    "prepare": (c_void_p, [c_void_p, c_char_p, c_char_p, POINTER(c_int64), c_int32,
                           POINTER(c_char_p), POINTER(CTensor), POINTER(CError)]),
    "free": (None, [c_void_p]), "result": (None, [c_void_p, POINTER(CTensor)]),
    "run": (c_int32, [c_void_p, POINTER(CTensor), POINTER(CTensor), POINTER(CError)]),
    "release": (None, [POINTER(CTensor)]), "ended": (c_int32, [c_int64]),
    "read": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(CTensor), POINTER(CError)]),
    "write": (c_int32, [c_void_p, c_char_p, POINTER(CTensor), POINTER(CError)]),
    "convert": (c_int32, [c_void_p, POINTER(CTensor), c_char_p, POINTER(CTensor), POINTER(CError)]),
    "job": (c_int32, [c_void_p, c_char_p, c_char_p, c_int32, POINTER(c_char_p), c_int32,
                      POINTER(c_char_p), POINTER(CTensor), GIVEN, TEXT, c_void_p, POINTER(CError)]),
    "command": (c_int32, [c_int32, POINTER(c_char_p), c_int32, POINTER(c_void_p), POINTER(c_void_p)]),
    "free_text": (None, [c_void_p]), "numpy_run": (c_int32, [c_void_p]),
    "numpy_fits": (c_int32, [c_void_p, c_void_p, c_int64, POINTER(c_int64), POINTER(c_int64),
                             c_void_p]),
}


class _Library:
    """The functions of distaff.h, without their prefix."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(path)
        for name, (result, arguments) in _PROTOTYPES.items():
            f = getattr(self.dll, "distaff_" + name)
            f.restype, f.argtypes = result, arguments
            setattr(self, name, f)
        if self.api() != API:
            raise ImportError(f"{path}: got interface {self.api()}, want {API}")


lib = _Library(os.environ.get("DISTAFF_LIBRARY") or
               os.path.join(os.path.dirname(os.path.abspath(__file__)), "libdistaff.so"))


class StatementError(ValueError):
    """A statement, format, type or size is wrong. offset is the place in the statement, in bytes,
    or None."""

    offset = None


# Memory of runs that were interrupted and have not ended.
_abandoned = {}


def failure(error, *keep):
    """Return the exception for an error of the library. keep is what a run uses that may still
    run."""
    for ticket in list(_abandoned):
        if lib.ended(ticket):
            _abandoned.pop(ticket, None)
    message = error.message.decode("utf-8", "replace")
    if error.code == INTERRUPTED:
        if error.ticket:
            _abandoned[error.ticket] = keep
        return _raised()
    if error.code == STATEMENT:
        e = StatementError(message)
        e.offset = error.offset if error.offset >= 0 else None
        return e
    if error.code in (DATA, LAYOUT):
        return ValueError(message)
    if error.code == MEMORY:
        return MemoryError(message)
    if error.code == FILE:
        return OSError(message)
    return RuntimeError(message)


class CPython(Structure):
    _fields_ = [("ensure", c_void_p), ("release", c_void_p), ("check_signals", c_void_p),
                ("fetch", c_void_p), ("type", c_void_p), ("value", c_void_p)]


_python = CPython(*(ctypes.cast(getattr(ctypes.pythonapi, name), c_void_p) for name in
                    ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch")))


def _raised():
    """Return the exception that the handler of a signal raised during a call."""
    found = []
    for address in (_python.value, _python.type):
        if address:
            held = ctypes.cast(address, ctypes.py_object)
            found.append(held.value)
            ctypes.pythonapi.Py_DecRef(held)
    _python.type = _python.value = None
    if found and isinstance(found[0], BaseException):
        return found[0]
    if found and isinstance(found[-1], type) and issubclass(found[-1], BaseException):
        return found[-1]()
    return KeyboardInterrupt()


@TEXT
def _progress(_, what):
    sys.stderr.write("\r\x1b[K" + what.decode("utf-8", "replace"))
    sys.stderr.flush()


class Environment:
    """An environment of the library: the options of statements."""

    def __init__(self, threads=0, memory_limit=0, target="", tmp="", progress=False, ranks=0):
        o = COptions(size=ctypes.sizeof(COptions), threads=threads, memory_limit=memory_limit,
                     target=target.encode() or None, tmp=os.fsencode(tmp) or None,
                     interrupted=ctypes.cast(lib.dll.distaff_python_interrupted, INTERRUPT),
                     user=ctypes.addressof(_python), ranks=ranks)
        if progress:
            o.progress = _progress
        self.options = o
        e = CError()
        self.handle = lib.open(ctypes.byref(o), ctypes.byref(e))
        if not self.handle:
            raise failure(e)

    def __del__(self):
        if getattr(self, "handle", None) and lib is not None:
            lib.close(self.handle)


_environment = None
_lock = threading.Lock()


def environment():
    """Return the environment of all statements, which options() sets."""
    global _environment
    if _environment is None:
        with _lock:
            if _environment is None:
                check_process()
                _environment = Environment()
    return _environment


def set_environment(**how):
    """Set the options of all later statements: threads, memory_limit in bytes, target ("cpu",
    "cuda", "auto" or "interpreter"), tmp, the folder of temporary files, progress, whether a line
    on the terminal says how far a long run is, and ranks, the number of ranks in this process. What
    is not given is the default.

    >>> import distaff
    >>> distaff.options(threads=1)
    >>> distaff.options()
    """
    global _environment
    _environment = Environment(**how)


_process = os.getpid()


def check_process():
    """Raise an error in a child process of fork, in which the library cannot run."""
    if os.getpid() != _process:
        raise RuntimeError("distaff cannot be used in a process made by fork; start processes with "
                           "multiprocessing.get_context('spawn')")


def has_numpy_fields():
    """Whether the library can read NumPy's arrays itself (numpy.c)."""
    if sys.implementation.name != "cpython":
        return False
    for a in (np.zeros((2, 3)), np.zeros((5, 4), np.int32)[::2]):
        n = a.ndim
        if not lib.numpy_fits(id(a), a.ctypes.data, n, (c_int64 * n)(*a.shape),
                              (c_int64 * n)(*a.strides), id(a.dtype)):
            return False
    return True


def command(*words, inherit=False):
    """Run a command line of distaff and return its exit code and what it printed."""
    check_process()
    args = [b"distaff"] + [os.fsencode(str(w)) for w in words]
    out, err = c_void_p(), c_void_p()
    code = lib.command(len(args), (c_char_p * len(args))(*args), inherit, ctypes.byref(out),
                       ctypes.byref(err))
    texts = []
    for t in (out, err):
        texts.append(ctypes.string_at(t).decode("utf-8", "replace") if t.value else "")
        lib.free_text(t)
    return code, texts[0], texts[1]
