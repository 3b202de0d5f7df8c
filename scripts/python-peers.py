"""Times the Python package beside SciPy, and pydata/sparse and PyTorch if they are installed.

python3 scripts/python-peers.py [LARGEST]: sizes from 1e3 entries to LARGEST, by default 1e6. For each
kernel it prints the median time of a call and the ratio to the best peer: below 1, distaff is faster.
The package is found by PYTHONPATH, or installed from a wheel (make wheel)."""

import math
import sys
import time

import numpy as np
import scipy.sparse as sp

import distaff

try:
    import sparse as pydata
except ImportError:
    pydata = None
try:
    import torch
except ImportError:
    torch = None


def median(f, wait=0, budget=0.4):
    """Return the median time of a call in seconds, and the calls' last result. After the first call
    it waits, while the leaf is compiled with all optimization."""
    f()
    if wait:
        time.sleep(wait)
    r, times, end = f(), [], time.perf_counter() + budget
    while len(times) < 5 or time.perf_counter() < end and len(times) < 2000:
        at = time.perf_counter()
        r = f()
        times.append(time.perf_counter() - at)
    return sorted(times)[len(times) // 2], r


def same(a, b):
    a, b = (np.asarray(x.todense() if hasattr(x, "todense") else x) for x in (a, b))
    return np.allclose(a, b)


def cases(entries, rng):
    """Yield each kernel: its name, a call of distaff, and the calls of peers by name."""
    n = max(entries // 10, 10)
    a = sp.random(n, n, entries / n / n, "csr", random_state=rng)
    x, d, e = rng.random(n), rng.random((n, 16)), rng.random((16, n))
    f = {text: distaff.compile(text) for text in (
        "y(i) = A(i,j) * x(j)", "Y(i,k) = A(i,j) * D(j,k)", "C(i,k) = A(i,j) * A(j,k)", "s(i) = A(i,j)",
        "C(i,j) = A(i,j) * D(i,k) * E(k,j)", "C(i,j) = 2 * A(i,j) * A(i,j) + A(i,j)")}
    peers = {}
    if torch:
        t = torch.sparse_csr_tensor(torch.from_numpy(a.indptr), torch.from_numpy(a.indices),
                                    torch.from_numpy(a.data), a.shape)
        tx, td, te = torch.from_numpy(x), torch.from_numpy(d), torch.from_numpy(e)
        peers = {"SpMV": {"torch": lambda: t @ tx}, "SpMM": {"torch": lambda: t @ td},
                 "SpGEMM": {"torch": lambda: t @ t},
                 "SDDMM": {"torch": lambda: torch.sparse.sampled_addmm(t, td, te, beta=0.0)}}
    if pydata:
        g = pydata.GCXS.from_scipy_sparse(a)
        for name, call in (("SpMV", lambda: g @ x), ("SpMM", lambda: g @ d), ("SpGEMM", lambda: g @ g),
                           ("sum", lambda: g.sum(axis=1))):
            peers.setdefault(name, {})["pydata"] = call

    def scipy_sddmm():
        c = a.tocoo()
        return sp.csr_matrix((c.data * np.einsum("ij,ji->i", d[c.row], e[:, c.col]), a.indices, a.indptr), a.shape)

    b = rng.random(n)
    rows = {
        "SpMV": (lambda: f["y(i) = A(i,j) * x(j)"](A=a, x=x), lambda: a @ x),
        "SpMM": (lambda: f["Y(i,k) = A(i,j) * D(j,k)"](A=a, D=d), lambda: a @ d),
        "SpGEMM": (lambda: f["C(i,k) = A(i,j) * A(j,k)"](A=a), lambda: a @ a),
        "sum": (lambda: f["s(i) = A(i,j)"](A=a), lambda: np.asarray(a.sum(axis=1)).ravel()),
        "SDDMM": (lambda: f["C(i,j) = A(i,j) * D(i,k) * E(k,j)"](A=a, D=d, E=e), scipy_sddmm),
        "chain": (lambda: f["C(i,j) = 2 * A(i,j) * A(i,j) + A(i,j)"](A=a), lambda: 2 * a.multiply(a) + a),
    }
    del b
    for name, (ours, scipy) in rows.items():
        yield name, ours, {"scipy": scipy, **peers.get(name, {})}
    m = max(round(math.cbrt(entries * 20)), 5)
    at = np.unique(rng.integers(0, m ** 3, entries))
    i, j, k = np.unravel_index(at, (m, m, m))
    vals = rng.random(at.size)
    s = distaff.Sparse((m, m, m), "ucq", [(np.array([0, at.size]), i), (None, j), (None, k)], vals).asformat("sss")
    u, v = rng.random((m, 16)), rng.random((m, 16))
    mttkrp = distaff.compile("M(i,r) = T(i,j,k) * U(j,r) * V(k,r)")
    ones = sp.csr_matrix((vals, (i, np.arange(at.size))), (m, at.size))
    yield "MTTKRP", lambda: mttkrp(T=s, U=u, V=v), {"scipy": lambda: ones @ (u[j] * v[k])}


def main():
    largest = float(sys.argv[1]) if len(sys.argv) > 1 else 1e6
    rng, ratios, entries = np.random.default_rng(1), [], 1000
    print(f"{'kernel':8} {'entries':>8} {'distaff':>10}  peers")
    while entries <= largest:
        for name, ours, peers in cases(entries, rng):
            took, r = median(ours, 2)
            others = {}
            for peer, call in peers.items():
                others[peer], want = median(call)
                if peer == "scipy" and entries <= 10000 and not same(r, want):
                    sys.exit(f"{name}: the results differ")
            best = min(others.values())
            ratios.append(took / best)
            print(f"{name:8} {entries:8} {took * 1e6:8.1f} us  " +
                  ", ".join(f"{p} {t * 1e6:.1f}" for p, t in others.items()) + f"  ratio {took / best:.2f}")
        entries *= 10
    print(f"geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
