#!/usr/bin/env bash
# Installs what the tests can use beyond Go, gcc, make and git, where apt may
# be used; says what is missing otherwise. Idempotent and quiet. Nothing here
# is needed to build or run Distaff on one node.
set -u
cd "$(dirname "$0")"
if [ "${DISTAFF_NO_APT:-}" ]; then
    echo "setup: DISTAFF_NO_APT is set: nothing installed"
    exit 0
fi
for s in install-mpi.sh install-slurm.sh install-python.sh install-nvrtc.sh; do
    if [ -x "$s" ]; then ./"$s" || echo "setup: $s failed; its tests will skip"; fi
done
exit 0
