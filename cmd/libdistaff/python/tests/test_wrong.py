"""Wrong input: an exception with a message, and no crash."""

import gc
import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import distaff

ones = np.ones


def csr(indptr, indices, data, shape):
    """Return a CSR matrix that SciPy would refuse."""
    m = sp.csr_matrix(shape)
    m.indptr, m.indices, m.data = np.array(indptr), np.array(indices), np.array(data, float)
    return m


BAD_STATEMENTS = ["", " ", "y", "y(i)", "y(i) =", "= x(i)", "y(i) = A(i", "y(i) = A(i,)", "y(i) = )",
                  "y(i) = x(j", "y(i) == x(i)", "y(i) = x(i) +", "y(i) = x[i]", "1 = x(i)", "y(i,i) = x(i)",
                  "y(i) = x(i) ** ", "y(i) = foo(x(i))", "y(i) = x(i)\x00", "y(é) = x(é)", "y(i) = 'a'",
                  "y(i) = x(i) y(i)", "(((", "y(i) = " + "(" * 3000 + "x(i)", "y(i) := x(i)", "\n\n",
                  "y(i) = x(i);", "for i in x: y", "y(i) = sum(k, x(i))", "SELECT *", "y(i) = i(i)"]


@pytest.mark.parametrize("text", BAD_STATEMENTS)
def test_statements(text):
    with pytest.raises(ValueError):
        distaff.compile(text)(x=ones(3), A=ones((3, 3)))


@pytest.mark.parametrize("text", [None, 3, b"y(i) = x(i)", ["y"], object()])
def test_statement_types(text):
    with pytest.raises(TypeError):
        distaff.compile(text)


BAD_VALUES = [None, "text", b"bytes", object(), {}, {1, 2}, lambda: 0, [[1, 2], [3]], [None], ["a"],
              np.zeros(3, object), np.zeros(3, "U2"), np.zeros(3, "M8[D]"), np.ma.masked_array([1, 2, 3]),
              Exception, iter([1]), range, 10 ** 40, np.zeros((3, 3, 3)), sp, np.nan * np.zeros((3, 1)),
              np.zeros(4), np.zeros(0), np.zeros((1,) * 20), sp.csr_matrix((3, 3)), 1.5, np.float64(2)]


@pytest.mark.parametrize("k", range(len(BAD_VALUES)))
def test_values(k):
    f = distaff.compile("y(i) = A(i,j) * x(j)")
    for call in (lambda: f(A=ones((3, 3)), x=BAD_VALUES[k]), lambda: f(A=sp.eye(3, format="csr"), x=BAD_VALUES[k]),
                 lambda: distaff.einsum("ij,j->i", ones((3, 3)), BAD_VALUES[k])):
        with pytest.raises((ValueError, TypeError)):
            call()


BAD_CSR = [
    csr([0, 1, 2], [0, 1], [1, 2], (3, 3)), csr([0, 1, 2, 3], [0, 1, 3], [1, 2, 3], (3, 3)),
    csr([0, 1, 2, 3], [0, 1, -1], [1, 2, 3], (3, 3)), csr([1, 1, 2, 3], [0, 1, 2], [1, 2, 3], (3, 3)),
    csr([0, 2, 1, 3], [0, 1, 2], [1, 2, 3], (3, 3)), csr([0, 1, 2, 9], [0, 1, 2], [1, 2, 3], (3, 3)),
    csr([0, 1, 2, -3], [0, 1, 2], [1, 2, 3], (3, 3)), csr([], [], [], (3, 3)),
    csr([0, 1, 2, 3], [0, 1, 2], [1, 2], (3, 3)), csr([0, 1, 2, 3], [0, 1], [1, 2, 3], (3, 3)),
    csr([0, 1, 2, 3], [2 ** 40, 1, 2], [1, 2, 3], (3, 3)), csr([[0, 1, 2, 3]], [0, 1, 2], [1, 2, 3], (3, 3)),
    csr([0, 1, 2, 3], [[0, 1, 2]], [1, 2, 3], (3, 3)), csr([0, 1, 2, 3], [0, 1, 2], [[1, 2, 3]], (3, 3)),
    csr([0, 2 ** 62, 2, 3], [0, 1, 2], [1, 2, 3], (3, 3)), csr(0, [0, 1, 2], [1, 2, 3], (3, 3)),
]


@pytest.mark.parametrize("k", range(len(BAD_CSR)))
@pytest.mark.parametrize("text", ["y(i) = A(i,j) * x(j)", "C(i,j) = A(i,j) * A(j,i)", "t = A(i,j)",
                                  "C(i,k) = A(i,j) * A(j,k)"])
def test_csr(k, text):
    operands = {"A": BAD_CSR[k]} | ({"x": ones(3)} if "x" in text else {})
    f = distaff.compile(text)
    good = dict(operands, A=sp.eye(3, format="csr"))
    for _ in range(2):
        with pytest.raises((ValueError, TypeError)):
            f(**operands)
        f(**good)  # and then on the quick way
    for attribute in ("indptr", "indices", "data"):
        m = sp.eye(3, format="csr")
        for bad in (None, [0, 1, 2, 3], "x", np.zeros(3, object), np.zeros((2, 2)), np.float64(3)):
            setattr(m, attribute, bad)
            with pytest.raises(Exception):
                f(**dict(operands, A=m))


def test_coo():
    for row, col in (([0, 3], [0, 1]), ([0, -1], [0, 1]), ([0, 1], [0, 3])):
        m = sp.coo_matrix(([1.0, 2.0], ([0, 1], [0, 1])), (3, 3))
        m.row, m.col = np.array(row), np.array(col)
        with pytest.raises(ValueError):
            distaff.einsum("ij->i", m)


def test_shapes():
    f = distaff.compile("C(i,k) = A(i,j) * B(j,k)")
    for shapes in itertools.product([(2, 3), (3, 2), (3,), (), (0, 0), (2, 3, 4)], repeat=2):
        a, b = (np.ones(s) for s in shapes)
        if len(shapes[0]) == len(shapes[1]) == 2 and shapes[0][1] == shapes[1][0]:
            assert np.array_equal(f(A=a, B=b), a @ b)
            continue
        with pytest.raises(ValueError):
            f(A=a, B=b)


def test_subscripts():
    for s in ("", ",", "->", "ij", "ij,jk->ik->", "ij,jk->iz", "ij,jk->ii", "i1,jk->ik", "ij;jk->ik",
              "ij,jk,kl->il", "i j k,jk->ik", "..ij,jk->ik", "ij,jk->i?", "é,jk->ik", "ij,jk->....", "->ij"):
        with pytest.raises(ValueError):
            distaff.einsum(s, ones((2, 2)), ones((2, 2)))
    for s in (None, 3, b"ij->i"):
        with pytest.raises(TypeError):
            distaff.einsum(s, ones((2, 2)))


def test_place_in_messages():
    with pytest.raises(distaff.StatementError) as e:
        distaff.compile("y(i) = A(i,j * x(j)")(A=ones((2, 2)), x=ones(2))
    assert "^" in str(e.value) and e.value.offset is not None
    with pytest.raises(ValueError, match="x"):
        distaff.compile("y(i) = A(i,j) * x(j)")(A=ones((2, 2)))
    with pytest.raises(ValueError, match="z"):
        distaff.compile("y(i) = x(i)")(x=ones(2), z=ones(2))


def test_formats():
    for f in ("x", "dd", "q", "dq", "d:1", "d:0,1", "", "s" * 50):
        if f:
            with pytest.raises(ValueError):
                distaff.compile("y(i) = x(i)", format=f)(x=ones(3))
            with pytest.raises((ValueError, TypeError)):
                distaff.sparse(ones(3), f)


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        distaff.read(tmp_path / "no.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY garbage")
    (tmp_path / "bad.tcs").write_bytes(b"x" * 100)
    for name in ("bad.mtx", "bad.npy", "bad.tcs"):
        with pytest.raises((ValueError, OSError, RuntimeError)):
            distaff.read(tmp_path / name)
    for path in ("no-extension", "a.xyz", "no/folder/a.tcs"):
        with pytest.raises((ValueError, OSError, RuntimeError)):
            distaff.write(tmp_path / path, ones(3))


def test_programs():
    for text in ("", "tensor", "x(i) = ", "tensor A(n,n)\ny(i) = A(i)\n", "repeat {", "print q"):
        with pytest.raises(ValueError):
            distaff.program(text)(A=ones((2, 2)))


def test_memory():
    with pytest.raises(MemoryError):
        distaff.compile("C(i,j,k) = x(i) * y(j) * z(k)")(x=ones(100000), y=ones(100000), z=ones(100000))
    gc.collect()
