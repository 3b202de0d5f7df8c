#!/usr/bin/env bash
# `make test`: installs what is missing where it may, then runs every test,
# prints a line a package as it ends, and says what was skipped and why. Two
# packages more than there are cores run at once: tests under a launcher (spmd/comm/mpi, slurm) wait nearly all
# the time, and those that store files half of it. Those that take longest begin first. Tests leave much garbage beside little that
# lives: it is collected four times as late as by default, which takes up to a fifth off a package's time.
# Leaves and MPI wrappers are kept in a new folder: no test passes by what an earlier run compiled.
# The tests have a budget of processor time (BUDGET, builds included): twice what they take.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -m 700 "$work/cache"
export DISTAFF_CACHE=$work/cache
go build -o "$work/testsum" ./scripts/testsum
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -c .)
export GOGC=${GOGC:-400}
"$work/testsum" -packages "$packages" -budget "${BUDGET:-25m}" go test -p "$(($(nproc) + 2))" -timeout 30m -json \
    ./spmd/oracle ./cmd/distaff ./spmd/comm/mpi ./spmd ./slurm ./spmd/jobs ./codegen/emit/c ./spmd/load ./...
