#!/usr/bin/env bash
# `make fuzz`: the random oracle at length (N statements and N schedules, default
# 20000), MUTATIONS changed files of every format (default 5000), then every fuzz target for FUZZTIME (default 20s) each.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${SEED:-$(date +%s)}
sweep() { # TITLE FLAGS...
    echo "$1: ${N:-20000} cases, seed $seed"
    go test ./spmd/oracle -count=1 -timeout 120m "${@:2}" -oracle.n="${N:-20000}" -oracle.seed="$seed" -v
}
sweep "random schedules, interpreted; a tenth compiled" -run OracleSchedules
sweep "random statements" -run Oracle -skip OracleSchedules
DISTAFF_MUTATIONS="${MUTATIONS:-5000}" DISTAFF_MUTATIONS_FIRST="$((seed % 1000000000))" go test ./cmd/distaff -count=1 -timeout 120m -run '^TestMutations$' -v
DISTAFF_FAULTS="${FAULTS:-200}" go test ./cmd/distaff -count=1 -timeout 60m -run '^TestFaults$' -v
go list ./... | while read -r pkg; do
    dir=$(go list -f '{{.Dir}}' "$pkg")
    { grep -hoE '^func (Fuzz[A-Za-z0-9_]+)' "$dir"/*_test.go 2>/dev/null || true; } | awk '{print $2}' | while read -r f; do
        echo "fuzz: $pkg $f"
        go test "$pkg" -run '^$' -fuzz "^$f\$" -fuzzminimizetime 1x -fuzztime "${FUZZTIME:-20s}"
    done
done
