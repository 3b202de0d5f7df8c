#!/usr/bin/env bash
# Installs Open MPI and MPICH side by side, from Debian's packages, for the
# tests that want them. Idempotent; where it may not install, it says so and
# leaves with 0. Afterwards mpicc.openmpi, mpirun.openmpi, mpicc.mpich and
# mpirun.mpich are there; the bare names are Open MPI's.
set -u
have() { command -v "$1" > /dev/null 2>&1; }
want=()
have mpicc.openmpi && have mpirun.openmpi || want+=(openmpi-bin libopenmpi-dev)
have mpicc.mpich && have mpirun.mpich || want+=(mpich libmpich-dev)
if [ ${#want[@]} -eq 0 ]; then
    echo "install-mpi: Open MPI and MPICH are there"
    exit 0
fi
source "$(dirname "$0")/apt.sh"
apt_install install-mpi "${want[@]}"
