#!/usr/bin/env bash
# install.sh PREFIX: installs bin/distaff and bin/tns2tcs, man pages, shell
# completion, sbatch scripts, and the wrapper of every MPI whose mpicc is found.
set -euo pipefail
prefix=${1:?install.sh PREFIX}
cd "$(dirname "$0")/.."
install -d "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/distaff" "$prefix/share/bash-completion/completions" "$prefix/lib/distaff"
install -m 755 bin/distaff bin/tns2tcs "$prefix/bin/"
bin/distaff man "$prefix/share/man/man1"
bin/distaff completion bash > "$prefix/share/bash-completion/completions/distaff"
if [ -d slurm ]; then
    install -d "$prefix/share/distaff/slurm"
    find slurm -name '*.sbatch' -exec install -m 644 {} "$prefix/share/distaff/slurm/" \;
fi
bin/distaff wrappers "$prefix/lib/distaff"
echo "install: $prefix"
