#!/usr/bin/env bash
# `make check`: format, vet, staticcheck, import graph, tidy, goldens and
# generated files, and no diff afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=$(gofmt -l cmd codegen io kernels spmd scripts)
if [ -n "$bad" ]; then
    echo "check: gofmt would change:"; echo "$bad"; exit 1
fi
echo "check: vet";         go vet ./...
echo "check: staticcheck"; go tool staticcheck ./...
echo "check: imports";     go test -count=1 ./cmd
echo "check: tidy";        go mod tidy -diff
echo "check: goldens";     go test -count=1 ./codegen/... -run Golden; go test -count=1 ./spmd/jobs -run Scaling
echo "check: generated";   go generate ./...; go run ./scripts/pictures
if [ -n "$(git status --porcelain)" ]; then
    echo "check: the tree differs after generation:"; git status --porcelain; git diff | head -50; exit 1
fi
echo "check: ok"
