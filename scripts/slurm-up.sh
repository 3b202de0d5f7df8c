#!/usr/bin/env bash
# slurm-up.sh [DIR]: starts a Slurm of two nodes, n1 and n2, of four cores each,
# which it takes to have two GPUs each as well, on this one machine, as root and without systemd, all of it inside DIR (a new
# folder if not given, which must not lie in /tmp: each node has a /tmp and a
# host name of its own).
# Prints the lines that a shell must eval to use it; slurm-down.sh DIR stops it.
# Its ports are three in a row that nothing uses, below those that the kernel gives
# to whoever asks for any: from DISTAFF_SLURM_PORT on, or from a port by this shell's number.
# Exit code 1: a daemon ended, or the nodes were not up within 30 s
# (DISTAFF_SLURM_SECONDS). Exit code 77: this machine cannot run it.
#
#   eval "$(scripts/slurm-up.sh)"; srun -N2 -n2 hostname; scripts/slurm-down.sh "$DISTAFF_SLURM"
set -eu
PATH=$PATH:/usr/sbin:/sbin
for tool in slurmctld slurmd munged srun unshare; do
    command -v $tool > /dev/null || { echo "slurm-up: no $tool; scripts/install-slurm.sh installs it" >&2; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "slurm-up: wants root" >&2; exit 77; }
unshare --mount --uts true || { echo "slurm-up: no namespaces here" >&2; exit 77; }
dir=${1:-$(mktemp -d -p /var/tmp distaff-slurm-XXXXXX)}
case $dir in /tmp/*) echo "slurm-up: $dir lies in /tmp, which the nodes do not share" >&2; exit 1;; esac
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
trap '[ $? -eq 0 ] || { kill -KILL $(cat "$dir"/*.shell 2> /dev/null) 2> /dev/null; "$(dirname "$0")/slurm-down.sh" "$dir"; } >&2' EXIT
chmod 755 "$dir"
mkdir -m 700 "$dir/munge"
mkdir "$dir/state" "$dir/spool.n1" "$dir/spool.n2" "$dir/tmp.n1" "$dir/tmp.n2"
head -c 1024 /dev/urandom > "$dir/munge/key"
chmod 400 "$dir/munge/key"
host=$(hostname -s)
limit=${DISTAFF_SLURM_SECONDS:-30}

# taken PORT: whether a socket of this machine has the port.
taken() {
    cat /proc/net/tcp /proc/net/tcp6 2> /dev/null | grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") "
}

# next_port PORT: the first of three free ports, from PORT on.
first=10000 end=$(cut -f 1 /proc/sys/net/ipv4/ip_local_port_range)
[ "$end" -gt $((first + 100)) ] || end=32768
next_port() {
    local p=$1 _
    for _ in $(seq $((end - first))); do
        [ "$p" -ge "$first" ] && [ $((p + 2)) -lt "$end" ] || p=$first
        if ! taken "$p" && ! taken $((p + 1)) && ! taken $((p + 2)); then
            echo "$p"
            return 0
        fi
        p=$((p + 1))
    done
    echo "slurm-up: no three free ports from $first to $end" >&2
    return 1
}

# configure PORT: writes slurm.conf. Open MPI names what it shares in /dev/shm by host and job:
# jobs of two Slurms at a time have other numbers, as both have hosts n1 and n2.
configure() {
    cat > "$dir/slurm.conf" << CONF
ClusterName=distaff
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$1
FirstJobId=$1
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool.%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
MpiDefault=pmi2
KillWait=5
InactiveLimit=0
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$(($1 + 1))-$(($1 + 2))] CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
CONF
}
printf 'Name=gpu File=%s\n' /dev/null /dev/zero > "$dir/gres.conf" # a device is all that Slurm asks for
export SLURM_CONF=$dir/slurm.conf
munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" > "$dir/munge/out" 2>&1 ||
    { echo "slurm-up: munged failed:"; tail -n 5 "$dir/munge/out" "$dir/munge/log"; exit 1; } >&2

# start NAME COMMAND...: starts a daemon, which writes its log to DIR/NAME.log.
start() {
    local name=$1
    shift
    "$@" > "$dir/$name.out" 2>&1 < /dev/null &
    echo $! > "$dir/$name.shell"
}

# start_all: starts the daemons.
start_all() {
    local n
    start slurmctld setsid slurmctld -D -c -f "$dir/slurm.conf"
    for n in n1 n2; do
        # PMIx and Open MPI name files and shared memory by host: each node has a name.
        # /dev/shm is one, so that MPICH need not go through UCX's TCP, which hangs at times.
        start "slurmd.$n" setsid unshare --mount --uts --propagation private \
            bash -c "mount --bind '$dir/tmp.$n' /tmp && hostname $n && exec slurmd -D -N $n -f '$dir/slurm.conf'"
    done
}

# ended: the name of a daemon that has ended, if one has.
ended() {
    local name
    for name in slurmctld slurmd.n1 slurmd.n2; do
        kill -0 "$(cat "$dir/$name.shell")" 2> /dev/null || { echo "$name"; return; }
    done
}

# stop_all: ends the daemons that start_all started.
stop_all() {
    local name
    for name in slurmctld slurmd.n1 slurmd.n2; do
        kill -KILL "$(cat "$dir/$name.shell")" 2> /dev/null || true
    done
    wait || true
    rm -rf "$dir"/*.log "$dir"/*.out "$dir"/*.pid "$dir"/state/* "$dir"/spool.n?/*
}

port=$(next_port "${DISTAFF_SLURM_PORT:-$((first + $$ % ((end - first) / 4) * 4))}")
configure "$port"
start_all
while [ "$SECONDS" -lt "$limit" ]; do
    name=$(ended)
    if [ "$name" ]; then
        if cat "$dir/$name.log" "$dir/$name.out" 2> /dev/null | grep -q "Address already in use"; then
            echo "slurm-up: $name: a port of $port to $((port + 2)) is in use: others are tried" >&2
            stop_all
            port=$(next_port $((port + 3)))
            configure "$port"
            start_all
            continue
        fi
        { echo "slurm-up: $name has ended:"; cat "$dir/$name.out" "$dir/$name.log" 2> /dev/null | tail -n 5; } >&2
        exit 1
    fi
    if [ "$(timeout 2 sinfo -h -t idle -o %D 2> /dev/null || true)" = 2 ]; then
        echo "export SLURM_CONF='$dir/slurm.conf' DISTAFF_SLURM='$dir'"
        exit 0
    fi
    sleep 0.1
done
{ echo "slurm-up: the nodes were not up after $limit s"; tail -n 5 "$dir"/*.log; } >&2
exit 1
