"""The examples in docstrings, and what shows itself."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import distaff

MODULES = ["distaff"] + ["distaff." + m.name for m in pkgutil.iter_modules(distaff.__path__)
                         if m.name not in ("__main__", "libdistaff")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_name_has_an_example():
    missing = [n for n in distaff.__all__ if not getattr(distaff, n).__doc__]
    assert not missing


def test_shown():
    s = distaff.sparse(np.eye(5))
    assert "<svg" in s._repr_html_() and "5 × 5" in s._repr_html_()
    assert distaff.spy(s)._repr_svg_().startswith("<svg")
    plan = repr(distaff.compile("y(i) = A(i,j) * x(j)").plan(A=s, x=np.ones(5)))
    assert "entries read of A" in plan and "ds float64" in plan
    assert "compiler" in distaff.doctor()
