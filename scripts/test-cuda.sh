#!/usr/bin/env bash
# `make test-cuda`: the tests of leaves on a GPU, on one, or why they did not run.
#
#   scripts/test-cuda.sh          builds the test binaries where there is Go, and runs them
#   scripts/test-cuda.sh build    builds them alone, into bin/cuda: copied with this script to a machine
#                                 with a GPU and no Go (in the same folders), they run there
#
# N is how many random cases each test has (default: its own number).
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/bin/cuda
go=${GO:-go}
if command -v "$go" > /dev/null; then
    mkdir -p "$bin"
    "$go" test -c -o "$bin/oracle.test" ./spmd/oracle
    "$go" test -c -o "$bin/cuda.test" ./kernels/cuda
    "$go" build -o "$bin/distaff" ./cmd/distaff
elif [ ! -x "$bin/oracle.test" ]; then
    echo "test-cuda: no Go on PATH, and no $bin/oracle.test, which 'scripts/test-cuda.sh build' makes on a machine with Go" >&2
    exit 1
fi
[ "${1:-}" != build ] || exit 0
found=$("$bin/distaff" doctor 2> /dev/null | grep -E '^[a-z]+ +(CUDA|NVRTC|GPU) ') || true
echo "$found" | sed 's/^/test-cuda: /'
if ! grep -q '^ok *CUDA' <<< "$found" || ! grep -q '^ok *GPU' <<< "$found" || ! grep -q '^ok *NVRTC' <<< "$found"; then
    echo "test-cuda: nothing was run: it takes a GPU, its driver and NVRTC"
    exit 0
fi
# A test runs in its package's folder, or beside its binary where that is not there.
run() {
    mkdir -p "$1"
    (cd "$1" && shift && "$@")
}
run kernels/cuda "$bin/cuda.test" -test.v -test.timeout 20m
run spmd/oracle "$bin/oracle.test" -test.v -test.run '^TestCUDA(Programs)?$' -test.timeout 60m ${N:+-oracle.n="$N"}
echo "test-cuda: ok"
