"""Threads, signals, child processes, and memory."""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

import distaff


def test_threads():
    """Threads call one statement and statements of their own side by side."""
    shared = distaff.compile("y(i) = A(i,j) * x(j)")
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        own = distaff.compile(f"C{seed}(i,k) = A(i,j) * B(j,k)")
        for n in range(60):
            size = 5 + (n + seed) % 3
            a = sp.random(size, size, 0.5, "csr", random_state=seed)
            x = rng.random(size)
            if not np.allclose(shared(A=a, x=x), a @ x):
                wrong.append((seed, n))
            if n % 10 == 0 and not np.allclose(own(A=a, B=a).toarray(), (a @ a).toarray()):
                wrong.append((seed, n))

    list_ = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in list_:
        t.start()
    for t in list_:
        t.join()
    assert not wrong


def test_interrupt():
    """A signal during a long run raises KeyboardInterrupt soon, and later calls work."""
    n = 1500
    a = np.ones((n, n))
    f = distaff.compile("t = A(i,j) * A(k,j) * A(k,i) * A(i,k)")
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    at = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        while True:
            f(A=a)
    assert time.monotonic() - at < 20
    assert distaff.einsum("i->", np.ones(5)) == 5


def test_growth():
    """A thousand calls and a thousand statements keep no memory."""
    a, x = sp.random(50, 50, 0.2, "csr", random_state=1), np.ones(50)

    def round_(start, n):
        for k in range(start, start + n):
            distaff.compile(f"y{k}(i) = A(i,j) * x(j) * {k}.5")(A=a, x=x)
            for _ in range(5):
                distaff.einsum("ij,jk->ik", a, a)
        gc.collect()
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    before = round_(0, 150)
    after = max(round_(1000, 150), 0)
    after = min(after, round_(2000, 150))
    assert after - before < 48 << 20, (before, after)


CHILD = """
import os, sys, numpy as np, distaff
distaff.einsum("i->", np.ones(3))
if os.fork() == 0:
    try:
        distaff.einsum("i->", np.ones(3))
    except RuntimeError as e:
        os._exit(0 if "fork" in str(e) else 1)
    os._exit(2)
sys.exit(os.wait()[1])
"""


def test_fork():
    assert subprocess.run([sys.executable, "-c", CHILD]).returncode == 0


def test_without_compiler(tmp_path):
    """Without a C compiler a built-in leaf or the interpreter runs the statement."""
    program = ("import numpy as np, scipy.sparse as sp, distaff\n"
               "a = sp.random(40, 40, 0.3, 'csr', random_state=1); x = np.ones(40)\n"
               "for n in range(3):\n"
               "    assert np.allclose(distaff.einsum('ij,j->i', a, x), a @ x)\n"
               "    assert np.allclose(distaff.einsum('ij,ij,ij->j', a, a, a), (a.toarray()**3).sum(0))\n")
    env = dict(os.environ, DISTAFF_CC="", PATH=str(tmp_path), DISTAFF_CACHE=str(tmp_path / "cache"))
    os.mkdir(tmp_path / "cache", 0o700)
    r = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert r.returncode == 0, r.stderr


def test_command_line():
    r = subprocess.run([sys.executable, "-m", "distaff", "version"], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.startswith("distaff ")
    r = subprocess.run([sys.executable, "-m", "distaff", "rum"], capture_output=True, text=True)
    assert r.returncode == 2 and "run" in r.stderr


RANKS = """
import numpy as np, scipy.sparse as sp, distaff
distaff.options(ranks=3)
a = sp.random(100, 80, 0.1, "csr", random_state=1)
x, y = np.arange(80.0), np.ones(100)
for _ in range(3):
    assert np.allclose(distaff.compile("y(i) = A(i,j) * x(j)")(A=a, x=x), a @ x)
    assert np.allclose(distaff.compile("y(i) += A(i,j) * x(j)")(A=a, x=x, y=y), a @ x + 1)
assert np.allclose(distaff.einsum("ij,kj->ik", a, a).toarray(), (a @ a.T).toarray())
try:
    distaff.einsum("i,i->", np.ones(2), np.ones(3))
    raise SystemExit("no error")
except ValueError:
    pass
r = distaff.program("tensor A(n, m): ds\\ntotal = A(i,j)\\n")(A=a)
assert np.isclose(r.total, a.sum())
"""


def test_ranks():
    assert subprocess.run([sys.executable, "-c", RANKS]).returncode == 0
