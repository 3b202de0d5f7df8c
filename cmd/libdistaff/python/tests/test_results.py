"""Results, compared with NumPy and SciPy, for operands of every layout."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import distaff

rng = np.random.default_rng(7)


def matrix(m, n, dtype=np.float64, density=0.4):
    a = sp.random(m, n, density, "csr", random_state=rng)
    a.data = np.ceil(a.data * 9).astype(np.float64)
    return a.astype(dtype)


def dense(*shape, dtype=np.float64):
    return rng.integers(-9, 9, shape).astype(dtype)


FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.complex128, np.complex64])
def test_matrix_times_vector(format, dtype):
    if format in ("dok", "lil", "bsr", "dia") and dtype != np.float64:
        pytest.skip("one type is enough")
    a, x = matrix(7, 9, dtype).asformat(format), dense(9, dtype=dtype)
    f = distaff.compile("y(i) = A(i,j) * x(j)")
    for _ in range(3):
        y = f(A=a, x=x)
        assert y.dtype == dtype and np.array_equal(y, a @ x)
    assert np.array_equal(distaff.einsum("ij,i->j", a, dense(7, dtype=dtype) * 0 + 1),
                          a.toarray().sum(0))


@pytest.mark.parametrize("left,right", list(itertools.product(["csr", "csc", "coo"], repeat=2)))
def test_product_of_sparse(left, right):
    a, b = matrix(6, 8).asformat(left), matrix(8, 5).asformat(right)
    c = distaff.compile("C(i,k) = A(i,j) * B(j,k)")(A=a, B=b)
    assert sp.issparse(c) and c.shape == (6, 5)
    assert np.array_equal(c.toarray(), (a @ b).toarray())


def test_sampled_product():
    s, a, b = matrix(6, 8), dense(6, 3), dense(8, 3)
    f = distaff.compile("C(i,j) = S(i,j) * A(i,k) * B(j,k)")
    for _ in range(3):
        c = f(S=s, A=a, B=b)
        assert np.array_equal(c.toarray(), s.toarray() * (a @ b.T))
        assert not np.shares_memory(c.indices, s.indices)


def views(x):
    """Views and copies of an array with the same values and other strides."""
    yield x
    yield np.asfortranarray(x)
    yield np.repeat(x, 2, axis=0)[::2]
    yield np.repeat(x, 2, axis=-1)[..., ::2]
    yield x[::-1].copy()[::-1]
    yield x.T.copy().T
    z = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.uint8)
    z[:] = x.reshape(-1).view(np.uint8)
    yield np.ndarray(x.shape, x.dtype, z.data)  # not aligned
    yield x.astype(x.dtype.newbyteorder())


def test_strides():
    a, x = dense(4, 5, dtype=np.float64), dense(5)
    for v in views(a):
        for w in views(x):
            assert np.array_equal(distaff.einsum("ij,j->i", v, w), a @ x)
    t = dense(2, 3, 4)
    for axes in itertools.permutations(range(3)):
        p = np.ascontiguousarray(t.transpose(axes)).transpose(np.argsort(axes))
        assert np.array_equal(distaff.einsum("ijk->kj", p), t.sum(0).T)


def test_no_copy():
    a, x = matrix(5, 6), dense(6)
    f = distaff.compile("y(i) = A(i,j) * x(j)")
    f(A=a, x=x)
    assert f._last.fast
    a.data *= 2
    x[:] = 1
    assert np.array_equal(f(A=a, x=x), a @ x)


def test_dtypes():
    for t in ("bool", "int8", "uint8", "int16", "uint16", "uint32", "float16"):
        x = np.array([1, 0, 3], t)
        assert np.array_equal(distaff.einsum("i,i->", x, x), (x.astype(float) ** 2).sum())
    for t in ("O", "U3", "M8[s]", "g", "S2", [("a", "f8")]):
        with pytest.raises(TypeError):
            distaff.einsum("i->i", np.zeros(3, t))


def test_numbers():
    f = distaff.compile("y(i) = a * x(i)")
    assert f(a=2, x=np.ones(3, np.float32)).dtype == np.float32
    assert f(a=2.5, x=np.ones(3, np.int32)).dtype == np.float64
    assert f(a=np.float64(2), x=np.ones(3, np.float32)).dtype == np.float64
    assert np.array_equal(f(a=2j, x=np.ones(3)), [2j] * 3)
    assert distaff.einsum("i->", np.arange(4.0)) == 6.0


def test_out():
    a, x, y = dense(3, 4), dense(4), np.empty(3)
    f = distaff.compile("y(i) = A(i,j) * x(j)")
    for _ in range(3):
        assert f(A=a, x=x, out=y) is y and np.array_equal(y, a @ x)
    for bad in (np.empty(4), np.empty(3, np.float32), np.empty(6)[::2], [0, 0, 0]):
        with pytest.raises(ValueError):
            f(A=a, x=x, out=bad)
    z = dense(4)
    want = z + z.sum()
    distaff.compile("y(i) = x(i) + x(j) * o(j)")(x=z, o=np.ones(4), out=z)  # reads what it writes
    assert np.array_equal(z, want)


def test_old_value():
    a, x, y = matrix(4, 5), dense(5), dense(4)
    f = distaff.compile("y(i) += A(i,j) * x(j)")
    for _ in range(4):
        before = y.copy()
        assert np.array_equal(f(A=a, x=x, y=y), before + a @ x)
        assert np.array_equal(y, before)
        f(A=a, x=x, y=y, out=y)
        assert np.array_equal(y, before + a @ x)


def test_unsorted():
    a = sp.csr_matrix((np.array([1.0, 2, 3, 4]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), (2, 3))
    b = sp.coo_matrix((np.array([1.0, 2, 4]), ([1, 0, 1], [2, 0, 2])), (2, 3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for m in (a, b):
            for _ in range(3):
                got = distaff.compile("C(i,j) = A(i,j) * B(i,j)")(A=m, B=m)
                assert np.array_equal(got.toarray(), m.toarray() ** 2)
    assert len(seen) <= 1
    assert list(a.indices) == [2, 0, 1, 1] and list(b.row) == [1, 0, 1]


def test_changed_between_calls():
    a, x = matrix(20, 20), dense(20)
    f = distaff.compile("y(i) = A(i,j) * x(j)")
    f(A=a, x=x)
    old = a.indices[3]
    a.indices[3] = 1000
    with pytest.raises(ValueError):
        f(A=a, x=x)
    a.indices[3] = old
    assert np.array_equal(f(A=a, x=x), a @ x)
    a.eliminate_zeros()
    b = matrix(20, 20, density=0.9)  # many more entries
    assert np.array_equal(f(A=b, x=x), b @ x)
    x.shape = (4, 5)
    with pytest.raises(ValueError):
        f(A=a, x=x)


def test_third_order():
    t = dense(4, 5, 6) * (rng.random((4, 5, 6)) < 0.3)
    s = distaff.sparse(t)
    assert np.array_equal(s.todense(), t) and s.format == "sss"
    b, c = dense(5, 3), dense(6, 3)
    want = np.einsum("ijk,jr,kr->ir", t, b, c)
    assert np.array_equal(distaff.einsum("ijk,jr,kr->ir", s, b, c), want)
    r = distaff.einsum("ijk,k->ijk", s, np.ones(6))
    assert np.array_equal(r.todense(), t)
    assert np.array_equal(r.coords(), np.array(np.nonzero(t)))
    for f in ("ucq", "dss", "ssd", "ddd:2,1,0"):
        got = s.asformat(f)
        assert np.array_equal(got if isinstance(got, np.ndarray) else got.todense(), t)


def test_strided_lists():
    """Coordinates that are views of one array, as numpy.unravel_index returns."""
    d = dense(4, 5, 6) * (rng.random((4, 5, 6)) < 0.3)
    at = np.flatnonzero(d)
    i, j, k = np.unravel_index(at, d.shape)
    s = distaff.Sparse(d.shape, "ucq", [(np.array([0, at.size]), i), (None, j), (None, k)],
                       np.repeat(d.reshape(-1)[at], 2)[::2])
    assert np.array_equal(s.todense(), d)
    i, j = np.array([[0, 1], [1, 0], [2, 2]]).T
    m = sp.coo_matrix((np.ones(6)[::2], (i, j)), (3, 3))
    m.row, m.col = i, j
    for _ in range(2):
        assert np.array_equal(distaff.einsum("ij->ij", m).toarray(), m.toarray())
    c = sp.csr_matrix(np.eye(3))
    c.indices, c.data = np.repeat(c.indices, 2)[::2], np.repeat(c.data * 3, 2)[::2]
    for _ in range(2):
        assert np.array_equal(distaff.einsum("ij,j->i", c, np.ones(3)), [3, 3, 3])


def test_empty():
    a = sp.csr_matrix((3, 4))
    assert np.array_equal(distaff.einsum("ij,j->i", a, np.ones(4)), np.zeros(3))
    assert distaff.einsum("ij,jk->ik", a, sp.csr_matrix((4, 2))).nnz == 0
    assert distaff.einsum("ij->i", np.zeros((0, 3))).shape == (0,)
    assert np.array_equal(distaff.einsum("ij->i", np.zeros((3, 0))), np.zeros(3))


def test_scipy_of_any_order():
    if not hasattr(sp, "coo_array"):
        pytest.skip("SciPy has no coo_array")
    t = dense(4, 5, 6) * (rng.random((4, 5, 6)) < 0.3)
    try:
        x = sp.coo_array(t)
    except (TypeError, ValueError):
        pytest.skip("SciPy's COO has two dimensions only")
    for _ in range(3):
        y = distaff.einsum("ijk,k->ijk", x, np.arange(6.0))
        assert type(y) is type(x) and np.array_equal(y.toarray(), t * np.arange(6))
    assert np.array_equal(distaff.einsum("ijk->k", x), t.sum((0, 1)))
    z = sp.coo_array(np.array([0, 2.0, 0, 3]))
    assert np.array_equal(distaff.einsum("i,i->i", z, z).toarray(), [0, 4, 0, 9])


def test_pydata():
    pydata = pytest.importorskip("sparse")
    x = pydata.random((5, 6, 7), 0.3, random_state=3)
    y = distaff.einsum("ijk,ijk->ijk", x, x)
    assert isinstance(y, pydata.COO) and np.allclose(y.todense(), x.todense() ** 2)
    g = pydata.GCXS.from_coo(pydata.random((5, 6), 0.3, random_state=4))
    assert np.allclose(distaff.einsum("ij->j", g), g.todense().sum(0))
    with pytest.raises(ValueError):
        distaff.einsum("ij->j", pydata.COO.from_numpy(np.ones((2, 2)), fill_value=1.0))


def test_torch():
    torch = pytest.importorskip("torch")
    a = torch.arange(6.0).reshape(2, 3)
    assert np.array_equal(distaff.einsum("ij->i", a), a.numpy().sum(1))
    assert np.array_equal(distaff.einsum("ij->i", a.to_sparse_csr()), a.numpy().sum(1))


def test_einsum_as_numpy():
    shapes = {"i": 3, "j": 4, "k": 5, "l": 2}
    for s in ("ij,jk->ik", "ij,jk", "ij->ji", "ii->i", "ii", "ij->", "i,j->ij", "ijk,jl,kl->il",
              "ij,ij->ij", "...j,j->...", "i...->i...", "...,...->...", "ij,jk,kl->il", "ba"):
        left = s.partition("->")[0]
        operands = []
        for t in left.split(","):
            order = t.replace("...", "ij"[:2 if len(t.replace("...", "")) < 2 else 1])
            sizes = [3 if "ii" in s or c not in shapes else shapes[c] for c in order]
            operands.append(dense(*sizes))
        want = np.einsum(s, *operands)
        assert np.array_equal(distaff.einsum(s, *operands), want), s


def test_reductions():
    a, b, y = dense(4, 5), dense(5, 3), dense(4)
    assert np.array_equal(distaff.einsum("ij,jk->ik", a, b, reduce="min", combine="+"),
                          (a[:, :, None] + b[None]).min(1))
    assert distaff.einsum("ij->", a, reduce="max") == a.max()
    s = matrix(4, 5)
    assert np.array_equal(distaff.einsum("ij->i", -s, reduce="max"), (-s.toarray()).max(1))
    f = distaff.compile("y(i) max= A(i,j)")
    for _ in range(3):
        assert np.array_equal(f(A=a, y=y), np.maximum(y, a.max(1)))
