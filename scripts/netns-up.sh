#!/usr/bin/env bash
# netns-up.sh DIR [RATE]: makes two hosts out of network namespaces on this one
# machine, da1 (10.97.SUB.1) and da2 (10.97.SUB.2), joined by a link shaped to RATE
# (1gbit if not given) in each direction. Writes DIR/agent, an rsh agent that
# enters a host, and DIR/run, which runs a command on the first; prints the
# options that let Open MPI's mpirun, started by DIR/run, use both. netns-down.sh DIR undoes it.
# Exit code 77: this machine cannot have them.
#
#   scripts/netns-up.sh /var/tmp/net; /var/tmp/net/run mpirun $(cat /var/tmp/net/options) -n 2 PROGRAM
set -eu
PATH=$PATH:/usr/sbin:/sbin
for tool in ip tc unshare; do
    command -v $tool > /dev/null || { echo "netns-up: no $tool; scripts/install-slurm.sh installs it" >&2; exit 77; }
done
[ "$(id -u)" -eq 0 ] || { echo "netns-up: wants root" >&2; exit 77; }
dir=${1:?netns-up: which folder?}
rate=${2:-1gbit}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
sub=$(($$ % 250 + 1))
one=da$$a two=da$$b
echo "$one $two" > "$dir/hosts"
trap '[ $? -eq 0 ] || "$(dirname "$0")/netns-down.sh" "$dir" >&2' EXIT
ip netns add "$one" || { echo "netns-up: no network namespaces here" >&2; exit 77; }
ip netns add "$two"
ip link add eth0 netns "$one" type veth peer name eth0 netns "$two"
i=1
for ns in "$one" "$two"; do
    ip -n "$ns" addr add "10.97.$sub.$i/24" dev eth0
    ip -n "$ns" link set eth0 up
    ip -n "$ns" link set lo up
    tc -n "$ns" qdisc add dev eth0 root tbf rate "$rate" burst 256kb latency 50ms
    i=$((i + 1))
done
cat > "$dir/agent" << AGENT
#!/bin/bash
# An rsh agent: HOST COMMAND...
while [ "\${1#-}" != "\$1" ]; do shift; done
case \$1 in 10.97.$sub.1) ns=$one;; 10.97.$sub.2) ns=$two;; *) echo "no host \$1" >&2; exit 255;; esac
shift
exec ip netns exec \$ns unshare --uts --ipc --mount bash -c "hostname \$ns; mount -t tmpfs tmpfs /dev/shm; \$*"
AGENT
cat > "$dir/run" << RUN
#!/bin/bash
exec ip netns exec $one unshare --uts --ipc --mount bash -c 'hostname $one; mount -t tmpfs tmpfs /dev/shm; exec "\$@"' run "\$@"
RUN
chmod 755 "$dir/agent" "$dir/run"
echo "--host 10.97.$sub.1:8,10.97.$sub.2:8 --map-by node --bind-to none --mca plm rsh --mca plm_rsh_agent $dir/agent --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.97.$sub.0/24 --mca oob_tcp_if_include 10.97.$sub.0/24" > "$dir/options"
