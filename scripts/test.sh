#!/usr/bin/env bash
# `make test`: installs what is missing where it may, then runs every test. It prints a line for each
# package when the package ends, and at the end the failures and the skipped tests with reasons.
# Two packages more than there are cores run at once, because tests under a launcher (spmd/comm/mpi,
# slurm) wait nearly all the time, and tests that store files wait half of it. The packages that take
# longest begin first. Tests leave much garbage beside little live memory: the collector runs a quarter
# as often as by default, which takes up to a fifth off a package's time.
# Leaves and MPI wrappers are kept in a new folder, so that no test passes because of what an earlier
# run compiled. The tests have a budget of processor time in minutes, builds included (BUDGET): twice
# what they take.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -m 700 "$work/cache"
export DISTAFF_CACHE=$work/cache GOGC=${GOGC:-400}
budget=${BUDGET:-25} status=0
go tool gotestsum --format pkgname --format-icons text --format-hide-empty-pkg -- \
    -p "$(($(nproc) + 2))" -timeout 30m \
    ./spmd/oracle ./cmd/distaff ./spmd/comm/mpi ./spmd ./slurm ./spmd/jobs ./codegen/emit/c ./spmd/load ./... ||
    status=$?
times >"$work/times"
used=$(awk 'NR == 2 { split($1, u, "m"); split($2, s, "m"); print int(u[1] + s[1] + (u[2] + s[2]) / 60) }' "$work/times")
echo "the tests took $used minutes of processor time"
if ((used > budget)); then
    echo "that is more than their budget of $budget minutes (BUDGET)" >&2
    exit 1
fi
exit "$status"
