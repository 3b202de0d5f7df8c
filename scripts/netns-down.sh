#!/usr/bin/env bash
# netns-down.sh DIR: ends what runs on the hosts that netns-up.sh made, removes
# them and what it wrote into DIR.
set -u
PATH=$PATH:/usr/sbin:/sbin
dir=${1:?netns-down: which folder?}
for ns in $(cat "$dir/hosts" 2> /dev/null); do
    for p in $(ip netns pids "$ns" 2> /dev/null); do kill -KILL "$p" 2> /dev/null; done
    ip netns del "$ns" 2> /dev/null
done
rm -f "$dir/hosts" "$dir/agent" "$dir/run" "$dir/options"
rmdir "$dir" 2> /dev/null
exit 0
