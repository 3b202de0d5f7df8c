"""Writes the files of this folder: python3 make.py, with NumPy, SciPy 1.15 or later, and
pydata/sparse 0.16 or later (PyPI's sparse)."""
import io, sys, zipfile
import numpy as np, scipy.sparse as sp, sparse

a = np.array([[1, 0, 2], [0, -3, 4]])
for t in ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "c16", "c8"]:
    np.save(t + ".npy", a.astype("<" + t))
for t in ["u8", "u4", "u2", "u1", "?"]:
    np.save(("b1" if t == "?" else t) + ".npy", abs(a).astype(t))
for t in ["f8", "i4", "c16", "f2", "u8", "i2"]:
    np.save("big_" + t + ".npy", abs(a).astype(">" + t))
np.save("fortran.npy", np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)))
np.save("order0.npy", np.float64(2.5))
np.save("order0_zero.npy", np.float64(0))
np.save("order1.npy", np.arange(3.0))
np.save("order8.npy", np.arange(256, dtype="i4").reshape(2, 2, 2, 2, 2, 2, 2, 2))
np.save("empty.npy", np.zeros((3, 0)))
np.save("special.npy", np.array([-0.0, 0.0, np.inf, np.nan]))
np.save("halves.npy", np.array([6.1e-5, 5.96e-8, 65504, np.inf, -1.5], dtype="f2"))
for v in (2, 3):
    with open("version%d.npy" % v, "wb") as f:
        np.lib.format.write_array(f, np.arange(3.0), version=(v, 0))
np.save("objects.npy", np.array([1, "x", None], dtype=object), allow_pickle=True)
np.save("strings.npy", np.array(["x", "yz"]))
np.save("records.npy", np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))
np.save("dates.npy", np.array(["2020-01-01"], dtype="M8[D]"))
np.save("huge_uint.npy", np.array([2**63], dtype="u8"))

m = sp.csr_matrix(np.array([[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, 0, -3], [0, 0, 0, 4]], dtype="f8"))
m2 = m.copy()
m2.data[1] = 0  # a stored zero
for c in (True, False):
    suffix = "_deflated" if c else ""
    sp.save_npz("csr%s.npz" % suffix, m2, compressed=c)
    sp.save_npz("csc%s.npz" % suffix, m2.tocsc(), compressed=c)
    sp.save_npz("coo%s.npz" % suffix, m2.tocoo(), compressed=c)
    sp.save_npz("bsr%s.npz" % suffix, sp.bsr_matrix(m.toarray(), blocksize=(2, 2)), compressed=c)
    sp.save_npz("dia%s.npz" % suffix, m.todia(), compressed=c)
sp.save_npz("array_csr.npz", sp.csr_array(m2))
sp.save_npz("int.npz", m.astype("i8"))
sp.save_npz("complex.npz", (m * (1 + 2j)).tocsr())
w = m.copy()
w.indices, w.indptr = w.indices.astype("i8"), w.indptr.astype("i8")
sp.save_npz("wide.npz", w)
d = sp.dia_matrix((np.array([[1, 2, 3, 4, 5.0], [6, 7, 8, 9, 10]]), [1, -2]), shape=(3, 5))
sp.save_npz("dia_wide.npz", d)
np.savez("dia_fortran.npz", format=b"dia", shape=(3, 5), data=np.asfortranarray(d.data), offsets=d.offsets)
np.savez("format_string.npz", format="coo", shape=np.array([2, 3]), row=[1], col=[2], data=[5.0])
np.savez("one.npz", np.arange(6).reshape(2, 3))
np.savez("two.npz", a=np.arange(3), b=np.arange(3))
np.savez("objects.npz", format=b"coo", shape=(2, 2), row=[0], col=[1], data=np.array([None], dtype=object))

# Coordinates of any order. coo_old.npz is what pydata/sparse before 0.16 writes.
at = np.array([[0, 1, 1], [2, 0, 1], [3, 3, 0]])
sp.save_npz("coo3.npz", sp.coo_array((np.array([1.5, 0, -3]), tuple(at)), shape=(2, 3, 4)))
sp.save_npz("coo3_stored.npz", sp.coo_array((np.array([1.5, 0, -3], "c8"), tuple(at.astype("i4"))), shape=(2, 3, 4)), compressed=False)
sp.save_npz("coo1.npz", sp.coo_array((np.array([1, 2], "i4"), (np.array([4, 0]),)), shape=(6,)))
sp.save_npz("csr1.npz", sp.csr_array((np.array([2, 1], "i4"), np.array([0, 4]), np.array([0, 2])), shape=(6,)))
# As SciPy 1.13 and 1.14 save a COO array of one dimension, which has a row of zeros for them.
np.savez_compressed("coo1_row.npz", row=np.zeros(2, "i4"), col=np.array([4, 0]), format=b"coo", shape=(6,), data=np.array([1, 2], "i4"))
sparse.save_npz("sparse3.npz", sparse.COO(at, np.array([1.5, 0, -3]), shape=(2, 3, 4)))
sparse.save_npz("sparse2.npz", sparse.COO(at[:2], np.array([1.5, 2, -3]), shape=(2, 3)))
sparse.save_npz("sparse0.npz", sparse.COO(np.zeros((0, 1), dtype=int), np.array([2.5]), shape=()))
sparse.save_npz("sparse_empty.npz", sparse.COO(np.zeros((1, 0), dtype=int), np.array([]), shape=(5,)))
sparse.save_npz("sparse_fill.npz", sparse.COO(at, np.array([1.5, 0, -3]), shape=(2, 3, 4), fill_value=7.0))
sparse.save_npz("sparse_gcxs.npz", sparse.GCXS.from_coo(sparse.COO(at, np.array([1.5, 2, -3]), shape=(2, 3, 4))))
np.savez("coo_old.npz", data=np.array([1.5, 0, -3]), coords=at, shape=(2, 3, 4), fill_value=0.0)
np.savez("coo_fortran.npz", format="coo", data=np.array([1.5, 0, -3]), coords=np.asfortranarray(at), shape=(2, 3, 4))
# Index arrays of floats that are integers, as MATLAB has them.
np.savez("csr_float.npz", format=b"csr", shape=np.array([4.0, 4]), indptr=m2.indptr.astype(">f8"), indices=m2.indices.astype("f4"), data=m2.data)
np.savez("coo_float.npz", format=b"coo", shape=(4, 4), row=m2.tocoo().row.astype("f8"), col=m2.tocoo().col.astype("f2"), data=m2.data)
np.savez("coo3_float.npz", format="coo", shape=(2, 3, 4), coords=at * 1.0, data=np.array([1.5, 0, -3]))

# Malformed ones.
def npz(name, **kw):
    np.savez(name, **kw)
npz("bad_row.npz", format=b"coo", shape=(2, 2), row=[0, 2], col=[1, 1], data=[1.0, 2])
npz("bad_count.npz", format=b"coo", shape=(2, 2), row=[0, 1], col=[1], data=[1.0, 2])
npz("bad_indptr.npz", format=b"csr", shape=(2, 2), indptr=[0, 2, 1], indices=[0, 1], data=[1.0, 2])
npz("bad_indptr_len.npz", format=b"csr", shape=(2, 2), indptr=[0, 2], indices=[0, 1], data=[1.0, 2])
npz("bad_indptr_first.npz", format=b"csr", shape=(2, 2), indptr=[1, 1, 2], indices=[0, 1], data=[1.0, 2])
npz("bad_indptr_last.npz", format=b"csr", shape=(2, 2), indptr=[0, 1, 1], indices=[0, 1], data=[1.0, 2])
npz("bad_index.npz", format=b"csr", shape=(2, 2), indptr=[0, 1, 2], indices=[0, -1], data=[1.0, 2])
npz("bad_data.npz", format=b"csr", shape=(2, 2), indptr=[0, 1, 2], indices=[0, 1], data=[1.0])
npz("bad_shape.npz", format=b"csr", shape=(2, 2, 2), indptr=[0, 1, 2], indices=[0, 1], data=[1.0, 2])
npz("bad_format.npz", format=b"xyz", shape=(2, 2))
npz("bad_float.npz", format=b"csr", shape=(2, 2), indptr=[0, 1.5, 2], indices=[0, 1], data=[1.0, 2])
npz("bad_float_range.npz", format=b"coo", shape=(2, 2), row=[0.0, 2], col=[1, 1], data=[1.0, 2])
npz("bad_float_nan.npz", format=b"coo", shape=(2, 2), row=[0, np.nan], col=[1, 1], data=[1.0, 2])
npz("bad_float_large.npz", format=b"coo", shape=(2, 2), row=[0, 1], col=[1, 2.0**63], data=[1.0, 2])
npz("bad_complex.npz", format=b"coo", shape=(2, 2), row=[0j, 1], col=[1, 1], data=[1.0, 2])
npz("bad_block.npz", format=b"bsr", shape=(3, 3), indptr=[0, 1], indices=[0], data=np.ones((1, 2, 2)))
npz("missing.npz", format=b"csr", shape=(2, 2), indptr=[0, 1, 2], data=[1.0, 2])
def points(name, **kw):
    npz(name, **{**dict(format="coo", shape=(2, 3, 4), coords=at, data=[1.0, 2, 3]), **kw})
points("bad_coords_low.npz", coords=at - 1)
points("bad_coords_high.npz", shape=(2, 3, 3))
points("bad_coords_fortran.npz", shape=(2, 2, 4), coords=np.asfortranarray(at))
points("bad_coords_rows.npz", coords=at[:2])
points("bad_coords_count.npz", data=[1.0, 2])
points("bad_coords_flat.npz", coords=at.ravel())
points("bad_coords_float.npz", coords=at + [[0], [0.5], [0]])
points("bad_coords_objects.npz", coords=at.astype(object))
points("bad_data_objects.npz", data=np.array([1, 2, None], dtype=object))
points("bad_shape_negative.npz", shape=(2, -3, 4))
points("bad_shape_past.npz", shape=np.array([2, 2**62, 4]))
points("bad_shape_float.npz", shape=np.array([2, 3.5, 4]))
points("bad_shape_many.npz", shape=(1,) * 65)
points("bad_fill_string.npz", fill_value="zero")
points("bad_fill_array.npz", fill_value=[0.0])
npz("bad_none.npz", coords=at, data=[1.0, 2, 3])
with zipfile.ZipFile("member.npz", "w") as z:
    z.writestr("readme.txt", "no array")
