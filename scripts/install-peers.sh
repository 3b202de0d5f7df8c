#!/usr/bin/env bash
# Installs the libraries that `make bench` compares with: from Debian's packages Eigen, SciPy, PETSc,
# GraphBLAS and ScaLAPACK with OpenBLAS; MKL, which Debian's main archive lacks, from Python's packages
# into ~/.cache/distaff-peers/mkl (a gigabyte), unless MKLROOT says where one is. Idempotent; where it may
# not install, it says so and leaves with 0. SPLATT and ALTO are in neither: `make bench` finds them by
# SPLATT_DIR and ALTO_DIR (docs/bench-lines.md).
set -u
source "$(dirname "$0")/apt.sh"

want=()
[ -d /usr/include/eigen3 ] || want+=(libeigen3-dev)
/usr/bin/python3 -c 'import scipy.sparse' > /dev/null 2>&1 || want+=(python3-scipy)
ls /usr/lib/petscdir/petsc*/*-real/lib/pkgconfig/[Pp][Ee][Tt][Ss][Cc].pc > /dev/null 2>&1 || want+=(libpetsc-real-dev)
ls /usr/include/GraphBLAS.h /usr/include/suitesparse/GraphBLAS.h 2> /dev/null | grep -q . || want+=(libgraphblas-dev)
ls /usr/lib/*/libscalapack-openmpi.so > /dev/null 2>&1 || want+=(libscalapack-openmpi-dev)
ls /usr/lib/*/libopenblas.so > /dev/null 2>&1 || want+=(libopenblas-dev)
if [ ${#want[@]} -eq 0 ]; then
    echo "install-peers: Eigen, SciPy, PETSc, GraphBLAS, ScaLAPACK and OpenBLAS are there"
else
    apt_install install-peers "${want[@]}"
fi

mkl=${XDG_CACHE_HOME:-$HOME/.cache}/distaff-peers/mkl
if [ -n "${MKLROOT:-}" ] || ls "$mkl"/lib/libmkl_rt.so* "$mkl"/local/lib/libmkl_rt.so* 2> /dev/null | grep -q .; then
    echo "install-peers: MKL is there"
elif [ "$(uname -m)" != x86_64 ]; then
    echo "install-peers: there is no MKL for $(uname -m)"
elif ! python3 -m pip --version > /dev/null 2>&1; then
    echo "install-peers: no pip for python3; wanted: the packages mkl and mkl-include in $mkl"
elif log=$(python3 -m pip install -q --ignore-installed --prefix "$mkl" mkl mkl-include 2>&1); then
    echo "install-peers: installed MKL in $mkl"
else
    echo "install-peers: could not install mkl and mkl-include in $mkl: $(grep -E '^ERROR:' <<< "$log" | head -1)"
fi
exit 0
