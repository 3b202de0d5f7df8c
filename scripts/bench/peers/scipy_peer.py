"""Times a kernel of SciPy on matrices that `bench` dumped (peers.go gives the
layout): scipy_peer.py KERNEL THREADS REPEAT FILE... prints, in one line, the
times in seconds and the sum of the result's values. SciPy's kernels have one thread.
cgN is N steps of conjugate gradients."""
import sys
import time

import numpy as np
import scipy
import scipy.sparse as sp
from scipy.sparse.linalg import cg


def sparse(path):
    with open(path, "rb") as f:
        rows, cols, n = np.fromfile(f, np.int64, 3)
        pos = np.fromfile(f, np.int32, rows + 1)
        crd = np.fromfile(f, np.int32, n)
        return sp.csr_matrix((np.fromfile(f, np.float64, n), crd, pos), shape=(rows, cols))


def dense(path):
    with open(path, "rb") as f:
        rows, cols, _ = np.fromfile(f, np.int64, 3)
        return np.fromfile(f, np.float64, rows * cols).reshape(rows, cols)


def product(a, b):
    y = a @ b
    y.sort_indices()
    return y


kernel, repeat, files = sys.argv[1], int(sys.argv[3]), sys.argv[4:]
a = sparse(files[0])
if kernel == "spmv":
    x = dense(files[1])[:, 0].copy()
    run = lambda: a @ x
elif kernel == "spmm":
    x = dense(files[1])
    run = lambda: a @ x
elif kernel == "spadd":
    b = sparse(files[1])
    run = lambda: a + b
elif kernel == "spadd3":
    b, c = sparse(files[1]), sparse(files[2])
    run = lambda: a + b + c
elif kernel == "spgemm":
    b = sparse(files[1])
    run = lambda: product(a, b)
elif kernel.startswith("cg"):
    b = dense(files[1])[:, 0].copy()
    modern = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 12)
    never = {"rtol" if modern else "tol": 0, "atol": 0, "maxiter": int(kernel[2:])}
    run = lambda: cg(a, b, **never)[0]
else:
    sys.exit(2)
times = []
for r in range(repeat + 1):
    at = time.perf_counter()
    y = run()
    times.append(time.perf_counter() - at)
print(*("%.9f" % t for t in times[1:]), repr(float(y.sum())))
