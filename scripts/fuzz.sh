#!/usr/bin/env bash
# `make fuzz`: everything random, at length, in stages; about three quarters of an
# hour on two cores. All draw from one seed (SEED; the time without it), which each
# stage prints, so that a failure comes again with it. SCALE multiplies every count
# (default 1), ONLY picks stages by a regular expression of their names, FUZZTIME is
# how long each fuzz target runs (default 45s). A table of all stages ends the run,
# which fails where one did.
set -uo pipefail
cd "$(dirname "$0")/.."
seed=${SEED:-$(date +%s)}
scale=${SCALE:-1}
logs=$(mktemp -d)
table=()
failed=0

# late LOG: whether go test only failed because a fuzz target's time ended within an input.
late() { grep -q 'context deadline exceeded' "$1" && ! grep -q 'Failing input' "$1"; }

# stage NAME COUNT COMMAND...: runs the command, in whose arguments and environment %N and
# %S stand for the count and the seed, shows what it says in sum, and all of it if it fails.
stage() {
    local name=$1 count log="$logs/$((${#table[@]} + 1))" begun=$SECONDS status=ok args=()
    count=$(awk -v n="$2" -v s="$scale" 'BEGIN { c = int(n * s); print c < 1 ? 1 : c }')
    [[ $name =~ ${ONLY:-} ]] || return 0
    for a in "${@:3}"; do
        a=${a//%N/$count}
        args+=("${a//%S/$seed}")
    done
    echo "$name: $count, seed $seed"
    echo "    ${args[*]}"
    if ! env "${args[@]}" >"$log" 2>&1 && ! late "$log"; then
        status=FAIL failed=$((failed + 1))
        cat "$log"
    elif grep -q -- '--- SKIP' "$log"; then
        status=skipped
    fi
    grep -hoE '_test\.go:[0-9]+: .*(cases|jobs|faults|files|right|ranks: [0-9]+ runs|ranks in).*' "$log" | sed 's/^[^ ]* /    /' || true
    table+=("$(printf '%-44s %8s %12s %8d  %s' "$name" "$count" "$seed" $((SECONDS - begun)) "$status")")
}

# oracle NAME COUNT TEST: a test of spmd/oracle.
oracle() { stage "$1" "$2" go test ./spmd/oracle -count=1 -timeout 60m -v -run "$3" -oracle.n=%N -oracle.seed=%S; }

oracle "statements, interpreted" 20000 '^TestOracleInterp$'
oracle "schedules, interpreted" 20000 '^TestOracleSchedules$'
oracle "default schedules, printed and given back" 1000 '^TestPrintedSchedules$'
oracle "schedules on a GPU, interpreted" 5000 '^TestOracleGPU$'
oracle "schedules on an emulated GPU" 100 '^TestOracleGPUEmulated$'
oracle "jobs on emulated GPUs, on 1 and 2 ranks" 60 '^TestOracleGPUJobs$'
oracle "programs on emulated GPUs" 60 '^TestOracleGPUPrograms$'
oracle "contracted products, interpreted" 5000 '^TestOracleNetworks$'
oracle "contracted products on ranks" 1000 '^TestOracleNetworkRanks$'
oracle "kernels, interpreted" 4000 '^TestKernels$'
oracle "statements in C, -O0" 4000 '^TestOracleC$/^O0$'
oracle "statements in C, -O1" 600 '^TestOracleC$/^O1$'
oracle "statements in C, -O3" 300 '^TestOracleC$/^O3$'
oracle "schedules in C, -O0" 3000 '^TestOracleSchedulesInC$/^O0$'
oracle "schedules in C, -O1" 400 '^TestOracleSchedulesInC$/^O1$'
oracle "schedules by level kinds in C, all" 1 '^TestKindsInC$'
oracle "statements in C, under sanitizers" 250 '^TestOracleSanitized$'
oracle "schedules in C, under sanitizers" 150 '^TestOracleSchedulesSanitized$'
oracle "long rows, interpreted and in C" 300 '^TestLongRows$'
oracle "long rows in C, under sanitizers" 40 '^TestLongRowsSanitized$'
oracle "functions in the place of loops, in C" 2000 '^TestOracleExterns$'
oracle "whole jobs in C, twice" 700 '^TestOracleJobs$'
oracle "plans held to runs of job files" 20000 '^TestOraclePlans$'
oracle "ranks in one process, interpreted" 6000 '^TestOracleRanks$'
oracle "distributed schedules, half all dense" 5000 '^TestOracleDistributed$'
oracle "distributed schedules in C" 300 '^TestOracleDistributedInC$'
oracle "programs, most interpreted" 10000 '^TestOraclePrograms$'
oracle "programs with steps that fail" 1000 '^TestOracleProgramErrors$'
[[ "programs as job files" =~ ${ONLY:-} ]] && go build -o "$logs/distaff" ./cmd/distaff
stage "programs as job files" 1000 go test ./spmd/oracle -count=1 -timeout 60m -v -run '^TestOracleFilePrograms$' -oracle.n=%N -oracle.seed=%S -oracle.distaff="$logs/distaff"
stage "runs of prepared statements, under -race" 100000 DISTAFF_RUNS=%N go test ./spmd -race -count=1 -timeout 60m -v -run '^TestRuns$'
stage "runs, under the address sanitizer" 100000 DISTAFF_RUNS=%N go test ./spmd -count=1 -timeout 60m -v -run '^TestRunsSanitized$'
oracle "ranks of one process that share no memory" 1000 '^TestOracleApart$'
oracle "files of 1 to 8 ranks, byte for byte" 300 '^TestOracleSameBytes$'
oracle "ranks under each MPI, at 2, 3 and 4" 300 '^TestOracleMPI$'
oracle "distributed schedules under each MPI" 100 '^TestOracleDistributedMPI$'
stage "faults" 200 DISTAFF_FAULTS=%N DISTAFF_FAULTS_FIRST=$((seed % 1000000)) go test ./cmd/distaff -count=1 -timeout 30m -v -run '^TestFaults$'
stage "inputs that change while leaves run" 100 DISTAFF_OVERWRITES=%N DISTAFF_OVERWRITES_FIRST=$((seed % 1000000)) go test ./cmd/distaff -count=1 -timeout 30m -v -run '^TestOverwritten$'
stage "too little of a resource" 50 DISTAFF_LIMITS=%N DISTAFF_LIMITS_FIRST=$((seed % 1000000)) go test ./cmd/distaff -count=1 -timeout 30m -v -run '^TestLimits$'
stage "mutated files of every format" 5000 DISTAFF_MUTATIONS=%N DISTAFF_MUTATIONS_FIRST=$((seed % 1000000000)) go test ./cmd/distaff -count=1 -timeout 60m -v -run '^TestMutations$'
stage "plans of every job for 65,536 ranks" 1 go test ./spmd/jobs -count=1 -timeout 60m -v -run '^TestPlanOfEveryJob$' -plan.ranks=65536
stage "real files, every one in every format" 1 DISTAFF_ALL_DATA=1 go test ./io/convert -count=1 -timeout 30m -v -run '^TestRealFiles$'
while read -r pkg target; do
    stage "$target of ${pkg#distaff/}" 1 go test "$pkg" -run '^$' -fuzz "^$target\$" -fuzzminimizetime 1x -fuzztime "${FUZZTIME:-45s}"
done < <(go list -f '{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{$p.Dir}}/{{.}}{{"\n"}}{{end}}' ./... |
    while read -r pkg file; do
        [ -n "$pkg" ] && sed -nE "s#^func (Fuzz[A-Za-z0-9_]+).*#$pkg \1#p" "$file"
    done)

echo
printf '%-44s %8s %12s %8s\n' stage count seed seconds
printf '%s\n' "${table[@]}"
printf '%d stages, %d failed, %d s\n' "${#table[@]}" "$failed" "$SECONDS"
if [ "$failed" -gt 0 ]; then
    echo "the logs are in $logs"
    exit 1
fi
rm -rf "$logs"
[ "${#table[@]}" -gt 0 ]
