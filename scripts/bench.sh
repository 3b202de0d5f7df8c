#!/usr/bin/env bash
# `make bench`: the tables of scripts/bench, then the readers' and writers'
# own benchmarks. SCALE shrinks the inputs (default 1: up to 10M entries), ONLY
# picks sections, MATCH lines of them and PEERS libraries that leaves are compared with, by regular expressions
# (docs/bench-lines.md). LIST=1 prints the names of the lines and measures nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
go run ./scripts/bench -scale "${SCALE:-1}" ${ONLY:+-only "$ONLY"} ${MATCH:+-lines "$MATCH"} ${PEERS:+-peers "$PEERS"} ${LIST:+-list}
[ -n "${ONLY:-}${LIST:-}" ] || go test ./io/... -run '^$' -bench . -benchtime 1x
