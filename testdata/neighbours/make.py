"""Writes the files in this folder with the libraries that their formats belong to.

Needs numpy, scipy. All matrices are the matrix A of 4 rows and 5 columns, or its parts.
"""

import bz2
import io
import lzma
import os
import tarfile

import numpy as np
import scipy.io
import scipy.sparse as sp

os.chdir(os.path.dirname(os.path.abspath(__file__)))

A = sp.csr_matrix(np.array([[1.5, 0, 0, -2, 0], [0, 0, 3, 0, 0], [0, 0, 0, 0, 0], [4, 0, 0, 0, 0.25]]))
b = np.array([1.0, 2.0, 3.0, 4.0])


def text(m):
    out = io.BytesIO()
    scipy.io.mmwrite(out, m)
    return out.getvalue()


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


write("A.mtx", text(A))
write("A.mtx.bz2", bz2.compress(text(A)))
write("A.mtx.xz", lzma.compress(text(A)))
for archive, names in ("A.tar.gz", ["A/A_b.mtx", "A/A.mtx"]), ("single.tgz", ["x/A.mtx"]):
    with tarfile.open(archive, "w:gz") as t:
        for name in names:
            data = text(b.reshape(4, 1) if "_b" in name else A)
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
np.savez("arrays.npz", A=A.toarray(), b=b)
sp.save_npz("bsr.npz", A.tobsr((2, 5)))

# pandas.DataFrame.to_csv writes this for the columns row, col and weight.
coo = A.tocoo()
lines = ["row,col,weight"] + ["%d,%d,%s" % (i + 1, j + 1, v) for i, j, v in zip(coo.row, coo.col, coo.data)]
write("A.csv", "\n".join(lines).encode() + b"\n")
# networkx.write_edgelist(G, data=False) with its comments.
write("graph.el", b"#networkx\n# GMT\n#\n0 1\n0 3\n2 3\n3 0\n")

scipy.io.savemat("A.mat", {"A": A}, do_compression=True)
scipy.io.savemat("Problem.mat", {"Problem": {"name": "x/A", "A": A, "x": np.ones((5, 1))}})

# The first object of io/petsc/testdata/double.petsc, which PETSc's PetscBinaryIO.py wrote.
with open("../../io/petsc/testdata/double.petsc", "rb") as f:
    write("A.petsc", f.read(16 + 4 * 4 + 5 * 4 + 5 * 8))
