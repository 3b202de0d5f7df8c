#!/usr/bin/env bash
# Installs the libraries that `make bench` compares with, from Debian's
# packages: Eigen, SciPy, PETSc and ScaLAPACK with OpenBLAS. Idempotent; where it may not install, it says
# so and leaves with 0. SPLATT is in no Debian release: `make bench` finds it by SPLATT_DIR (docs/benchmarks.md).
set -u
want=()
[ -d /usr/include/eigen3 ] || want+=(libeigen3-dev)
/usr/bin/python3 -c 'import scipy.sparse' > /dev/null 2>&1 || want+=(python3-scipy)
ls /usr/lib/petscdir/petsc*/*-real/lib/pkgconfig/[Pp][Ee][Tt][Ss][Cc].pc > /dev/null 2>&1 || want+=(libpetsc-real-dev)
ls /usr/lib/*/libscalapack-openmpi.so > /dev/null 2>&1 || want+=(libscalapack-openmpi-dev)
ls /usr/lib/*/libopenblas.so > /dev/null 2>&1 || want+=(libopenblas-dev)
if [ ${#want[@]} -eq 0 ]; then
    echo "install-peers: Eigen, SciPy, PETSc, ScaLAPACK and OpenBLAS are there"
    exit 0
fi
source "$(dirname "$0")/apt.sh"
apt_install install-peers "${want[@]}"
