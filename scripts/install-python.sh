#!/usr/bin/env bash
# Installs NumPy, SciPy and pytest for the system's Python, from Debian's packages, for
# the tests that hold files and leaves to them, and for the tests of the Python package. Idempotent; where it may not
# install, it says so and leaves with 0. Tests look for a Python that has them:
# PATH's python3 first, then /usr/bin/python3 (io/pythontest).
set -u
for python in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$python" -c 'import numpy, scipy.sparse, pytest, venv' > /dev/null 2>&1; then
        echo "install-python: $python has NumPy, SciPy and pytest"
        exit 0
    fi
done
source "$(dirname "$0")/apt.sh"
apt_install install-python python3 python3-numpy python3-scipy python3-pytest python3-venv python3-pip
