#!/usr/bin/env bash
# Installs Slurm (its controller, node daemon and commands) and what the network
# namespaces of netns-up.sh need, from Debian's packages, for the tests that want
# them. Nothing is started. Idempotent; where it may not install, it says so and
# leaves with 0.
set -u
have() { command -v "$1" > /dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }
want=()
have slurmctld && have slurmd && have srun || want+=(slurm-wlm)
[ -e /usr/lib/x86_64-linux-gnu/slurm-wlm/mpi_pmix.so ] || [ -e /usr/lib/aarch64-linux-gnu/slurm-wlm/mpi_pmix.so ] || want+=(slurm-wlm-basic-plugins)
have munged || want+=(munge)
have ip && have tc || want+=(iproute2)
if [ ${#want[@]} -eq 0 ]; then
    echo "install-slurm: Slurm is there"
    exit 0
fi
source "$(dirname "$0")/apt.sh"
apt_install install-slurm "${want[@]}"
