package slurm

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// standIns are shell scripts in the place of Slurm's programs: the daemons run until they are
// killed, and sinfo prints that both nodes are idle.
var standIns = map[string]string{
	"munged":    "exit 0",
	"slurmctld": "exec sleep 60",
	"slurmd":    "exit 1", // unshare runs it
	"unshare":   `[ "$3" = true ] || exec sleep 60`,
	"sinfo":     "echo 2",
	"srun":      "exit 1",
}

// start runs slurm-up.sh with stand-ins for Slurm's programs, some of them other ones than
// standIns. It returns the script's exit code, what it said and how long it took, and the first
// port of slurm.conf, 0 if there is none.
func start(t *testing.T, other map[string]string, env ...string) (code int, said string, took time.Duration, port int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("slurm-up.sh wants root")
	}
	bin := t.TempDir()
	for name, text := range standIns {
		if o, ok := other[name]; ok {
			text = o
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("/var/tmp", "distaff-slurm-")
	if err != nil {
		t.Fatal(err)
	}
	// slurm-down.sh ends only processes that have the names of Slurm's programs.
	t.Cleanup(func() {
		shells, _ := filepath.Glob(filepath.Join(dir, "*.shell"))
		for _, file := range shells {
			b, _ := os.ReadFile(file)
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				if p, err := os.FindProcess(pid); err == nil {
					_ = p.Kill()
				}
			}
		}
		os.RemoveAll(dir)
	})
	up := exec.Command("../scripts/slurm-up.sh", dir)
	up.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "STATE="+t.TempDir()), env...)
	begun := time.Now()
	out, _ := up.CombinedOutput()
	took = time.Since(begun)
	conf, _ := os.ReadFile(filepath.Join(dir, "slurm.conf"))
	if m := regexp.MustCompile(`(?m)^SlurmctldPort=(\d+)$`).FindStringSubmatch(string(conf)); m != nil {
		port, _ = strconv.Atoi(m[1])
	}
	return up.ProcessState.ExitCode(), string(out), took, port
}

// TestPorts holds the ports of slurm-up.sh below the ephemeral ones, and passes over one that is
// in use.
func TestPorts(t *testing.T) {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var ephemeral int
	if _, err := fmt.Sscan(string(b), &ephemeral); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if code, said, _, port := start(t, nil); code != 0 || port < 1024 || port+2 >= ephemeral {
			t.Errorf("exit code %d, ports from %d on, want all below %d\n%s", code, port, ephemeral, said)
		}
	}
	var l net.Listener
	busy := 20002
	for ; l == nil; busy++ {
		l, _ = net.Listen("tcp", fmt.Sprint("127.0.0.1:", busy))
	}
	defer l.Close()
	busy--
	for port := busy - 2; port <= busy; port++ {
		code, said, _, got := start(t, nil, fmt.Sprint("DISTAFF_SLURM_PORT=", port))
		if code != 0 || got <= busy || got > busy+1000 {
			t.Errorf("from port %d on, of which %d is in use: exit code %d, port %d\n%s", port, busy, code, got, said)
		}
	}
}

// TestPortTaken starts a Slurm whose controller finds its port in use, which no look at the
// machine's sockets had told: others are tried.
func TestPortTaken(t *testing.T) {
	code, said, _, port := start(t, map[string]string{
		"slurmctld": `if [ -e "$STATE/tried" ]; then exec sleep 60; fi
touch "$STATE/tried"
echo "slurmctld: fatal: slurm_init_msg_engine_port error Address already in use"; exit 1`,
		"sinfo": `[ -e "$STATE/tried" ] && sleep 0.5 && echo 2`,
	}, "DISTAFF_SLURM_PORT=21000")
	if code != 0 || port < 21003 {
		t.Errorf("exit code %d, port %d\n%s", code, port, said)
	}
}

// TestDaemonEnds starts a Slurm with a daemon that ends: the error has the last lines of its log,
// and comes at once, though sinfo waits.
func TestDaemonEnds(t *testing.T) {
	for name, other := range map[string]map[string]string{
		"slurmctld": {"slurmctld": "echo first; echo 'slurmctld: fatal: no such thing'; exit 1", "sinfo": "exec sleep 60"},
		"slurmd.n1": {"unshare": "[ \"$3\" = true ] && exit 0; echo first; echo 'slurmd: fatal: no such thing'; exit 1", "sinfo": "exec sleep 60"},
	} {
		code, said, took, _ := start(t, other)
		if code != 1 || !strings.Contains(said, name+" has ended:\n") || !strings.Contains(said, "fatal: no such thing\n") || took > 10*time.Second {
			t.Errorf("%s: exit code %d after %v\n%s", name, code, took, said)
		}
	}
}

// TestNodesStayDown starts a Slurm whose nodes never come up: the time is bounded, also where sinfo
// waits.
func TestNodesStayDown(t *testing.T) {
	code, said, took, _ := start(t, map[string]string{"sinfo": "exec sleep 60"}, "DISTAFF_SLURM_SECONDS=3")
	if code != 1 || !strings.Contains(said, "not up after 3 s") || took > 15*time.Second {
		t.Errorf("exit code %d after %v\n%s", code, took, said)
	}
}
