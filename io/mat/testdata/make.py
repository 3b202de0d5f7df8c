"""Writes the files in this folder with SciPy (https://scipy.org), as the tests of package mat read them."""

import os

import numpy as np
import scipy.io
import scipy.sparse as sp

os.chdir(os.path.dirname(os.path.abspath(__file__)))

A = sp.csc_matrix(np.array([[1.5, 0, 0, -2, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 0], [4, 0, 0, 0, 0.25]]))
many = {
    "A": A,
    "D": A.toarray(),
    "Z": A * (1 + 2j),
    "L": A.astype(bool),
    "i8": np.arange(-3, 3, dtype=np.int8).reshape(2, 3),
    "u16": np.array([[0, 7, 65535]], dtype=np.uint16),
    "i64": np.array([[2**53 + 1]]),
    "f4": np.array([[0, 0.5, -1]], dtype=np.float32),
    "c8": np.array([[0, 1 + 2j]], dtype=np.complex64),
    "T": np.arange(24.0).reshape(2, 3, 4),
    "empty": np.zeros((0, 3)),
    "b": np.array([[True, False, True]]),
    "text": "words",
    "cell": np.array([1, "x"], dtype=object),
    "S": {"A": A, "title": "x", "inner": {"v": np.array([[1.0, 2.0]])}},
}
for packed in (False, True):
    suffix = "_packed.mat" if packed else ".mat"
    scipy.io.savemat("many" + suffix, many, do_compression=packed)
    scipy.io.savemat("one" + suffix, {"A": A, "note": "x"}, do_compression=packed)
    problem = {"title": "t", "A": A * (1 - 1j), "b": np.ones((4, 1)), "aux": {"c": np.ones((3, 1))}}
    scipy.io.savemat("problem" + suffix, {"Problem": problem}, do_compression=packed)

# The same numbers in the other byte order: SciPy reads, but does not write it. Each element of
# one.mat is swapped as its type says.
SIZES = {1: 1, 2: 1, 5: 4, 6: 4, 9: 8}


def swap(data, size):
    return b"".join(data[k : k + size][::-1] for k in range(0, len(data), size))


def swap_elements(data):
    out, at = b"", 0
    while at < len(data):
        word = int.from_bytes(data[at : at + 4], "little")
        if word >> 16:
            n, kind, start = word >> 16, word & 0xFFFF, at + 4
        else:
            n, kind, start = int.from_bytes(data[at + 4 : at + 8], "little"), word, at + 8
        end = start + 4 if word >> 16 else start + n + (-n % 8)
        body = data[start:end]
        out += swap(data[at:start], 4)
        out += swap_elements(body) if kind == 14 else swap(body[: len(body)], SIZES.get(kind, 1))
        at = end
    return out


with open("one.mat", "rb") as f:
    whole = f.read()
with open("big.mat", "wb") as f:
    f.write(whole[:124] + b"\x01\x00MI" + swap_elements(whole[128:]))
check = scipy.io.loadmat("big.mat")["A"]
assert (check != A).nnz == 0, check
