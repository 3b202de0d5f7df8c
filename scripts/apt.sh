# Sourced by the install scripts.

# apt_install NAME PACKAGE...: installs packages without questions and without
# starting their services. Says in one line what it did, or why it did not.
apt_install() {
    local name=$1 log
    shift
    if ! command -v apt-get > /dev/null 2>&1; then
        echo "$name: no apt-get here; wanted: $*"
        return 0
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "$name: not root; wanted: apt-get install $*"
        return 0
    fi
    log=$(mktemp)
    # RUNLEVEL=1 tells Debian's service scripts not to start anything.
    if { DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$@" ||
         { apt-get update && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "$@"; }; } > "$log" 2>&1 < /dev/null; then
        echo "$name: installed $*"
    else
        echo "$name: could not install $*: $(grep -E '^E:' "$log" | head -1)"
    fi
    rm -f "$log"
    return 0
}
