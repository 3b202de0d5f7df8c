#!/usr/bin/env bash
# slurm-down.sh DIR: stops the Slurm that slurm-up.sh started in DIR, and every
# job of it, and removes DIR.
set -u
PATH=$PATH:/usr/sbin:/sbin
dir=${1:?slurm-down: which folder? (DISTAFF_SLURM)}
[ -e "$dir/slurm.conf" ] || { echo "slurm-down: $dir is no folder of slurm-up.sh" >&2; exit 1; }
export SLURM_CONF=$dir/slurm.conf
# ours FILE NAME: the process that FILE names, if it still is a NAME.
ours() {
    local pid
    pid=$(cat "$1" 2> /dev/null) || return 0
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = "$2" ] && echo "$pid"
    return 0
}
if [ "$(ours "$dir/slurmctld.pid" slurmctld)" ]; then
    timeout 10 scancel --state=RUNNING -u root > /dev/null 2>&1
    timeout 10 scancel -u root > /dev/null 2>&1
fi
pids="$(ours "$dir/slurmd.n1.pid" slurmd) $(ours "$dir/slurmd.n1.shell" slurmd) $(ours "$dir/slurmd.n2.pid" slurmd) $(ours "$dir/slurmd.n2.shell" slurmd)"
pids="$pids $(ours "$dir/slurmctld.pid" slurmctld) $(ours "$dir/slurmctld.shell" slurmctld) $(ours "$dir/munge/pid" munged)"
# Step daemons of jobs that did not end have the node's folder open.
for p in /proc/[0-9]*; do
    [ "$(cat "$p/comm" 2> /dev/null)" = slurmstepd ] || continue
    if { tr '\0' '\n' < "$p/environ"; } 2> /dev/null | grep -qxF "SLURM_CONF=$dir/slurm.conf"; then
        pids="$pids ${p#/proc/}"
    fi
done
for signal in TERM KILL; do
    for p in $pids; do kill -$signal "$p" 2> /dev/null; done
    for _ in $(seq 50); do
        left=
        for p in $pids; do [ -d "/proc/$p" ] && left=1; done
        [ "$left" ] || break 2
        sleep 0.1
    done
done
rm -rf "$dir"
