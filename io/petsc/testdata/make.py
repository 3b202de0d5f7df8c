"""Writes the files in this folder with PETSc's own PetscBinaryIO.py, whose folder is the argument."""

import os
import sys

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, os.path.abspath(sys.argv[1]))
import PetscBinaryIO

os.chdir(os.path.dirname(os.path.abspath(__file__)))

A = sp.csr_matrix(np.array([[1.5, 0, 0, -2, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 0], [4, 0, 0, 0, 0.25]]))
x = np.array([1.0, 0.0, -2.5])
for name, precision, indices, scalar in (
    ("double", "double", "32bit", "real"),
    ("complex", "double", "32bit", "complex"),
    ("wide", "double", "64bit", "real"),
    ("single", "single", "32bit", "real"),
):
    p = PetscBinaryIO.PetscBinaryIO(precision=precision, indices=indices, complexscalars=scalar == "complex")
    factor = 1 + 2j if scalar == "complex" else 1
    with open(name + ".petsc", "wb") as f:
        p.writeMatSciPy(f, A * factor)
        p.writeVec(f, x * factor)
        p.writeVec(f, x[:0] * factor)
        p.writeIS(f, np.array([3, 0, 7]).view(PetscBinaryIO.IS))
A.toarray().astype(">f8").tofile("values")
with open("values", "rb") as f, open("dense.petsc", "wb") as out:
    out.write(np.array([1211216, 4, 5, -1], dtype=">i4").tobytes() + f.read())
os.remove("values")
