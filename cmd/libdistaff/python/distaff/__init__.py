"""Distaff: tensor index notation on sparse and dense arrays, compiled.

>>> import numpy as np, scipy.sparse, distaff
>>> A = scipy.sparse.random(4, 5, 0.5, "csr", random_state=1)
>>> x = np.ones(5)
>>> y = distaff.compile("y(i) = A(i,j) * x(j)")(A=A, x=x)
>>> bool(np.allclose(y, A @ x))
True
"""

from ._arrays import Sparse, sparse
from ._einsum import einsum
from ._files import Program, program, read, write
from ._lib import StatementError, lib as _library, set_environment as options
from ._show import doctor, plan, spy
from ._statement import Statement, compile

from . import _tensor
from ._tensor import Tensor, asarray

__version__ = _library.version().decode()
__all__ = ["Program", "Sparse", "Statement", "StatementError", "compile", "doctor", "einsum",
           "options", "plan", "program", "read", "sparse", "spy", "write", *_tensor.NAMES]


def __getattr__(name):
    # the functions of lazy arrays, some of which have the names of Python's own functions
    if name in _tensor.NAMES:
        return getattr(_tensor, name)
    raise AttributeError(f"module 'distaff' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(__all__))
