#!/usr/bin/env bash
# install.sh PREFIX: installs bin/distaff and bin/tns2tcs, man pages, shell
# completion, sbatch scripts, the documentation with the files that it cites,
# and the wrapper of every MPI whose mpicc is found. BIN is the folder of the
# two programs (default: bin).
set -euo pipefail
prefix=${1:?install.sh PREFIX}
cd "$(dirname "$0")/.."
bin=${BIN:-bin}
install -d "$prefix/bin" "$prefix/share/distaff" "$prefix/share/doc/distaff" "$prefix/share/bash-completion/completions" "$prefix/lib/distaff"
install -m 755 "$bin/distaff" "$bin/tns2tcs" "$prefix/bin/"
"$bin/distaff" man "$prefix/share/man"
"$bin/distaff" completion bash > "$prefix/share/bash-completion/completions/distaff"
if [ -d slurm ]; then
    install -d "$prefix/share/distaff/slurm"
    find slurm -name '*.sbatch' -exec install -m 644 {} "$prefix/share/distaff/slurm/" \;
fi
# Pages link to one another, to job files and to their data, so the tree keeps its shape.
find README.md LICENSE docs/ testdata/*.* testdata/jobs/ testdata/real/ spmd/jobs/testdata/scaling.md \
    -type f ! -name '*.out.*' | while read -r file; do
    install -D -m 644 "$file" "$prefix/share/doc/distaff/$file"
done
"$bin/distaff" wrappers "$prefix/lib/distaff"
echo "install: $prefix"
