#!/usr/bin/env bash
# `make test`: installs what is missing where it may, then runs every test and
# says what was skipped and why.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -timeout 30m -json ./... > "$log" || status=$?
go run ./scripts/testsum < "$log" || status=1
exit "$status"
