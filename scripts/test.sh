#!/usr/bin/env bash
# `make test`: installs what is missing where it may, then runs every test,
# prints a line a package as it ends, and says what was skipped and why. One
# package more than there are cores runs at once, since tests under a launcher
# wait much, and those that take longest begin first. Tests leave much garbage beside little that
# lives: it is collected four times as late as by default, which takes up to a fifth off a package's time.
# The tests have a budget of processor time (BUDGET, builds included): twice what they take.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/testsum" ./scripts/testsum
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -c .)
export GOGC=${GOGC:-400}
"$bin/testsum" -packages "$packages" -budget "${BUDGET:-25m}" go test -p "$(($(nproc) + 1))" -timeout 30m -json \
    ./spmd/oracle ./spmd ./cmd/distaff ./spmd/comm/mpi ./spmd/jobs ./codegen/emit/c ./spmd/load ./slurm ./...
