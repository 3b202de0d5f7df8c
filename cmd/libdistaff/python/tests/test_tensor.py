"""Lazy arrays, compared with NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import distaff

rng = np.random.default_rng(5)


def has(text):
    """Whether the library takes a statement."""
    try:
        distaff.compile(text)(x=np.ones(2))
    except distaff.StatementError:
        return False
    return True


a, b = rng.random((4, 5)), rng.random((4, 5))
c, v, s3 = rng.random((5, 3)), rng.random(5), rng.random((2, 4, 5))
one, column, n = rng.random((1, 5)), rng.random((4, 1)), rng.integers(1, 9, (4, 5))
A, B, C, V, S, ONE, COL, N = map(distaff.asarray, (a, b, c, v, s3, one, column, n))

CASES = [
    (A + B, a + b), (A - 2, a - 2), (3 * A * B, 3 * a * b), (A / B, a / b), (1 / A, 1 / a), (-A, -a),
    (N / N, n / n), (N + 1, n + 1), (A + V, a + v), (S * A + V, s3 * a + v), (A + ONE, a + one),
    (A * COL, a * column), (COL * ONE, column * one), (ONE + COL + 1, one + column + 1),
    (A @ C, a @ c), (A @ V, a @ v), (V @ C, v @ c), (V @ V, v @ v), (S @ C, s3 @ c),
    (S @ distaff.matrix_transpose(S), s3 @ s3.transpose(0, 2, 1)),
    (A.T, a.T), (S.mT, s3.transpose(0, 2, 1)), (distaff.permute_dims(S, (2, 0, 1)), s3.transpose(2, 0, 1)),
    (A.sum(), a.sum()), (A.sum(axis=0), a.sum(0)), (S.sum(axis=(0, 2)), s3.sum((0, 2))),
    (A.sum(axis=1, keepdims=True) * A, a.sum(1, keepdims=True) * a), (A.mean(axis=-1), a.mean(-1)),
    (A / A.sum(axis=1, keepdims=True), a / a.sum(1, keepdims=True)), (ONE.sum(axis=0), one.sum(0)),
    (distaff.exp(A) * distaff.sin(B), np.exp(a) * np.sin(b)), (distaff.sqrt(N), np.sqrt(n)),
    (distaff.maximum(A, B), np.maximum(a, b)), (abs(-A), a), (distaff.pow(A, 2.0), a ** 2),
    (distaff.tensordot(S, C, axes=1), np.tensordot(s3, c, 1)),
    (distaff.tensordot(A, B, axes=2), np.tensordot(a, b, 2)),
    (distaff.tensordot(S, A, axes=((1, 2), (0, 1))), np.tensordot(s3, a, ((1, 2), (0, 1)))),
    (distaff.tensordot(V, V, axes=0), np.tensordot(v, v, 0)), (distaff.vecdot(A, B), (a * b).sum(-1)),
    (A[None], a[None]), (A[..., None] * S[0].sum(), a[..., None] * s3[0].sum()), (A[1:, ::2] + 1, a[1:, ::2] + 1),
    (distaff.expand_dims(V, axis=1), v[:, None]), (distaff.squeeze(ONE, 0), one[0]),
    (distaff.broadcast_to(V, (2, 5)).sum(axis=0), np.broadcast_to(v, (2, 5)).sum(0)),
    (distaff.broadcast_to(V, (2, 5)), np.broadcast_to(v, (2, 5))), (A - A, a - a), (A + a, a + a), (a + A, a + a),
    ((A + B) * (A - B) / (A * B + 1), (a + b) * (a - b) / (a * b + 1)), ((A @ C).sum(axis=0) + 1, (a @ c).sum(0) + 1),
]


@pytest.mark.parametrize("k", range(len(CASES)))
def test_expressions(k):
    got, want = CASES[k]
    assert got.shape == want.shape
    r = np.asarray(got)
    assert r.shape == want.shape and np.allclose(r, want, rtol=1e-12)
    assert got.dtype == want.dtype == r.dtype or want.dtype.kind == "i"


@pytest.mark.parametrize("word", ["prod", "min", "max"])
def test_reductions(word):
    if not has(f"y = {word}(i, x(i))"):
        pytest.skip(f"the library has no {word}")
    assert np.allclose(getattr(A, word)(axis=1), getattr(a, word)(1))
    assert np.allclose(getattr(A, word)(), getattr(a, word)())


def test_comparisons():
    if not has("y(i) = x(i) < 1"):
        pytest.skip("the library has no comparisons")
    for got, want in ((A < B, a < b), (A >= 0.5, a >= 0.5), (A == A, a == a), (N != 3, n != 3)):
        assert np.array_equal(np.asarray(got), want)


def test_sparse():
    m = sp.random(6, 5, 0.4, "csr", random_state=2)
    M, x = distaff.asarray(m), distaff.asarray(v)
    assert np.allclose((M @ x).compute(), m @ v)
    r = (2 * M * x).compute()
    assert sp.issparse(r) and np.allclose(r.toarray(), 2 * m.toarray() * v)
    assert np.allclose((M.T @ M).compute().toarray(), (m.T @ m).toarray())
    assert np.allclose(np.asarray((M + 1).sum()), (m.toarray() + 1).sum())


def test_one_statement_for_a_shape_of_expression():
    f = (A + 2.5) * B
    g = (distaff.asarray(b) + 7.5) * distaff.asarray(a)
    assert f.statement() == g.statement()
    assert np.allclose(g, (b + 7.5) * a)
    twice = distaff.asarray(a)
    assert (twice * twice).statement() == "R(i0,i1) = (a0(i0,i1) * a0(i0,i1))"


def test_wrong():
    for bad in (lambda: A + C, lambda: A @ A, lambda: A.sum(axis=2), lambda: distaff.permute_dims(A, (0,)),
                lambda: distaff.tensordot(A, C, axes=3), lambda: distaff.squeeze(A, 0), lambda: V.T,
                lambda: distaff.broadcast_to(A, (2, 2)), lambda: A.sum(axis=(0, 0))):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: A + None, lambda: A + "x", lambda: float(A), lambda: bool(A)):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(IndexError):
        A[0, 0, 0]
    assert float(A.sum()) == pytest.approx(a.sum())
