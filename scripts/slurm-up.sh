#!/usr/bin/env bash
# slurm-up.sh [DIR]: starts a Slurm of two nodes, n1 and n2, of four cores each,
# which it takes to have two GPUs each as well, on this one machine, as root and without systemd, all of it inside DIR (a new
# folder if not given, which must not lie in /tmp: each node has a /tmp and a
# host name of its own).
# Prints the lines that a shell must eval to use it; slurm-down.sh DIR stops it.
#
#   eval "$(scripts/slurm-up.sh)"; srun -N2 -n2 hostname; scripts/slurm-down.sh "$DISTAFF_SLURM"
set -eu
PATH=$PATH:/usr/sbin:/sbin
for tool in slurmctld slurmd munged srun unshare; do
    command -v $tool > /dev/null || { echo "slurm-up: no $tool; scripts/install-slurm.sh installs it" >&2; exit 1; }
done
[ "$(id -u)" -eq 0 ] || { echo "slurm-up: wants root" >&2; exit 1; }
dir=${1:-$(mktemp -d -p /var/tmp distaff-slurm-XXXXXX)}
case $dir in /tmp/*) echo "slurm-up: $dir lies in /tmp, which the nodes do not share" >&2; exit 1;; esac
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
trap '[ $? -eq 0 ] || "$(dirname "$0")/slurm-down.sh" "$dir" >&2' EXIT
chmod 755 "$dir"
mkdir -m 700 "$dir/munge"
mkdir "$dir/state" "$dir/spool.n1" "$dir/spool.n2" "$dir/tmp.n1" "$dir/tmp.n2"
head -c 1024 /dev/urandom > "$dir/munge/key"
chmod 400 "$dir/munge/key"
host=$(hostname -s)
# Ports that nothing listens on: a base by this shell's number.
port=$((20000 + $$ % 5000 * 4))
cat > "$dir/slurm.conf" << CONF
ClusterName=distaff
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
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
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=4 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
CONF
printf 'Name=gpu File=%s\n' /dev/null /dev/zero > "$dir/gres.conf" # a device is all that Slurm asks for
export SLURM_CONF=$dir/slurm.conf
munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" > /dev/null 2>&1
slurmctld -c -f "$dir/slurm.conf" > "$dir/slurmctld.out" 2>&1
for n in n1 n2; do
    # PMIx and Open MPI name files and shared memory by host: each node has a name.
    # /dev/shm is one, so that MPICH need not go through UCX's TCP, which hangs at times.
    setsid unshare --mount --uts --propagation private bash -c "mount --bind '$dir/tmp.$n' /tmp && hostname $n && exec slurmd -D -N $n -f '$dir/slurm.conf'" > "$dir/slurmd.$n.out" 2>&1 < /dev/null &
    echo $! > "$dir/slurmd.$n.shell"
done
for _ in $(seq 150); do
    if [ "$(sinfo -h -t idle -o %D 2> /dev/null || true)" = 2 ]; then
        echo "export SLURM_CONF='$dir/slurm.conf' DISTAFF_SLURM='$dir'"
        exit 0
    fi
    sleep 0.2
done
{ echo "slurm-up: the nodes do not come up"; tail -n 5 "$dir"/*.log; } >&2
exit 1
