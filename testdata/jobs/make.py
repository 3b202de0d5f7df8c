#!/usr/bin/env python3
"""Makes the inputs of the job files that are not real data, and what each file gives.

    python3 make.py            # in this folder; needs NumPy and SciPy

What a file computes is computed here with NumPy and SciPy, by another method where there
is one (a direct solver, a dense eigenvalue solver, a breadth-first search), from the same input files.
"""

import gzip
import json
import pathlib
import platform
import re

import numpy as np
import scipy
import scipy.io
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.sparse.linalg

HERE = pathlib.Path(__file__).resolve().parent
REAL = HERE.parent / "real"
RANDOM = np.random.default_rng(20)


def matrix(name):
    """A matrix of testdata/real: both triangles, with repeated entries summed."""
    path = REAL / "matrices" / name
    if path.suffix == ".rsa":
        return symmetric(path)
    return sp.csr_matrix(scipy.io.mmread(str(path)))


def symmetric(path):
    """A real symmetric Harwell-Boeing matrix, which SciPy does not read, without a right side."""
    lines = path.read_text().splitlines()
    n = int(lines[2].split()[1])
    counts = [int(x) for x in lines[1].split()[1:4]]
    widths = [int(re.search(r"[IDEF](\d+)", f)[1]) for f in lines[3].split()[:3]]
    at, parts = 4, []
    for count, width in zip(counts, widths):
        text = [line.rstrip() for line in lines[at : at + count]]
        parts.append([x[k : k + width] for x in text for k in range(0, len(x), width)])
        at += count
    pos, row = (np.array(part, dtype=int) - 1 for part in parts[:2])
    values = np.array([float(x.replace("D", "E")) for x in parts[2]])
    lower = sp.csc_matrix((values, row, pos), shape=(n, n)).tocsr()
    return lower + sp.tril(lower, -1).T


def tensor(name, head):
    """Coordinates from 0 and values of a tensor of testdata/real; head lines stand before them."""
    with gzip.open(REAL / "tensors" / name, "rt") as f:
        rows = [line.split() for line in f.readlines()[head:] if line.strip() and line[0] != "#"]
    data = np.array(rows, dtype=float)
    return data[:, :-1].astype(int) - 1, data[:, -1]


def given(name, array):
    """Writes an input."""
    np.save(HERE / name, array)
    return array


def cg():
    a = matrix("bcsstk01.rsa")
    b = given("cg.b.npy", RANDOM.standard_normal(a.shape[0]))
    return {"x": scipy.sparse.linalg.spsolve(a.tocsc(), b)}


def pagerank():
    at, flights = tensor("flights20k_odth.tns.gz", 0)
    n = at[:, :2].max() + 1
    a = np.zeros((n, n))
    np.add.at(a, (at[:, 0], at[:, 1]), flights)
    out = a.sum(axis=1)
    p = np.where(out[:, None] > 0, a / np.maximum(out, 1)[:, None], 1 / n)
    google = 0.85 * p + 0.15 / n
    # The stationary vector: google.T @ x = x with sum 1.
    x = scipy.linalg.lstsq(np.vstack([google.T - np.eye(n), np.ones(n)]), np.append(np.zeros(n), 1))[0]
    return {"rank": x}


def power():
    values, vectors = np.linalg.eigh(matrix("karate.mtx").toarray())
    v = vectors[:, -1]
    return {"lambda": values[-1], "v": v / v.sum()}


def jacobi():
    s = matrix("jagmesh7.mtx").tolil()
    s.setdiag(0)
    s = s.tocsr()
    n = s.shape[0]
    b = given("jacobi.b.npy", RANDOM.standard_normal(n))
    a = sp.diags(np.asarray(s.sum(axis=1)).ravel() + 1) - s
    return {"x": scipy.sparse.linalg.spsolve(a.tocsc(), b)}


def bfs():
    a = matrix("chesapeake.mtx")
    level = scipy.sparse.csgraph.shortest_path(a, unweighted=True, indices=0)
    return {"level": level, "count": np.isfinite(level).sum()}


def triangles():
    a = matrix("chesapeake.mtx").toarray().astype(int)
    at = np.diag(a @ a @ a) // 2
    return {"at": at, "triangles": at.sum() // 3}


def cpals():
    at, values = tensor("hiparti_3D_12031.tns.gz", 2)
    t = np.zeros((100, 80, 60))
    np.add.at(t, tuple(at.T), values)
    b = given("cpals.B.npy", RANDOM.random((80, 4)))
    c = given("cpals.C.npy", RANDOM.random((60, 4)))
    for _ in range(3):
        a = np.linalg.solve((b.T @ b) * (c.T @ c), np.einsum("ijk,jr,kr->ri", t, b, c)).T
        b = np.linalg.solve((a.T @ a) * (c.T @ c), np.einsum("ijk,ir,kr->rj", t, a, c)).T
        c = np.linalg.solve((a.T @ a) * (b.T @ b), np.einsum("ijk,ir,jr->rk", t, a, b)).T
    model = np.einsum("ir,jr,kr->ijk", a, b, c)
    return {"A": a, "B": b, "C": c, "error": ((t - model) ** 2).sum() / (t**2).sum()}


def tucker():
    at, values = tensor("flights20k_odth.tns.gz", 0)
    u = [given(f"tucker.U{name}.npy", RANDOM.standard_normal((n, 3))) for name, n in zip("ABCE", (223, 224, 90, 24))]
    return {"core": np.einsum("x,xp,xq,xr,xs->pqrs", values, *(m[at[:, k]] for k, m in enumerate(u)), optimize=True)}


def laplacian():
    a = matrix("cage5.mtx")
    laplace = scipy.sparse.csgraph.laplacian((a + a.T) / 2).toarray()
    return {"L": laplace, "trace": laplace.trace(), "form": laplace.sum()}


def spmm():
    b = matrix("west0067.mtx")
    return {"A": b @ given("spmm.C.npy", RANDOM.standard_normal((b.shape[1], 8)))}


def main():
    made = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    for job in (cg, pagerank, power, jacobi, bfs, triangles, cpals, tucker, laplacian, spmm):
        tensors = {}
        for name, x in job().items():
            x = np.asarray(x, dtype=float)
            assert np.isfinite(x).all(), (job.__name__, name)
            tensors[name] = {"dims": x.shape, "values": x.ravel().tolist()}
        path = HERE / "expected" / f"{job.__name__}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"made": made, "tensors": tensors}) + "\n")


if __name__ == "__main__":
    main()
