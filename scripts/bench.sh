#!/usr/bin/env bash
# `make bench`: leaves against kernels written by hand, then the readers and
# writers. SCALE shrinks the inputs (default 1: up to 10M entries).
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./scripts/bench -scale "${SCALE:-1}" ${ONLY:+-only "$ONLY"}
go test ./io/... -run '^$' -bench . -benchtime 1x
